"""The shared parts of the sinks that commit complete times to files, tables and Spark."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import attrs
import trio
from typing_extensions import override

from pullstream import Batch, Context, Reader
from pullstream.authoring import Committer, Emits

from .arrow import OpenTimes


@attrs.frozen
class SinkBody:
    """Makes a sink's body for each run, from a new committer. The plan holds the sink's arguments."""

    emits = Emits.PER_TIME
    make: Callable[[Any], Committer[Any]]
    plan: Any

    def __call__(self, *_: object, **__: object) -> Callable[[Reader[Any], Context], Awaitable[Any]]:
        """Make a new body."""
        return self.make(self.plan).run


class SpoolCommitter(Committer[list[Hashable]]):
    """Keeps the rows of open times as Arrow data; the result is the list of times that the subclass has committed."""

    many = True

    def __init__(self) -> None:
        self.written: list[Hashable] = []
        self.spools: OpenTimes | None = None
        """The rows of open times; a subclass sets this as soon as it knows their schema."""

    @override
    def prepare(self, batch: Batch[Any]) -> Awaitable[None] | None:
        assert self.spools is not None
        self.spools.add(batch)
        return self.added(self.spools)

    def added(self, opened: OpenTimes) -> Awaitable[None] | None:
        """Raise the refusal of a row, or wait for room."""
        if opened.refusal is not None:
            self.taken = opened.taken
            raise opened.refusal
        return self._relieve(opened) if opened.full else None

    async def _relieve(self, opened: OpenTimes) -> None:
        """Wait for the commits to catch up; if open times still fill the memory, move the largest to files."""
        await self.idle()
        if opened.full:
            await trio.to_thread.run_sync(opened.spill)

    @override
    async def close(self) -> None:
        # Closing files and connections may take a while.
        try:
            if self.spools is not None:
                await trio.to_thread.run_sync(self.spools.close)
        finally:
            await trio.to_thread.run_sync(self.release)

    def release(self) -> None:
        """Release the target, in a thread; `open` may have failed."""

    @override
    def result(self) -> list[Hashable]:
        return self.written
