"""Values waiting to be asked for: the rest of one answer, and a queue of answers followed by an ending."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import DONE, Batch, Done, TimedBatch
from pullstream.timely.order import Ascending


class Located(Protocol):
    """An object with a location in the sidecar."""

    @property
    def location(self) -> Location:
        """The location."""
        ...


class Remainder:
    """The rest of an answer that is longer than the limit. It is a cursor, so that no value is copied twice.

    >>> rest = Remainder(Batch(0, "abcde"))
    >>> rest.take(2), rest.left, rest.take(9), rest.left
    ('ab', 3, 'cde', 0)

    A multi-time answer is taken in parts:

    >>> rest = Remainder(TimedBatch([1, 2, 2], "abc"))
    >>> rest.part(1), rest.time, rest.part(2)
    (Batch(time=1, values='a'), 2, Batch(time=2, values='bc'))
    """

    def __init__(self, batch: Batch[Any] | None = None) -> None:
        self.time: Hashable = None
        """The time of the next value."""
        self.batch: TimedBatch[Any] | None = None
        """The answer, if it is a multi-time batch."""
        self.times: Sequence[Hashable] | None = None
        """The times of the values, if the answer is a multi-time batch."""
        self.values: Sequence[Any] = ()
        self.used = 0
        if batch is not None:
            self.put(batch)

    @property
    def left(self) -> int:
        """The number of values left."""
        return len(self.values) - self.used

    def put(self, batch: Batch[Any]) -> None:
        """Start on a new answer. Must be called only when the answer before is used up."""
        if isinstance(batch, TimedBatch):
            self.batch, self.times = batch, batch.times
            self.time = batch.times[0]
        else:
            self.batch, self.time, self.times = None, batch.time, None
        self.values, self.used = batch.values, 0

    def run(self) -> int:
        """The length of the next run: the number of consecutive values at `time`."""
        times, used, time = self.times, self.used, self.time
        if times is None:
            return self.left
        end = used + 1
        while end < len(times) and times[end] == time:
            end += 1
        return end - used

    def take(self, count: int) -> Sequence[Any]:
        """Take the next values, at most `count`; all are at `time`, unless the answer is a multi-time batch."""
        used, values = self.used, self.values
        if used + count < len(values):
            self.used = used + count
            return values[used : self.used]
        # Nothing is left, so no reference to the values is kept.
        self.values, self.used = (), 0
        return values[used:] if used else values

    def part(self, count: int) -> Batch[Any]:
        """Take the next values, at most `count`, each at its time."""
        used, time, batch = self.used, self.time, self.batch
        values = self.take(count)
        if batch is None:
            return Batch(time, values)
        if self.left:
            self.time = batch.times[self.used]
        elif not used:
            return batch
        return timed(batch.times[used : used + len(values)], values)


def timed(times: Sequence[Hashable], values: Sequence[Any]) -> Batch[Any]:
    """Make a batch of values (at least one), each at its time: a plain `Batch` if all times are equal.

    Every module downstream handles a batch at one time in fewer steps.

    >>> timed([1, 1], "ab"), timed([1, 2], "ab")
    (Batch(time=1, values='ab'), TimedBatch(times=[1, 2], values='ab'))
    """
    first = times[0]
    # In most cases, comparing the last time settles it.
    one = times[-1] == first and (isinstance(times, Ascending) or times.count(first) == len(times))
    return Batch(first, values) if one else TimedBatch(times, values)


def of_runs(runs: Sequence[tuple[Hashable, int]], values: Sequence[Any], *, ascending: bool = False) -> Batch[Any]:
    """Make a batch from runs, each a time and a number of values: a plain `Batch` if all times are equal.

    >>> of_runs([(1, 2), (2, 1)], "abc"), of_runs([(1, 2)], "ab")
    (TimedBatch(times=[1, 1, 2], values='abc'), Batch(time=1, values='ab'))
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
    return TimedBatch(Ascending(times) if ascending else times, values, changes)


def _part(answer: Batch[Any], start: int, stop: int | None = None) -> Batch[Any]:
    part = answer.part(start, stop)
    return timed(part.times, part.values) if isinstance(part, TimedBatch) else part


class StreamEnd:
    """The ending of a stream, once it is known: done, or a failure. The first ending counts.

    >>> end = StreamEnd()
    >>> end.known, end.reached(), end.end(), end.known, end.reached()
    (False, None, None, True, DONE)
    """

    ending: Done | BaseException | None = None
    """The ending; None as long as it is not known."""

    @property
    def known(self) -> bool:
        """Whether the ending is known."""
        return self.ending is not None

    def end(self, ending: Done | BaseException = DONE) -> None:
        """End or fail after everything that comes before; ignored if the ending is already known."""
        if self.ending is None:
            self.ending = ending

    def reached(self) -> Done | None:
        """Return DONE if that is the ending, None if the ending is not known. Called when nothing comes before it.

        Raises:
            BaseException: the ending, if it is a failure.
        """
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending


class Outbox(StreamEnd):
    """A queue of values waiting to be answered, in order, each at its time, followed by an ending.

    With an `owner`, its location holds each answer's time until the last of its values is taken; for a multi-time
    answer, it holds the least times of the values left. The total cost does not depend on the number of takes: each
    value is copied once.

    >>> outbox = Outbox()
    >>> outbox.put(1, "ab")
    >>> outbox.put(1, "c")
    >>> outbox.put(2, "d")
    >>> outbox.end()
    >>> [outbox.answer(2) for _ in range(3)]
    [Batch(time=1, values='ab'), TimedBatch(times=[1, 2], values=['c', 'd']), DONE]
    """

    def __init__(self, owner: Located | None = None) -> None:
        self._owner = owner
        self._answers: deque[Batch[Any]] = deque()
        self._used = 0
        """The number of values of the first answer that have been taken."""
        self._minima: Minima | None = None
        """The least times from each position of the first answer, once they were needed; only for a multi-time one."""
        self.values = 0
        """The number of values in the queue."""

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def first(self) -> Hashable:
        """The time of the next value."""
        answer = self._answers[0]
        return answer.times[self._used] if isinstance(answer, TimedBatch) else answer.time

    @property
    def last(self) -> Hashable:
        """The time of the last value."""
        answer = self._answers[-1]
        return answer.times[-1] if isinstance(answer, TimedBatch) else answer.time

    def put(self, time: Hashable, values: Sequence[Any]) -> None:
        """Append values (at least one) at `time`."""
        if self._owner is not None:
            self._owner.location.hold(time)
        self._answers.append(Batch(time, values))
        self.values += len(values)

    def put_batch(self, batch: Batch[Any]) -> None:
        """Append the values of a batch, at one time or many."""
        if self._owner is not None:
            for time in _least(batch):
                self._owner.location.hold(time)
        self._answers.append(batch)
        self.values += len(batch.values)

    def take(self, limit: int) -> Batch[Any]:
        """Take the next values, at one time or many. They are no longer held: the caller answers them in the same step.

        >>> outbox = Outbox()
        >>> outbox.put(1, "ab")
        >>> outbox.put(2, "cd")
        >>> outbox.take(3), outbox.take(3)
        (TimedBatch(times=[1, 1, 2], values=['a', 'b', 'c']), Batch(time=2, values='d'))
        """
        part = self._part(limit)
        if len(part.values) == limit or not self._answers:
            return part
        out, times = list(part.values), [*part.times]
        while len(out) < limit and self._answers:
            part = self._part(limit - len(out))
            out += part.values
            times += part.times
        return timed(times, out)

    def _part(self, limit: int) -> Batch[Any]:
        answer, used, owner = self._answers[0], self._used, self._owner
        if limit < len(answer.values) - used:
            if owner is not None and isinstance(answer, TimedBatch):
                self._hold_less(answer, used + limit)
            part = _part(answer, used, used + limit)
            self._used += limit
        else:
            if owner is not None:
                for time in self._left():
                    owner.location.drop(time)
            # Most answers are taken whole, and need no copy.
            part = _part(answer, used) if used else answer
            self._answers.popleft()
            self._used, self._minima = 0, None
        self.values -= len(part.values)
        return part

    def _hold_less(self, answer: TimedBatch[Any], used: int) -> None:
        """Move the holds of the first answer to the least times of the values left once `used` of them are taken."""
        assert self._owner is not None
        minima = self._minima = self._minima or Minima(answer.times)
        before, now = minima.at(self._used), minima.at(used)
        if now != before:
            for time in now:
                self._owner.location.hold(time)
            for time in before:
                self._owner.location.drop(time)

    def _left(self) -> Sequence[Hashable]:
        """The least times of the values left of the first answer."""
        return _least(self._answers[0]) if self._minima is None else self._minima.at(self._used)

    def answer(self, limit: int) -> Batch[Any] | Done | None:
        """Take the next values or, when none are left, the end; None while there is neither.

        Raises:
            BaseException: the ending, if it is a failure.
        """
        return self.take(limit) if self._answers else self.reached()

    def forget(self) -> None:
        """Discard the values, and leave their holds: the stream's ending withdraws or keeps them."""
        self._answers.clear()
        self._used, self._minima, self.values = 0, None, 0

    def withdraw(self) -> None:
        """Discard the values, and drop their holds."""
        while self._answers and self._owner is not None:
            for time in self._left():
                self._owner.location.drop(time)
            self._answers.popleft()
            self._used, self._minima = 0, None
        self.forget()


def _least(batch: Batch[Any]) -> Sequence[Hashable]:
    return batch.least if isinstance(batch, TimedBatch) else (batch.time,)
