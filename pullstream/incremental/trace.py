"""The changes of a collection so far: by key, each at its time, compacted where nobody can tell.

A time in here is a tuple, compared coordinate by coordinate: where the program's times are in one order, the counters
of the loops around it and nothing else, for when a time is dealt with all before it are, and what came then counts at
once; else the program's time in front of them. So outside of loops a total order leaves one number for each value.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import le
from typing import Any, Final

from typing_extensions import override

from pullstream.timely import TimeDomainError, advance, join, less_equal

Time = tuple[Any, ...]
"""A time of a place in a program: a coordinate for each loop around it, and maybe the program's own in front."""

Updates = dict[tuple[Hashable, Time], int]
"""The changes of one key: by value and time, how often the value came, less how often it went."""

_NONE: Final[Mapping[Any, Any]] = {}

_RIPE: Final = 8
"""The number of changes of a key from which on they are compacted, at the least."""

_FEW: Final = 64
"""The number of changes from which on a trace is gone through, at the least."""


class Order(ABC):
    """The order of the times of a region."""

    compacts: bool
    """Whether times may become others that are as good."""

    @abstractmethod
    def before(self, a: Time, b: Time) -> bool:
        """Whether `a` is at or before `b`."""

    @abstractmethod
    def join(self, a: Time, b: Time) -> Time:
        """The time when both have come."""

    @abstractmethod
    def compact(self, time: Time) -> Time:
        """The time that nobody can tell from this one any more."""


class RoundOrder(Order):
    """Iteration counters alone, because the program's times come in one order."""

    compacts = False

    @override
    def before(self, a: Time, b: Time) -> bool:
        return all(map(le, a, b))

    @override
    def join(self, a: Time, b: Time) -> Time:
        return tuple(map(max, a, b))

    @override
    def compact(self, time: Time) -> Time:
        return time


class LatticeOrder(Order):
    """The program's time, of any partial order that has joins and meets, and loop counters."""

    compacts = True

    def __init__(self) -> None:
        self.frontier: Sequence[Hashable] = ()
        """The least of the program's times at which something may still be computed; none says that it is not known."""
        self._advanced: dict[Hashable, Hashable] = {}

    def reach(self, frontier: Sequence[Hashable]) -> None:
        """Hear of what may still come."""
        self.frontier = frontier
        self._advanced.clear()

    @override
    def before(self, a: Time, b: Time) -> bool:
        return less_equal(a[0], b[0]) and all(map(le, a[1:], b[1:]))

    @override
    def join(self, a: Time, b: Time) -> Time:
        return (join(a[0], b[0]), *map(max, a[1:], b[1:]))

    @override
    def compact(self, time: Time) -> Time:
        outer = time[0]
        if outer not in self._advanced:
            try:
                self._advanced[outer] = advance(outer, self.frontier)
            except TimeDomainError:
                # Of times that have no meet each stays as it is: that is as right, and takes more room.
                self._advanced[outer] = outer
        return (self._advanced[outer], *time[1:])


class KeyedTrace:
    """The changes of a keyed collection, and what they come to at a time.

    >>> trace = KeyedTrace(RoundOrder())
    >>> trace.add("ann", "tea", (), 2)
    >>> trace.add("ann", "tea", (), -1)
    >>> trace.at("ann", ())
    {'tea': 1}
    >>> looped = KeyedTrace(RoundOrder())
    >>> looped.add("ann", 5, (0,), 1), looped.add("ann", 5, (2,), -1), looped.add("ann", 3, (2,), 1)
    (None, None, None)
    >>> looped.at("ann", (1,)), looped.at("ann", (2,))
    ({5: 1}, {3: 1})
    """

    __slots__ = ("_kept", "_noted", "_ripe", "changed", "order", "updates")

    def __init__(self, order: Order) -> None:
        self.order = order
        self.updates: dict[Hashable, Updates] = {}
        """The changes, by key."""
        self.changed: Callable[[Hashable, tuple[Hashable, Time]], object] | None = None
        """Told of each change that has changed, by its key, and its value and time: for who saves them."""
        self._ripe: dict[Hashable, int] = {}
        """From which number of changes on those of a key are compacted again, where there are many."""
        self._noted = 0
        """The number of changes that were noted since all were compacted."""
        self._kept = _FEW
        """The number of changes that were left then, or few."""

    def add(self, key: Hashable, value: Hashable, time: Time, diff: int) -> None:
        """Note a change; changes that cancel leave nothing."""
        updates = self.updates.get(key)
        if updates is None:
            updates = self.updates[key] = {}
        self._noted += 1
        place = value, time
        count = updates.get(place, 0) + diff
        if count:
            updates[place] = count
        else:
            updates.pop(place, None)
            if not updates:
                del self.updates[key]
                self._ripe.pop(key, None)
        if self.changed is not None:
            self.changed(key, place)

    def of(self, key: Hashable) -> Iterable[tuple[tuple[Hashable, Time], int]]:
        """The changes of a key: of each its value and its time, and how much."""
        return self.updates.get(key, _NONE).items()

    def times(self, key: Hashable) -> Iterable[Time]:
        """The times at which a key has changed, as far as one can tell them apart; some of them more than once."""
        return [time for _, time in self.updates.get(key, _NONE)]

    def at(self, key: Hashable, time: Time) -> dict[Any, int]:
        """Count how often each of a key's values is there at a time; what is not there is left out."""
        updates = self.updates.get(key)
        if not updates:
            return {}
        counts: dict[Any, int] = {}
        before = self.order.before
        for (value, then), diff in updates.items():
            if then == time or before(then, time):
                counts[value] = counts.get(value, 0) + diff
        return {value: count for value, count in counts.items() if count}

    def compact(self, key: Hashable) -> None:
        """Add up the changes of a key that nobody can tell apart any more, once there are twice as many as then."""
        if self.order.compacts and len(self.updates.get(key, _NONE)) >= self._ripe.get(key, _RIPE):
            self.compact_now(key)

    def compact_all(self) -> None:
        """Add up the changes of all keys, once as many were noted as had been left then.

        So little is kept of a key that nobody comes back to, too; and each change pays for a few others.
        """
        if not self.order.compacts or self._noted <= self._kept:
            return
        for key in [*self.updates]:
            self.compact_now(key)
        self._noted, self._kept = 0, max(_FEW, len(self))

    def compact_now(self, key: Hashable) -> None:
        """Add up the changes of a key, of which there are some."""
        updates = self.updates[key]
        compact = self.order.compact
        kept: Updates = {}
        for (value, time), diff in updates.items():
            place = value, compact(time)
            kept[place] = kept.get(place, 0) + diff
        kept = {place: diff for place, diff in kept.items() if diff}
        if kept:
            self.updates[key] = kept
        else:
            del self.updates[key]
        if 2 * len(kept) > _RIPE:
            self._ripe[key] = 2 * len(kept)
        else:
            self._ripe.pop(key, None)

    def __len__(self) -> int:
        """The number of changes that are kept."""
        return sum(map(len, self.updates.values()))
