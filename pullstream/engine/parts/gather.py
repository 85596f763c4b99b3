"""The kernel of the modules that keep values until a group of them is whole: `batch`, `window`, `split`, `decode`.

A group never spans times: every time has a part of its own, which is told when its time is complete at the input, and
answers what it has left, before any batch that comes later. A part that keeps nothing is forgotten. While there is
any, a source that may be slow is asked in a task beside: neither a completion nor the clock waits for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any, ClassVar

import trio
from typing_extensions import override

from pullstream.engine.parts.beside import Slotted
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.sidecar.waiting import Waiter, least
from pullstream.protocol import DONE, Batch, Done, State


class Part(ABC):
    """The values kept of one time, and what is made of them; results go into the list given."""

    deadline: float = inf
    """When, on trio's clock, `elapse` is to be called."""

    delivers: ClassVar[bool] = False
    """Whether what is kept is answered, as when the time is complete, when the stream fails."""

    @abstractmethod
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        """Take the values of one batch. What is raised follows the results given before."""

    @abstractmethod
    def finish(self, out: list[Any]) -> None:
        """The time is complete: give what is left. The part is not used any more."""

    def elapse(self, out: list[Any]) -> None:
        """The deadline has come; set the next one."""
        raise NotImplementedError(f"{type(self).__name__} sets a deadline, and does not say what it does then")

    @abstractmethod
    def __len__(self) -> int:
        """How much is kept; a part that keeps nothing is forgotten."""


class Gather(Slotted[Any]):
    """Feeds parts, a new one for each time, and answers what they make."""

    def __init__(self, part: Callable[[], Part], *, timed: bool = False, capacity: float = inf) -> None:
        self._new_part = part
        self._timed = timed
        self._capacity = capacity
        self._parts: dict[Hashable, tuple[Part, Waiter]] = {}
        self._ready = Outbox(self)
        self._end: Done | BaseException | None = None

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._prompt = self.upstream.kernel.answers_promptly()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._ready:
            if self._end is not None:
                if isinstance(self._end, BaseException):
                    raise self._end
                return DONE
            await self._next(limit)
        return self._ready.take(limit)

    async def _next(self, limit: int) -> None:
        """One step towards the next answer: what is overdue, or the next batch, or waiting for either."""
        if self._elapse():
            return
        if self.state is not State.OPEN:
            # The end came in the step in which this was to go on: nothing is asked any more (R9).
            self._end = DONE
        elif self.slot is None:
            await self._fetch(limit)
        if not self._more_of_the_same() and self._complete():
            return
        if self.slot is not None and not self._elapse():
            slot, self.slot = self.slot, None
            if isinstance(slot, Batch):
                self._feed(slot.time, slot.values)
                if self._end is None:
                    # What is kept is held, and so is what is answered.
                    self.upstream.settle()
            else:
                self._finish(slot)
            await self.breathe()

    async def _fetch(self, limit: int) -> None:
        room = limit
        if self._capacity < inf:
            room = min(limit, int(self._capacity) - sum(len(part) for part, _ in self._parts.values()))
        if room > 0 and (self._prompt or not self._parts) and not self.asking(self.upstream):
            await self.ask_here(room)
            return
        if room > 0:
            self.ask_beside(self.upstream, room)
        await self._wait()

    def _feed(self, time: Hashable, values: Sequence[Any]) -> None:
        part, _ = self._parts[time] if time in self._parts else (self._new_part(), None)
        out: list[Any] = []
        try:
            part.feed(values, out)
        except BaseException as exc:
            if not out:
                raise
            self._end = exc
        self._give(time, part, out)

    def _give(self, time: Hashable, part: Part, out: list[Any]) -> None:
        """Results of a part; it may keep something, or keep it no longer. Both are held."""
        if out:
            self._ready.put(time, out)
        if len(part) and time not in self._parts:
            self.location.hold(time)
            self._parts[time] = (part, Waiter.at_input(self.location, time, self.run.signal()))
        elif not len(part) and time in self._parts:
            del self._parts[time]
            self.location.drop(time)

    def _elapse(self) -> bool:
        """Let the parts go on whose deadline has come; whether there were any."""
        if not self._timed or not self._parts:
            return False
        now = trio.current_time()
        due = [(time, part) for time, (part, _) in self._parts.items() if part.deadline <= now]
        for time, part in due:
            out: list[Any] = []
            part.elapse(out)
            self._give(time, part, out)
        return bool(due)

    def _complete(self) -> bool:
        """Finish the part of the least time that is complete, if any is."""
        if not self._parts:
            return False
        progress = self.run.progress
        progress.look()
        done = [time for time, (_, waiter) in self._parts.items() if waiter.settled(progress.tracker)]
        if not done:
            return False
        self._finish_part(least(done))
        return True

    def _finish(self, end: Done | BaseException) -> None:
        """The stream has ended above: what is left comes first; of one that failed only what is a result already."""
        self._end = end
        failed = isinstance(end, BaseException)
        while self._parts and self._end is end:
            time = least(list(self._parts))
            if failed and not self._parts[time][0].delivers:
                # Still held: it must look complete to nobody.
                return
            self._finish_part(time)

    def _finish_part(self, time: Hashable) -> None:
        part, _ = self._parts[time]
        out: list[Any] = []
        try:
            part.finish(out)
        except BaseException as exc:
            if not out:
                raise
            self._end = exc
        if out:
            self._ready.put(time, out)
        if not isinstance(self._end, BaseException) or part.delivers:
            del self._parts[time]
            self.location.drop(time)

    def _more_of_the_same(self) -> bool:
        """Whether the next batch is at the one time of which anything is kept: then that is not complete."""
        return isinstance(self.slot, Batch) and len(self._parts) == 1 and self.slot.time in self._parts

    async def _wait(self) -> None:
        """Until the answer is there, a time of which something is kept is complete, or a deadline has come."""
        self._changed = self.run.signal()
        waiters = [waiter for _, waiter in self._parts.values()]
        deadline = min((part.deadline for part, _ in self._parts.values()), default=inf)
        await self.run.progress.until(waiters, self._changed, deadline=deadline)
