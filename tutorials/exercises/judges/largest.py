"""The judge of `largest`: one value per time, when the time is complete, with several times open at once."""

from weakref import WeakSet

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import largest as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 8.7: `best_seller` does nearly the same.",
        "When is it certain which value is the largest? How does your module request that notification?",
        "For a Batch, call `ctx.notify_at(time)` and store the largest value by time. For Completed, answer.",
    ),
    "R12": (
        "Read section 8.9.",
        "You answered at a time that you no longer held, or did not hold yet.",
        "`ctx.notify_at(time)` at each batch; and answer at `time` when its Completed comes, once.",
    ),
    "holding": (
        "Read sections 8.7 and 8.9.",
        "A time was still open after its answer. What holds it?",
        "Read `ctx.events(upstream)`, not `ctx.batches`: it delivers Completed, and then releases the time.",
    ),
    "early": (
        "Read section 8.7.",
        "A time was answered while more of its values could come.",
        "At Completed(time), answer that time and no other.",
    ),
    "batching": (
        "Read section 8.7.",
        "A time has more than one batch.",
        "Compare with the largest so far: `max([found[time], *values])`.",
    ),
    "bound": (
        "Read section 8.7.",
        "What is left of a time in your dict after its answer?",
        "`found.pop(time)` returns the value and removes the entry.",
    ),
    "values": (
        "Read section 8.7.",
        "Numbers may be negative. What is the largest so far when a time has no values yet?",
        "There is none: `max([found[time], *values] if time in found else values)`.",
    ),
    "times": (
        "Read section 8.7.",
        "Values of one time are in the answer of another.",
        "Use a dict by time, and remove the entry when you answer: `found.pop(time)`.",
    ),
}

TIMES = 40


def judge(answer, seeds):
    """Judge an answer."""

    @ps.source
    async def rows(ctx):
        for value in (1, 3, 14, 12, 9, 21, 17, 35):
            await trio.sleep(1)
            yield value

    def mixed(largest):
        by_ten = ps.pipe(ps.stamp(lambda n: n, lateness=10), ps.map_time(lambda n: n // 10))
        return lambda: ps.pipe(rows(), by_ten, largest())

    def plain(largest):
        numbers = [3, 9, 1, -14, -11, 27, 22, 25]
        return lambda: ps.pipe(ps.values(numbers, time=lambda n: abs(n) // 10), largest())

    gives_the_same(plain(answer["largest"]), plain(solution.largest), limits=(1000,))
    gives_the_same(plain(answer["largest"]), plain(solution.largest), limits=(1, 2, 1000))
    subject = Subject("largest", answer["largest"], flushes=True, per_time=True)
    keeps_the_rules(subject, answer.site("largest"), seeds)
    gives_the_same(mixed(answer["largest"]), mixed(solution.largest), times=(0, 1, 2, 3))
    deletes_state(answer["largest"])


class Number(float):
    """A number that shows whether anything still refers to it."""


def deletes_state(largest):
    """Check that the values of answered times are deleted."""
    alive = WeakSet()

    def made(time):
        number = Number(time)
        alive.add(number)
        return number

    numbers = ps.values((made(time) for time in range(TIMES)), time=int)
    *_, left = ps.run(ps.pipe(numbers, largest(), ps.map(lambda _: len(alive)), ps.collect()), limit=1)
    if left > TIMES // 2:
        raise Wrong("bound", f"when {TIMES} times were answered, one value each, it still stored {left} values")
