"""The base of sources whose values come from another thread."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any

import trio
from typing_extensions import override

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.modules.sources.batcher import Batcher
from pullstream.protocol import DONE, Batch, Done


class ThreadedSource(Kernel[Any]):
    """Answers with the values that are ready, and waits for more. The other thread calls `wake` after every change."""

    traits = Traits(trusted=True)

    def __init__(self, time: Callable[[Any], Hashable] | None) -> None:
        self.batcher = Batcher(time)
        self._changed = trio.Event()

    @abstractmethod
    def asked(self, limit: int) -> Backlog:
        """Note an ask, and give the ending, which the other thread sets after the last value."""

    @abstractmethod
    def taken(self) -> Iterator[Any]:
        """Take the waiting values, one after another."""

    @override
    async def acquire(self) -> None:
        self._token = trio.lowlevel.current_trio_token()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        end = self.asked(limit)
        while True:
            # Read the ending first: every value before it is then already visible.
            known = end.known
            self._changed = trio.Event()
            batch = self.batcher.batch(self.taken(), limit)
            if batch is not None:
                return batch
            if known and end.reached():
                return DONE
            await self._changed.wait()

    def wake(self) -> None:
        """Make it check for values again. May be called from any thread."""
        # After the trio program has ended, there is nothing to wake.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._set, idempotent=True)

    def _set(self) -> None:
        self._changed.set()
