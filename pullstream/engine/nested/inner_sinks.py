"""The end of an inner stream that has side sinks: it ends only when they have ended, too."""

from collections.abc import Awaitable
from typing import Any

from typing_extensions import override

from pullstream.engine.assembly import Consuming
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.waking import Waking
from pullstream.engine.traits import Traits
from pullstream.errors import Abandoned, raised_when_cancelled, without_cancelled
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered


class Sides(Waking[Any], PolledKernel[Any]):
    """Passes on an inner stream, and its end once all side sinks have ended. A side sink's failure fails the stream.

    A termination from downstream is also confirmed only when they have ended.
    """

    traits = Traits(trusted=True)

    def __init__(self, number: int) -> None:
        self._running = number
        self._over = False
        """Whether the inner stream has ended."""
        self._failure: BaseException | None = None

    async def consume(self, consumer: Consuming) -> None:
        """Run one of the side sinks."""
        try:
            await consumer.consume()
        except BaseException as exc:
            if without_cancelled(exc) is None:
                raise
            self._failure = self._failure or exc
        finally:
            self._running -= 1
            if not self._running:
                self.changed()

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if not self._over:
            batch = self.upstream.poll(limit)
            if isinstance(batch, Batch):
                self.upstream.settle()
            if batch is not DONE:
                return batch
            self._over = True
        if self._running:
            return WAIT
        if self._failure is not None:
            raise self._failure
        if self.run.cancelled:
            # The side sinks may not have got all of their values.
            raise Abandoned
        return DONE

    @override
    def wait(self) -> Awaitable[None]:
        return self.awaited().wait() if self._over else self.upstream.ready()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        try:
            await super().dismiss(reason)
        finally:
            # Their values belong to the stream: the module that opened it holds their times until they have ended.
            if self._running:
                await self.awaited().wait()

    @override
    async def release(self) -> None:
        failure = self._failure
        # In a cancelled run, a failure from before the cancellation is dropped, as everywhere.
        if failure is not None and (not self.run.cancelled or raised_when_cancelled(failure)):
            raise failure

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._failure
