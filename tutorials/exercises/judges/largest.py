"""What is asked of `largest`: one value a time, when that is complete, with times that are open side by side."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import largest as solution
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Chapter 8, piece 7: `best_seller` does nearly the same.",
        "When is it known which value is the largest? Who tells you?",
        "`match event:` with two cases: a Batch, whose largest is kept by its time, and Completed, which is answered.",
    ),
    "R12": (
        "Chapter 8, piece 9.",
        "You have answered at a time to which you had no right any more, or not yet.",
        "`ctx.notify_at(time)` at each batch; and answer at `time` when its Completed comes, once.",
    ),
    "holding": (
        "Chapter 8, pieces 7 and 9.",
        "A time that nothing is owed at was not complete. Who holds it?",
        "Read `ctx.events(upstream)`, not `ctx.batches`: a time you were to be told of is let go when you are told.",
    ),
    "early": (
        "Chapter 8, piece 7.",
        "A time was answered while more of it could come.",
        "At Completed(time), answer that time and no other.",
    ),
    "batching": (
        "Chapter 8, piece 7.",
        "A time has more than one batch.",
        "Compare with what is kept for the time: `max([found[time], *values])`.",
    ),
    "times": (
        "Chapter 8, piece 7.",
        "What belongs to one time has come into another's answer.",
        "A dict by time, of which the time's own is taken out, `found.pop(time)`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""

    @ps.source
    async def rows(ctx):
        for value in (1, 3, 14, 12, 9, 21, 17, 35):
            await trio.sleep(1)
            yield value

    def mixed(largest):
        by_ten = ps.pipe(ps.stamp(lambda n: n, lateness=10), ps.restamp(lambda n: n // 10))
        return lambda: ps.pipe(rows(), by_ten, largest())

    def plain(largest):
        numbers = [3, 9, 1, 14, 11, 27, 22, 25]
        return lambda: ps.pipe(ps.values(numbers, time=lambda n: n // 10), largest())

    gives_the_same(plain(answer["largest"]), plain(solution.largest), limits=(1000,))
    gives_the_same(plain(answer["largest"]), plain(solution.largest), limits=(1, 2, 1000))
    subject = Subject("largest", answer["largest"], flushes=True, per_time=True)
    keeps_the_rules(subject, answer.site("largest"), seeds)
    gives_the_same(mixed(answer["largest"]), mixed(solution.largest), times=(0, 1, 2, 3))
