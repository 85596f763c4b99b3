"""`pushable`: a source that is a handle, for programs that have values to give and can wait."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any, cast

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Positive, Site, Source, checked
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.handle import Grip
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.traits import Traits
from pullstream.errors import CapabilityError, Ended, PullstreamError
from pullstream.protocol import DONE, Batch, Done, TimedBatch
from pullstream.timely import BEGINNING, less_equal

T = TypeVar("T")


@attrs.frozen(repr=False)
class Pushable(Source[T]):
    """A source and the handle to push into it; made by `pushable`. For one task or several, of the run's own thread."""

    async def push(self, value: T, time: Hashable = 0) -> None:
        """Give a value, once there is room for it; whoever waits is served in order.

        A checkpoint. If it is cancelled, the value was not pushed.

        Raises:
            Ended: the stream has ended: its reader aborted it, or `end` or `fail` was called before.
            CapabilityError: `time` goes back behind what was pushed before, or said with `advance`.
        """
        self._entries.in_its_thread()
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._entries.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    async def push_many(self, values: Iterable[T], time: Hashable = 0) -> None:
        """Give several values at one time, waiting for room whenever there is none; raises what `push` raises.

        A checkpoint. Values taken before it was cancelled, or raised, stay pushed.
        """
        self._entries.in_its_thread()
        await trio.lowlevel.checkpoint_if_cancelled()
        for value in values:
            await self._entries.push(time, value)
        await trio.lowlevel.cancel_shielded_checkpoint()

    def push_nowait(self, value: T, time: Hashable = 0) -> None:
        """Give a value if there is room, also before any trio program runs; raises `trio.WouldBlock` if there is none.

        Raises what `push` raises, too.
        """
        self._entries.in_its_thread()
        if not self._entries.offer(time, value):
            raise trio.WouldBlock("no room: what was pushed before has not been asked for yet; await push()")

    def advance(self, time: Hashable) -> None:
        """Say that nothing before `time` will come, so that what is earlier can complete.

        Raises:
            CapabilityError: as `push`.
        """
        self._entries.advance(time)

    def end(self) -> None:
        """End the stream, after everything pushed so far. Once it has ended, one way or another, nothing changes."""
        self._entries.end(DONE)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream, after everything pushed so far; otherwise as `end`."""
        self._entries.end(failure)

    async def aborted(self) -> bool:
        """Wait until the stream is over: True if its reader left before the end, False if it was read to the end."""
        return await self._entries.over()

    @property
    def _entries(self) -> "Entries":
        return cast("Entries", self.modules[-1].args[0])


@checked
def pushable(capacity: Positive) -> Pushable[Any]:
    """A source that gives what is pushed into it; at most `capacity` values wait in it to be asked for.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     orders: ps.Pushable[str] = ps.pushable(10)
    ...     async with ps.pipe(orders, ps.map(str.upper), ps.collect()).open() as running:
    ...         await orders.push("tea")
    ...         await orders.push_many(["rice", "salt"])
    ...         orders.end()
    ...         return await running.result()
    >>> trio.run(main)
    ['TEA', 'RICE', 'SALT']

    `push` waits while it is full, so a fast producer goes at the reader's pace; once the reader has aborted, it
    raises `Ended`. A thread that trio started pushes with `trio.from_thread.run(orders.push, "tea")`; for any other
    there is `from_callback`. What is pushed before the run opens waits in it. Times must not go back.

    It belongs to one run: a second is refused with `ReuseError`, and so is pickling.
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
        self._capacity = capacity
        self._stored = Outbox()
        self._waiting: deque[_Pushed] = deque()
        self._answered: Hashable = BEGINNING
        self._advanced: Hashable = BEGINNING
        self._left = False
        self._reason: BaseException | None = None
        self._over = trio.Event()
        self._changed = trio.Event()

    @override
    def __repr__(self) -> str:
        return str(self._capacity)

    # ---- for the one who pushes

    async def push(self, time: Hashable, value: Any) -> None:
        """Store a value, at once or when there is room."""
        if self.offer(time, value):
            return
        entry = _Pushed(time, value)
        self._waiting.append(entry)
        try:
            await entry.event.wait()
        except trio.Cancelled:
            # If it was stored in the very step in which the cancellation struck, it was pushed.
            if entry in self._waiting:
                self._waiting.remove(entry)
                raise
        if entry in self._waiting:
            self._check()

    def offer(self, time: Hashable, value: Any) -> bool:
        """Store a value if there is room; while there is any, nobody waits for it."""
        self._check()
        self._may_follow(time)
        if self._stored.values >= self._capacity:
            return False
        first = not self._stored
        self._stored.put(time, [value])
        if first:
            self.lower()
        self._changed.set()
        return True

    def advance(self, time: Hashable) -> None:
        """Say that nothing before `time` will come."""
        self.in_its_thread()
        self._check()
        self._may_follow(time)
        self._advanced = time
        self.lower()

    def end(self, ending: Done | BaseException) -> None:
        """End, after everything that was stored or waits; the first ending counts (R3)."""
        self.in_its_thread()
        if not self._over.is_set():
            self._stored.end(ending)
            self.lower()
            self._changed.set()

    async def over(self) -> bool:
        """Wait until the stream is over; whether its reader left before the end."""
        await self._over.wait()
        return self._left

    def in_its_thread(self) -> None:
        """Refuse a call that another thread makes, or another event loop."""
        if self.elsewhere() is not None:
            raise PullstreamError(
                f"pushable, made at {self.site}, is steered in the thread of its run, by trio's tasks: a thread that "
                f"trio started calls it with trio.from_thread.run(pushable.push, value), or from_thread.run_sync; "
                f"who calls back from another thread goes into from_callback(register)",
            )

    def _check(self) -> None:
        if self._over.is_set():
            how = "aborted by its reader" if self._left else "read to its end"
            raise Ended(f"pushable, made at {self.site}, takes nothing more: it was {how}") from self._reason
        if self._stored.ending is not None:
            raise Ended(f"pushable, made at {self.site}, takes nothing after end() or fail()")

    def _may_follow(self, time: Hashable) -> None:
        last = self._waiting[-1].time if self._waiting else self._stored.last if self._stored else self._answered
        if less_equal(last, self._advanced):
            last = self._advanced
        if not less_equal(last, time):
            raise CapabilityError(
                f"pushable, made at {self.site}, cannot take {time!r} after {last!r}: times must not go back. Sort "
                f"what is pushed, or push it at one time",
            )

    # ---- for the run

    async def take(self, limit: int) -> Batch[Any] | Done:
        """At most `limit` values, when there are any, or the end."""
        while (answer := self._stored.answer(limit)) is None:
            self._changed = trio.Event()
            await self._changed.wait()
        if answer is not DONE:
            self._answered = answer.times[-1] if isinstance(answer, TimedBatch) else answer.time
            while self._waiting and self._stored.values < self._capacity:
                entry = self._waiting.popleft()
                self._stored.put(entry.time, [entry.value])
                entry.event.set()
        return answer

    def lower(self) -> None:
        """Lower the source's capability to the first time that may still be answered; at the end to none."""
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
        """Take nothing more, as nobody reads any more."""
        if not self._over.is_set():
            self._left = self._stored.ending is None or bool(self._stored) or reason is not self._failure
            self._reason = reason
            self._stored.forget()
            self._over.set()
            for entry in self._waiting:
                entry.event.set()

    @property
    def _failure(self) -> BaseException | None:
        ending = self._stored.ending
        return ending if isinstance(ending, BaseException) else None


class _Pushing(Kernel[Any]):
    traits = Traits(trusted=True, steered=True, follows=True)

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        entries.attach(self)

    @override
    async def acquire(self) -> None:
        # Its clock follows what is pushed, and not what is answered.
        self._entries.lower()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self._entries.take(limit)
        # In the step in which it is in flight below: nothing before what comes next is left here.
        self._entries.lower()
        return batch

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._entries.close(reason)
