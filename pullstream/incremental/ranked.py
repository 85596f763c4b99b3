"""The least, or the greatest, of a key's values, found without looking through all of them.

A small group is looked through: nothing is faster. A large one has an index beside its changes: its values in a heap,
of which the first are taken until enough are there at the time in question; and the times at which any has changed. So
what a change costs grows as the logarithm of the group, and not as the group.
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
"""The number of changes from which on a group has an index; at half of that it has none any more."""

_NONE: Final[Updates] = {}


class _Falling:
    """A value that comes before the lesser ones."""

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
        """The times at which any has, and how many have; compacted sooner than the changes are."""
        self._ripe = 8
        self._new: list[Any] = []
        for value, time in places:
            self.add(value, time)
        self._heap: list[Any] = self._sorted()

    def add(self, value: Any, time: Time) -> None:
        """Hear of a change that is kept from now on."""
        times = self.values.get(value)
        if times is None:
            times = self.values[value] = set()
            # It is put in order when that is asked for: one that has no order is told then, with its verb and key.
            self._new.append(value)
        times.add(time)
        self.times[time] += 1
        if self._order.compacts and len(self.times) > self._ripe:
            self._compact()

    def remove(self, value: Any, time: Time) -> None:
        """Hear of a change that is not kept any more."""
        times = self.values[value]
        times.remove(time)
        if not times:
            del self.values[value]
        # A time that has become another since is not in there, and cannot have come again: what comes is at or after
        # the frontier, where times stay what they are.
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
        """Take values in order until there are `n`, each as often as it is there; 0 and less are none."""
        self._put_in_order()
        heap, values = self._heap, self.values
        taken: dict[Any, Any] = {}
        found: dict[Any, int] = {}
        while heap and n:
            entry = heappop(heap)
            value = entry.value if self._falling else entry
            # What has gone is dropped here, and what has come again in between is in there twice.
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
        """All values anew, in an order that is one of a heap as well."""
        self._new.clear()
        values = sorted(self.values, reverse=self._falling)
        return [_Falling(value) for value in values] if self._falling else values


class RankedTrace(KeyedTrace):
    """A trace that finds the first values of a large group.

    >>> from pullstream.incremental.trace import RoundOrder
    >>> trace = RankedTrace(RoundOrder(), falling=True)
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
        """Whether there is an index of a key."""
        return key in self._indexes

    def is_indexed(self, key: Hashable) -> bool:
        """Whether a key is to have an index, and has one now."""
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
            # Nobody may ever ask for this key again, and see that its index is of nothing.
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
        """Count how often a value is there at a time; of a key that has an index."""
        updates, before = self.updates.get(key, _NONE), self.order.before
        times = self._indexes[key].values.get(value, ())
        return sum(updates[value, then] for then in times if then == time or before(then, time))

    def first(self, key: Hashable, time: Time, n: int) -> dict[Any, int]:
        """Take the first `n` values that are there at a time; of a key that has an index."""

        def count_of(value: Any) -> int:
            count = self.count(key, value, time)
            if not count and self.order.compacts:
                # What has gone for good would be met again at each change.
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
    """The `n` least, or greatest, of each key's values, of which one that is there several times counts as several."""

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
        # What changed before there was an index is looked through once more at each time that it leads to.
        if not inputs.is_indexed(key) or changed is None:
            return super().counted(key, time, changed)
        self.see_that_none_is_missing(key, {value: inputs.count(key, value, time) for value in changed})
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
