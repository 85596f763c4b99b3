"""The judge of `one_behind`: each value comes when the next has come, and its time is complete exactly then."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import one_behind as solution
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 8.9: the right to emit.",
        "When you emit a value, which batch is the current one? What gives you the right to the value's time?",
        "Enter `ctx.hold(batch.time)` for each value that you keep, before you ask for the next one.",
    ),
    "R12": (
        "Read section 8.9.",
        "You answered at a time that you no longer held.",
        "Enter the hold while the value's own batch is the current one, and leave it after you have emitted the value.",
    ),
    "early": (
        "Read the task: when is a value emitted?",
        "You emitted a value before the next one had come.",
        "Keep each value, and emit the one that you have kept when another comes.",
    ),
    "holding": (
        "Read section 8.9; section 5.3.",
        "All values of a time have been emitted, and it is still held.",
        "Leave each value's hold right after its `yield`.",
    ),
    "values": (
        "Read section 8.9.",
        "Do you emit the last one, and each one once, at its own time?",
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

    def heard(one_behind):
        when = ps.map(lambda value: f"{value}, after {trio.current_time():g} seconds")
        return lambda: ps.pipe(rows(), one_behind(), when)

    def plain(one_behind):
        return lambda: ps.pipe(ps.values([1, 2, 3, 14, 15, 29], time=lambda n: n // 10), one_behind())

    one_behind = answer["one_behind"]
    gives_the_same(plain(one_behind), plain(solution.one_behind), limits=(1, 2, 1000))
    gives_the_same(made(one_behind), made(solution.one_behind), times=(0, 1, 3))
    gives_the_same(heard(one_behind), heard(solution.one_behind), limits=(1,), kind="early")
    subject = Subject("one_behind", one_behind, flushes=True, keeps=True)
    keeps_the_rules(subject, answer.site("one_behind"), seeds)
