"""The changes of a collection so far, by key and time, compacted where the difference no longer matters.

A time here is a tuple, compared coordinate by coordinate. If the program's times are totally ordered, it only has the
counters of the loops around it: when a time is processed, all earlier ones have been, so all their changes count.
Otherwise the program's time comes first. Outside of loops, a total order therefore leaves one number for each value.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import le
from typing import Any, Final

from typing_extensions import override

from pullstream.timely import TimeDomainError, advance, join, less_equal

Time = tuple[Any, ...]
"""A time at a place in a program: the program's own time (if partially ordered), then a counter for each loop."""

Updates = dict[tuple[Hashable, Time], int]
"""The changes of one key: for each value and time, how often the value was added minus how often it was removed."""

_NONE: Final[Mapping[Any, Any]] = {}

_RIPE: Final = 8
"""The smallest number of changes of a key that is compacted."""

_FEW: Final = 64
"""The smallest number of noted changes after which a whole trace is compacted."""


class Order:
    """The order of the times of a region: that of loop counters only, for programs whose times are totally ordered."""

    compacts: bool = False
    """Whether times may be replaced by equivalent ones."""

    def before(self, a: Time, b: Time) -> bool:
        """Whether `a` is at or before `b`."""
        return all(map(le, a, b))

    def join(self, a: Time, b: Time) -> Time:
        """The earliest time at or after both."""
        return tuple(map(max, a, b))

    def compact(self, time: Time) -> Time:
        """The latest time that is equivalent to this one from now on."""
        return time


class LatticeOrder(Order):
    """The order of the program's times, which may be partial but must have joins, and of loop counters."""

    compacts = True

    def __init__(self) -> None:
        self.frontier: Sequence[Hashable] = ()
        """The least of the program's times at which something may still be computed; empty if unknown."""
        self._advanced: dict[Hashable, Hashable] = {}

    def reach(self, frontier: Sequence[Hashable]) -> None:
        """Set the frontier: the least times that may still arrive."""
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
                # Times without a meet stay as they are. This is also correct, but takes more memory.
                self._advanced[outer] = outer
        return (self._advanced[outer], *time[1:])


class KeyedTrace:
    """The changes of a keyed collection, and their sum at any time.

    >>> trace = KeyedTrace(Order())
    >>> trace.add("ann", "tea", (), 2)
    >>> trace.add("ann", "tea", (), -1)
    >>> trace.at("ann", ())
    {'tea': 1}
    >>> looped = KeyedTrace(Order())
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
        """Called with the key, and the value and time, of each entry that changes; used for saving."""
        self._ripe: dict[Hashable, int] = {}
        """For large keys, the number of changes at which the key is compacted again."""
        self._noted = 0
        """The number of changes noted since the last `compact_all`."""
        self._kept = _FEW
        """The number of changes left by the last `compact_all`, at least `_FEW`."""

    def add(self, key: Hashable, value: Hashable, time: Time, diff: int) -> None:
        """Note a change. Changes that cancel out leave nothing."""
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
        """The changes of a key: value and time, and the count of each."""
        return self.updates.get(key, _NONE).items()

    def times(self, key: Hashable) -> Iterable[Time]:
        """The times at which a key has changed, after compaction; a time may occur more than once."""
        return [time for _, time in self.updates.get(key, _NONE)]

    def at(self, key: Hashable, time: Time) -> dict[Any, int]:
        """Count how often each of a key's values is present at a time; values with count 0 are left out."""
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
        """Add up equivalent changes of a key, if it has twice as many changes as after its last compaction."""
        if self.order.compacts and len(self.updates.get(key, _NONE)) >= self._ripe.get(key, _RIPE):
            self.compact_now(key)

    def compact_all(self) -> None:
        """Add up equivalent changes of all keys, if more have been noted than the last call left.

        This also compacts keys that never change again. The cost is a constant number of steps for each change.
        """
        if not self.order.compacts or self._noted <= self._kept:
            return
        for key in [*self.updates]:
            self.compact_now(key)
        self._noted, self._kept = 0, max(_FEW, len(self))

    def compact_now(self, key: Hashable) -> None:
        """Add up equivalent changes of a key, which must have some."""
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
        """The number of stored changes."""
        return sum(map(len, self.updates.values()))
