"""The bridge to asyncio: an asyncio event loop in a thread beside a trio program, and calls into it.

The first call starts the loop. It serves the whole trio program: every `run` and every open pipeline. When that program
ends, the loop cancels and awaits its tasks and closes its generators, and then its thread ends.
"""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any, Final, ParamSpec, TypeAlias

import attrs
import trio

from pullstream.blueprint import Instance, checked, checks
from pullstream.blueprint.variables import R
from pullstream.errors import PullstreamError, raised_when_cancelled

P = ParamSpec("P")

GRACE: Final = 5.0
"""Seconds to wait for a cancelled asyncio task to end."""


AsyncioLoop: TypeAlias = Annotated[
    asyncio.AbstractEventLoop | None,
    Instance(asyncio.AbstractEventLoop, "needs an asyncio loop for its argument 'loop'"),
]


@checked
def asyncio_call(
    function: Annotated[Callable[P, Awaitable[R]], checks.function], *, loop: AsyncioLoop = None
) -> Callable[P, Coroutine[Any, Any, R]]:
    """Make an asyncio function awaitable in trio, for `map_async` and similar modules.

    >>> import asyncio, pullstream as ps
    >>> async def fetch(n):
    ...     await asyncio.sleep(0.001)
    ...     return n * n
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.map_async(ps.asyncio_call(fetch), concurrency=8), ps.collect()))
    [1, 4, 9]

    Each call is a task of an asyncio loop, which runs in its own thread from the first call to the end of the trio
    program (with `ps.run`: of the run). In `arun`, it is the loop that awaits `arun`. If the function depends on
    objects of a particular loop, pass that loop as `loop=`; it must be running in another thread.

    Exceptions are passed on unchanged. A cancellation in trio, for example by an abort, cancels the task and waits
    until it has ended, for 5 seconds at most. If something else cancels the task, it raises `asyncio.CancelledError`,
    which counts as a failure. Trio's virtual clocks do not cover asyncio.
    """

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bridge = await bridge_to(loop)
        return await bridge.call(functools.partial(function, *args, **kwargs))

    return call


@attrs.frozen
class _Result:
    value: Any


@attrs.frozen
class _Failure:
    exc: BaseException


class AsyncioTask:
    """An asyncio task, as seen from trio."""

    def __init__(self, loop: asyncio.AbstractEventLoop, main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._loop = loop
        self._token = trio.lowlevel.current_trio_token()
        self._main = main
        self._task: asyncio.Task[_Result | _Failure] | None = None
        self.outcome: _Result | _Failure | None = None
        self.ended = trio.Event()
        loop.call_soon_threadsafe(self._begin, contextvars.copy_context())

    def cancel(self) -> None:
        """Cancel the task, from trio's thread."""
        with suppress(RuntimeError):  # the loop is closed, and the task has ended with it
            self._loop.call_soon_threadsafe(self.cancel_here)

    # ---- in asyncio's thread

    def _begin(self, context: contextvars.Context) -> None:
        self._task = self._loop.create_task(self._work(), context=context)
        self._task.add_done_callback(self._done)

    async def _work(self) -> _Result | _Failure:
        try:
            return _Result(await self._main())
        except BaseException as exc:  # noqa: BLE001 - a SystemExit must end the trio program, not only this loop
            return _Failure(exc)

    def cancel_here(self) -> None:
        """Cancel the task, from asyncio's thread."""
        assert self._task is not None, "begun before"
        self._task.cancel()

    def _done(self, task: "asyncio.Task[_Result | _Failure]") -> None:
        # A task cancelled before its first step has not entered `_work`'s `try`.
        self.outcome = _Failure(asyncio.CancelledError()) if task.cancelled() else task.result()
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.ended.set)


def caused_by_cancellation(exc: BaseException) -> bool:
    """Whether a cancelled asyncio task raised the exception because of the cancellation."""
    return not isinstance(exc, asyncio.CancelledError) and raised_when_cancelled(exc, asyncio.CancelledError)


class Bridge:
    """A running asyncio loop, as seen from trio."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    async def call(self, function: Callable[[], Awaitable[R]]) -> R:
        """Call an async function in its own task and wait for it."""

        async def main() -> R:
            awaitable = function()
            if not hasattr(awaitable, "__await__"):
                raise TypeError(f"asyncio_call awaits what its function returns, but got {awaitable!r}. Use map")
            return await awaitable

        job = AsyncioTask(self.loop, main)
        try:
            await job.ended.wait()
        except trio.Cancelled:
            job.cancel()
            with trio.move_on_after(GRACE, shield=True):
                await job.ended.wait()
            if isinstance(job.outcome, _Failure) and caused_by_cancellation(job.outcome.exc):
                raise job.outcome.exc from None
            raise
        outcome, job.outcome = job.outcome, None
        if isinstance(outcome, _Failure):
            raise outcome.exc
        assert outcome is not None, "an ended job has an outcome"
        return outcome.value


class _Thread:
    """The asyncio loop of a trio program, in its own thread."""

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._ready = trio.Event()
        self._ended = trio.Event()
        self._bridge: Bridge
        self._stopping: asyncio.Event
        self._failure: BaseException | None = None
        threading.Thread(target=self._work, name="pullstream asyncio", daemon=True).start()
        trio.lowlevel.spawn_system_task(self._host)

    async def bridge(self) -> Bridge:
        """Return the loop once it runs."""
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self._bridge

    async def _host(self) -> None:
        """Stop the loop when the trio program's main task has ended, which cancels this task."""
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(GRACE + 1, shield=True):
                await self._ready.wait()
                if self._failure is None:
                    self._bridge.loop.call_soon_threadsafe(self._stopping.set)
                    await self._ended.wait()

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as exc:  # noqa: BLE001 - raised where the loop is needed
            self._failure = exc
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._ready.set)
            self._token.run_sync_soon(self._ended.set)

    async def _main(self) -> None:
        self._bridge = Bridge(asyncio.get_running_loop())
        self._stopping = asyncio.Event()
        self._token.run_sync_soon(self._ready.set)
        await self._stopping.wait()


_home: trio.lowlevel.RunVar[Bridge | None] = trio.lowlevel.RunVar("the asyncio loop that awaits this program", None)


def set_home(bridge: Bridge) -> None:
    """Make calls without `loop=` in the loop that awaits this trio program."""
    _home.set(bridge)


_thread: trio.lowlevel.RunVar[_Thread | None] = trio.lowlevel.RunVar("pullstream's asyncio loop", None)


async def bridge_to(loop: asyncio.AbstractEventLoop | None) -> Bridge:
    """Return the bridge to `loop`, else to the loop that awaits this trio program, else to a loop in its own thread."""
    if loop is None:
        home = _home.get()
        if home is not None:
            return home
        thread = _thread.get()
        if thread is None:
            thread = _Thread()
            _thread.set(thread)
        return await thread.bridge()
    if not loop.is_running() or loop is asyncio._get_running_loop():  # noqa: SLF001 - get_running_loop, without raising
        where = "runs in this thread, which waits for the run" if loop.is_running() else "is not running"
        raise PullstreamError(f"`loop=` needs an asyncio loop that is running in another thread, but {loop!r} {where}")
    return Bridge(loop)
