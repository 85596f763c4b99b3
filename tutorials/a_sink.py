"""A sink: what counts as done.

A chapter after `writing_your_own` and the first half of `when_is_it_done`: `python -m pullstream learn read 5`. It
needs no extra. When you have read it, you can write a sink whose completions are true: when a time is complete, what
was to be done at it has been done.

A sink is who asks. It is an async function of what is upstream, and its result is the run's. Nobody asks it for
anything; but whoever waits for a time to be complete waits, in the end, for it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import trio
import trio.testing

import pullstream as ps
from tutorials.lesson import tell

Save = Callable[[str], Awaitable[None]]


@ps.source
async def sales(_: ps.Context, *, breaks: bool = False) -> AsyncIterator[ps.Batch[str]]:
    """Two days, a sale a second."""
    try:
        for day, item in ((0, "tea"), (0, "rice"), (1, "salt")):
            await trio.sleep(1)
            yield ps.Batch(day, [item])
        if breaks:
            raise OSError("out of paper")
    except GeneratorExit:
        note("the source is told to end")
        raise


def note(what: object) -> None:
    """Print something, and the second."""
    print(f"{trio.current_time():3g} {what}")


async def save(item: str) -> None:
    """Two seconds of work."""
    await trio.sleep(2)
    note(f"{item} is saved")


async def save_no_rice(item: str) -> None:
    """The same, with a disk that is full when rice comes."""
    if item == "rice":
        raise OSError("disk full")
    await save(item)


def when_complete(source: ps.Source[str], sink: ps.Sink[str, object]) -> None:
    """Run both on a clock that jumps, and say when day 0 is complete, and how it ended."""

    async def main() -> None:
        try:
            async with ps.pipe(source, sink).open() as running, trio.open_nursery() as nursery:
                nursery.start_soon(told, running)
                note(f"result: {await running.result()}")
        except* OSError as errors:
            note(f"the run failed: {errors.exceptions[0]}")

    async def told(running: ps.Running[object]) -> None:
        await running.progress.completed(0)
        note("day 0 is complete")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@ps.sink
async def in_turn(upstream: ps.Reader[str], ctx: ps.Context, save: Save) -> int:
    """Save, then ask for more."""
    number = 0
    async for batch in ctx.batches(upstream):
        for item in batch.values:
            await save(item)
            number += 1
    return number


def asking_again() -> None:
    """1. To ask again is to say that it is done.

    `in_turn`, just above, saves what it was given, and asks for the next batch when that has been saved. To ask
    acknowledges what came before (R11), so nothing else is needed. Both sales of day 0 are saved at 6, and with salt,
    of day 1, it is known at 7 that no more of it will come.
    """
    when_complete(sales(), in_turn(save))
    # |   3 tea is saved
    # |   6 rice is saved
    # |   7 day 0 is complete
    # |   9 salt is saved
    # |   9 result: 3


def in_the_background() -> None:
    """2. What goes on beside is not seen.

    Three saves could go on at once. This sink starts each as a task, and asks again at once; and by asking it says that
    the sale has been dealt with, which is not true. Day 0 is told complete at 3, while rice is still being saved:
    whoever reads the day's file then reads half of it. No rule of an edge is broken; the conformance kit finds it, as
    *early*.
    """

    @ps.sink
    async def background(upstream: ps.Reader[str], ctx: ps.Context) -> None:
        async with trio.open_nursery() as nursery:
            async for batch in ctx.batches(upstream):
                for item in batch.values:
                    nursery.start_soon(save, item)

    when_complete(sales(), background())
    # |   3 tea is saved
    # |   3 day 0 is complete
    # |   4 rice is saved
    # |   5 salt is saved
    # |   5 result: None


def holding() -> None:
    """3. Hold what is owed.

    A *hold* says that something is owed at a time: `with ctx.hold(time):` around the work, taken before the next ask,
    while the batch gives the right to it, and left when the work is done. `nursery.start` waits until the task has
    called `started`, and by then it has its hold. Now the saves are side by side, and day 0 is complete when the last
    of its own is done; salt, of day 1, is not waited for.
    """

    @ps.sink
    async def held(upstream: ps.Reader[str], ctx: ps.Context) -> None:
        async def work(item: str, time: int, task_status: trio.TaskStatus[None]) -> None:
            with ctx.hold(time):
                task_status.started()
                await save(item)

        async with trio.open_nursery() as nursery:
            async for batch in ctx.batches(upstream):
                for item in batch.values:
                    await nursery.start(work, item, batch.time)

    when_complete(sales(), held())
    # |   3 tea is saved
    # |   4 rice is saved
    # |   4 day 0 is complete
    # |   5 salt is saved
    # |   5 result: None


def failures() -> None:
    """4. Failures, from both sides.

    When a save fails, the sink does: the source is told why (R8), the run raises the exception, and day 0, of which
    rice is missing, is never complete. When the source fails, the exception is raised in the sink, where it asks. Let
    it pass: a sink that catches it takes half a stream for a whole one (R6).
    """
    when_complete(sales(), in_turn(save_no_rice))
    when_complete(sales(breaks=True), in_turn(save))
    # |   3 tea is saved
    # |   4 the source is told to end
    # |   4 the run failed: disk full
    # |   3 tea is saved
    # |   6 rice is saved
    # |   7 day 0 is complete
    # |   9 salt is saved
    # |   9 the run failed: out of paper


def by_time() -> None:
    """5. Once a time.

    Often the effect is a time's, not a value's: a report, a file, a commit. `at_completion` calls a function with all
    values of a time when no more can come, and the time is complete for others when that has returned. An effect that
    is *idempotent by time*, a file of the day's name that is written whole, makes an exactly-once of an at-least-once.
    """

    async def report(day: int, items: list[str]) -> None:
        await trio.sleep(1)
        note(f"report of day {day}: {items}")

    when_complete(sales(), ps.at_completion(report))
    # |   4 report of day 0: ['tea', 'rice']
    # |   4 day 0 is complete
    # |   5 report of day 1: ['salt']
    # |   5 result: None


def main() -> None:
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
