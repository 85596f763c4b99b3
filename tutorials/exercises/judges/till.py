"""The judge of `till`: sales at their days, days complete at midnight, and an end at any moment."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import till as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules, on_virtual_clock

SALES = [(9, "tea"), (15, "rice"), (57, "salt"), (58, "tea")]
AT_MIDNIGHT = [(24, "tea"), (47, "salt"), (72, "rice")]

HINTS = {
    "": (
        "Read section 7.4: frontiers.",
        "The till sleeps until the next sale. What announces at midnight that a day is over?",
        "While the next sale is on a later day: sleep until midnight, `ctx.advance(day)`; then sleep until the sale.",
    ),
    "holding": (
        "Read sections 7.4 and 7.5.",
        "A day was complete only when the next sale came. What is certain at midnight, and what announces it?",
        "At each midnight before the next sale: `ctx.advance(day)`, with the day that begins.",
    ),
    "R12": (
        "Read section 8.9; and section 1.12.",
        "You announced that nothing before a day would come, and then something came.",
        "Call `ctx.advance(day)` at the beginning of that day, not before; a sale is at the day of its own hour.",
    ),
    "R5": (
        "Read section 1.7.",
        "The consumer had enough while you slept, and had to wait until you woke.",
        "Do not shield the sleep: it is then cancelled, and `finally` cleans up.",
    ),
    "values": (
        "Read section 7.1.",
        "Look at the times: of which day is an hour?",
        "`yield ps.Batch(hour // 24, [item])`.",
    ),
}
HINTS["CapabilityError"] = HINTS["R12"]
HINTS["ReleaseTimeout"] = HINTS["R5"]


def judge(answer, seeds):
    """Judge an answer."""
    till = answer["till"]
    on_virtual_clock(_enough, till(SALES))
    gives_the_same(lambda: till(SALES), lambda: solution.till(SALES), times=(0, 1, 2))
    told = "for sales at 24, 47 and 72, "
    gives_the_same(lambda: till(AT_MIDNIGHT), lambda: solution.till(AT_MIDNIGHT), times=(0, 1, 2), what=told)
    when = ps.map(lambda item: (trio.current_time(), item))
    gives_the_same(
        lambda: ps.pipe(till(SALES), when), lambda: ps.pipe(solution.till(SALES), when), what="with the hour, "
    )
    keeps_the_rules(Subject("till", lambda: till(SALES)), answer.site("till"), seeds)


async def _enough(source):
    """Check that it ends when the consumer has enough, even while it waits for a sale."""
    try:
        async with ps.pipe(source, ps.drain()).open() as running:
            await trio.sleep(30.5)
            await running.abort()
    except ps.errors.Abandoned:
        pass
    if trio.current_time() > 30.5:
        raise Wrong("R5", f"aborted at 30.5, it ended at {trio.current_time():g}")
