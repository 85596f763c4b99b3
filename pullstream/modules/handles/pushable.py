"""`pushable`: a source that is a handle, for programs that produce values and can wait."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any
from weakref import WeakValueDictionary

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Call, Module, Positive, Source, checked, checks
from pullstream.blueprint.variables import T
from pullstream.engine.sidecar.order_advice import check_time
from pullstream.errors import CapabilityError, Ended, StalledError
from pullstream.modules.handles.handle import Grip, Handle, Stored, StoredSource
from pullstream.protocol import DONE, Done
from pullstream.timely import less_equal


@attrs.frozen(repr=False)
class Pushable(Handle["Entries"], Source[T]):
    """A source and the handle to push into it; made by `pushable`. Use it from tasks of the run's own thread."""

    def __attrs_post_init__(self) -> None:
        self._grip.handles[id(self)] = self

    async def push(self, value: T, time: Hashable = 0) -> None:
        """Push a value, waiting for room; waiting tasks are served in order.

        A checkpoint. If it is cancelled, the value was not pushed.

        Raises: Ended: the stream has ended: its reader aborted it, or `end` or `fail` was called before.
        CapabilityError: `time` is before an earlier value, or before a time announced with `advance`.
        """
        self._grip.in_its_thread(waits=True)
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._grip.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    async def push_many(self, values: Iterable[T], time: Hashable = 0) -> None:
        """Push several values at one time, waiting for room when necessary. Raises the errors of `push`.

        A checkpoint. Values pushed before a cancellation or an error stay pushed.
        """
        self._grip.in_its_thread(waits=True)
        await trio.lowlevel.checkpoint_if_cancelled()
        for value in values:
            await self._grip.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    def push_nowait(self, value: T, time: Hashable = 0) -> None:
        """Push a value if there is room, or raise `trio.WouldBlock`. May be called before any trio program runs.

        Raises the errors of `push`, too.
        """
        self._grip.in_its_thread()
        if not self._grip.offer(time, value):
            raise trio.WouldBlock("no room: earlier values have not been asked for yet. Use await push()")

    def advance(self, time: Hashable) -> None:
        """Announce that nothing before `time` will be pushed, so that earlier times can complete.

        Raises: CapabilityError: as in `push`.
        """
        self._grip.announce(time)

    def end(self) -> None:
        """End the stream after the values pushed so far. Has no effect once the stream has ended."""
        self._grip.end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream after the values pushed so far; otherwise the same as `end`."""
        self._grip.end(checks.FAILURE(Call("fail"), failure))

    async def aborted(self) -> bool:
        """Wait until the stream has ended: True if its reader left before the end, False if it was read to the end."""
        return await self._grip.over()


@checked
def pushable(capacity: Positive) -> Pushable[Any]:
    """Make a source into which the program pushes values; it buffers at most `capacity` of them.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     orders: ps.types.Pushable[str] = ps.pushable(10)
    ...     async with ps.pipe(orders, ps.map(str.upper), ps.collect()).open() as running:
    ...         await orders.push("tea")
    ...         await orders.push_many(["rice", "salt"])
    ...         orders.end()
    ...         return await running.result()
    >>> trio.run(main)
    ['TEA', 'RICE', 'SALT']

    `push` waits while the buffer is full, so a fast producer keeps to the reader's pace. After the reader has aborted,
    it raises `Ended`. A thread started by trio pushes with `trio.from_thread.run(orders.push, "tea")`; for any other
    thread, use `from_callback`. Values pushed before the run opens are buffered. Times must not go back.

    It belongs to one run, and cannot be pickled. A second run is refused with `ReuseError`.
    """
    return Pushable((Module("pushable", _Pushing, (Entries(capacity),)),))


@attrs.define(eq=False)
class _Pushed:
    """A value that waits for room."""

    time: Hashable
    value: Any
    event: trio.Event = attrs.field(factory=trio.Event)


class Entries(Grip, Stored):
    """The values that were pushed and not yet asked for."""

    def __init__(self, capacity: int) -> None:
        Grip.__init__(self, "pushable", once=True)
        Stored.__init__(self)
        self.handles: WeakValueDictionary[int, Pushable[Any]] = WeakValueDictionary()
        """The handles that a program can push with: the first, and those that `named` makes from it."""
        self._capacity = capacity
        self._waiting: deque[_Pushed] = deque()
        self._left = False
        self._reason: BaseException | None = None
        self._over = trio.Event()

    @override
    def __repr__(self) -> str:
        return str(self._capacity)

    # ---- for the producer

    async def push(self, time: Hashable, value: Any) -> None:
        """Store a value, now or when there is room."""
        if self.offer(time, value):
            return
        entry = _Pushed(time, value)
        self._waiting.append(entry)
        try:
            await entry.event.wait()
        except trio.Cancelled:
            # If it was stored in the same scheduler step as the cancellation, it was pushed.
            if entry in self._waiting:
                self._waiting.remove(entry)
                raise
        if entry in self._waiting:
            self._check(time)

    def offer(self, time: Hashable, value: Any) -> bool:
        """Store a value if there is room. While there is room, no other value waits."""
        self._check(time)
        if self.values.left >= self._capacity:
            return False
        self.put(time, value)
        return True

    def announce(self, time: Hashable) -> None:
        """Announce that nothing before `time` will be pushed."""
        self.in_its_thread()
        self._check(time)
        self.advance(time)

    @override
    def end(self, ending: Done | BaseException) -> None:
        """End after all values that are stored or waiting; the first ending counts (R3)."""
        self.in_its_thread()
        if not self._over.is_set():
            super().end(ending)

    async def over(self) -> bool:
        """Wait until the stream has ended; True if its reader left before the end."""
        await self._over.wait()
        return self._left

    def in_its_thread(self, *, waits: bool = False) -> None:
        """Refuse a call from another thread or event loop; before the run opens, only if it `waits` without trio."""
        self.check_thread(
            self.program,
            "must be used from trio tasks in the thread of its run. From a thread that trio started, use "
            "trio.from_thread.run(pushable.push, value) or from_thread.run_sync. For callbacks from any other thread, "
            "use from_callback(register). Under asyncio, use from_asyncio(f), with an async generator f that awaits "
            "queue.get()",
            waits=waits,
        )

    def _check(self, time: Hashable) -> None:
        """Refuse a value after the end, or at a time before the last one."""
        if self._over.is_set():
            how = "aborted by its reader" if self._left else "read to its end"
            raise Ended(f"{self}, cannot take a value: it was {how}") from self._reason
        if self.values.known:
            raise Ended(f"{self}, cannot take a value after end() or fail()")
        check_time(time)
        last = self.last
        if self._waiting and less_equal(last, self._waiting[-1].time):
            last = self._waiting[-1].time
        if not less_equal(last, time):
            raise CapabilityError(
                f"{self}, cannot take {time!r} after {last!r}: times must not go back. Push values in order, or at one "
                f"time"
            )

    # ---- for the run

    def take_waiting(self) -> None:
        """Store the values that wait, while there is room."""
        while self._waiting and self.values.left < self._capacity:
            entry = self._waiting.popleft()
            self.put(entry.time, entry.value)
            entry.event.set()

    def close(self, reason: BaseException | None) -> None:
        """Accept no more values, because nothing reads them any longer."""
        if not self._over.is_set():
            self._left = bool(self.values) or (reason or DONE) is not self.values.ending
            self._reason = reason
            self.values.drop()
            self.forget()
            self._over.set()
            for entry in self._waiting:
                entry.event.set()


class _Pushing(StoredSource):
    def __init__(self, entries: Entries) -> None:
        super().__init__(entries)
        self._entries = entries
        entries.attach(self)

    @override
    def waits(self) -> None:
        if not self._entries.handles:
            raise StalledError(
                f"{self._entries}, waits for values, and the program has no reference to it, so none can arrive. Keep "
                f"it in a variable, push into it from another task, and end() it"
            )

    @override
    def taken(self) -> None:
        self._entries.take_waiting()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._entries.close(reason)
