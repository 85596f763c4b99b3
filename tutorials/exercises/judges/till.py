"""What is asked of `till`: sales at their days, days complete at midnight, and an end whenever somebody has enough."""

import trio
import trio.testing

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import till as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

SALES = [(9, "tea"), (15, "rice"), (57, "salt"), (58, "tea")]
AT_MIDNIGHT = [(24, "tea"), (47, "salt"), (72, "rice")]

HINTS = {
    "": (
        "Chapter 7, piece 4: frontiers.",
        "The till sleeps until the next sale. Who says at midnight that a day is over?",
        "While the next sale is on a later day: sleep until midnight, `ctx.advance(day)`; then sleep until the sale.",
    ),
    "holding": (
        "Chapter 7, pieces 4 and 5.",
        "A day was complete only when the next sale came. What is known at midnight, and who says so?",
        "At each midnight before the next sale: `ctx.advance(day)`, with the day that begins.",
    ),
    "R12": (
        "Chapter 8, piece 9; and chapter 1, piece 12.",
        "You have said that nothing before a day would come, and something came.",
        "`ctx.advance(day)` at the beginning of that day, not sooner; and a sale is at the day of its own hour.",
    ),
    "R5": (
        "Chapter 1, piece 7.",
        "Somebody had enough while you slept, and had to wait for you to wake.",
        "Leave sleeping as it is: without a shield it is cancelled, and `finally` does what is to be done.",
    ),
    "values": (
        "Chapter 7, piece 1.",
        "Look at the times: of which day is an hour?",
        "`yield ps.Batch(hour // 24, [item])`.",
    ),
}
HINTS["CapabilityError"] = HINTS["R12"]
HINTS["ReleaseTimeout"] = HINTS["R5"]


def judge(answer, seeds):
    """Judge an answer."""
    till = answer["till"]
    trio.run(_enough, till(SALES), clock=trio.testing.MockClock(autojump_threshold=0))
    gives_the_same(lambda: till(SALES), lambda: solution.till(SALES), times=(0, 1, 2))
    told = "of sales at 24, 47 and 72, "
    gives_the_same(lambda: till(AT_MIDNIGHT), lambda: solution.till(AT_MIDNIGHT), times=(0, 1, 2), what=told)
    when = ps.map(lambda item: (trio.current_time(), item))
    gives_the_same(
        lambda: ps.pipe(till(SALES), when), lambda: ps.pipe(solution.till(SALES), when), what="with the hour, "
    )
    keeps_the_rules(Subject("till", lambda: till(SALES)), answer.site("till"), seeds)


async def _enough(source):
    """Whether it ends when somebody below has enough, while it waits for a sale."""
    try:
        async with ps.pipe(source, ps.drain()).open() as running:
            await trio.sleep(30.5)
            await running.abort()
    except ps.Abandoned:
        pass
    if trio.current_time() > 30.5:
        raise Wrong("R5", f"aborted at 30.5, it ended at {trio.current_time():g}")
