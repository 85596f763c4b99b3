"""`iterate`: the values of a source in a plain `for`; the stream runs in a trio program in a thread beside it."""

import atexit
import contextvars
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic

import attrs
import trio
from typing_extensions import TypeVar

from pullstream.blueprint import Site, Source
from pullstream.engine.signals import raised_interrupts
from pullstream.errors import PullstreamError
from pullstream.protocol import DONE, Done
from pullstream.run import inside_trio
from pullstream.sinks.aiterate import Reading, reading, source_argument

T = TypeVar("T")


def iterate(source: Source[T], *, limit: int = 4096, release_timeout: float = 5.0) -> Generator[T, None, None]:
    """Read a source in a plain `for`, with no async in sight.

    >>> import pullstream as ps
    >>> for word in ps.iterate(ps.pipe(ps.values(["a", "b"]), ps.map(str.upper))):
    ...     print(word)
    A
    B

    The stream begins with the loop, in a thread of its own, and is asked for values as the loop goes on: nothing is
    produced that was not asked for, one value at a time, and more as long as the loop deals with them in a few
    milliseconds. However the loop is left, by its end,
    `break`, an exception or Ctrl-C, the stream is aborted and the loop waits until everything has been released;
    a second Ctrl-C does not wait. The stream's failure is raised in the loop, as itself.

    Several may go on at once, in any thread, also where asyncio runs (the loop then waits, as any `for` does); inside a
    trio program use `aiterate`. What is kept in a variable and left in its middle goes on waiting until its `close()`,
    or the end of the program. `limit` and `release_timeout` are those of `Pipeline.open`.
    """
    source_argument("iterate", source)
    if inside_trio():
        raise PullstreamError("iterate() would keep this trio program waiting: use `async with aiterate(source)`")
    return _iterate(_Producer(source, Site.here(), limit, release_timeout))


def _iterate(producer: "_Producer[T]") -> Generator[T, None, None]:
    with raised_interrupts():
        producer.start()
        try:
            while (values := producer.next()) is not DONE:
                yield from values
        finally:
            producer.close()


@attrs.frozen
class _Raised:
    exc: BaseException


class _Producer(Generic[T]):
    """A trio program in a thread, which hands over a batch whenever it is asked to."""

    def __init__(self, source: Source[T], site: Site, limit: int, release_timeout: float) -> None:
        self._given = (source, site, limit, release_timeout)
        self._answers: SimpleQueue[Sequence[T] | Done | _Raised] = SimpleQueue()
        self._started = threading.Event()
        self._finished = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        # A daemon: a loop that was left in its middle and kept does not keep the program from ending; `atexit` ends it.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), name="pullstream iterate", daemon=True)

    # ---- in the caller's thread

    def start(self) -> None:
        """Begin the program."""
        atexit.register(self.close)
        self._thread.start()

    def next(self) -> Sequence[T] | Done:
        """Ask for a batch and wait for it; the stream's failure is raised."""
        self._call(self._want)
        answer = self._answers.get()
        if isinstance(answer, _Raised):
            raise answer.exc
        return answer

    def close(self) -> None:
        """Abort the stream, unless it has ended, and wait until it has let go; what a release raised is raised."""
        try:
            self._call(self._stop)
            if threading.current_thread() is self._thread:
                # The garbage collector came by in this very thread, which cannot wait for itself.
                return
            # Not `join`, which takes a thread for ended when it is interrupted.
            self._finished.wait()
        except KeyboardInterrupt:
            self._call(self._hurry)
            self._finished.wait()
            raise
        finally:
            atexit.unregister(self.close)
        self._thread.join()
        while not self._answers.empty():
            answer = self._answers.get()
            if isinstance(answer, _Raised):
                raise answer.exc

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
            self._answers.put(_Raised(exc))
        else:
            self._answers.put(DONE)
        finally:
            self._started.set()
            self._finished.set()

    async def _produce(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._wanted = trio.Event()
        self._scope = trio.CancelScope()
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
