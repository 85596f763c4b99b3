"""The judge of `when`: compares the seconds with those of the program itself."""

import trio

import pullstream as ps
from tutorials.judging import Wrong
from tutorials.judging.module import on_virtual_clock

HINTS = {
    "": (
        "Read sections 7.4 and 7.5.",
        "At the till a day is over when a later one has come; at the clerk, when he has also processed all its sales.",
        "The clerk enters one after another: from 1, 11 and 21. Which sale is the last of day 0, and when is it done?",
    ),
}

SAID = {
    "AT_THE_TILL": "after a sale of day 1, nothing before day 1 can come out of the till; the work of the clerk "
    "is downstream of it",
    "AT_THE_CLERK": "day 0 is open until the clerk has entered its last sale, which waits until he has entered "
    "the first",
    "DAY_1": "both are needed: day 2 has come out of the till, and the clerk has finished day 1",
}


def judge(answer, seeds):
    """Judge an answer."""
    for name, second in completions().items():
        said = answer[name]
        if said != second:
            raise Wrong("prediction", f"{name}: you say {said}; look again: {SAID[name]}")


def completions():
    """Run the program of the task, and return when each time is complete."""
    seconds = {}

    @ps.source
    async def till(ctx):
        for second, day in ((1, 0), (2, 0), (3, 1), (30, 2)):
            await trio.sleep_until(second)
            yield ps.Batch(day, [second])

    @ps.sink
    async def clerk(upstream, ctx):
        async for batch in ctx.batches(upstream):
            await trio.sleep(10 * len(batch.values))

    async def main():
        async with (
            ps.pipe(till(), ps.prefetch(8), clerk()).open(limit=1) as running,
            trio.open_nursery() as nursery,
        ):
            for name, time, at in (("AT_THE_TILL", 0, "till"), ("AT_THE_CLERK", 0, None), ("DAY_1", 1, None)):
                nursery.start_soon(note, running, name, time, at)

    async def note(running, name, time, at):
        await (running.progress.completed(time, at=at) if at else running.progress.completed(time))
        seconds[name] = trio.current_time()

    on_virtual_clock(main)
    return {name: seconds[name] for name in SAID}
