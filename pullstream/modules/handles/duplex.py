"""Duplexes: both directions of a conversation. `pair` and `duplex_pair`."""

from collections.abc import Hashable, Iterable
from typing import Any, Generic, cast

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, OfOneRun, Sink, Site, Source
from pullstream.engine.assembly import Assembly, Consumer, Consuming, Wiring
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.interfaces import Finishing
from pullstream.engine.parts.context import Context
from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import running_program
from pullstream.engine.runtime.deadlock import DeadlockDetector, Signal
from pullstream.engine.traits import Traits
from pullstream.errors import Abandoned, CompositionError, ReuseError, without_cancelled
from pullstream.modules.handles.handle import Held, run_of
from pullstream.protocol import DONE, Batch, Done, Reader
from pullstream.timely import BEGINNING

T_co = TypeVar("T_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen
class Duplex(Generic[T_co, A_contra, R_co]):
    """One side of a conversation: a source of incoming values, and a sink for outgoing values.

    The two are separate streams: each ends on its own (half-open), unless their maker ties them together.
    """

    source: Source[T_co]
    sink: Sink[A_contra, R_co]

    def __attrs_post_init__(self) -> None:
        halves: tuple[Any, Any] = (self.source, self.sink)
        if not isinstance(halves[0], Source) or not isinstance(halves[1], Sink):
            raise CompositionError(f"Duplex at {Site.here()} needs a source and a sink, but got {halves!r}")


# ---- pair


class Joint(Held, OfOneRun):
    """The joint between the two ends of a pair."""

    def __init__(self) -> None:
        super().__init__("pair")
        self.wanted = 0
        """Number of values that the reading end waits for."""
        self.written = Backlog()
        """The values that the reading end has asked for, and the ending of the writing end."""
        self.left = False
        """Whether the reading end has left."""
        self.reason: BaseException | None = None
        self.kernel: PairSource | None = None
        self.upstream: Kernel[Any] | None = None
        """The kernel upstream of the writing end."""
        self.reader: Lane[Any] | None = None
        """The input of the writing end, from its beginning to its end."""
        self.used: set[str] = set()
        """The ends that have been opened."""
        self._asked: Signal | None = None
        self._answered: Signal | None = None
        self._program: trio.lowlevel.TrioToken | None = None

    @override
    def __repr__(self) -> str:
        return ""

    @property
    def reads(self) -> Run | None:
        """The run of the reading end."""
        return run_of(self.kernel)

    @property
    def writes(self) -> Run | None:
        """The run of the writing end."""
        return run_of(self.upstream)

    def wake(self, *signals: Signal | None) -> None:
        """Make an end check again."""
        for signal in signals:
            if signal is not None:
                signal.set()

    def open(self, end: str) -> None:
        """Note that an end opens. Refuse it in another trio program than that of the other end, unless that is over."""
        if end in self.used:
            raise ReuseError(f"the {end} of {self}, was opened a second time. Make another pair")
        self.check_thread(
            None if self.left or self.written.known else self._program,
            "has its ends in two trio programs, which cannot wait for each other: run() and arun() start one each. "
            "Open both ends in one run, with connect(duplex, duplex), or with open() in one program",
        )
        self._program = running_program()
        self.used.add(end)

    @override
    def give_back(self, run: object) -> None:
        if self.reads is run:
            self.kernel = None
            self.used.discard("source")
        if self.writes is run:
            self.upstream = None
            self.used.discard("sink")
        if not self.used:
            self._program = None

    def opened(self) -> None:
        """Wake both ends, so that each waits for the other's run from now on."""
        self.wake(self._asked, self._answered)

    def link(self) -> None:
        """Connect the times once both ends are open: times that may reach the writing end may leave the reading one."""
        if self.kernel is not None and self.reader is not None and self.kernel.acquired:
            self.kernel.location.steered = False
            self.kernel.reader = self.reader
            written = self.reader.edge.scope.sidecar.nesting
            self.kernel.scope.sidecar.nesting.enter(self.kernel.location, self.kernel.mirrored, written)

    # ---- the reading end

    async def ask(self, limit: int) -> Batch[Any] | Done:
        """Wait for written values, at most `limit`."""
        self.wanted = limit
        try:
            while (answer := self.written.answer(limit)) is None:
                self._answered = signal_of(self.writes or self.reads)
                self.wake(self._asked)
                await self._answered.wait(outside=self.writes is None)
        finally:
            self.wanted = 0
        return answer

    async def leave(self, reason: BaseException | None) -> None:
        """Leave the reading end: the writing end ends as well, and is released first (R6)."""
        self.left, self.reason = True, reason
        self.wake(self._asked)
        if self.reader is not None and not self.written.known:
            await self.reader.terminate(reason)
        # A program may keep the pair, which would keep the whole run.
        self.kernel = self._answered = None

    # ---- the writing end

    async def pump(self, reader: Lane[Any]) -> None:
        """Ask for as many values as the reading end asks for, and hand them over."""
        try:
            while not self.left:
                if not self.wanted:
                    reads = self.reads
                    self._asked = signal_of(reads or self.writes)
                    await self._asked.wait(outside=reads is None)
                    continue
                batch = await reader.ask_many(self.wanted)
                if batch is DONE:
                    break
                self.written.put(batch)
                self.wanted = 0
                self.wake(self._answered)
            if self.reason is not None:
                raise self.reason  # noqa: TRY301 - one place notifies the other end
        except BaseException as exc:
            rest = without_cancelled(exc)
            self._end(rest or Abandoned(f"the writing end of the pair made at {self.site} was aborted"))
            raise
        self._end(DONE)

    def _end(self, ending: Done | BaseException) -> None:
        self.written.end(ending)
        self.wake(self._answered)
        self.upstream = self.reader = self._asked = self.reason = None


def signal_of(run: Run | None) -> Signal:
    """Make a signal that a task of a run sets; without a run, one that anything may set."""
    return Signal(DeadlockDetector()) if run is None else run.signal()


class PairSource(Kernel[Any], Finishing):
    """The reading end of a pair."""

    traits = Traits(trusted=True, follows=True)

    acquired = False
    reader: Lane[Any] | None = None
    """The input of the writing end, once both ends are open."""

    def __init__(self, joint: Joint) -> None:
        joint.open("source")
        joint.kernel = self
        self._joint = joint
        joint.opened()

    @override
    async def acquire(self) -> None:
        # Its times follow from those at the writing end.
        self.acquired = True
        # Until the writing end is open, opening it may complete times here.
        self.location.steered = self._joint.writes is None
        self._joint.link()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        answer = await self._joint.ask(limit)
        if answer is not DONE and self.reader is not None:
            # The batch is handed over: it is in flight at the reading end in this scheduler step.
            self.reader.settle()
        return answer

    def mirrored(self) -> Iterable[Hashable]:
        """Return the times that may still be written."""
        return (BEGINNING,) if self.reader is None else self.reader.port.location.frontier

    @override
    def finish(self) -> None:
        # The sources of its own stream end by themselves, and their values in flight pass; but a cycle must be cut.
        writer = self._joint.upstream
        if writer is None or writer.scope is not self.scope or self._feeds(writer.edge):
            self.edge.end_here()

    def _feeds(self, edge: Edge[Any]) -> bool:
        """Whether values from here may reach an edge, also through other pairs."""
        seen: set[Edge[Any]] = set()
        waiting = [edge]
        while waiting:
            edge = waiting.pop()
            if edge not in seen:
                seen.add(edge)
                waiting += (end.edge for end in edge.inputs)
                waiting += edge.beyond
                if isinstance(edge.module, PairSource) and (reader := edge.module.reader) is not None:
                    waiting.append(reader.edge)
        return self.edge in seen

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self._joint.leave(reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._joint.written.ending


class PairSink(Wiring):
    """The writing end of a pair."""

    def __init__(self, joint: Joint) -> None:
        self._joint = joint

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Consuming:
        joint = self._joint
        joint.open("sink")
        joint.upstream = upstream
        joint.opened()

        async def body(reader: Reader[Any], _: Context) -> None:
            joint.reader = cast("Lane[Any]", reader)
            joint.link()
            await joint.pump(joint.reader)

        return Consumer(assembly.scope, module, body, upstream)


def pair() -> tuple[Source[Any], Sink[Any, None]]:
    """Make a connected source and sink: values written to the sink come out of the source.

    >>> import pullstream as ps
    >>> source, sink = ps.duplex.pair()
    >>> ps.run(ps.duplex.connect(ps.duplex.Duplex(ps.values("abc"), ps.collect()), ps.duplex.Duplex(source, sink)))
    (None, ['a', 'b', 'c'])

    The two ends may be in one run, or in two runs that are open at the same time in one trio program. The sink asks for
    as many values as the source is asked for, and only then; nothing is buffered between them. Values keep their times.
    The end or failure of the sink's stream comes out of the source. An abort of the source ends the sink (with None);
    an error fails it. If the sink's run is aborted, the source fails with `Abandoned`.

    Each end belongs to one run, and cannot be pickled. A second run is refused with `ReuseError`.
    """
    joint = Joint()
    return Source((Module("pair", PairSource, (joint,)),)), Sink((Module("pair", PairSink, (joint,)),))


def duplex_pair() -> tuple[Duplex[Any, Any, None], Duplex[Any, Any, None]]:
    """Make two connected duplexes: values written to one come out of the other; see `pair`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     client, server = ps.duplex.duplex_pair()
    ...     echo = ps.pipe(server.source, ps.map(str), server.sink)
    ...     talk = ps.duplex.connect(client, ps.duplex.Duplex(ps.values([1, 2]), ps.collect()))
    ...     async with echo.open(), talk.open() as running:
    ...         return await running.result()
    >>> trio.run(main)
    (['1', '2'], None)
    """
    (from_a, to_b), (from_b, to_a) = pair(), pair()
    return Duplex(from_a, to_a), Duplex(from_b, to_b)
