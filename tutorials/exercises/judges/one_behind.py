"""What is asked of `one_behind`: each value when the next has come, and its time complete then, not sooner or later."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import one_behind as solution
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Chapter 8, piece 9: the right to speak.",
        "When a value is given, whose turn is it above? What gives you the right to its time?",
        "Take `ctx.hold(batch.time)` for each value that you keep, before the next one is asked for.",
    ),
    "R12": (
        "Chapter 8, piece 9.",
        "You have answered at a time that you did not hold any more.",
        "Enter the hold while the value's own batch is the current one, and leave it when the value has been given.",
    ),
    "holding": (
        "Chapter 8, piece 9; chapter 5, piece 3.",
        "Everything of a time has been given, and it is still held.",
        "Leave each value's hold right after its `yield`.",
    ),
    "values": (
        "Chapter 8, piece 9.",
        "Is the last one there, and each one once, at its own time?",
        "After the loop, if something is kept, yield it.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""

    @ps.source
    async def rows(ctx):
        for time, value in ((0, "a"), (0, "b"), (1, "c"), (3, "d")):
            await trio.sleep(5)
            yield ps.Batch(time, [value])
        await trio.sleep(5)

    def made(one_behind):
        return lambda: ps.pipe(rows(), one_behind())

    def plain(one_behind):
        return lambda: ps.pipe(ps.values([1, 2, 3, 14, 15, 29], time=lambda n: n // 10), one_behind())

    one_behind = answer["one_behind"]
    gives_the_same(plain(one_behind), plain(solution.one_behind), limits=(1, 2, 1000))
    gives_the_same(made(one_behind), made(solution.one_behind), times=(0, 1, 3))
    subject = Subject("one_behind", one_behind, flushes=True, keeps=True)
    keeps_the_rules(subject, answer.site("one_behind"), seeds)
