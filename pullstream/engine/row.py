"""Values that were not asked for yet: what is left of one answer, and a row of answers that are owed."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from pullstream.engine.seat import Seat
from pullstream.protocol import Batch


class Seated(Protocol):
    """Somebody who has a place in the sidecar."""

    @property
    def seat(self) -> Seat:
        """That place."""
        ...


class Left:
    """What is left of an answer that is longer than what is asked for at a time."""

    def __init__(self) -> None:
        self.time: Hashable = None
        self.values: Sequence[Any] = ()
        self.used = 0

    @property
    def left(self) -> int:
        """How many values are there."""
        return len(self.values) - self.used

    def put(self, batch: Batch[Any]) -> None:
        """Begin with a new answer, in place of one that is used up."""
        self.time, self.values, self.used = batch.time, batch.values, 0

    def take(self, count: int) -> Sequence[Any]:
        """The next values, at most `count`, all at `time`."""
        used, values = self.used, self.values
        if used + count < len(values):
            self.used = used + count
            return values[used : self.used]
        # Nothing is left, and nothing kept.
        self.values, self.used = (), 0
        return values[used:] if used else values


class Row:
    """Answers that are owed, in order, each held at its time until the last of it is taken."""

    def __init__(self, owner: Seated) -> None:
        self._owner = owner
        self._row: deque[tuple[Hashable, Sequence[Any]]] = deque()
        self.values = 0
        """How many values there are."""

    def __bool__(self) -> bool:
        return bool(self._row)

    def put(self, time: Hashable, values: Sequence[Any]) -> None:
        """Owe values at `time`, after those before them."""
        self._owner.seat.hold(time)
        self._row.append((time, values))
        self.values += len(values)

    def take(self, limit: int) -> Batch[Any]:
        """The next values, all at one time; the caller answers them in the same step, and they are in flight then."""
        time, values = self._row[0]
        if len(values) > limit:
            self._row[0] = time, values[limit:]
            values = values[:limit]
        else:
            self._row.popleft()
            self._owner.seat.drop(time)
        self.values -= len(values)
        return Batch(time, values)

    def forget(self) -> None:
        """Nothing is owed any more; what was held is the ending's to withdraw, or to keep."""
        self._row.clear()
        self.values = 0

    def withdraw(self) -> None:
        """Nothing is owed any more, and nothing held."""
        for time, _ in self._row:
            self._owner.seat.drop(time)
        self.forget()
