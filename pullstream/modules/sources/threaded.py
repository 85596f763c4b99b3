"""The kernel of sources whose values another thread hands over."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any

import trio
from typing_extensions import override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.batcher import Batcher
from pullstream.engine.parts.outbox import StreamEnd
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done


class ThreadedSource(Kernel[Any]):
    """Answers what is there, and waits for more; what another thread does is followed by its call of `wake`."""

    traits = Traits(trusted=True)

    def __init__(self, time: Callable[[Any], Hashable] | None) -> None:
        self.batcher = Batcher(time)
        self._changed = trio.Event()

    @abstractmethod
    def asked(self, limit: int) -> StreamEnd:
        """An ask has come; gives the ending, which the other thread will set after the last value."""

    @abstractmethod
    def taken(self) -> Iterator[Any]:
        """Take the values that wait, one after another."""

    @override
    async def acquire(self) -> None:
        self._token = trio.lowlevel.current_trio_token()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        end = self.asked(limit)
        while True:
            # Looked at first: what is there now is all that came before it.
            known = end.known
            self._changed = trio.Event()
            batch = self.batcher.batch(self.taken(), limit)
            if batch is not None:
                return batch
            if known and end.reached():
                return DONE
            await self._changed.wait()

    def wake(self) -> None:
        """Let it look again; to be called by any thread."""
        # When the trio program is over, nobody is there to be woken.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._set, idempotent=True)

    def _set(self) -> None:
        self._changed.set()
