"""Values that are owed and not asked for yet: the rest of one answer, and a queue of answers with its ending."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import DONE, Batch, Done, TimedBatch


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
    (TimedBatch(times=[1], values='a'), 2, TimedBatch(times=[2, 2], values='bc'))
    """

    def __init__(self, batch: Batch[Any] | None = None) -> None:
        self.time: Hashable = None
        """The time of the next value."""
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
            self.times = batch.times
            self.time = batch.times[0]
        else:
            self.time, self.times = batch.time, None
        self.values, self.used = batch.values, 0

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
        used, time, times = self.used, self.time, self.times
        values = self.take(count)
        if times is None:
            return Batch(time, values)
        if self.left:
            self.time = times[self.used]
        return TimedBatch(times if len(values) == len(times) else times[used : used + len(values)], values)


def timed(times: Sequence[Hashable], values: Sequence[Any]) -> Batch[Any]:
    """A batch of values, of which there are some, each at its time: of one time, if they have no other.

    >>> timed([1, 1], "ab"), timed([1, 2], "ab")
    (Batch(time=1, values='ab'), TimedBatch(times=[1, 2], values='ab'))
    """
    return Batch(times[0], values) if times.count(times[0]) == len(times) else TimedBatch(times, values)


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


class _Owed(Remainder):
    """An answer that is owed; of one of many times what is left counts with its least ones."""

    def __init__(self, batch: Batch[Any], minima: Minima | None) -> None:
        super().__init__(batch)
        self.minima = minima

    def least(self) -> Sequence[Hashable]:
        """The least times of what is left."""
        if not self.left:
            return ()
        return (self.time,) if self.minima is None else self.minima.at(self.used)


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
        self._answers: deque[_Owed] = deque()
        self.values = 0
        """The number of values."""

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def first(self) -> Hashable:
        """The time of the next value."""
        return self._answers[0].time

    @property
    def last(self) -> Hashable:
        """The time of the last value."""
        answer = self._answers[-1]
        return answer.time if answer.times is None else answer.times[-1]

    def put(self, time: Hashable, values: Sequence[Any]) -> None:
        """Owe values, of which there are some, at `time`, after those before them."""
        if self._owner is not None:
            self._owner.location.hold(time)
        self._answers.append(_Owed(Batch(time, values), None))
        self.values += len(values)

    def put_batch(self, batch: Batch[Any]) -> None:
        """Owe the values of a batch, at one time or many, after those before them."""
        if not isinstance(batch, TimedBatch):
            self.put(batch.time, batch.values)
            return
        minima = None
        if self._owner is not None:
            minima = Minima(batch.times)
            self._hold_instead((), minima.at(0))
        self._answers.append(_Owed(batch, minima))
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
        first, owner = self._answers[0], self._owner
        before = first.least() if first.minima is not None else None
        time, part = first.time, first.part(limit)
        if not first.left:
            self._answers.popleft()
        if before is not None:
            self._hold_instead(before, first.least())
        elif owner is not None and not first.left:
            owner.location.drop(time)
        self.values -= len(part.values)
        return part

    def _hold_instead(self, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        assert self._owner is not None
        if now != before:
            for time in now:
                self._owner.location.hold(time)
            for time in before:
                self._owner.location.drop(time)

    def answer(self, limit: int) -> Batch[Any] | Done | None:
        """The next values or, when there are none any more, the end; None while there is neither.

        Raises:
            BaseException: what it was ended with.
        """
        return self.take(limit) if self._answers else self.reached()

    def forget(self) -> None:
        """Owe nothing any more; what was held is the ending's to withdraw, or to keep."""
        self._answers.clear()
        self.values = 0

    def withdraw(self) -> None:
        """Owe nothing any more, and hold nothing."""
        if self._owner is not None:
            for answer in self._answers:
                for time in answer.least():
                    self._owner.location.drop(time)
        self.forget()
