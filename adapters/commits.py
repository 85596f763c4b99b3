"""Complete times are committed in the background, while the sink takes the values of later times."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Generic, TypeVar

import trio

from pullstream import Context
from pullstream.authoring import without_cancelled

P = TypeVar("P")

AHEAD = 64
"""The number of complete times that may wait before no more values are taken."""


class Commits(Generic[P]):
    """A queue of what was prepared for complete times; `commit` is given all that have gathered, in order.

    Each time is held until it has been committed, so nobody takes it for complete before. A failed commit ends the
    block of `running`, which raises what it raised.
    """

    def __init__(self, ctx: Context, commit: Callable[[Sequence[P]], Awaitable[None]]) -> None:
        self._ctx = ctx
        self._commit = commit
        self._due: list[tuple[P, ExitStack]] = []
        self._changed = trio.Event()
        self._failure: BaseException | None = None
        self._busy = False
        self._nursery: trio.Nursery

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Commit in the background of this block, which ends when everything has been committed."""
        async with trio.open_nursery() as self._nursery:
            try:
                try:
                    yield
                finally:
                    # What is complete stays complete, whatever comes after it.
                    await self.idle()
            except BaseException as exc:  # noqa: BLE001 - raised below, outside the nursery
                self._fail(exc)
        if self._failure is not None:
            raise self._failure

    async def put(self, time: Hashable, prepared: P) -> None:
        """Queue a complete time to be committed; wait while too many are queued."""
        held = ExitStack()
        held.enter_context(self._ctx.hold(time))
        self._due.append((prepared, held))
        if not self._busy:
            self._busy = True
            self._nursery.start_soon(self._commit_due)
            # It begins now, even if whatever computes the next values does not let others go on.
            await trio.lowlevel.checkpoint()
        while len(self._due) >= AHEAD:
            await self._changed.wait()

    async def idle(self) -> None:
        """Wait until nothing is due."""
        while self._due:
            await self._changed.wait()

    async def _commit_due(self) -> None:
        try:
            while due := self._due.copy():
                await self._commit([prepared for prepared, _ in due])
                del self._due[: len(due)]
                for _, held in due:
                    held.close()
                self._changed.set()
                self._changed = trio.Event()
        except BaseException as exc:  # noqa: BLE001 - raised by the block
            self._fail(exc)
        finally:
            self._busy = False

    def _fail(self, exc: BaseException) -> None:
        if without_cancelled(exc) is None:
            raise exc
        self._failure = self._failure or exc
        self._nursery.cancel_scope.cancel()
