"""The edges of a simulated run: they delay asks, cut batches, raise failures, and note what arrives at sinks."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import trio
from typing_extensions import override

from pullstream.authoring import Kernel, Traits
from pullstream.checker.lanes import RunEdge
from pullstream.checker.pipeline import Checker
from pullstream.engine.edge.behaviour import method_of
from pullstream.engine.edge.edge import Edge
from pullstream.engine.sidecar.location import Location, Port
from pullstream.protocol import WAIT, Batch, Done, Unanswered
from pullstream.shake.choices import Choices
from pullstream.trace.notes import TraceNotes
from pullstream.trace.tracer import Tracer

PAUSES: Final = (None, 0.0, 0.001, 0.1, 1.0, 30.0)
"""The seconds by which an answer may be late; 0 is only a checkpoint."""

CUTS: Final = (1, 2, 3, 7)
"""The numbers of values to which an ask may be cut."""


class ShakeFailure(Exception):
    """A failure that a simulation raises, to see how a pipeline ends."""


class InsertedPause(Kernel[Any]):
    """Passes everything on, as a user's own module may: late, or in smaller batches."""

    traits = Traits(trusted=True)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        return await self.upstream.ask(limit)


class EdgeWatcher(Checker):
    """The checker of a simulated run, which sees every edge before its first ask, and may change its behaviour."""

    def __init__(
        self, choices: Choices, arrived: Callable[[str, Batch[Any]], object], asked: Callable[[str, int], object]
    ) -> None:
        super().__init__(strict=True)
        self._choices = choices
        self._arrived, self._asked = arrived, asked
        self._inside: Counter[str] = Counter()
        """The number of modules of a name that were opened inside others."""
        self.busy: dict[str, int] = {}
        """The edges whose modules are answering, each with the number of its ask."""
        self.edges: dict[str, Edge[Any]] = {}
        self.asks: Counter[str] = Counter()
        """The number of asks of each edge."""
        self.raises: tuple[str, int] | None = None
        """The edge whose module fails, and the number of the ask at which it does."""
        self.raised: ShakeFailure | None = None
        self._notes: TraceNotes | None = None
        self.locations: Sequence[Location] = ()
        self.sinks: Sequence[Location] = ()
        """The locations of the pipeline itself, and its sinks among them, once it is open."""

    @override
    def edge(self, edge: Edge[Any], port: Port) -> RunEdge:
        checked = super().edge(edge, port)
        sidecar = edge.scope.sidecar
        if not sidecar.inner:
            self.locations, self.sinks = sidecar.locations, sidecar.sinks
        assert isinstance(edge.run.observer, Tracer)
        self._notes = edge.run.observer.notes
        self._shake(edge, self.name_of(edge.location, inside=sidecar.inner))
        if port.location in sidecar.sinks and not sidecar.inner:
            checked.arrived = partial(self._arrived, self.name_of(port.location))
        return checked

    def deviated(self, told: str) -> None:
        """Note a deviation in the trace, once the run has begun."""
        if self._notes is not None and self._notes.begun:
            self._notes.note("deviation", told)

    def name_of(self, location: Location, *, inside: bool = False) -> str:
        """Return a name of an edge that is the same in every run of the program.

        Modules of one name are numbered in the order of the program, followed by those `inside` modules, in the order
        in which they are opened.
        """
        name, known = location.name, self.locations
        count = sum(other.name == name for other in (known if inside else known[: location.node])) + 1
        if inside:
            count += self._inside[name]
            self._inside[name] += 1
        return name if count == 1 else f"{name} ({count})"

    def _shake(self, edge: Edge[Any], name: str) -> None:
        self.edges[name] = edge
        polled = edge.polled

        def begun(limit: int) -> int:
            number = self.asks[name] = self.asks[name] + 1
            self._asked(name, number)
            if self.raises == (name, number):
                self.raised = ShakeFailure(f"raised by the simulation in ask {number} of {name}")
                self.deviated(str(self.raised))
                raise self.raised
            return self._cut(name, number, limit)

        if polled is not None:
            self._pauses(edge, name, polled, begun)
            return
        produce, waits = edge.produce, edge.waits

        async def produced(limit: int) -> Any:
            number = self.busy[name] = self.asks[name] + 1
            try:
                if waits and (pause := self._pause(name, number)) is not None:
                    await trio.sleep(pause)
                return await produce(begun(limit))
            finally:
                self.busy.pop(name, None)

        edge.produce = produced

    def _pauses(self, edge: Edge[Any], name: str, polled: Callable[[int], Any], begun: Callable[[int], int]) -> None:
        """Make a module that answers at once wait before some answers, as a user's own module might."""
        chosen, pause = False, None

        def poll(limit: int) -> Any:
            nonlocal chosen, pause
            if not chosen:
                chosen, pause = True, self._pause(name, self.asks[name] + 1)
            if pause is not None:
                return WAIT
            answer = polled(begun(limit))
            chosen = isinstance(answer, Unanswered)
            return answer

        async def waited() -> None:
            nonlocal pause
            if pause is None:
                await method_of(edge.module, "wait")()
            else:
                await trio.sleep(pause)
                pause = None

        wakes = edge.wakes

        def woken(wake: Callable[[], object]) -> bool:
            return pause is None and wakes(lambda: self._wake(edge, name, wake))

        edge.polled, edge.wait, edge.waits_itself = poll, waited, True
        setattr(edge, "wakes", woken)  # noqa: B010 - a method, to which type checkers allow no assignment

    def _wake(self, edge: Edge[Any], name: str, wake: Callable[[], object]) -> None:
        """Wake the module downstream, perhaps late, as a wait may end late."""

        async def late(pause: float) -> None:
            await trio.sleep(pause)
            wake()

        def told(pause: float | None) -> str:
            return f"{name} woke the module downstream {f'{pause:g} s' if pause else 'one step'} late"

        if (pause := self._choices.pick("wake", PAUSES, told, name)) is None:
            wake()
        else:
            edge.run.spawn(late, pause)

    def _pause(self, name: str, number: int) -> float | None:
        def told(pause: float | None) -> str:
            return f"{name} took {f'{pause:g} s' if pause else 'one more step'} for answer {number}"

        return self._choices.pick("pause", PAUSES, told, name)

    def _cut(self, name: str, number: int, limit: int) -> int:
        limits = [limit, *(cut for cut in CUTS if cut < limit)]
        if len(limits) == 1:
            return limit

        def told(cut: int) -> str:
            return f"{name} was asked for {counted_values(cut)}, not {limit}, in ask {number}"

        return self._choices.pick("cut", limits, told, name)


def counted_values(count: int) -> str:
    """Return a number of values in words."""
    return f"{count} value{'s' * (count != 1)}"
