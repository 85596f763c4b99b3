"""Every module, ended in every way, at every position, at several limits: R3, R5, R6, R8 and R10 hold in each cell.

The source is slow, so that an ask can be outstanding; the clock is virtual, so that nothing waits.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import attrs
import pytest
import trio

import pullstream as ps


class Boom(Exception):
    """Raised by the source, or by a module's own callable."""


class Unwanted(Exception):
    """Sent up by the asker."""


@ps.transformer
async def by_generator(upstream, ctx, function):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [function(value) for value in batch.values])


@ps.transformer
async def by_events(upstream, ctx, function):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                yield ps.Batch(time, [function(value) for value in values])


@ps.transformer
class ByKernel(ps.Kernel[Any]):
    def __init__(self, function):
        self.function = function

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        await trio.sleep(0.1)
        return ps.Batch(batch.time, [self.function(value) for value in batch.values])


def calling(function):
    async def call(value):
        await trio.sleep(0.1)
        return function(value)

    return call


def passing(function):
    def test(value):
        function(value)
        return True

    return test


@attrs.frozen
class Subject:
    """A module around a function that is called with every value."""

    made: Callable[[Callable[[int], Any]], ps.Transformer[int, Any]]
    shown: Callable[[int], Any] = lambda value: value * 10
    timed: bool = False
    prefix: bool = True  # whether what precedes a failure is delivered value by value
    keeps: int = 0  # how many results it keeps back until more arrives


SUBJECTS = {
    "map": Subject(ps.map),
    "filter": Subject(lambda function: ps.filter(passing(function)), shown=lambda value: value),
    "take": Subject(lambda function: ps.pipe(ps.map(function), ps.take(99))),
    "take_times": Subject(lambda function: ps.pipe(ps.map(function), ps.take_times(99)), timed=True),
    "flat_map": Subject(lambda function: ps.flat_map(lambda value: [function(value)])),
    "map_batches": Subject(
        lambda function: ps.map_batches(lambda values: [function(value) for value in values]), prefix=False
    ),
    "map_async 1": Subject(lambda function: ps.map_async(calling(function), 1)),
    "map_async 3": Subject(lambda function: ps.map_async(calling(function), 3)),
    "map_async 1 as ready": Subject(lambda function: ps.map_async(calling(function), 1, ordered=False)),
    "map_async 3 as ready": Subject(lambda function: ps.map_async(calling(function), 3, ordered=False), prefix=False),
    "reduce_by_key": Subject(
        lambda function: ps.reduce_by_key(function, ps.Fold(int, lambda n, _: n + 1)),
        shown=lambda value: (value * 10, 1),
        timed=True,
        keeps=1,
    ),
    "generator": Subject(by_generator, prefix=False),
    "events": Subject(by_events, prefix=False),
    "kernel": Subject(ByKernel, prefix=False),
    "several": Subject(
        lambda function: ps.pipe(
            ps.map(function),
            ps.filter(lambda _: True),
            by_generator(lambda value: value),
            ps.flat_map(lambda value: [value]),
            ps.map_async(calling(lambda value: value), 2),
            ps.take(99),
        )
    ),
}

WAYS = ("abort", "error", "abort under way", "error under way", "cancel", "upstream fails", "callable raises", "end")

Cell = tuple[str, str, int, int]


def cells(values: int, limits: tuple[int, ...]) -> Iterator[Cell]:
    return product(SUBJECTS, WAYS, range(values + 2), limits)


class Driver:
    """Takes one cell through its life, and checks it."""

    def __init__(self, cell: Cell, count: int, source: Callable[..., Any], probe: Any) -> None:
        name, self.way, self.position, self.limit = cell
        self.subject = SUBJECTS[name]
        self.boom = Boom()
        self.reason = Unwanted()
        self.probe = probe
        self.count = count
        self.under_way = False
        self.values: list[Any] = []
        self.outcome: object = None  # DONE, or the exception that ended the stream
        fails = self.way == "upstream fails"
        self.source = ps.pipe(
            source(
                probe,
                min(self.position, count) if fails else count,
                delay=1.0,
                failure=self.boom if fails else None,
                timed=self.subject.timed,
            ),
            self.subject.made(self.function),
        )

    def function(self, value: int) -> int:
        if self.way == "callable raises" and value == self.position:
            raise self.boom
        return value * 10

    async def drive(self, edge: Callable[..., Any]) -> None:
        async with edge(self.source) as reader:
            assert self.probe.acquired == 0, "R10: acquired before it was asked"
            await getattr(self, self.way.replace(" ", "_"))(reader)
            assert self.probe.balanced, "R10: not released before the confirmation"
            await self.is_over(reader)
        assert self.probe.balanced, "R10: released again"
        self.is_prefix()

    async def take(self, reader, answers: int) -> None:
        """Take so many answers, or fewer if the end comes first."""
        for _ in range(answers):
            if not await self.step(reader):
                return

    async def step(self, reader) -> bool:
        try:
            answer = await reader.ask(self.limit)
        except Exception as exc:
            self.outcome = exc
            return False
        if answer is ps.DONE:
            self.outcome = ps.DONE
            return False
        assert 1 <= len(answer.values) <= self.limit, "R2"
        self.values.extend(answer.values)
        return True

    # ---- the ways to end

    async def abort(self, reader, reason=None) -> None:
        await self.take(reader, self.position)
        confirmed = await (reader.abort() if reason is None else reader.error(reason))
        assert confirmed is ps.DONE
        assert bool(self.probe.acquired) == (self.position > 0), "R6: opened to be aborted"
        if self.outcome is None:
            self.outcome = reason or ps.DONE
            self.told(reason)

    async def error(self, reader) -> None:
        await self.abort(reader, self.reason)

    async def abort_under_way(self, reader, reason=None) -> None:
        await self.take(reader, self.position)
        if self.outcome is not None:
            return
        events: list[str] = []

        async def outstanding(lane) -> None:
            await self.step(lane)
            events.append("answered")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(outstanding, reader.lane())
            await trio.sleep(0.05)
            waited = not events
            values = len(self.values)
            await (reader.abort() if reason is None else reader.error(reason))
            events.append("confirmed")
        assert events == ["answered", "confirmed"], "R5"
        assert len(self.values) == values, "R5: a value after the termination"
        if waited:
            assert self.outcome is (reason or ps.DONE), "R5"
            self.under_way = True
        if self.outcome is None:
            self.outcome = reason or ps.DONE
        self.told(reason)

    async def error_under_way(self, reader) -> None:
        await self.abort_under_way(reader, self.reason)

    async def cancel(self, reader) -> None:
        await self.take(reader, self.position)
        if self.outcome is not None:
            return
        with trio.move_on_after(0.05) as scope:
            await self.step(reader)
        if scope.cancelled_caught:
            assert self.outcome is None, "R1: a cancelled ask is answered by its cancellation"
            self.outcome = ps.DONE
            self.under_way = True
        elif self.outcome is None:
            await reader.abort()
            self.outcome = ps.DONE
        self.told(None)

    async def upstream_fails(self, reader) -> None:
        await self.take(reader, self.count + 2)
        assert self.outcome is self.boom, "R3"

    async def callable_raises(self, reader) -> None:
        await self.take(reader, self.count + 2)
        if self.position < self.count:
            assert self.outcome is self.boom, "R8"
            self.told(self.boom)
        else:
            assert self.outcome is ps.DONE

    async def end(self, reader) -> None:
        await self.take(reader, self.count + 2)
        assert self.outcome is ps.DONE

    # ---- what must hold

    def told(self, reason: BaseException | None) -> None:
        """The source was told once, and why (R6)."""
        if self.probe.listens and not self.probe.ended:
            (told,) = self.probe.reasons
            assert told is reason, "R6: another reason"

    async def is_over(self, reader) -> None:
        """Every further request is answered at once, in the same way, for ever (R3)."""
        asked = list(self.probe.asked)
        lengths = set()
        for lane in (reader, reader, reader.lane()):
            with trio.fail_after(0.01):
                try:
                    assert await lane.ask(self.limit) is ps.DONE
                    assert self.outcome is ps.DONE, "R3"
                except Exception as exc:
                    assert exc is self.outcome, "R3: another failure"  # noqa: PT017 - one of two outcomes
                    traceback = exc.__traceback__
                    length = 0
                    while traceback is not None:
                        traceback, length = traceback.tb_next, length + 1
                    lengths.add(length)
                assert await lane.abort() is ps.DONE
                assert await lane.error(Boom()) is ps.DONE
        assert len(lengths) <= 1, "R3: the traceback grew"
        assert self.probe.asked == asked, "R2: asked for nothing"
        assert len(self.probe.reasons) <= 1, "R6: told more than once"

    def is_prefix(self) -> None:
        """What was delivered is what the module makes of the first values, all of it where that can be said."""
        expected = [self.subject.shown(value) for value in range(self.count)]
        values = self.values
        if "as ready" in next(name for name, subject in SUBJECTS.items() if subject is self.subject):
            values = sorted(values)
            assert set(values) <= set(expected)
        else:
            assert values == expected[: len(values)]
        if self.way == "end":
            assert values == expected
        if self.way == "upstream fails":
            whole = min(self.position, self.count)
            assert len(values) == max(0, whole - self.subject.keeps)
        if self.way == "callable raises" and self.subject.prefix:
            assert len(values) == min(self.position, self.count), "R8: what came before is delivered"


async def drive_all(grid, count, edge, source, new_probe) -> int:
    number = under_way = 0
    way = None
    for cell in grid:
        number += 1
        driver = Driver(cell, count, source, new_probe())
        way = driver.way
        try:
            await driver.drive(edge)
            under_way += driver.under_way
        except BaseException as exc:
            exc.add_note(f"in the cell {cell}, of {count} values")
            raise
    if way in ("abort under way", "error under way", "cancel"):
        assert under_way > number * 0.4, "hardly any ask was outstanding: the cells test nothing"
    return number


@pytest.mark.parametrize("way", WAYS)
async def test_a_sample_of_the_grid(way, edge, counting, new_probe, autojump_clock):
    """Each module, ended in each way, at every position of a short stream, keeps every rule of the edge."""
    grid = [cell for cell in cells(2, (1, 2, 1024)) if cell[1] == way]
    tasks = trio.lowlevel.current_statistics().tasks_living
    assert await drive_all(grid, 2, edge, counting, new_probe) == len(SUBJECTS) * 4 * 3
    assert trio.lowlevel.current_statistics().tasks_living == tasks, "a task was left behind"


async def test_a_sample_over_a_generator(edge, generating, new_probe, autojump_clock):
    """A source that is a generator is released in every cell as a kernel is."""
    assert await drive_all(cells(1, (1, 7)), 1, edge, generating, new_probe)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["kernel", "generator"])
async def test_the_full_grid(  # noqa: PLR0917 - fixtures
    way, kind, edge, counting, generating, new_probe, autojump_clock, capsys
):
    """The whole grid: modules x ways x positions 0 to N+1 for N up to 9 x limits 1, 2, 7 and 1024."""
    source = counting if kind == "kernel" else generating
    number = 0
    for count in (0, 1, 2, 3, 9):
        grid = [cell for cell in cells(count, (1, 2, 7, 1024)) if cell[1] == way]
        number += await drive_all(grid, count, edge, source, new_probe)
    with capsys.disabled():
        print(f"{number} cells of {way!r} over a {kind}")
