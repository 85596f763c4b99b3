"""The least or greatest of a key's values, found without searching all of them.

A small group is searched, because nothing is faster. A large one has an index: a heap of its values, and the times at
which any of them changed. Values are taken from the heap until enough of them are present at the time in question. The
cost of a change therefore grows with the logarithm of the group's size.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, Final

from typing_extensions import override

from pullstream.authoring import Site
from pullstream.incremental.operators import Reduce
from pullstream.incremental.parts import Listener
from pullstream.incremental.region import Region
from pullstream.incremental.trace import KeyedTrace, Order, Time, Updates

LARGE: Final = 64
"""Above this number of changes, a group has an index. Below half of it, the index is removed."""

_NONE: Final[Updates] = {}


class _Falling:
    """A value in descending order, for a heap."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "_Falling") -> bool:
        return other.value < self.value


class Index:
    """The values of one key in order, with the times of their changes."""

    def __init__(self, places: Iterable[tuple[Any, Time]], order: Order, *, falling: bool) -> None:
        self._order = order
        self._falling = falling
        self.values: dict[Any, set[Time]] = {}
        """The times at which each value has changed."""
        self.times: Counter[Time] = Counter()
        """The times at which any value has changed, with the number of values; compacted sooner than the changes."""
        self._ripe = 8
        self._new: list[Any] = []
        for value, time in places:
            self.add(value, time)
        self._heap: list[Any] = self._sorted()

    def add(self, value: Any, time: Time) -> None:
        """Add a change to the index."""
        times = self.values.get(value)
        if times is None:
            times = self.values[value] = set()
            # Sorted only when needed: an error for values without an order is then raised with the verb and the key.
            self._new.append(value)
        times.add(time)
        self.times[time] += 1
        if self._order.compacts and len(self.times) > self._ripe:
            self._compact()

    def remove(self, value: Any, time: Time) -> None:
        """Remove a change from the index."""
        times = self.values[value]
        times.remove(time)
        if not times:
            del self.values[value]
        # A time that was compacted is missing here. It cannot have been added again: new times are at or after the
        # frontier, and those are not changed by compaction.
        if time in self.times:
            self.times[time] -= 1
            if not self.times[time]:
                del self.times[time]

    def _compact(self) -> None:
        compacted = Counter[Time]()
        for time, count in self.times.items():
            compacted[self._order.compact(time)] += count
        self.times = compacted
        self._ripe = max(8, 2 * len(compacted))

    def first(self, n: int, count_of: Callable[[Any], int]) -> dict[Any, int]:
        """Take values in order until there are `n`, counting each as often as it is present (0 or less: not at all)."""
        self._put_in_order()
        heap, values = self._heap, self.values
        taken: dict[Any, Any] = {}
        found: dict[Any, int] = {}
        while heap and n:
            entry = heappop(heap)
            value = entry.value if self._falling else entry
            # Removed values are dropped here. A value that was removed and added again is in the heap twice.
            if value in values and value not in taken:
                taken[value] = entry
                if (count := count_of(value)) > 0:
                    found[value] = min(n, count)
                    n -= found[value]
        for value, entry in taken.items():
            if value in values:
                heappush(heap, entry)
        return found

    def _put_in_order(self) -> None:
        if len(self._heap) + len(self._new) > 2 * len(self.values) + LARGE:
            self._heap = self._sorted()
        else:
            for value in self._new:
                heappush(self._heap, _Falling(value) if self._falling else value)
            self._new.clear()

    def _sorted(self) -> list[Any]:
        """Sort all values from scratch; a sorted list is also a heap."""
        self._new.clear()
        values = sorted(self.values, reverse=self._falling)
        return [_Falling(value) for value in values] if self._falling else values


class RankedTrace(KeyedTrace):
    """A trace that finds the first values of a large group.

    >>> from pullstream.incremental.trace import Order
    >>> trace = RankedTrace(Order(), falling=True)
    >>> for n in range(1_000):
    ...     trace.add("k", n, (), 1)
    >>> trace.is_indexed("k")
    True
    >>> trace.add("k", 999, (), -1)
    >>> trace.first("k", (), 2)
    {998: 1, 997: 1}
    """

    __slots__ = ("_falling", "_indexes")

    def __init__(self, order: Order, *, falling: bool) -> None:
        super().__init__(order)
        self._falling = falling
        self._indexes: dict[Hashable, Index] = {}

    def has_index(self, key: Hashable) -> bool:
        """Whether a key has an index."""
        return key in self._indexes

    def is_indexed(self, key: Hashable) -> bool:
        """Make or remove the index of a key, depending on its size, and return whether it has one."""
        size = len(self.updates.get(key, _NONE))
        if key in self._indexes:
            if size < LARGE // 2:
                del self._indexes[key]
        elif size > LARGE:
            self._indexes[key] = Index(self.updates[key], self.order, falling=self._falling)
        return key in self._indexes

    @override
    def add(self, key: Hashable, value: Hashable, time: Time, diff: int) -> None:
        index = self._indexes.get(key)
        if index is None:
            super().add(key, value, time, diff)
            return
        place = value, time
        before = place in self.updates.get(key, _NONE)
        super().add(key, value, time, diff)
        if key not in self.updates:
            # Removed now, because `is_indexed` may never be called for this key again.
            del self._indexes[key]
            return
        after = place in self.updates[key]
        if after and not before:
            index.add(value, time)
        elif before and not after:
            index.remove(value, time)

    @override
    def compact_now(self, key: Hashable) -> None:
        super().compact_now(key)
        self._indexes.pop(key, None)

    @override
    def times(self, key: Hashable) -> Iterable[Time]:
        index = self._indexes.get(key)
        return super().times(key) if index is None else index.times

    def count(self, key: Hashable, value: Any, time: Time) -> int:
        """Count how often a value is present at a time. The key must have an index."""
        updates, before = self.updates.get(key, _NONE), self.order.before
        times = self._indexes[key].values.get(value, ())
        return sum(updates[value, then] for then in times if then == time or before(then, time))

    def first(self, key: Hashable, time: Time, n: int) -> dict[Any, int]:
        """Take the first `n` values that are present at a time. The key must have an index."""

        def count_of(value: Any) -> int:
            count = self.count(key, value, time)
            if not count and self.order.compacts:
                # Otherwise a value that was removed for good would be visited at each change.
                self._compact_value(key, value)
            return count

        return self._indexes[key].first(n, count_of)

    def _compact_value(self, key: Hashable, value: Any) -> None:
        for then in [*self._indexes[key].values[value]]:
            now = self.order.compact(then)
            if now != then:
                diff = self.updates[key][value, then]
                self.add(key, value, now, diff)
                self.add(key, value, then, -diff)


class Foremost(Reduce):
    """The `n` least or greatest of each key's values; a value that is present several times counts several times."""

    inputs: RankedTrace

    def __init__(self, region: Region, site: Site, verb: str, n: int, give: Listener, *, falling: bool) -> None:
        super().__init__(region, site, verb, self._foremost, give, inputs=RankedTrace(region.order, falling=falling))
        self._n = n
        self._falling = falling

    @override
    def take(self, time: Time, parts: Iterable[tuple[Any, Any, int]]) -> None:
        add, has_index = self.inputs.add, self.inputs.has_index
        due = self.due_at(time)
        for key, value, diff in parts:
            add(key, value, time, diff)
            if not has_index(key):
                due[key] = None
            elif (changed := due.setdefault(key, set())) is not None:
                changed.add(value)

    @override
    def counted(self, key: Any, time: Time, changed: set[Any] | None) -> dict[Any, int]:
        inputs = self.inputs
        # Changes from before the index was made have no set of changed values: search the group for those once more.
        if not inputs.is_indexed(key) or changed is None:
            return super().counted(key, time, changed)
        self.check_counts(key, {value: inputs.count(key, value, time) for value in changed})
        return inputs.first(key, time, self._n)

    def _foremost(self, key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
        made: dict[Any, int] = {}
        left = self._n
        for value, count in sorted(counts.items(), key=_VALUE, reverse=self._falling):
            made[key, value] = min(left, count)
            left -= made[key, value]
            if not left:
                break
        return made


_VALUE: Final = itemgetter(0)
