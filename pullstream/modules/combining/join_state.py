"""The state of a join: values of a source by time and key, until none can match them any more."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from pullstream.timely import Antichain
from pullstream.timely.order import is_total

_FIRST: Final = itemgetter(0)

Groups = Mapping[Hashable, Sequence[Any]]
"""The values of one time, by key."""


class Kept:
    """Values that match those at the same time; `marks` says whether those that nothing has matched are wanted."""

    def __init__(self, *, marks: bool = False) -> None:
        self.size = 0
        """The number of values that are kept."""
        self._times: dict[Hashable, dict[Hashable, list[Any]]] = {}
        self._heap: list[Any] | None = []
        self._matched: dict[Hashable, set[Hashable]] | None = {} if marks else None
        """The keys that something has matched, by time."""

    def add(self, time: Hashable, keys: Sequence[Hashable], values: Sequence[Any]) -> bool:
        """Keep values of one time, of which there are some; whether they are the first at it."""
        groups = self._times.get(time)
        first = groups is None
        if groups is None:
            groups = self._times[time] = {}
            if self._heap is not None and is_total(time):
                heappush(self._heap, time)
            else:
                self._heap = None
        for key, value in zip(keys, values, strict=True):
            group = groups.get(key)
            if group is None:
                groups[key] = [value]
            else:
                group.append(value)
        self.size += len(values)
        return first

    def at(self, time: Hashable) -> Groups | None:
        """The values that are kept of a time; None if there is none."""
        return self._times.get(time)

    def match(self, time: Hashable, keys: Iterable[Hashable]) -> None:
        """Mark what is kept at a time under one of some keys, if that is wanted."""
        if self._matched is not None:
            self._matched.setdefault(time, set()).update(self._times[time].keys() & keys)

    def keeps(self, time: Hashable) -> bool:
        """Whether there is a value at a time."""
        return time in self._times

    def waiting(self) -> list[Any]:
        """The last times that are waited for: of those that are in one order, the first."""
        return list(self._times) if self._heap is None else self._heap[:1]

    def forget(self, arriving: Antichain[Any]) -> list[tuple[Any, list[Any]]]:
        """Drop the times that nothing can match any more which may still be `arriving`; of each, what is unmatched."""
        return [(time, self._drop(time)) for time in self._over(arriving)]

    def _over(self, arriving: Antichain[Any]) -> list[Any]:
        if self._heap is None:
            return [time for time in self._times if not arriving.less_equal(time)]
        over: list[Any] = []
        while self._heap and not arriving.less_equal(self._heap[0]):
            over.append(heappop(self._heap))
        return over

    def _drop(self, time: Any) -> list[Any]:
        groups = self._times.pop(time)
        self.size -= sum(map(len, groups.values()))
        if self._matched is None:
            return []
        matched = self._matched.pop(time, ())
        return [value for key, group in groups.items() if key not in matched for value in group]


class KeyRow:
    """The values of one key, in the order of their times; those that are dropped go in turns, as deleting costs."""

    __slots__ = ("begin", "matched", "reaches", "times", "values")

    def __init__(self) -> None:
        self.times: list[Any] = []
        self.reaches: list[Any] = []
        """The last time, for each, of a value that may match it."""
        self.values: list[Any] = []
        self.matched = bytearray()
        """Whether anything has."""
        self.begin = 0
        """The position of the first that is kept."""

    def add(self, time: Any, reach: Any, value: Any, matched: int) -> None:
        """Keep a value."""
        times = self.times
        if not times or times[-1] <= time:
            times.append(time)
            self.reaches.append(reach)
            self.values.append(value)
            self.matched.append(matched)
        else:
            place = bisect_right(times, time, self.begin)
            times.insert(place, time)
            self.reaches.insert(place, reach)
            self.values.insert(place, value)
            self.matched.insert(place, matched)

    def forget(self, count: int) -> Iterator[tuple[Any, Any, int]]:
        """Drop the first values; gives their times, and what they are, and whether anything has matched them."""
        begin, end = self.begin, self.begin + count
        gone = zip(self.times[begin:end], self.values[begin:end], self.matched[begin:end], strict=True)
        self.begin = end
        if 2 * end > len(self.times):
            del self.times[:end], self.reaches[:end], self.values[:end], self.matched[:end]
            self.begin = 0
        return gone


class Near:
    """Values that match those at times not too far away; times are in one order.

    They lie in lists side by side: an object for each would cost more than all the rest.
    """

    def __init__(self, *, marks: bool = False) -> None:
        self.size = 0
        """The number of values that are kept."""
        self.rows: dict[Hashable, KeyRow] = {}
        """By key."""
        self._counts: dict[Any, int] | None = {} if marks else None
        """The number of values at each time, if what is unmatched is wanted.

        They need not go together: a day after an instant is not one instant in all time zones.
        """
        self._reaches: list[Any] = []
        """Of all that is kept, in order; beside it, the keys."""
        self._keys: list[Hashable] = []
        self._begin = 0
        """The position of the first that is kept."""

    def add(self, key: Hashable, time: Any, reach: Any, value: Any, matched: int = 0) -> bool:
        """Keep a value; whether it is the first one at its time, where that is wanted."""
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = KeyRow()
        row.add(time, reach, value, matched)
        reaches = self._reaches
        if not reaches or reaches[-1] <= reach:
            reaches.append(reach)
            self._keys.append(key)
        else:
            place = bisect_right(reaches, reach, self._begin)
            reaches.insert(place, reach)
            self._keys.insert(place, key)
        self.size += 1
        if self._counts is None:
            return False
        count = self._counts[time] = self._counts.get(time, 0) + 1
        return count == 1

    def keeps(self, time: Any) -> bool:
        """Whether there is a value at a time, where that is wanted."""
        return self._counts is not None and time in self._counts

    def waiting(self) -> list[Any]:
        """The first of the last times that are waited for."""
        return self._reaches[self._begin : self._begin + 1]

    def forget(self, arriving: Antichain[Any]) -> list[tuple[Any, list[Any]]]:
        """Drop what nothing can match any more which may still be `arriving`; by time, what is unmatched, if wanted."""
        if not self.size or arriving.less_equal(self._reaches[self._begin]):
            return []
        begin, reaches = self._begin, self._reaches
        end = bisect_left(reaches, arriving.elements[0], begin) if arriving.elements else len(reaches)
        gone: list[tuple[Any, Any, int]] = []
        for key, count in Counter(self._keys[begin:end]).items():
            row = self.rows[key]
            dropped = row.forget(count)
            if not row.times:
                del self.rows[key]
            if self._counts is not None:
                gone += dropped
        self.size -= end - begin
        self._begin = end
        if 2 * end > len(reaches):
            del reaches[:end], self._keys[:end]
            self._begin = 0
        gone.sort(key=_FIRST)
        return [self._unmatched(time, list(entries)) for time, entries in groupby(gone, _FIRST)]

    def _unmatched(self, time: Any, gone: list[tuple[Any, Any, int]]) -> tuple[Any, list[Any]]:
        assert self._counts is not None, "it is wanted"
        left = self._counts.pop(time) - len(gone)
        if left:
            self._counts[time] = left
        return time, [value for _, value, matched in gone if not matched]
