"""Two inputs, and tasks: lanes, nurseries, and what happens when you give up an ask.

Read this chapter after `writing_your_own`: `python -m pullstream learn read 6`. It needs no extra, and only nurseries
from trio. Afterwards you can write a module with several sources, and one that reads ahead.

`merge`, `zip`, `join` and `merge_sorted` are ready, and usually enough. This chapter shows the rules they follow: the
order of arrival must not matter, every input is released when the module ends, and giving up an ask ends its stream.
"""

from collections.abc import AsyncIterator
from typing import Any

import trio
import trio.testing

import pullstream as ps
from pullstream.authoring import Carries, Traits
from pullstream.conformance import Subject, conformance
from tutorials.lesson import tell

closed: list[str] = []


@ps.source
async def rows(_: ps.Context, name: str, seconds: float, *, fails: bool = False) -> AsyncIterator[str]:
    """Yield rows of a table, one every `seconds`. Record when the table is closed."""
    try:
        for number in range(1, 4):
            await trio.sleep(seconds)
            if fails and number == 2:
                raise OSError(f"{name} is broken")
            yield f"{name}{number}"
    finally:
        closed.append(name)


def show(source: ps.Source[Any]) -> None:
    """Run a source on a virtual clock, and print each value and when it comes."""

    def look(value: object) -> None:
        print(f"{trio.current_time():g} {value}")

    async def main() -> None:
        try:
            async with ps.pipe(source, ps.drain(look)).open(limit=1) as running:
                await running.result()
        except OSError as error:
            print(f"{trio.current_time():g} {error}")
        print(f"{trio.current_time():g} closed: {', '.join(sorted(closed))}")
        closed.clear()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


class Both(ps.authoring.Kernel[tuple[str, str]]):
    """A source that combines two sources; `inputs` has a lane for each."""

    def __init__(self, left: ps.Source[str], right: ps.Source[str]) -> None:
        self.traits = Traits(sources=(left, right), carries=Carries.LOST)

    def pair(self, left: Any, right: Any) -> ps.Batch[tuple[str, str]] | ps.authoring.Done:
        """Return a pair, at the later time of the two, or the end if one of them has ended."""
        if ps.DONE in (left, right):
            return ps.DONE
        return ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])


@ps.source
class InTurn(Both):
    """Asks the left source, then the right."""

    async def produce(self, limit: int) -> ps.Batch[tuple[str, str]] | ps.authoring.Done:
        return self.pair(await self.inputs[0].ask(1), await self.inputs[1].ask(1))


@ps.source
class SideBySide(Both):
    """Asks both at once and puts each answer in its place."""

    async def produce(self, limit: int) -> ps.Batch[tuple[str, str]] | ps.authoring.Done:
        answers: list[Any] = [None, None]

        async def ask(number: int) -> None:
            answers[number] = await self.inputs[number].ask(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
            nursery.start_soon(ask, 1)
        return self.pair(*answers)


def sources() -> None:
    """1. A kernel with two sources.

    A kernel lists its `sources` in its traits, and finds a lane of each in `inputs`. `Both`, above, pairs two answers.
    The pair has the later of their times, because the earlier may be complete when the other answer arrives. A resumed
    run drops the values of complete times, and would make other pairs. With `Carries.LOST`, a run with a journal
    refuses the module. `InTurn` asks one source after the other. It is correct but slow: a pair takes as long as both
    answers together. With `SideBySide`, it takes as long as the slower one.
    """
    show(InTurn(rows("a", 1), rows("b", 2)))
    print("side by side")
    show(SideBySide(rows("a", 1), rows("b", 2)))
    # | 3 ('a1', 'b1')
    # | 6 ('a2', 'b2')
    # | 9 ('a3', 'b3')
    # | 9 closed: a, b
    # | side by side
    # | 2 ('a1', 'b1')
    # | 4 ('a2', 'b2')
    # | 6 ('a3', 'b3')
    # | 6 closed: a, b


def who_came_first() -> None:
    """2. The order of arrival must not matter.

    `AsTheyCome` pairs answers in the order in which they arrive. As long as the left source is faster, all is well;
    otherwise the pairs are reversed, and nothing is raised. The kit runs a module with several inputs in several task
    orders and reports *order*. The correct version is `SideBySide`, which puts each answer in its input's place. Each
    task also needs its own lane: two asks of one lane at once break R4. The inputs are different lanes; `lane()` opens
    further lanes of the same input.
    """

    @ps.source
    class AsTheyCome(Both):
        async def produce(self, limit: int) -> ps.Batch[tuple[str, str]] | ps.authoring.Done:
            answers: list[Any] = []

            async def ask(lane: ps.Reader[Any]) -> None:
                answers.append(await lane.ask(1))

            async with trio.open_nursery() as nursery:
                for lane in self.inputs:
                    nursery.start_soon(ask, lane)
            return self.pair(*answers)

    show(AsTheyCome(rows("a", 2), rows("b", 1)))
    for module in (AsTheyCome, SideBySide):
        (*_, line) = str(conformance(Subject(module.__name__, module, inputs=2), cells=60)).splitlines()[:2]
        print(line.split()[0], line.split(maxsplit=3)[3].split()[0])
    # | 2 ('b1', 'a1')
    # | 4 ('b2', 'a2')
    # | 6 ('b3', 'a3')
    # | 6 closed: a, b
    # | AsTheyCome order
    # | SideBySide ok


def endings() -> None:
    """3. An ending reaches every input.

    Here the right table breaks at its second row. The exception goes down, and the left source is notified and closed
    (R6). The same happens when the consumer has enough, and when the left source ends: no input stays open. The kernel
    does all of this. A module that overrides `dismiss`, or catches an input's exception, must do it itself.
    """
    show(SideBySide(rows("a", 1), rows("b", 1, fails=True)))
    print("enough")
    show(ps.pipe(SideBySide(rows("a", 1), rows("b", 1)), ps.take(1)))
    # | 1 ('a1', 'b1')
    # | 2 b is broken
    # | 2 closed: a, b
    # | enough
    # | 1 ('a1', 'b1')
    # | 1 closed: a, b


def giving_up() -> None:
    """4. Giving up an ask ends its stream.

    It is tempting to wait for half a second and then go on without the slow source. But an answer must not get lost, so
    cancelling an ask aborts its stream (R10), and the next ask of that lane is answered with DONE. Here the stream
    ends before the first pair. To wait with a limit, let a task wait and poll for its answer, or use `timeout`.
    """

    @ps.source
    class Impatient(Both):
        async def produce(self, limit: int) -> ps.Batch[tuple[str, str]] | ps.authoring.Done:
            for _ in range(3):
                with trio.move_on_after(0.5):
                    left = await self.inputs[0].ask(1)
                    return self.pair(left, await self.inputs[1].ask(1))
                print(f"{trio.current_time():g} gives up")
            return ps.DONE

    show(Impatient(rows("a", 2), rows("b", 1)))
    # | 0.5 gives up
    # | 1 gives up
    # | 1 closed: a, b


@ps.transformer
async def ahead(upstream: ps.Reader[str], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
    """Ask for the next batch while the last one is being used."""
    send, receive = trio.open_memory_channel[tuple[ps.Batch[str], trio.Event]](0)

    async def ask() -> None:
        async with send:
            async for batch in ctx.batches(upstream):
                with ctx.hold(batch.time):
                    taken = trio.Event()
                    await send.send((batch, taken))
                    await taken.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch, taken in receive:
            with ctx.hold(batch.time):
                taken.set()
                yield batch


def a_task() -> None:
    """5. A task inside a generator.

    A generator may have a nursery around its `yield`. `ahead`, just above, has a task that asks for more while the
    consumer uses the last batch. Asking again acknowledges the previous batch, which is still in use, so its time must
    be held: first by the task, until the batch has been taken, and then by the code that yields it. The two holds
    overlap. When the stream ends, however it ends, the nursery and its task are cancelled.
    """

    async def use(value: str) -> str:
        await trio.sleep(2)
        return f"{value} used"

    show(ps.pipe(rows("a", 1), ps.map_async(use, 1)))
    print("ahead")
    show(ps.pipe(rows("a", 1), ahead(), ps.map_async(use, 1)))
    # | 3 a1 used
    # | 6 a2 used
    # | 9 a3 used
    # | 9 closed: a
    # | ahead
    # | 3 a1 used
    # | 5 a2 used
    # | 7 a3 used
    # | 7 closed: a


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
