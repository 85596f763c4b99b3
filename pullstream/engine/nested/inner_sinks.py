"""The end of an inner stream that has side sinks: it is over only when they have ended, too."""

from typing import Any

from typing_extensions import override

from pullstream.engine.assembly import Consuming
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.errors import without_cancelled
from pullstream.protocol import DONE, Batch, Done


class Sides(Kernel[Any]):
    """Passes an inner stream on, and its end when all side sinks have ended. A side sink's failure fails the stream."""

    traits = Traits(trusted=True)

    def __init__(self, number: int) -> None:
        self._running = number
        self._ended: Signal | None = None
        self._trouble: BaseException | None = None

    async def consume(self, consumer: Consuming) -> None:
        """Run one of the side sinks."""
        try:
            await consumer.consume()
        except BaseException as exc:
            if without_cancelled(exc) is None:
                raise
            self._trouble = self._trouble or exc
        self._running -= 1
        if not self._running and self._ended is not None:
            self._ended.set()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask_many(limit)
        if batch is DONE:
            if self._running:
                self._ended = self.run.signal()
                await self._ended.wait()
            if self._trouble is not None:
                raise self._trouble
        self.upstream.settle()
        return batch

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._trouble
