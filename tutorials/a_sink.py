"""A sink: what counts as done.

Read this chapter after `writing_your_own`: `python -m pullstream learn read 5`. It needs no extra. Afterwards you can
write a sink whose completions are true: when a time is complete, the work at that time has been done. Here that is a
day: it is *complete* when no more of its sales can come and all of them have been processed. `when_is_it_done` says how
a run finds out.

A sink does the asking. It is an async function of its upstream, and its result is the result of the run. No module asks
a sink for anything. But all code that waits for a time to be complete waits, in the end, for the sink.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import trio
import trio.testing

import pullstream as ps
from tutorials.lesson import tell

Save = Callable[[str], Awaitable[None]]


@ps.source
async def sales(_: ps.Context, *, breaks: bool = False) -> AsyncIterator[ps.Batch[str]]:
    """Yield the sales of two days, one sale per second."""
    try:
        for day, item in ((0, "tea"), (0, "rice"), (1, "salt")):
            await trio.sleep(1)
            yield ps.Batch(day, [item])
        if breaks:
            raise OSError("out of paper")
    except GeneratorExit:
        note("the source is closed")
        raise


def note(what: object) -> None:
    """Print a message and the second."""
    print(f"{trio.current_time():3g} {what}")


async def save(item: str) -> None:
    """Save an item, which takes two seconds."""
    await trio.sleep(2)
    note(f"{item} is saved")


async def save_no_rice(item: str) -> None:
    """Save an item; for rice, the disk is full."""
    if item == "rice":
        raise OSError("disk full")
    await save(item)


def when_complete(source: ps.Source[str], sink: ps.Sink[str, object]) -> None:
    """Run both on a virtual clock. Print when day 0 is complete, and how the run ended."""

    async def main() -> None:
        try:
            async with ps.pipe(source, sink).open() as running, trio.open_nursery() as nursery:
                nursery.start_soon(watch, running)
                note(f"result: {await running.result()}")
        except* OSError as errors:
            note(f"the run failed: {errors.exceptions[0]}")

    async def watch(running: ps.types.Running[object]) -> None:
        await running.progress.completed(0)
        note("day 0 is complete")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@ps.sink
async def in_turn(upstream: ps.Reader[str], ctx: ps.Context, save: Save) -> int:
    """Save each sale, then ask for more."""
    number = 0
    async for batch in ctx.batches(upstream):
        for item in batch.values:
            await save(item)
            number += 1
    return number


def asking_again() -> None:
    """1. Asking again means done.

    `in_turn`, just above, saves the batch it has received and then asks for the next one. Asking acknowledges the
    previous batch (R11), so nothing else is needed. Rice arrives while tea is being saved, because a generator that
    waits between its values goes on to the next one in the meantime, if it was asked for more than one. So both sales
    of day 0 are saved at 5. Salt, of day 1, arrives at 6; from then on no more of day 0 can come, and day 0 is
    complete.
    """
    when_complete(sales(), in_turn(save))
    # |   3 tea is saved
    # |   5 rice is saved
    # |   6 day 0 is complete
    # |   8 salt is saved
    # |   8 result: 3


def in_the_background() -> None:
    """2. Background work is not counted.

    Three saves could run at once. This sink starts each save as a task and asks again immediately. Asking says that the
    sale has been processed, which is not true yet. Day 0 is reported complete at 3, while rice is still being saved,
    and anyone who then reads the day's file reads half of it. No rule of the protocol is broken. The conformance kit
    finds the mistake if it can see the work. Give the sink an argument `save`, and check it with `--calls`: the kit
    passes a function of its own, and reports *early*.
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
    """3. Hold unfinished work.

    A *hold* says that there is unfinished work at a time. Write `with ctx.hold(time):` around the work. Enter the hold
    before the next ask, while the current batch still gives you the right to it, and leave it when the work is done.
    `nursery.start` waits until the task has called `started`, and by then the task has its hold. Now the saves run
    concurrently, and day 0 is complete when the last of its own saves is done. It does not wait for salt, of day 1.
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

    When a save fails, the sink fails: the source receives the reason (R8), the run raises the exception, and day 0,
    which lacks rice, is never complete. When the source fails, the exception is raised in the sink, where it asks. Let
    it pass: a sink that catches it mistakes half a stream for a whole one (R6).
    """
    when_complete(sales(), in_turn(save_no_rice))
    when_complete(sales(breaks=True), in_turn(save))
    # |   3 tea is saved
    # |   3 the source is closed
    # |   3 the run failed: disk full
    # |   3 tea is saved
    # |   5 rice is saved
    # |   6 day 0 is complete
    # |   8 salt is saved
    # |   8 the run failed: out of paper


def by_time() -> None:
    """5. Once per time.

    Often an effect belongs to a time and not to a value: a report, a file, a commit. `at_completion` calls a function
    with all values of a time when no more can come. The time is complete downstream when that function has returned. If
    the effect is *idempotent by time*, such as a file named after the day and always written whole, at-least-once
    execution gives exactly-once results.
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
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
