"""Values that are owed and not asked for yet: the rest of one answer, and a queue of answers with its ending."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import DONE, Batch, Done, TimedBatch
from pullstream.timely.order import Ascending


class Located(Protocol):
    """An owner of a location in the sidecar."""

    @property
    def location(self) -> Location:
        """The location."""
        ...


class Remainder:
    """The rest of an answer that is longer than what is asked for at a time; a cursor, so that nothing is copied twice.

    >>> rest = Remainder(Batch(0, "abcde"))
    >>> rest.take(2), rest.left, rest.take(9), rest.left
    ('ab', 3, 'cde', 0)

    An answer of many times is taken in parts:

    >>> rest = Remainder(TimedBatch([1, 2, 2], "abc"))
    >>> rest.part(1), rest.time, rest.part(2)
    (Batch(time=1, values='a'), 2, Batch(time=2, values='bc'))
    """

    def __init__(self, batch: Batch[Any] | None = None) -> None:
        self.time: Hashable = None
        """The time of the next value."""
        self.batch: TimedBatch[Any] | None = None
        """The answer, if it is one of many times."""
        self.times: Sequence[Hashable] | None = None
        """The times of the values, where they are many."""
        self.values: Sequence[Any] = ()
        self.used = 0
        if batch is not None:
            self.put(batch)

    @property
    def left(self) -> int:
        """The number of values."""
        return len(self.values) - self.used

    def put(self, batch: Batch[Any]) -> None:
        """Begin with a new answer, in place of one that is used up."""
        if isinstance(batch, TimedBatch):
            self.batch, self.times = batch, batch.times
            self.time = batch.times[0]
        else:
            self.batch, self.time, self.times = None, batch.time, None
        self.values, self.used = batch.values, 0

    def run(self) -> int:
        """The number of values that come next and are all at `time`."""
        times, used, time = self.times, self.used, self.time
        if times is None:
            return self.left
        end = used + 1
        while end < len(times) and times[end] == time:
            end += 1
        return end - used

    def take(self, count: int) -> Sequence[Any]:
        """The next values, at most `count`; all at `time`, unless the answer has many."""
        used, values = self.used, self.values
        if used + count < len(values):
            self.used = used + count
            return values[used : self.used]
        # Nothing is left, and nothing kept.
        self.values, self.used = (), 0
        return values[used:] if used else values

    def part(self, count: int) -> Batch[Any]:
        """The next values, at most `count`, each at its time."""
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
    """A batch of values, of which there are some, each at its time: of one time, if they have no other.

    What is at one time is dealt with in fewer steps, all the way down.

    >>> timed([1, 1], "ab"), timed([1, 2], "ab")
    (Batch(time=1, values='ab'), TimedBatch(times=[1, 2], values='ab'))
    """
    first = times[0]
    # Mostly the last one tells.
    one = times[-1] == first and (isinstance(times, Ascending) or times.count(first) == len(times))
    return Batch(first, values) if one else TimedBatch(times, values)


def of_runs(runs: Sequence[tuple[Hashable, int]], values: Sequence[Any], *, ascending: bool = False) -> Batch[Any]:
    """A batch of values in runs: so many at one time, then so many at another; of one time, if they have no other.

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
    """The end that a stream is to come to, once it is known: that it is done, or a failure; the first counts.

    >>> end = StreamEnd()
    >>> end.known, end.reached(), end.end(), end.known, end.reached()
    (False, None, None, True, DONE)
    """

    ending: Done | BaseException | None = None
    """The ending, or None as long as it is not known."""

    @property
    def known(self) -> bool:
        """Whether it is known."""
        return self.ending is not None

    def end(self, ending: Done | BaseException = DONE) -> None:
        """End, or fail, after what comes before."""
        if self.ending is None:
            self.ending = ending

    def reached(self) -> Done | None:
        """DONE, now that nothing comes before it; None if it is not known.

        Raises:
            BaseException: the failure that it is.
        """
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending


class Outbox(StreamEnd):
    """A queue of the values that are owed, in order, each at its time, and then of an ending.

    With an `owner` each answer is held there, at its time, until the last of its values is taken; one of many times at
    the least of those that are left. Any number of takes costs what the values cost: each is copied once.

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
        """The least times of what is left of that, if it has many times and somebody looked."""
        self.values = 0
        """The number of values."""

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
        """Owe values, of which there are some, at `time`, after those before them."""
        if self._owner is not None:
            self._owner.location.hold(time)
        self._answers.append(Batch(time, values))
        self.values += len(values)

    def put_batch(self, batch: Batch[Any]) -> None:
        """Owe the values of a batch, at one time or many, after those before them."""
        if self._owner is not None:
            for time in _least(batch):
                self._owner.location.hold(time)
        self._answers.append(batch)
        self.values += len(batch.values)

    def take(self, limit: int) -> Batch[Any]:
        """The next values, at one time or many; the caller answers them in the same step, and they are in flight then.

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
            # Most answers are taken whole, and are answered as they are.
            part = _part(answer, used) if used else answer
            self._answers.popleft()
            self._used, self._minima = 0, None
        self.values -= len(part.values)
        return part

    def _hold_less(self, answer: TimedBatch[Any], used: int) -> None:
        """Hold what is left of the first answer when so much of it is used, in place of what was held before."""
        assert self._owner is not None
        minima = self._minima = self._minima or Minima(answer.times)
        before, now = minima.at(self._used), minima.at(used)
        if now != before:
            for time in now:
                self._owner.location.hold(time)
            for time in before:
                self._owner.location.drop(time)

    def _left(self) -> Sequence[Hashable]:
        """The least times of what is left of the first answer."""
        return _least(self._answers[0]) if self._minima is None else self._minima.at(self._used)

    def answer(self, limit: int) -> Batch[Any] | Done | None:
        """The next values or, when there are none any more, the end; None while there is neither.

        Raises:
            BaseException: what it was ended with.
        """
        return self.take(limit) if self._answers else self.reached()

    def forget(self) -> None:
        """Owe nothing any more; what was held is the ending's to withdraw, or to keep."""
        self._answers.clear()
        self._used, self._minima, self.values = 0, None, 0

    def withdraw(self) -> None:
        """Owe nothing any more, and hold nothing."""
        while self._answers and self._owner is not None:
            for time in self._left():
                self._owner.location.drop(time)
            self._answers.popleft()
            self._used, self._minima = 0, None
        self.forget()


def _least(batch: Batch[Any]) -> Sequence[Hashable]:
    return batch.least if isinstance(batch, TimedBatch) else (batch.time,)
