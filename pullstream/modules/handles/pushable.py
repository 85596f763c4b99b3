"""`pushable`: a source that is a handle, for programs that produce values and can wait."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any, cast
from weakref import WeakValueDictionary

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Module, Positive, Site, Source, checked
from pullstream.blueprint.variables import T
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import running_program
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.errors import CapabilityError, Ended, PullstreamError, StalledError
from pullstream.modules.handles.handle import Grip
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING, less_equal


@attrs.frozen(repr=False)
class Pushable(Source[T]):
    """A source and the handle to push into it; made by `pushable`. Use it from tasks of the run's own thread."""

    def __attrs_post_init__(self) -> None:
        self._entries.handles[id(self)] = self

    async def push(self, value: T, time: Hashable = 0) -> None:
        """Push a value, waiting for room; waiting tasks are served in order.

        A checkpoint. If it is cancelled, the value was not pushed.

        Raises: Ended: the stream has ended: its reader aborted it, or `end` or `fail` was called before.
        CapabilityError: `time` is before an earlier value, or before a time announced with `advance`.
        """
        self._entries.in_its_thread(waits=True)
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._entries.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    async def push_many(self, values: Iterable[T], time: Hashable = 0) -> None:
        """Push several values at one time, waiting for room when necessary. Raises the errors of `push`.

        A checkpoint. Values pushed before a cancellation or an error stay pushed.
        """
        self._entries.in_its_thread(waits=True)
        await trio.lowlevel.checkpoint_if_cancelled()
        for value in values:
            await self._entries.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    def push_nowait(self, value: T, time: Hashable = 0) -> None:
        """Push a value if there is room, or raise `trio.WouldBlock`. May be called before any trio program runs.

        Raises the errors of `push`, too.
        """
        self._entries.in_its_thread()
        if not self._entries.offer(time, value):
            raise trio.WouldBlock("no room: earlier values have not been asked for yet. Use await push()")

    def advance(self, time: Hashable) -> None:
        """Announce that nothing before `time` will be pushed, so that earlier times can complete.

        Raises: CapabilityError: as in `push`.
        """
        self._entries.advance(time)

    def end(self) -> None:
        """End the stream after the values pushed so far. Has no effect once the stream has ended."""
        self._entries.end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream after the values pushed so far; otherwise the same as `end`."""
        self._entries.end(failure)

    async def aborted(self) -> bool:
        """Wait until the stream is over: True if its reader left before the end, False if it was read to the end."""
        return await self._entries.over()

    @property
    def _entries(self) -> "Entries":
        return cast("Entries", self.modules[-1].args[0])


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

    `push` waits while the buffer is full, so a fast producer goes at the reader's pace. After the reader has aborted,
    it raises `Ended`. A thread started by trio pushes with `trio.from_thread.run(orders.push, "tea")`; for any other
    thread, use `from_callback`. Values pushed before the run opens are buffered. Times must not go back.

    It belongs to one run. A second run is refused with `ReuseError`, and so is pickling.
    """
    return Pushable((Module("pushable", _Pushing, (Entries(capacity, Site.here()),)),))


@attrs.define(eq=False)
class _Pushed:
    """A value that waits for room."""

    time: Hashable
    value: Any
    event: trio.Event = attrs.field(factory=trio.Event)


class Entries(Grip):
    """The values that were pushed and not yet asked for."""

    def __init__(self, capacity: int, site: Site) -> None:
        super().__init__("pushable", site, once=True)
        self.handles: WeakValueDictionary[int, Pushable[Any]] = WeakValueDictionary()
        """The handles that a program can push with: one, and what `named` makes of it."""
        self._capacity = capacity
        self._stored = Backlog()
        self._waiting: deque[_Pushed] = deque()
        self._answered: Hashable = BEGINNING
        self._advanced: Hashable = BEGINNING
        self._left = False
        self._reason: BaseException | None = None
        self._over = trio.Event()
        self._changed: Signal | trio.Event = trio.Event()

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
            self._check()

    def offer(self, time: Hashable, value: Any) -> bool:
        """Store a value if there is room. While there is room, no other value waits."""
        self._check()
        self._may_follow(time)
        if self._stored.left >= self._capacity:
            return False
        first = not self._stored
        self._stored.put(Batch(time, [value]))
        if first:
            self.lower()
        self._changed.set()
        return True

    def advance(self, time: Hashable) -> None:
        """Announce that nothing before `time` will come."""
        self.in_its_thread()
        self._check()
        self._may_follow(time)
        self._advanced = time
        self.lower()

    def end(self, ending: Done | BaseException) -> None:
        """End after all values that are stored or waiting; the first ending counts (R3)."""
        self.in_its_thread()
        if not self._over.is_set():
            self._stored.end(ending)
            self.lower()
            self._changed.set()

    async def over(self) -> bool:
        """Wait until the stream is over; True if its reader left before the end."""
        await self._over.wait()
        return self._left

    def in_its_thread(self, *, waits: bool = False) -> None:
        """Refuse a call from another thread or event loop; before the run opens, only one that `waits` without trio."""
        if self.elsewhere() is not None or (waits and running_program() is None):
            raise PullstreamError(
                f"pushable, made at {self.site}, must be used from trio tasks in the thread of its run. From a thread "
                f"that trio started, use trio.from_thread.run(pushable.push, value) or from_thread.run_sync. For "
                f"callbacks from any other thread, use from_callback(register). Under asyncio, use from_asyncio(f), "
                f"with an async generator f that awaits queue.get()",
            )

    def _check(self) -> None:
        if self._over.is_set():
            how = "aborted by its reader" if self._left else "read to its end"
            raise Ended(f"pushable, made at {self.site}, cannot take a value: it was {how}") from self._reason
        if self._stored.ending is not None:
            raise Ended(f"pushable, made at {self.site}, cannot take a value after end() or fail()")

    def _may_follow(self, time: Hashable) -> None:
        last = self._waiting[-1].time if self._waiting else self._stored.last if self._stored else self._answered
        if less_equal(last, self._advanced):
            last = self._advanced
        if not less_equal(last, time):
            raise CapabilityError(
                f"pushable, made at {self.site}, cannot take {time!r} after {last!r}: times must not go back. Push "
                f"values in order, or at one time",
            )

    # ---- for the run

    async def take(self, limit: int, run: Run) -> Batch[Any] | Done:
        """Give at most `limit` values, once there are any, or the end."""
        while (answer := self._stored.answer(limit)) is None:
            if not self.handles:
                raise StalledError(
                    f"pushable, made at {self.site}, waits for values, and the program has no reference to it, so none "
                    f"can come. Keep it in a variable, push into it from another task, and end() it"
                )
            self._changed = run.signal()
            await self._changed.wait(outside=True)
        if answer is not DONE:
            self._answered = answer.time if answer.uniform else answer.times[-1]
            while self._waiting and self._stored.left < self._capacity:
                entry = self._waiting.popleft()
                self._stored.put(Batch(entry.time, [entry.value]))
                entry.event.set()
        return answer

    def lower(self) -> None:
        """Lower the source's capability to the first time that may still be answered; at the end, drop it."""
        kernel = self.alive()
        if kernel is None:
            return
        if self._stored:
            kernel.location.advance(self._stored.first)
        elif self._stored.ending is DONE:
            kernel.location.drop_capability()
        elif less_equal(self._answered, self._advanced):
            kernel.location.advance(self._advanced)
        else:
            kernel.location.advance(self._answered)

    def close(self, reason: BaseException | None) -> None:
        """Accept no more values, because nothing reads them any longer."""
        if not self._over.is_set():
            self._left = bool(self._stored) or (reason or DONE) is not self._stored.ending
            self._reason = reason
            self._stored.drop()
            self._over.set()
            for entry in self._waiting:
                entry.event.set()


class _Pushing(Kernel[Any]):
    traits = Traits(trusted=True, steered=True, follows=True)

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        entries.attach(self)

    @override
    async def acquire(self) -> None:
        # Its clock follows the values pushed, not the values answered.
        self._entries.lower()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self._entries.take(limit, self.run)
        # In the same scheduler step in which the batch is in flight downstream: nothing earlier is left here.
        self._entries.lower()
        return batch

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._entries.close(reason)
