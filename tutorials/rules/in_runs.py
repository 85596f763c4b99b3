"""Runs of pipelines: what ties a module's edges together, its resources and its times (R6 to R8, R10 to R12).

The machine below a module keeps these rules, whatever the module does. To break them a module here changes its machine.
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


class Passing(ps.Kernel[Any]):
    """Passes everything on."""

    machine: type[Edge[Any]] = Edge

    @override
    def placed(self) -> None:
        self.edge.__class__ = self.machine

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.Done:
        return await self.upstream.ask(limit)


@ps.transformer
class Passes(Passing):
    """Passes everything on, as one should."""


class _KeepsTheAbort(Edge[Any]):
    @override
    async def terminate(self, reason: BaseException | None) -> ps.Done:
        self.close(reason)
        return ps.DONE


@ps.transformer
class KeepsTheAbort(Passing):
    """Confirms the abort, and tells nobody above."""

    machine = _KeepsTheAbort


class _StopsByItself(Edge[Any]):
    @override
    async def ask(self, end: Any, limit: int, stepping: bool) -> ps.Batch[Any] | ps.Done | None:
        return ps.DONE


@ps.transformer
class StopsByItself(Passing):
    """Says that it is done without a word to what is upstream."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.Done:
        batch = await super().produce(limit)
        self.edge.__class__ = _StopsByItself
        return batch


@ps.transformer
class FailsTooSoon(Passing):
    """Fails, and aborts what is upstream, which hears nothing of a failure."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.Done:
        await super().produce(limit)
        raise ValueError("no")

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self.upstream.abort()


@ps.transformer
class Fails(Passing):
    """Fails as one should: what is upstream is told why."""

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.Done:
        await super().produce(limit)
        raise ValueError("no")


class Opening(ps.Kernel[str]):
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
    async def produce(self, limit: int) -> ps.Batch[str] | ps.Done:
        return ps.Batch(0, ["line"])


@ps.source
class File(Opening):
    """Opens at the first ask, and closes in every ending."""


class _NeverCloses(Edge[Any]):
    @override
    async def confirm(self) -> ps.Done:
        return ps.DONE


@ps.source
class NeverCloses(Opening):
    """Opens, and leaves it open when it is aborted."""

    machine = _NeverCloses


class _ForgetsTheStamp(Edge[Any]):
    @override
    async def ask(self, end: Any, limit: int, stepping: bool) -> ps.Batch[Any] | ps.Done | None:
        lane: Any = self.inputs[0]
        answer: ps.Batch[Any] | ps.Done = await lane.ask(limit)
        return answer


@ps.transformer
class ForgetsTheStamp(Passing):
    """Answers past the machine, so that nobody knows of the batch in flight."""

    machine = _ForgetsTheStamp


@ps.transformer
class GoesBack(Passing):
    """Answers at a time that is over."""

    traits = Traits(trusted=True)

    @override
    async def produce(self, limit: int) -> ps.Batch[Any] | ps.Done:
        batch = await self.upstream.ask(1)
        return ps.Batch(1, batch.values) if batch is not ps.DONE and batch.time == 3 else batch


def days() -> Any:
    """Three values, each a day later."""
    return ps.values([1, 2, 3], time=lambda number: number)


@attrs.frozen
class InARun:
    """A pipeline, the module whose edges are drawn, and what else is told of it."""

    pipeline: Callable[[], Any]
    module: str
    notes: tuple[str, ...] = ()

    def draw(self, title: str) -> tuple[str, str]:
        """The drawing of what happens, and the rule that is broken or nothing."""
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
                # How the run is ended for it is another story.
                cut = attrs.evolve(trace, events=trace.events[: number + 1])
                return draw_edge(cut, self.module, self.notes), event[4]
        return draw_edge(trace, self.module, self.notes), ""
