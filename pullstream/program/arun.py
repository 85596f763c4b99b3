"""`arun`: await a run in an asyncio or trio program."""

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from contextlib import suppress
from os import PathLike
from typing import Any, Generic, Never

import trio

from pullstream.asyncio_bridge import Bridge, set_home
from pullstream.blueprint import bound
from pullstream.blueprint.variables import R
from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import PullstreamError
from pullstream.frames import cut
from pullstream.program import wanted
from pullstream.program.at_exit import closed, opened
from pullstream.program.pipeline import Pipeline, pipeline_argument
from pullstream.program.running import Companion, Running, check_limits


@bound
def arun(
    pipeline: Pipeline[R],
    *others: Never,
    limit: int = 4096,
    release_timeout: float = 5.0,
    check: "wanted.Check" = False,
    beside: Companion | None = None,
    journal: "str | PathLike[str] | wanted.Journal | None" = None,
    trace: "wanted.TraceTo | None" = None,
) -> Coroutine[Any, Any, R]:
    """Run a pipeline to its end and return its sink's result, awaited in an asyncio (or trio) program.

    >>> import asyncio, pullstream as ps
    >>> async def fetch(n):
    ...     await asyncio.sleep(0.001)
    ...     return n * n
    >>> async def main():
    ...     pipeline = ps.pipe(ps.values([1, 2, 3]), ps.map_async(ps.asyncio_call(fetch), concurrency=8), ps.collect())
    ...     return await ps.arun(pipeline)
    >>> asyncio.run(main())
    [1, 4, 9]

    The stream and its functions run under trio in a separate thread, while asyncio carries on. Functions called by
    `asyncio_call` and `from_asyncio` without `loop=` run in the asyncio loop that awaits `arun`. The stream's failure
    is raised unchanged.

    A cancellation (`task.cancel()`, `asyncio.timeout`, asyncio's Ctrl-C) aborts the stream in an orderly way, waits
    until everything is released, and then propagates; a second cancellation does not wait for releases. In a trio
    program, `arun` opens the pipeline and waits for its result. The arguments are as in `Pipeline.open`.

    Raises:
        BaseException: the stream's failure, unchanged, with a note that names the module.
        PullstreamError: neither asyncio nor trio is running here.
    """
    pipeline_argument("arun", pipeline, others)
    check_limits("arun", limit, release_timeout)
    return _awaited(
        pipeline, limit=limit, release_timeout=release_timeout, check=check, beside=beside, journal=journal, trace=trace
    )


async def _awaited(pipeline: Pipeline[R], **options: Any) -> R:
    running: Running[R] = Running(pipeline, **options)
    try:
        if running_program() is not None:
            return await running.through()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise PullstreamError("arun() must be awaited under asyncio or trio: elsewhere use run(pipeline)") from None
        return await _AwaitedRun(running, loop).ended()
    except BaseException as exc:
        cut(exc)
        raise


# Python uses this name when it warns that a coroutine was never awaited.
_awaited.__name__ = _awaited.__qualname__ = arun.__name__


class _AwaitedRun(Generic[R]):
    """A trio program in a thread, awaited by an asyncio task."""

    def __init__(self, running: Running[R], loop: asyncio.AbstractEventLoop) -> None:
        self._running = running
        self._loop = loop
        self._ended: asyncio.Future[None] = loop.create_future()
        self._token: trio.lowlevel.TrioToken | None = None
        self._stops = 0
        self._failure: BaseException | None = None
        # A daemon thread: if the loop is stopped with tasks left, this thread does not keep the program alive. The end
        # of the program waits only for the releases.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), name="pullstream arun", daemon=True)

    # ---- in asyncio's thread

    async def ended(self) -> R:
        """Wait for the end, through any cancellation, and return the result."""
        cancelled: asyncio.CancelledError | None = None
        opened(self._close)
        self._thread.start()
        while not self._ended.done():
            try:
                await asyncio.wait([self._ended])
            except asyncio.CancelledError as exc:
                cancelled = exc
                self._stop()
        closed(self._close)
        self._thread.join()
        failure, self._failure = self._failure, None
        if cancelled is not None:
            # The cancelling code must see the cancellation; a failed release becomes its cause.
            raise cancelled from failure
        if failure is not None:
            raise failure
        return self._running.outcome()

    def _stop(self) -> None:
        self._stops += 1
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._look)

    def _close(self) -> None:
        self._stop()
        self._thread.join()

    # ---- in the stream's thread

    def _work(self) -> None:
        try:
            trio.run(self._run)
        except BaseException as exc:  # noqa: BLE001 - raised in asyncio's thread
            cut(exc)
            self._failure = exc
        with suppress(RuntimeError):  # the loop is closed, so nothing awaits this
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def _run(self) -> None:
        set_home(Bridge(self._loop))
        self._token = trio.lowlevel.current_trio_token()
        self._look()
        await self._running.through()

    def _look(self) -> None:
        """Stop once for each request."""
        if self._stops:
            self._running.abort_nowait()
        if self._stops > 1:
            self._running.hurry()
