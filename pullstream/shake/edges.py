"""The edges of a simulated run: they delay asks, cut batches, raise failures, and note what arrives at sinks."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final, cast

import trio
from typing_extensions import override

from pullstream.authoring import Kernel, Traits
from pullstream.blueprint import Transformer
from pullstream.checker.lanes import CheckedLane, RunEdge
from pullstream.checker.pipeline import CheckedEdge, Checker
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane
from pullstream.engine.sidecar.location import Location, Port
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.protocol import Batch, Done
from pullstream.shake.choices import Choices

PAUSES: Final = (0.0, 0.0, 0.001, 0.1, 1.0, 30.0)
"""The seconds by which an answer may be late; the second one is only a checkpoint."""

CUTS: Final = (1, 2, 3, 7)
"""The numbers of values to which an ask may be cut."""


class ShakeFailure(Exception):
    """A failure that a simulation raises, to see how a pipeline ends."""


class InsertedPause(Kernel[Any]):
    """Passes everything on, and may wait where a pipeline has no module that does."""

    traits = Traits(trusted=True)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        return await self.upstream.ask(limit)


@transformer
def inserted_pause() -> Transformer[Any, Any]:
    """Pass everything on, late or in smaller batches."""
    return opens(InsertedPause())


Arrived = Callable[[str, Sequence[Hashable], Sequence[Any]], object]
"""Receives what arrives at a sink: its name, the times and the values."""


class SinkEdge(CheckedEdge):
    """The edge above a sink, which tells what arrives there."""

    def __init__(self, record: RunEdge, sink: str, arrived: Arrived) -> None:
        super().__init__(record)
        self._sink, self._arrived = sink, arrived

    @override
    def lane(self) -> "SinkLane":
        return SinkLane(self.record, partial(self._arrived, self._sink))


class SinkLane(CheckedLane):
    """A lane of a sink."""

    def __init__(self, record: RunEdge, arrived: Callable[[Sequence[Hashable], Sequence[Any]], object]) -> None:
        super().__init__(record)
        self._arrived = arrived

    @override
    def answered(self, lane: Lane[Any], sent: int | None, answer: Any) -> Any:
        if isinstance(answer, Batch):
            batch = cast("Batch[Any]", answer)
            self._arrived(batch.times, batch.values)
        return super().answered(lane, sent, answer)


class EdgeWatcher(Checker):
    """The checker of a simulated run, which sees every edge before its first ask, and may change its behaviour."""

    def __init__(self, choices: Choices, arrived: Arrived) -> None:
        super().__init__()
        self._choices = choices
        self._arrived = arrived
        self._seen: dict[str, int] = {}
        self.busy: dict[str, int] = {}
        """The edges whose modules are answering, each with the number of its ask."""
        self.traits: dict[str, Traits] = {}
        self.asks: dict[str, int] = {}
        """The number of asks of each edge."""
        self.raises: tuple[str, int] | None = None
        """The edge whose module fails, and the number of the ask at which it does."""
        self.raised: ShakeFailure | None = None
        self.sidecar: Sidecar | None = None
        """The sidecar of the pipeline itself."""

    @override
    def edge(self, edge: Edge[Any], port: Port) -> CheckedEdge:
        checked = super().edge(edge, port)
        self._shake(edge, self._name(edge.location))
        sidecar = edge.scope.sidecar
        if not sidecar.inner:
            self.sidecar = sidecar
        if port.location in sidecar.sinks and not sidecar.inner:
            return SinkEdge(checked.record, self._name(port.location), self._arrived)
        return checked

    def _name(self, location: Location) -> str:
        """Return a name of an edge that is the same in every run of the program."""
        name = location.name
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"

    def _shake(self, edge: Edge[Any], name: str) -> None:
        self.traits[name] = edge.traits
        polled = edge.polled

        def begun(limit: int) -> int:
            number = self.asks[name] = self.asks.get(name, 0) + 1
            if self.raises == (name, number):
                self.raised = ShakeFailure(f"raised by the simulation in ask {number} of {name}")
                raise self.raised
            return self._cut(name, number, limit)

        if polled is not None:
            edge.polled = lambda limit: polled(begun(limit))
            return
        produce, waits = edge.produce, edge.waits

        async def produced(limit: int) -> Any:
            number = self.busy[name] = self.asks.get(name, 0) + 1
            try:
                if waits:
                    await self._pause(name, number)
                return await produce(begun(limit))
            finally:
                self.busy.pop(name, None)

        edge.produce = produced

    async def _pause(self, name: str, number: int) -> None:
        pause = self._choices.choose(
            "pause", len(PAUSES), lambda option: f"{name} took {_seconds(PAUSES[option])} for answer {number}", name
        )
        if pause:
            await trio.sleep(PAUSES[pause])

    def _cut(self, name: str, number: int, limit: int) -> int:
        cuts = [cut for cut in CUTS if cut < limit]
        if not cuts:
            return limit
        cut = self._choices.choose(
            "cut",
            len(cuts) + 1,
            lambda option: f"{name} was asked for {cuts[option - 1]} values, not {limit}, in ask {number}",
            name,
        )
        return cuts[cut - 1] if cut else limit


def _seconds(pause: float) -> str:
    return f"{pause:g} s" if pause else "one more step"
