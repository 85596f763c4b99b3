"""Runs of pipelines that keep or break the rules about edges, resources and times of a module (R6 to R8, R10 to R12).

The edge of a module enforces these rules, whatever the module does. To break them, a module here replaces its edge.
"""

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import trio
from trio.testing import MockClock
from typing_extensions import override

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.checker import Violation
from pullstream.engine.edge.edge import Edge
from pullstream.trace import Trace, draw_edge


class Passing(ps.authoring.Kernel[Any]):
    """Passes everything on, with an edge that subclasses can replace."""

    machine: type[Edge[Any]] = Edge

    @override
    def placed(self) -> None:
        self.edge.__class__ = self.machine

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.authoring.Done:
        return await self.upstream.ask(limit)


@ps.transformer
class Passes(Passing):
    """Passes everything on, and keeps all rules."""


class _KeepsTheAbort(Edge[Any]):
    @override
    async def terminate(self, reason: BaseException | None) -> ps.authoring.Done:
        self.close(reason)
        return ps.DONE


@ps.transformer
class KeepsTheAbort(Passing):
    """Confirms the abort without passing it upstream."""

    machine = _KeepsTheAbort


class _StopsByItself(Edge[Any]):
    @override
    async def ask(self, end: Any, limit: int, *, waiting: bool = False) -> ps.Batch[Any] | ps.authoring.Done:
        return ps.DONE


@ps.transformer
class StopsByItself(Passing):
    """Ends by itself without aborting its upstream."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.authoring.Done:
        batch = await super().produce(limit)
        self.edge.__class__ = _StopsByItself
        return batch


@ps.transformer
class FailsTooSoon(Passing):
    """Fails, but sends an abort upstream instead of the error."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.authoring.Done:
        await super().produce(limit)
        raise ValueError("no")

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self.upstream.abort()


@ps.transformer
class Fails(Passing):
    """Fails correctly: sends the error upstream."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.authoring.Done:
        await super().produce(limit)
        raise ValueError("no")


class Opening(ps.authoring.Kernel[str]):
    """Opens at the first ask."""

    machine: type[Edge[Any]] = Edge

    @override
    def placed(self) -> None:
        self.edge.__class__ = self.machine

    @override
    async def acquire(self) -> None:
        await trio.lowlevel.checkpoint()

    @override
    async def release(self) -> None:
        await trio.lowlevel.checkpoint()

    @override
    async def produce(self, limit: int) -> ps.Batch[str] | ps.authoring.Done:
        return ps.Batch(0, ["line"])


@ps.source
class File(Opening):
    """Opens at the first ask, and closes however the stream ends."""


class _NeverCloses(Edge[Any]):
    @override
    async def confirm(self) -> ps.authoring.Done:
        return ps.DONE


@ps.source
class NeverCloses(Opening):
    """Opens at the first ask, and stays open when it is aborted."""

    machine = _NeverCloses


class _ForgetsTheStamp(Edge[Any]):
    @override
    async def ask(self, end: Any, limit: int, *, waiting: bool = False) -> ps.Batch[Any] | ps.authoring.Done:
        lane: Any = self.inputs[0]
        answer: ps.Batch[Any] | ps.authoring.Done = await lane.ask(limit)
        return answer


@ps.transformer
class ForgetsTheStamp(Passing):
    """Bypasses its edge, so the batch is not counted as in flight."""

    machine = _ForgetsTheStamp


@ps.transformer
class GoesBack(Passing):
    """Answers at a time that is already complete."""

    traits = Traits(trusted=True)

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.authoring.Done:
        batch = await self.upstream.ask(1)
        return ps.Batch(1, batch.values) if batch is not ps.DONE and batch.time == 3 else batch


def days() -> Any:
    """Return a source of three values, each a day later than the one before."""
    return ps.values([1, 2, 3], time=lambda number: number)


@attrs.frozen
class InARun:
    """A pipeline, the module whose edges are drawn, and further events to draw."""

    pipeline: Callable[[], Any]
    module: str
    notes: tuple[str, ...] = ()

    def draw(self, title: str) -> tuple[str, str]:
        """Run the scene; return its drawing and the broken rule, or an empty string."""
        del title
        file = io.StringIO()

        async def main() -> None:
            with suppress(ValueError, Violation, ExceptionGroup):
                async with self.pipeline().open(limit=1, check=True, trace=file) as running:
                    await running.result()

        trio.run(main, clock=MockClock(autojump_threshold=0))
        trace = Trace.of(file.getvalue().splitlines())
        for number, event in enumerate(trace.events):
            if event[2] == "violation":
                # The events after the violation only end the run.
                cut = attrs.evolve(trace, events=trace.events[: number + 1])
                return draw_edge(cut, self.module, self.notes), event[4]
        return draw_edge(trace, self.module, self.notes), ""
