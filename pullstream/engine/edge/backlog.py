"""Values waiting to be asked for: in order, each at its time, and then an ending."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Any, Final

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely.order import Ascending


def of_runs(runs: Sequence[tuple[Hashable, int]], values: Sequence[Any], *, ascending: bool = False) -> Batch[Any]:
    """Make a batch from runs, each a time and a number of values: a plain `Batch` if all times are equal.

    >>> of_runs([(1, 2), (2, 1)], "abc"), of_runs([(1, 2)], "ab")
    (Batch.of(times=[1, 1, 2], values='abc'), Batch(time=1, values='ab'))
    """
    if len(runs) == 1:
        return Batch(runs[0][0], values)
    times: list[Hashable] = []
    changes: list[int] = []
    for time, count in runs:
        if times and times[-1] != time:
            changes.append(len(times))
        times += [time] * count
    if not changes:
        return Batch(times[0], values)
    return Batch.of(Ascending(times) if ascending else times, values, changes)


def joined(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Join the values of several batches, in order: into a list, or as their class joins them.

    A class of sequences that does not hold its values as Python objects has a `join_values(parts)`, which gives one
    sequence for parts of that class, or None if they have to become a list.

    >>> joined(["ab", [1]])
    ['a', 'b', 1]
    """
    kind: Any = type(parts[0])
    join = getattr(kind, "join_values", None)
    whole = join(parts) if join is not None and all(type(part) is kind for part in parts) else None
    return list(chain.from_iterable(parts)) if whole is None else whole


def at_times(batch: Batch[Any], wanted: Callable[[Any], bool]) -> Batch[Any] | None:
    """The values of a batch at the times that pass a test; None if there are none.

    >>> at_times(Batch.of([1, 2, 1], "abc"), lambda time: time < 2)
    Batch(time=1, values=['a', 'c'])
    """
    if batch.uniform:
        return batch if wanted(batch.time) else None
    runs = [run for run in batch.runs() if wanted(run.time)]
    if not runs:
        return None
    return Batch.of([time for run in runs for time in run.times], joined([run.values for run in runs]))


EMPTY: Final = Batch[Any](None, ())


class Backlog:
    """Values waiting to be asked for, in order, each at its time, followed by an ending.

    With an `owner`, the module's location holds the least times of each batch's values until they are taken. The total
    cost does not depend on the number of takes: each value is copied once. The first ending counts, and comes after the
    values.

    >>> backlog = Backlog()
    >>> backlog.put(Batch(1, "ab"))
    >>> backlog.put(Batch.of([1, 2], "cd"))
    >>> backlog.end()
    >>> backlog.left, backlog.first, backlog.last
    (4, 1, 2)
    >>> [backlog.answer(2) for _ in range(3)]
    [Batch(time=1, values='ab'), Batch.of(times=[1, 2], values='cd'), DONE]
    """

    ending: Done | BaseException | None = None
    """The ending; None until it is known."""
    _later: deque[Batch[Any]] | None = None
    """The batches after the first; None until there is more than one."""
    _behind: int = 0
    """The number of their values."""
    _minima: Minima | None = None
    """The least times from each position of the first batch on; None until they are needed."""

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self._counted = owner is not None
        """Whether the least times of the values left are counted somewhere."""
        self.head: Batch[Any] = EMPTY
        """The first batch."""
        self.used = 0
        """The number of its values that have been taken."""

    # ---- what is left

    @property
    def left(self) -> int:
        """The number of values left."""
        return len(self.head.values) - self.used + self._behind

    def __bool__(self) -> bool:
        return self.used < len(self.head.values)

    @property
    def first(self) -> Hashable:
        """The time of the next value."""
        head = self.head
        return head.time if head.uniform else head.times[self.used]

    @property
    def last(self) -> Hashable:
        """The time of the last value."""
        last = self._later[-1] if self._later else self.head
        return last.time if last.uniform else last.times[-1]

    @property
    def least(self) -> Sequence[Hashable]:
        """The least times of the values left in the first batch."""
        head, used = self.head, self.used
        if used == len(head.values):
            return ()
        if head.uniform:
            return (head.time,)
        if not used:
            # Most batches are taken whole.
            return head.least
        if self._minima is None:
            self._minima = Minima(head)
        return self._minima.at(used)

    # ---- values

    def put(self, batch: Batch[Any]) -> None:
        """Append the values of a batch, at one time or many."""
        if self._counted:
            self.count((), (batch.time,) if batch.uniform else batch.least)
        if not self:
            self.head, self.used, self._minima = batch, 0, None
            return
        if self._later is None:
            self._later = deque()
        self._later.append(batch)
        self._behind += len(batch.values)

    def take(self, limit: int) -> Batch[Any]:
        """Take the next values, at one time or many. They are no longer held: the caller answers them in the same step.

        >>> backlog = Backlog()
        >>> backlog.put(Batch(1, "ab"))
        >>> backlog.put(Batch(2, "cd"))
        >>> backlog.take(3), backlog.take(3)
        (Batch.of(times=[1, 1, 2], values=['a', 'b', 'c']), Batch(time=2, values='d'))
        """
        part = self._part(limit)
        if len(part.values) == limit or not self:
            return part
        parts, times = [part.values], [*part.times]
        while len(times) < limit and self:
            part = self._part(limit - len(times))
            parts.append(part.values)
            times += part.times
        return Batch.of(times, joined(parts))

    def take_run(self, limit: int) -> Batch[Any]:
        """Take the next values, at most `limit`, all at one time."""
        head, start = self.head, self.used
        if head.uniform:
            return self._part(limit)
        stop = start + self.run(limit)
        run = Batch(head.times[start], head.values[start:stop])
        self._pass(stop)
        return run

    def run(self, limit: int) -> int:
        """The number of values in the next run, at most `limit`: at one time, and of one batch."""
        head, start = self.head, self.used
        last = min(len(head.values), start + limit)
        if head.uniform:
            return last - start
        times, time, stop = head.times, head.times[start], start + 1
        while stop < last and ((other := times[stop]) is time or other == time):
            stop += 1
        return stop - start

    def answer(self, limit: int) -> Batch[Any] | Done | None:
        """Take the next values or, when none are left, the end; None while there is neither.

        Raises:
            BaseException: the ending, if it is a failure.
        """
        return self.take(limit) if self else self.reached()

    def drop(self) -> None:
        """Discard the values, and stop counting them."""
        while self:
            self._pass(len(self.head.values))

    def _part(self, limit: int) -> Batch[Any]:
        head, start = self.head, self.used
        stop = min(len(head.values), start + limit)
        # Most batches are taken whole, and need no copy.
        part = head if stop - start == len(head.values) else head.part(start, stop)
        self._pass(stop)
        return part

    def _pass(self, stop: int) -> None:
        """Note that the values of the first batch before `stop` are taken."""
        head = self.head
        over = stop == len(head.values)
        before = self.least if self._counted and (over or not head.uniform) else ()
        self.used = stop
        if before and (now := () if over else self.least) != before:
            self.count(before, now)
        if over:
            self._minima, self.used = None, 0
            if self._later:
                self.head = self._later.popleft()
                self._behind -= len(self.head.values)
            else:
                # No reference to the values is kept.
                self.head = EMPTY

    def count(self, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        """Count the least times of waiting values, instead of those `before`."""
        location: Location = self.owner.location
        for time in now:
            location.hold(time)
        for time in before:
            location.drop(time)

    # ---- the ending

    @property
    def known(self) -> bool:
        """Whether the ending is known."""
        return self.ending is not None

    def end(self, ending: Done | BaseException = DONE) -> None:
        """End or fail after the values put in so far; ignored if the ending is already known."""
        if self.ending is None:
            self.ending = ending

    def reached(self) -> Done | None:
        """Return DONE if that is the ending, None if the ending is not known. Called when no values are left.

        Raises:
            BaseException: the ending, if it is a failure.
        """
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending
