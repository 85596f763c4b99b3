"""A function for each word, and what `numbers` is at in a list."""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken


def record(moves):
    held = [0]

    def answers(time):
        if held[-1] != time:
            held.append(time)
            yield Held("numbers", time)
            yield Released("numbers", held[-2])
        yield Sent("in", time)

    words = {
        "answers": answers,
        "notify_at": lambda time: [Awaited("in", time), Held("largest", time)],
        "asks": lambda time: [Taken("in", time)],
        "ends": lambda time: [Released("numbers", time)],
        "told": lambda time: [Completed("in", time)],
        "largest": lambda time: [Sent("out", time), Released("largest", time)],
        "stored": lambda time: [Taken("out", time)],
        "rests": lambda time: [Settled()],
    }
    return [event for what, time in moves for event in words[what](time)]
