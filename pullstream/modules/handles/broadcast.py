"""`broadcast`: one sender, any number of listeners that come and go."""

from collections.abc import Hashable
from typing import Annotated, Any, ClassVar, Generic, Literal

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Module, OneOf, Positive, Source, checked, checks
from pullstream.blueprint.variables import T
from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import CapabilityError, Ended
from pullstream.logger import LOG
from pullstream.modules.handles.handle import Held, Stored, StoredSource
from pullstream.protocol import DONE, Done
from pullstream.timely import BEGINNING, less_equal


class Broadcast(Held, Generic[T]):
    """A handle to send values with and to listen to; made by `broadcast`. Use it from tasks of one thread."""

    instead_of_a_module: ClassVar = "listen() makes a source of it, one for each listener"

    def __init__(self, capacity: int, *, drops: bool) -> None:
        super().__init__("broadcast")
        self.capacity = capacity
        """The number of values that a listener may be behind."""
        self._drops = drops
        self._listeners: list[_Listener] = []
        self._program: trio.lowlevel.TrioToken | None = None
        """The trio program of the listeners."""
        self._lock = trio.Lock()
        """Held while any `send` is in progress."""
        self._room = trio.Event()
        self.last: Hashable = BEGINNING
        """The time before which nothing will be sent."""
        self._ending: Done | BaseException | None = None

    def listen(self) -> Source[T]:
        """Make a source of the values sent from its first ask on. Any number of runs may open it."""
        return Source((Module("listen", _Listener, (self,)),))

    @property
    def listeners(self) -> int:
        """The current number of listeners."""
        return len(self._listeners)

    async def send(self, value: T, time: Hashable = 0) -> None:
        """Send a value to every listener; with `overflow="wait"`, wait until all of them have room.

        A checkpoint. If it is cancelled, no listener has received the value.

        Raises: Ended: `end` or `fail` was called before. CapabilityError: `time` is before an earlier value, or before
        a time announced with `advance`.
        """
        self._check(waits=True)
        try:
            async with self._lock:
                while not self._drops and any(listener.full for listener in self._listeners):
                    self._room = trio.Event()
                    await self._room.wait()
                self._follow(time)
                for listener in self._listeners:
                    listener.put(time, value)
        finally:
            self._end_all(self._listeners)

    def advance(self, time: Hashable) -> None:
        """Announce that nothing before `time` will be sent, so that earlier times can complete.

        Raises: Ended, CapabilityError: as in `send`.
        """
        self._check()
        self._follow(time)
        for listener in self._listeners:
            listener.stored.advance(time)

    def end(self) -> None:
        """End every listener's stream after the values sent so far. Nothing can be sent afterwards."""
        self._end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail every listener's stream; otherwise the same as `end`."""
        self._end(checks.FAILURE(Call("fail"), failure))

    @override
    def __repr__(self) -> str:
        return f"broadcast({self.capacity})"

    # ---- for listeners

    def join(self, listener: "_Listener") -> None:
        """Add a listener."""
        if self._ending is DONE and not self._lock.locked():
            LOG.warning(
                "%s, has ended, so a new listener gets nothing: it gets only values sent after its first ask. Open "
                "the listeners before you send",
                self,
            )
        self._in_its_thread()
        self._program = running_program()
        self._listeners.append(listener)
        listener.stored.advance(self.last)
        self._end_all([listener])

    def forget(self, listener: "_Listener") -> None:
        """Remove a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            self.took()

    def took(self) -> None:
        """Wake the sender, because there may be room now."""
        self._room.set()

    # ----

    def _in_its_thread(self, *, waits: bool = False) -> None:
        """Refuse a call from another thread than the listeners'; without listeners, only if it `waits` without trio."""
        self.check_thread(
            self._program if self._listeners else None,
            "must be used from trio tasks in its listeners' thread. From a thread that trio started, use "
            "trio.from_thread.run(broadcast.send, value). Under asyncio, and in any other thread, use "
            "from_callback(register) in place of each listen()",
            waits=waits,
        )

    def _check(self, *, waits: bool = False) -> None:
        self._in_its_thread(waits=waits)
        if self._ending is not None:
            raise Ended(f"{self}, cannot send after end() or fail()")

    def _follow(self, time: Hashable) -> None:
        if not less_equal(self.last, time):
            raise CapabilityError(f"{self}, cannot send {time!r} after {self.last!r}: times must not go back")
        self.last = time

    def _end(self, ending: Done | BaseException) -> None:
        self._in_its_thread()
        self._ending = self._ending or ending
        self._end_all(self._listeners)

    def _end_all(self, listeners: "list[_Listener]") -> None:
        """End listeners, once no `send` is in progress."""
        if self._ending is not None and not self._lock.locked():
            for listener in listeners:
                listener.stored.end(self._ending)


class _Listener(StoredSource):
    def __init__(self, handle: Broadcast[Any]) -> None:
        super().__init__(Stored())
        self._handle = handle

    @property
    def full(self) -> bool:
        """Whether there is no room for another value."""
        return self.stored.values.left >= self._handle.capacity

    def put(self, time: Hashable, value: Any) -> None:
        """Store a value; if there is no room, drop the oldest one."""
        if self.full:
            self.stored.values.take(1)
            self.location.leave_out()
        self.stored.put(time, value)

    @override
    async def acquire(self) -> None:
        self._handle.join(self)
        await super().acquire()

    @override
    def taken(self) -> None:
        self._handle.took()

    @override
    def halt(self) -> None:
        self._handle.forget(self)


@checked
def broadcast(
    capacity: Positive, *, overflow: Annotated[Literal["wait", "drop_oldest"], OneOf("wait", "drop_oldest")] = "wait"
) -> Broadcast[Any]:
    """Make a handle that sends values to any number of listeners, each of which is a source.

    >>> import trio, trio.testing, pullstream as ps
    >>> async def main():
    ...     news: ps.types.Broadcast[str] = ps.broadcast(10)
    ...     listening = ps.pipe(news.listen(), ps.take(2), ps.collect())
    ...     async with listening.open() as one, listening.open() as two:
    ...         await trio.testing.wait_all_tasks_blocked()
    ...         for word in ["rain", "sun", "wind"]:
    ...             await news.send(word)
    ...         return await one.result(), await two.result(), news.listeners
    >>> trio.run(main)
    (['rain', 'sun'], ['rain', 'sun'], 0)

    A listener gets the values sent from its first ask on, and is removed when its stream ends. At most `capacity`
    values are buffered for each listener. When one buffer is full, `send` waits or, with `overflow="drop_oldest"`, that
    listener loses its oldest value, which its counter `skipped` counts. A value sent without listeners is lost. Times
    must not go back. The listeners share the values: one that changes a value in place changes it for the others.
    """
    return Broadcast(capacity, drops=overflow == "drop_oldest")
