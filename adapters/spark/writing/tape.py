"""A source's rows on the disk, so that Spark may read them more than once."""

import os
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import trio

from pullstream import Context, PullstreamError, Reader, Source
from pullstream.authoring import Site

from ...arrow import Packing
from ..threads import in_thread
from . import frames
from .feeding import GONE_SECONDS, Body, Gather, fed


class ReplayTooLong(PullstreamError):
    """A source gave more than was to be kept of it."""


class Tape:
    """The rows that a source has given: every reading begins with it, and the foremost has the source asked for more.

    The file has no name: whatever becomes of the program, nothing is left of it. A time is complete for the source when
    its values are in the file.
    """

    def __init__(self, shown: str, most: int) -> None:
        self.over = False
        """Whether nothing more will come."""
        self.failure: BaseException | None = None
        self._shown = shown
        self._most = most
        self._file = tempfile.TemporaryFile(prefix="pullstream-")  # noqa: SIM115 - open until `close`
        self._turn = threading.Lock()
        self._ends = [0]
        self._wanted = 0
        self._changed = trio.Event()

    def close(self) -> None:
        """Let go of the file, unread if somebody is about to read."""
        with self._turn:
            self._file.close()

    async def record(self, source: Source[Any], packing: Packing, site: Site) -> None:
        """Read the source, as far as somebody wants it, until its end, or until it fails."""
        try:
            async with trio.open_nursery() as nursery:
                self.failure = await fed(lambda: source, partial(self._sink, packing, nursery), site)
                nursery.cancel_scope.cancel()
        finally:
            self.over = True
            self._change()

    def _sink(self, packing: Packing, nursery: trio.Nursery) -> Body:
        async def body(upstream: Reader[Any], ctx: Context) -> None:
            gather = Gather(upstream, ctx, nursery)
            while True:
                while self._wanted < len(self._ends):
                    await self._changed.wait()
                with ExitStack() as held:
                    values = await gather.values(held)
                    if not values:
                        return
                    for batch in packing.batches([(values, {})]):
                        await self._write(frames.packed(batch))

        return body

    async def _write(self, batch: memoryview) -> None:
        begin = self._ends[-1]
        if begin + len(batch) > self._most:
            raise ReplayTooLong(
                f"{self._shown} gave more than the {self._most} bytes that are kept of it: replay= is the most bytes "
                f"of disk that its rows may take; give more, or leave it out, and persist() the DataFrame"
            )
        await in_thread(self._append, batch)
        self._ends.append(begin + len(batch))
        self._change()

    def _append(self, batch: memoryview) -> None:
        with self._turn:
            if not self._file.closed:
                self._file.write(batch)
                self._file.flush()

    def _read(self, begin: int, end: int) -> bytes | None:
        # Its number may be another file's as soon as it is closed.
        with self._turn:
            return None if self._file.closed else os.pread(self._file.fileno(), end - begin, begin)

    async def play(self, number: int, alive: Callable[[], Awaitable[bool]]) -> bytes | None:
        """The batch with a number, once there is one; None at the end, when closed, or if nobody waits any more."""
        while number + 1 >= len(self._ends):
            if self.over:
                return None
            self._wanted = max(self._wanted, number + 1)
            self._change()
            with trio.move_on_after(GONE_SECONDS) as waiting:
                await self._changed.wait()
            if waiting.cancelled_caught and not await alive():
                return None
        begin, end = self._ends[number : number + 2]
        return await in_thread(self._read, begin, end)

    def ends_before(self, number: int) -> bool:
        """Whether there is no batch with a number, and will be none."""
        return self.over and number + 1 >= len(self._ends)

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
