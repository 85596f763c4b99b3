"""`broadcast`: one sender, any number of listeners that come and go."""

from collections.abc import Hashable
from typing import Annotated, Any, Generic, Literal, NoReturn

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, OneOf, Positive, Site, Source, checked
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.outbox import Outbox, StreamEnd
from pullstream.engine.traits import Traits
from pullstream.errors import CapabilityError, Ended
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING, less_equal

T = TypeVar("T")


class Broadcast(Generic[T]):
    """The handle to send with, and to listen by; made by `broadcast`. For the tasks of one thread."""

    def __init__(self, capacity: int, *, drops: bool) -> None:
        self._site = Site.here()
        self._capacity = capacity
        self._drops = drops
        self._listeners: list[_Listener] = []
        self._lock = trio.Lock()
        self._room = trio.Event()
        self._sending = 0
        self._last: Hashable = BEGINNING
        self._ending = StreamEnd()

    def listen(self) -> Source[T]:
        """A source of what is sent from its first ask on; to be opened by any run, any number of times."""
        return Source((Module("listen", _Listener, (self,)),))

    @property
    def listeners(self) -> int:
        """The number of listeners now."""
        return len(self._listeners)

    async def send(self, value: T, time: Hashable = 0) -> None:
        """Give a value to every listener; with "wait", when the last of them has room.

        A checkpoint. If it is cancelled, nobody has been given the value.

        Raises:
            Ended: `end` or `fail` was called before.
            CapabilityError: `time` goes back behind what was sent before, or said with `advance`.
        """
        self._check()
        self._sending += 1
        try:
            async with self._lock:
                while not self._drops and any(listener.full for listener in self._listeners):
                    self._room = trio.Event()
                    await self._room.wait()
                self._follow(time)
                for listener in self._listeners:
                    listener.put(time, value)
        finally:
            self._sending -= 1
            self._stir()

    def advance(self, time: Hashable) -> None:
        """Say that nothing before `time` will be sent, so that what is earlier can complete.

        Raises:
            Ended, CapabilityError: as `send`.
        """
        self._check()
        self._follow(time)
        for listener in self._listeners:
            listener.lower()

    def end(self) -> None:
        """End every listener's stream after what was sent before; nothing can be sent any more."""
        self._end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail every listener's stream; otherwise as `end`."""
        self._end(failure)

    def __repr__(self) -> str:
        return f"broadcast({self._capacity})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"broadcast, made at {self._site}, cannot be pickled: it is a handle, and belongs to one program"
        )

    # ---- for listeners

    @property
    def full(self) -> int:
        """The most values that a listener may be behind."""
        return self._capacity

    @property
    def last(self) -> Hashable:
        """The time before which nothing will be sent."""
        return self._last

    @property
    def ending(self) -> StreamEnd:
        """The ending, when nothing is being sent any more."""
        return StreamEnd() if self._sending else self._ending

    def join(self, listener: "_Listener") -> None:
        """Listen from now on."""
        self._listeners.append(listener)

    def forget(self, listener: "_Listener") -> None:
        """Listen no more."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            self.took()

    def took(self) -> None:
        """Wake the sender, as there may be room now."""
        self._room.set()

    # ----

    def _check(self) -> None:
        if self._ending.known:
            raise Ended(f"broadcast, made at {self._site}, takes nothing after end() or fail()")

    def _follow(self, time: Hashable) -> None:
        if not less_equal(self._last, time):
            raise CapabilityError(
                f"broadcast, made at {self._site}, cannot send {time!r} after {self._last!r}: times must not go back",
            )
        self._last = time

    def _end(self, ending: Done | BaseException) -> None:
        self._ending.end(ending)
        self._stir()

    def _stir(self) -> None:
        for listener in self._listeners:
            listener.wake()


class _Listener(Kernel[Any]):
    traits = Traits(trusted=True, steered=True, follows=True)

    def __init__(self, handle: Broadcast[Any]) -> None:
        self._handle = handle
        self._queue = Outbox()
        self.changed = trio.Event()

    @property
    def full(self) -> bool:
        """Whether there is no room for another value."""
        return self._queue.values >= self._handle.full

    def put(self, time: Hashable, value: Any) -> None:
        """Take a value, if need be in place of the oldest."""
        if self.full:
            self._queue.take(1)
            self.location.meter.skipped += 1
        self._queue.put(time, [value])
        self.wake()

    def wake(self) -> None:
        """Wake the listener: the first time that may still be answered is known, and there may be an end."""
        self.lower()
        self.changed.set()

    def lower(self) -> None:
        """Lower the source's capability to the first time that may still be answered; at the end to none."""
        if self._queue:
            self.location.advance(self._queue.first)
        elif self._handle.ending.ending is DONE:
            self.location.drop_capability()
        else:
            self.location.advance(self._handle.last)

    @override
    async def acquire(self) -> None:
        # Its clock follows what is sent, and not what is answered.
        self._handle.join(self)
        self.lower()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._queue:
            if self._handle.ending.reached():
                return DONE
            self.changed = trio.Event()
            await self.changed.wait()
        batch = self._queue.take(limit)
        # In the step in which it is in flight below: nothing before what comes next is left here.
        self.lower()
        self._handle.took()
        return batch

    @override
    def halt(self) -> None:
        self._handle.forget(self)


@checked
def broadcast(
    capacity: Positive,
    *,
    overflow: Annotated[Literal["wait", "drop_oldest"], OneOf("wait", "drop_oldest")] = "wait",
) -> Broadcast[Any]:
    """A handle that sends values to any number of listeners, each of which is a source.

    >>> import trio, trio.testing, pullstream as ps
    >>> async def main():
    ...     news: ps.Broadcast[str] = ps.broadcast(10)
    ...     listening = ps.pipe(news.listen(), ps.take(2), ps.collect())
    ...     async with listening.open() as one, listening.open() as two:
    ...         await trio.testing.wait_all_tasks_blocked()
    ...         for word in ["rain", "sun", "wind"]:
    ...             await news.send(word)
    ...         return await one.result(), await two.result(), news.listeners
    >>> trio.run(main)
    (['rain', 'sun'], ['rain', 'sun'], 0)

    A listener gets what is sent from its first ask on, and is forgotten when its stream ends. At most `capacity` values
    wait for each. When one is full, `send` waits or, with `overflow="drop_oldest"`, that listener loses its oldest
    value (which its counter `skipped` counts). Sent while nobody listens, a value is gone. Times must not go back.
    """
    return Broadcast(capacity, drops=overflow == "drop_oldest")
