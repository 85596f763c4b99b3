"""`from_callback`: a source of what somebody calls back with, who cannot wait."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from threading import RLock
from typing import Annotated, Any, Generic, Literal

from typing_extensions import TypeVar, override

from pullstream.blueprint import OneOf, Positive, Source, Sync, TimeOf
from pullstream.decorators import opens, source
from pullstream.engine.parts.outbox import StreamEnd
from pullstream.errors import Overflow
from pullstream.modules.sources.threaded import ThreadedSource
from pullstream.protocol import DONE, Done

T = TypeVar("T")

Policy = Literal["fail", "drop_oldest", "drop_newest"]
_POLICIES = ("fail", "drop_oldest", "drop_newest")


class Emit(Generic[T]):
    """The function that a callback-style producer calls with each value. All of it may be called from any thread."""

    def __init__(self, capacity: int, overflow: Policy, wake: Callable[[], None]) -> None:
        self._capacity = capacity
        self._overflow = overflow
        self._wake = wake
        self._values: deque[T] = deque()
        self._lock = RLock()
        self.ending = StreamEnd()
        self.dropped = 0
        """The number of values that were dropped for want of room."""

    def __call__(self, value: T) -> bool:
        """Give a value; whether it was taken. After the end nothing is, and nothing is raised."""
        with self._lock:
            if self.ending.known:
                return False
            if len(self._values) >= self._capacity:
                if self._overflow == "drop_oldest":
                    self._values.popleft()
                    self.dropped += 1
                else:
                    if self._overflow == "drop_newest":
                        self.dropped += 1
                    else:
                        self.fail(
                            Overflow(
                                f"from_callback: {self._capacity} values wait already to be asked for, and a callback "
                                f"cannot wait: read faster, give it a larger capacity=, or say with "
                                f"overflow='drop_oldest' or 'drop_newest' what may be lost",
                            ),
                        )
                    return False
            self._values.append(value)
        self._wake()
        return True

    def end(self) -> None:
        """End the stream, after everything given so far; the first ending counts."""
        self._end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream, after everything given so far; the first ending counts."""
        self._end(failure)

    def _end(self, ending: Done | BaseException) -> None:
        with self._lock:
            self.ending.end(ending)
        self._wake()

    def close(self) -> None:
        """Take nothing and keep nothing, as nobody reads any more."""
        with self._lock:
            self.ending.end()
            self._values.clear()

    def take(self) -> Iterator[T]:
        """Take the values that wait, one after another."""
        while True:
            with self._lock:
                if not self._values:
                    return
                value = self._values.popleft()
            yield value


class _Called(ThreadedSource):
    def __init__(
        self,
        register: Callable[[Emit[Any]], object],
        capacity: int,
        overflow: Policy,
        time: Callable[[Any], Hashable] | None = None,
    ) -> None:
        super().__init__(time)
        self._register = register
        self._emit: Emit[Any] = Emit(capacity, overflow, self.wake)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        try:
            self._unregister: Any = self._register(self._emit)
        except BaseException:
            self._emit.close()
            raise

    @override
    def asked(self, limit: int) -> StreamEnd:
        if self._unregister is not None and not callable(self._unregister):
            unregister, self._unregister = self._unregister, None
            raise TypeError(f"from_callback: register returned {unregister!r}, which cannot be called to unregister")
        return self._emit.ending

    @override
    def taken(self) -> Iterator[Any]:
        return self._emit.take()

    @override
    async def release(self) -> None:
        self._emit.close()
        if self._unregister is not None:
            self._unregister()


@source
def from_callback(
    register: Annotated[
        Callable[[Emit[T]], Callable[[], object] | None],
        Sync("a producer that can wait is an async generator: @ps.source"),
    ],
    *,
    capacity: Positive = 1024,
    overflow: Annotated[Policy, OneOf(*_POLICIES)] = "fail",
    time: TimeOf[T] = None,
) -> Source[T]:
    """Give what a callback-style producer calls back with.

    `register(emit)` is called at the first ask; what it returns, a function or None, is called once to unregister.
    In between, `emit(value)` gives a value, `emit.end()` ends the stream and `emit.fail(exc)` fails it, from whatever
    thread: a driver's, an observer's, a signal's.

    >>> import threading, pullstream as ps
    >>> def register(emit):
    ...     def work():
    ...         emit("a")
    ...         emit("b")
    ...         emit.end()
    ...     thread = threading.Thread(target=work)
    ...     thread.start()
    ...     return thread.join
    >>> ps.run(ps.pipe(ps.from_callback(register), ps.collect()))
    ['a', 'b']

    A callback cannot be made to wait, so at most `capacity` values wait to be asked for. When one more comes, the
    stream fails with `Overflow`, after those that wait; with `overflow="drop_oldest"` the one that has waited longest
    is dropped for it, with `"drop_newest"` the new one is, and `emit.dropped` counts them. A producer that can wait
    belongs to a `pushable`, a channel or an async generator.

    Values are at time 0, or at the time that `time` gives each. `register` and what it returns are called in the
    run's own thread, which they should not keep waiting.
    """
    return opens(_Called(register, capacity, overflow, time))
