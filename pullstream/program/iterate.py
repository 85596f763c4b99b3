"""`iterate`: read a source in a plain `for`; the stream runs under trio in a background thread."""

import asyncio
import contextvars
import signal
import sys
import threading
import time
import weakref
from _thread import interrupt_main
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import Generic, Self

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import READS, Call, Site, Source
from pullstream.blueprint.variables import T
from pullstream.engine.runtime.blocked import own_scope, running_program
from pullstream.engine.runtime.interrupts import Interrupts, current_task, runs_users
from pullstream.errors import PullstreamError
from pullstream.frames import cut
from pullstream.program.aiterate import Reading, reading
from pullstream.program.at_exit import closed, opened
from pullstream.program.running import check_limits
from pullstream.protocol import DONE, Done


def iterate(source: Source[T], *, limit: int = 4096, release_timeout: float = 5.0) -> Generator[T, None, None]:
    """Read a source in a plain `for`, without async code.

    >>> import pullstream as ps
    >>> for word in ps.iterate(ps.pipe(ps.values(["a", "b"]), ps.map(str.upper))):
    ...     print(word)
    A
    B

    The stream starts with the loop, in its own thread, and produces only what is asked for as the loop proceeds: one
    value at a time at first, and more while the loop handles them within a few milliseconds. When the loop is left (at
    its end, by `break`, an exception or Ctrl-C), the stream is aborted and the loop waits until everything is released.
    The stream's failure is raised in the loop, unchanged.

    A second Ctrl-C does not wait for releases. If a function blocks the stream, the loop is left at once: Python cannot
    raise Ctrl-C in another thread, so the function's batch continues there, and the release follows it, unless the
    program has ended by then.

    Several loops may run at once, in any thread, also under asyncio (which then waits, as for any `for`). In a trio
    program use `aiterate`. An iterator that is kept in a variable and not exhausted keeps its stream waiting until
    `close()` or the end of the program. `limit` and `release_timeout` are as in `Pipeline.open`.
    """
    READS(Call("iterate"), source)
    check_limits("iterate", limit, release_timeout)
    if running_program() is not None:
        raise PullstreamError("iterate() would block this trio program: use `async with aiterate(source)`")
    producer = _Producer(source, Site.here(), limit, release_timeout)
    loop = _iterate(producer)
    producer.interrupts.loop = weakref.ref(loop)
    return loop


def _iterate(producer: "_Producer[T]") -> Generator[T, None, None]:
    try:
        with producer.interrupts as interrupts:
            try:
                producer.start()
                while (values := producer.next()) is not DONE:
                    try:
                        interrupts.elsewhere = True
                        yield from values
                    finally:
                        interrupts.elsewhere = False
            finally:
                # Again, because a Ctrl-C on the line before may have skipped it.
                interrupts.elsewhere = False
                producer.close()
    except BaseException as exc:
        cut(exc)
        raise


class _LoopInterrupts(Interrupts):
    """Ctrl-C while a loop waits for the stream or for its release; in the loop's body it is raised as usual.

    In an asyncio task it is raised while that task runs. While other tasks run, asyncio's own handler is called. That
    handler cancels the main task, which notices only at its next `await`: in a plain `for`, never.
    """

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere = False
        """Whether the loop's body is running, and not the stream."""
        self.loop: Callable[[], object] = lambda: None
        """The loop, unless it is being collected."""
        self.stuck: Callable[[], bool]
        """Whether the release waits for a user's function."""
        self._task: asyncio.Task[object] | None = None

    @override
    def __enter__(self) -> Self:
        self._task = current_task()
        self._asks = self._task is None
        return super().__enter__()

    @override
    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        if not self.elsewhere:
            super().on_signal(signum, frame)
        elif signum == signal.SIGINT and self._task is not None and current_task() is self._task:
            raise KeyboardInterrupt
        else:
            self.ask_theirs(signum, frame)

    @override
    def raises(self, frame: FrameType) -> bool:
        # This interrupts only `_Producer.close`, which leaves raising to `check`.
        return self.stuck() or super().raises(frame)

    @override
    def check(self, exc: BaseException | None = None) -> None:
        if self.kept and isinstance(exc, GeneratorExit) and self.loop() is None:
            # Python itself is collecting the abandoned loop. It would only print an exception raised here, as it does
            # with a signal in the last instructions of the loop, after the handler was restored.
            left = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the loop's; documented
            threading.Thread(target=_interrupt_after, args=(left,), name="pullstream interrupt").start()
        else:
            super().check(exc)


def _interrupt_after(left: FrameType) -> None:
    """Send Ctrl-C again once the main thread has left a frame."""
    main = threading.main_thread().ident
    assert main is not None, "the main thread has started"
    while left in _frames(main):
        time.sleep(0.001)
    if sys.platform == "win32":
        interrupt_main()
    else:
        # This also interrupts a call in which the main thread waits.
        signal.pthread_kill(main, signal.SIGINT)


def _frames(thread: int) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
    while frame is not None:
        yield frame
        frame = frame.f_back


@attrs.frozen
class _Raised:
    exc: BaseException


class _Producer(Generic[T]):
    """A trio program in a thread that hands over one batch per request."""

    def __init__(self, source: Source[T], site: Site, limit: int, release_timeout: float) -> None:
        self._given = (source, site, limit, release_timeout)
        self._answers: SimpleQueue[Sequence[T] | Done | _Raised | None] = SimpleQueue()
        """Answers to the loop. None is not an answer: it tells the loop to check for an interrupt."""
        self.interrupts = _LoopInterrupts()
        self.interrupts.listen(self._interrupted)
        self.interrupts.stuck = self._stuck
        self._closing = self._waiting = False
        self._started = threading.Event()
        self._finished = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        # A daemon thread: an iterator that is kept and not exhausted does not keep the program alive: `opened` ends it.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), name="pullstream iterate", daemon=True)

    # ---- in the caller's thread

    def start(self) -> None:
        """Start the program."""
        opened(self.close)
        self._thread.start()

    def next(self) -> Sequence[T] | Done:
        """Ask for a batch and wait for it; raise the stream's failure."""
        self._call(self._want)
        while (answer := self._answers.get()) is None:
            self.interrupts.check()
        if isinstance(answer, _Raised):
            raise answer.exc
        return answer

    def close(self) -> None:
        """Abort the stream, unless it has ended, and wait until everything is released; raise a release's own error."""
        self._closing = True
        try:
            self._call(self._stop)
            if threading.current_thread() is self._thread:
                # The garbage collector runs in this very thread, which cannot wait for itself.
                return
            self._waiting = True
            # Not `join`: after an interrupt, it treats the thread as ended.
            self._finished.wait()
        except KeyboardInterrupt as exc:
            self._call(self._hurry)
            if exc in self.interrupts.kept:
                return
            self._finished.wait()
            raise
        finally:
            self._waiting = False
            closed(self.close)
        self._thread.join()
        while not self._answers.empty():
            answer = self._answers.get()
            if isinstance(answer, _Raised):
                raise answer.exc

    def _interrupted(self) -> None:
        # This may run in the middle of anything, even while this thread holds an event's lock, so it must not take one.
        self._answers.put(None)
        if self._closing and self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._hurry)

    def _stuck(self) -> bool:
        """Whether the loop waits for a user's function to return."""
        return self._waiting and runs_users(next(_frames(self._thread.ident or 0), None))

    def _call(self, function: Callable[[], None]) -> None:
        self._started.wait()
        with suppress(trio.RunFinishedError):
            if self._token is not None:
                self._token.run_sync_soon(function)

    # ---- in the program's thread

    def _work(self) -> None:
        try:
            trio.run(self._produce)
        except BaseException as exc:  # noqa: BLE001 - raised in the caller's thread
            cut(exc)
            self._answers.put(_Raised(exc))
        else:
            self._answers.put(DONE)
        finally:
            self._started.set()
            self._finished.set()

    async def _produce(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._wanted = trio.Event()
        self._scope = own_scope()
        self._reading: Reading[T] | None = None
        self._started.set()
        async with reading("iterate", *self._given) as self._reading:
            with self._scope:
                while True:
                    await self._wanted.wait()
                    self._wanted = trio.Event()
                    batch = await self._reading.batch()
                    if batch is DONE:
                        return
                    self._answers.put(batch.values)

    def _want(self) -> None:
        self._wanted.set()

    def _stop(self) -> None:
        self._scope.cancel()

    def _hurry(self) -> None:
        if self._reading is not None:
            self._reading.running.hurry()
