"""`from_callback`, and the base of all sources whose values come from another thread."""

import inspect
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from threading import RLock
from types import FunctionType
from typing import Annotated, Any, Generic, Literal, get_args

import trio
from typing_extensions import override

from pullstream.blueprint import Call, OneOf, Positive, Source, Sync, TimeOf, checks
from pullstream.blueprint.variables import T
from pullstream.decorators import opens, source
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError, Overflow
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
        """Note an ask, and return the ending, which the other thread sets after the last value."""

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


OverflowPolicy = Literal["fail", "drop_oldest", "drop_newest"]


class Emit(Generic[T]):
    """The function that a callback-style producer calls with each value. All of its methods are thread-safe."""

    def __init__(self, capacity: int, overflow: OverflowPolicy, wake: Callable[[], None]) -> None:
        self._capacity = capacity
        self._overflow = overflow
        self._wake = wake
        self._values: deque[T] = deque()
        self._lock = RLock()
        self.ending = Backlog()
        self.dropped = 0
        """The number of values dropped because the buffer was full."""

    def __call__(self, value: T) -> bool:
        """Add a value, and return whether it was accepted. After the end, no value is accepted; nothing is raised."""
        with self._lock:
            if self.ending.known:
                return False
            if len(self._values) >= self._capacity:
                if self._overflow == "fail":
                    self.fail(
                        Overflow(
                            f"from_callback: its buffer of {self._capacity} values is full, and a callback cannot "
                            f"wait. Read faster, set a larger capacity=, or choose which values to lose with "
                            f"overflow='drop_oldest' or 'drop_newest'"
                        )
                    )
                    return False
                self.dropped += 1
                if self._overflow == "drop_newest":
                    return False
                self._values.popleft()
            self._values.append(value)
        self._wake()
        return True

    def end(self) -> None:
        """End the stream after the values so far. The first `end` or `fail` counts."""
        self._end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream after the values so far. The first `end` or `fail` counts."""
        try:
            checks.FAILURE(Call("emit.fail"), failure)
        except CompositionError as exc:
            # Raised in another thread, it would not end the stream.
            failure = exc
        self._end(failure)

    def _end(self, ending: Done | BaseException) -> None:
        with self._lock:
            self.ending.end(ending)
        self._wake()

    def close(self) -> None:
        """Drop the buffered values and accept no more, because nothing reads them any longer."""
        with self._lock:
            self.ending.end()
            self._values.clear()

    def take(self) -> Iterator[T]:
        """Take the buffered values, one after another."""
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
        overflow: OverflowPolicy,
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
    def asked(self, limit: int) -> Backlog:
        if self._unregister is not None and not callable(self._unregister):
            unregister, self._unregister = self._unregister, None
            raise TypeError(
                f"from_callback: register returned {unregister!r}. It must return a function that unregisters, or None"
            )
        return self._emit.ending

    @override
    def taken(self) -> Iterator[Any]:
        return self._emit.take()

    @override
    async def release(self) -> None:
        self._emit.close()
        if self._unregister is not None:
            self._unregister()


def _takes_emit(call: Call, register: Any) -> Any:
    if isinstance(register, FunctionType) and not inspect.signature(register).parameters:
        raise call.refuse(f"got {register.__name__}, which takes no argument: it must take emit, register(emit)")
    return register


@source
def from_callback(
    register: Annotated[
        Callable[[Emit[T]], Callable[[], object] | None],
        Sync("write a producer that can wait as an async generator, with @ps.source"),
        _takes_emit,
    ],
    *,
    capacity: Positive = 1024,
    overflow: Annotated[OverflowPolicy, OneOf(*get_args(OverflowPolicy))] = "fail",
    time: TimeOf[T] = None,
) -> Source[T]:
    """Emit the values that other code passes to a callback.

    `register(emit)` is called at the first ask. It returns a function that unregisters, which is called once, or None.
    In between, `emit(value)` adds a value, `emit.end()` ends the stream and `emit.fail(exc)` fails it. All three may be
    called from any thread: a driver's, an observer's, a signal handler's.

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

    A callback cannot wait, so at most `capacity` values are buffered. When one more arrives, the stream fails with
    `Overflow` after the buffered values. With `overflow="drop_oldest"`, the oldest value is dropped instead; with
    `"drop_newest"`, the new one; `emit.dropped` counts them. For a producer that can wait, use `pushable`, a channel or
    an async generator.

    `register` and the function that it returns run in the run's own thread and must not block it. `time` is as in
    `values`.
    """
    return opens(_Called(register, capacity, overflow, time))
