"""The kernel of the modules that keep values until a group of them is whole: `batch`, `windowed`, `split`, `decode`.

A group never spans times: every time has its own part. When the time is complete at the input, the part is notified and
emits what it has left, before any later batch. A part that keeps nothing is forgotten. While there are parts, a source
that may be slow is asked in a separate task, so neither a completion nor the clock waits for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any, ClassVar

import attrs
import trio
from typing_extensions import override

from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.asking import Answer
from pullstream.engine.parts.eventful import Completed
from pullstream.engine.parts.extremes import Extremes
from pullstream.engine.parts.notified import Notified
from pullstream.engine.sidecar.location import FEW
from pullstream.engine.sidecar.waiting import least
from pullstream.protocol import Batch, Unanswered


class Part(ABC):
    """Keeps the values of one time and makes results from them, which it appends to the given list."""

    deadline: float = inf
    """The moment on trio's clock at which `elapse` must be called."""

    delivers: ClassVar[bool] = False
    """Whether the kept values are emitted if the stream fails, as when the time is complete."""

    @abstractmethod
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        """Take the values of one batch. An exception comes after the results given before it."""

    @abstractmethod
    def finish(self, out: list[Any]) -> None:
        """Emit the remaining results, when the time is complete. The part is not used afterwards."""

    def elapse(self, out: list[Any]) -> None:
        """Handle the deadline, and set the next one."""
        raise NotImplementedError(f"{type(self).__name__} sets a deadline, so it must define elapse()")

    @abstractmethod
    def __len__(self) -> int:
        """The amount that is kept; a part that keeps nothing is forgotten."""


class Gather(Notified, Inline):
    """Feeds parts, a new one for each time, and emits their results.

    `clocked` parts have deadlines; with a `capacity`, upstream waits while the parts keep that much. `sizes` are the
    number of values in a result, and the number from one result to the next, if known; then no more values are asked
    for than the wanted results need.
    """

    def __init__(
        self,
        part: Callable[[], Part],
        *,
        clocked: bool = False,
        capacity: float = inf,
        sizes: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self._new_part = part
        self._clocked = clocked
        self.traits = attrs.evolve(self.traits, clocked=clocked)
        self._capacity = capacity
        self._sizes = sizes
        self._parts: dict[Hashable, Part] = {}
        self._kept = Extremes()
        """The number of values that each part keeps, because counting all parts is slow if many times are open."""
        self._kept.change(None, 0)
        self._total = 0
        """The number of values that all parts keep."""
        self._queue: list[tuple[float, int, Hashable]] = []
        """A heap of the parts' deadlines, in the order of setting if they are equal; some no longer hold."""
        self._number = count()

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in (batch,) if batch.uniform else self.apart(batch):
            time = run.time
            part = self._parts[time] if time in self._parts else self._new_part()
            before, deadline = len(part), part.deadline
            out: list[Any] = []
            try:
                part.feed(run.values, out)
            finally:
                self._give(time, part, before, deadline, out)

    @override
    def complete(self, time: Hashable) -> None:
        out: list[Any] = []
        before = len(self._parts[time])
        try:
            self._parts[time].finish(out)
        finally:
            self.give(time, out)
        del self._parts[time]
        self._kept.change(before, None)
        self._total -= before

    @override
    def failed(self) -> None:
        while self._parts:
            time = least(list(self._parts))
            if not self._parts[time].delivers:
                # The time stays held, so it never looks complete.
                return
            self.complete(time)
            self.forget(time)

    @override
    def demand(self, limit: int) -> int:
        if self._sizes is None:
            return self.run.limit
        size, step = self._sizes
        return min(self.run.limit, max(1, size + (limit - 1) * step - self._kept.greatest))

    @override
    def next_event(self, limit: int) -> Answer | Completed | Unanswered | None:
        if not self._clocked:
            return super().next_event(limit)
        if self._deadline <= trio.current_time():
            self._elapse()
            self.events.ask_on()
            return None
        room = min(self.demand(limit), self._capacity - self._total)
        return self.events.poll(max(0, int(room)))

    @property
    def _deadline(self) -> float:
        queue = self._queue
        while queue:
            if self._still_due(queue[0]):
                return queue[0][0]
            heappop(queue)
        return inf

    def _still_due(self, entry: tuple[float, int, Hashable]) -> bool:
        deadline, _, time = entry
        return time in self._parts and self._parts[time].deadline == deadline

    @override
    def wait(self) -> Awaitable[None]:
        return self.events.fetch(deadline=self._deadline)

    def _elapse(self) -> None:
        """Call the parts whose deadline has passed."""
        now = trio.current_time()
        due: dict[Hashable, None] = {}
        while self._deadline <= now:
            due[heappop(self._queue)[2]] = None
        for time in due:
            part = self._parts[time]
            before = len(part)
            out: list[Any] = []
            part.elapse(out)
            self._give(time, part, before, inf, out)

    def _give(self, time: Hashable, part: Part, before: int, deadline: float, out: list[Any]) -> None:
        """Emit the results of a part, and hold its time while it keeps values.

        It kept `before` values until now, and `deadline` is the one that the queue has.
        """
        self._kept.change(before or None, len(part) or None)
        self._total += len(part) - before
        if len(part) and part.deadline != deadline:
            if len(self._queue) > FEW + 2 * len(self._parts):
                # Those that no longer hold may be behind one that does.
                self._queue = [entry for entry in self._queue if self._still_due(entry)]
                heapify(self._queue)
            heappush(self._queue, (part.deadline, next(self._number), time))
        self.give(time, out)
        if len(part) and time not in self._parts:
            self._parts[time] = part
            self.notify(time, time)
        elif not len(part) and time in self._parts:
            del self._parts[time]
            self.forget(time)
