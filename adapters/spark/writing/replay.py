"""Keep a source's rows on disk, so that Spark can read them more than once."""

import os
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import trio

from pullstream import Context, PullstreamError, Reader, Source
from pullstream.authoring import Site

from ...arrow import Packing, serialized
from ...files.writing.refusals import explained
from ...stopping import in_thread
from .feeding import GONE_SECONDS, BatchJoiner, fed


class ReplayTooLong(PullstreamError):
    """A source emitted more than `replay=` permits to keep."""


class ReplayFile:
    """A file with the rows of a source: each read starts at its beginning, and the furthest read asks for more rows.

    The file has no name, so it is deleted however the program ends. A time is complete for the source when its values
    are in the file.
    """

    def __init__(self, shown: str, most: int) -> None:
        self.over = False
        """Whether the source has ended."""
        self.failure: BaseException | None = None
        self._shown = shown
        self._most = most
        self._file = tempfile.TemporaryFile(prefix="pullstream-")  # noqa: SIM115 - open until `close`
        self._turn = threading.Lock()
        self._ends = [0]
        self._wanted = 0
        self._changed = trio.lowlevel.ParkingLot()

    def close(self) -> None:
        """Close the file; a read that has not finished gets no more rows."""
        # Closing tries again to write what a full disk has refused.
        with self._turn, suppress(OSError):
            self._file.close()

    async def record(self, source: Source[Any], packing: Packing, site: Site) -> BaseException | None:
        """Read the source as far as Spark needs it, until it ends or fails; return the failure."""
        try:
            async with trio.open_nursery() as nursery:
                self.failure = await fed(lambda: source, partial(self._keep, packing, nursery), site)
                nursery.cancel_scope.cancel()
        finally:
            self.over = True
            self._changed.unpark_all()
        return self.failure

    async def _keep(self, packing: Packing, nursery: trio.Nursery, upstream: Reader[Any], ctx: Context) -> None:
        gather = BatchJoiner(upstream, ctx, nursery)
        while True:
            while self._wanted < len(self._ends):
                await self._changed.park()
            with ExitStack() as held:
                values = await gather.values(held)
                if not values:
                    return
                for batch in packing.batches([(part, {}) for part in values]):
                    await self._write(memoryview(serialized(batch)))

    async def _write(self, batch: memoryview) -> None:
        begin = self._ends[-1]
        if begin + len(batch) > self._most:
            raise ReplayTooLong(
                f"{self._shown} gave more than the {self._most} bytes that replay= allows its rows to use on disk. "
                f"Allow more bytes, or omit replay= and persist() the DataFrame"
            )
        await in_thread(self._append, batch)
        self._ends.append(begin + len(batch))
        self._changed.unpark_all()

    def _append(self, batch: memoryview) -> None:
        where = tempfile.gettempdir()
        with self._turn, explained(f"{self._shown} cannot keep its rows for replay= in a temporary file in {where}"):
            if not self._file.closed:
                self._file.write(batch)
                self._file.flush()

    def _read(self, begin: int, end: int) -> bytes | None:
        # After `close`, the file descriptor may belong to another file.
        with self._turn:
            return None if self._file.closed else os.pread(self._file.fileno(), end - begin, begin)

    async def play(self, number: int, alive: Callable[[], Awaitable[bool]]) -> bytes | None:
        """Wait for the batch with a number; None at the end, after `close`, or if Spark no longer needs it."""
        while number + 1 >= len(self._ends):
            if self.over:
                return None
            self._wanted = max(self._wanted, number + 1)
            self._changed.unpark_all()
            with trio.move_on_after(GONE_SECONDS) as waiting:
                await self._changed.park()
            if waiting.cancelled_caught and not await alive():
                return None
        begin, end = self._ends[number : number + 2]
        return await in_thread(self._read, begin, end)

    def ends_before(self, number: int) -> bool:
        """Whether the source has ended before the batch with a number."""
        return self.over and number + 1 >= len(self._ends)
