"""The reference partners: a source with a ledger, and a sink that hands out its reader."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Source
from pullstream.checker import Checker
from pullstream.conformance.cells import DELAY, LONG, Cell
from pullstream.decorators import sink, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.context import Context
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.traits import Traits
from pullstream.program.pipe import pipe
from pullstream.protocol import DONE, Batch, Done, Reader


class SourceFailed(Exception):
    """The failure of a reference source."""


class CallableRaised(Exception):
    """The exception raised by the callable of a module."""


class ConsumerFailed(Exception):
    """The reason given by the reference sink."""


@attrs.define(eq=False)
class Usage:
    """A ledger of a source, or of a resource, which is a context manager, sync or async."""

    opened: int = 0
    closed: int = 0
    given: int = 0
    asked: list[int] = attrs.field(factory=list)
    reasons: list[BaseException | None] = attrs.field(factory=list)
    ended: bool = False
    failed: bool = False

    def __enter__(self) -> Self:
        self.opened += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        self.closed += 1


class ReferenceSource(Kernel[Any]):
    """Emits 0, 1, ..., or a function's results for them, as the cell says."""

    def __init__(
        self,
        ledger: Usage,
        cell: Cell,
        failure: BaseException | None,
        value: Callable[[int], object],
        look: Callable[[Sidecar], object],
    ) -> None:
        self._value = value
        self._look = look
        self._ledger = ledger
        self._cell = cell
        self._failure = failure
        self._places = cell.places()
        self._given = 0
        self._released = 0
        """The number of values whose times are released; times out of order are held one by one."""
        if cell.many in ("out-of-order", "interleaved"):
            self.traits = Traits(follows=True, trusted=True)

    @override
    async def acquire(self) -> None:
        self._ledger.opened += 1
        cell = self._cell
        if self.traits.follows:
            for place in self._places:
                self.location.hold(cell.time(place))
            self.location.drop_capability()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        self._ledger.asked.append(limit)
        cell = self._cell
        if cell.delayed:
            await trio.sleep(DELAY)
        most = 1 if cell.timed else limit
        places = self._places[self._given : self._given + most]
        self._given += len(places)
        self._ledger.given += len(places)
        if places:
            times = list(map(cell.time, places))
            if self.traits.follows:
                # Except the last one, as in a source whose times are in order.
                for place in self._places[self._released : self._given - 1]:
                    self.location.drop(cell.time(place))
                self._released = self._given - 1
            values = list(map(self._value, places))
            return Batch.of(times, values) if len(set(times)) > 1 else Batch(times[0], values)
        if cell.quiet:
            await trio.sleep(LONG)
            self._look(self.scope.sidecar)
        self._ledger.ended = True
        if self._failure is not None:
            self._ledger.failed = True
            raise self._failure
        return DONE

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._ledger.reasons.append(reason)

    @override
    async def release(self) -> None:
        await trio.lowlevel.checkpoint()
        self._ledger.closed += 1


reference_source = source(ReferenceSource)

SINK: Final = "the sink"


@sink
async def reference_sink(upstream: Reader[Any], ctx: Context, given: trio.MemorySendChannel[Reader[Any]]) -> None:
    """Hand out the reader, and do nothing until the run ends."""
    del ctx
    await given.send(upstream)
    await trio.sleep_forever()


@asynccontextmanager
async def edge_below(subject: Source[Any], checker: Checker, limit: int) -> AsyncGenerator[Reader[Any]]:
    """Open the edge downstream of a source in its own run, to be asked by hand.

    No module asks for more than the run's `limit`, not even modules with their own pace.
    """
    send, receive = trio.open_memory_channel[Reader[Any]](1)
    async with pipe(subject, reference_sink(send).named(SINK)).open(limit=limit, check=checker) as running:
        yield await receive.receive()
        await running.abort()
