"""The state of a join: values of a source by time and key, until no more values can match them."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from pullstream.engine.sidecar.waiting import Requests
from pullstream.timely import Antichain

_FIRST: Final = itemgetter(0)

ValuesByKey = Mapping[Hashable, Sequence[Any]]
"""The values of one time, by key."""


class MatchState:
    """Values that match values at the same time; with `marks`, it tracks which of them have no match."""

    def __init__(self, *, marks: bool = False) -> None:
        self.size = 0
        """The number of kept values."""
        self._times: Requests[defaultdict[Hashable, list[Any]]] = Requests()
        self._matched: dict[Hashable, set[Hashable]] | None = {} if marks else None
        """The matched keys, by time."""

    def add(self, time: Hashable, keys: Sequence[Hashable], values: Sequence[Any]) -> bool:
        """Keep one or more values of a time; True if they are the first at that time."""
        groups = self._times.get(time)
        first = groups is None
        if groups is None:
            groups = self._times[time] = defaultdict(list)
        for key, value in zip(keys, values, strict=True):
            groups[key].append(value)
        self.size += len(values)
        return first

    def at(self, time: Hashable) -> ValuesByKey | None:
        """Return the values kept for a time; None if there are none."""
        return self._times.get(time)

    def match(self, time: Hashable, keys: Iterable[Hashable]) -> None:
        """Mark the kept values of a time with these keys as matched, if marks are kept."""
        if self._matched is not None:
            self._matched.setdefault(time, set()).update(self._times[time].keys() & keys)

    def matched(self, time: Hashable) -> Container[Hashable]:
        """The keys of a time that are marked as matched."""
        return () if self._matched is None else self._matched.get(time, ())

    def keeps(self, time: Hashable) -> bool:
        """Whether a value is kept at a time."""
        return time in self._times

    def waiting(self) -> list[Any]:
        """Return times, one of which must be complete before anything can be dropped."""
        return self._times.first

    def forget(self, arriving: Antichain[Any]) -> list[tuple[Any, list[Any]]]:
        """Drop the times that no `arriving` value can match; return the unmatched values of each."""
        gone: list[tuple[Any, list[Any]]] = []
        for time, groups in self._times.pop_over(arriving.less_equal).items():
            self.size -= sum(map(len, groups.values()))
            unmatched: list[Any] = []
            if self._matched is not None:
                matched = self._matched.pop(time, ())
                unmatched = [value for key, group in groups.items() if key not in matched for value in group]
            gone.append((time, unmatched))
        return gone


class KeyRow:
    """The values of one key in the order of their times. Dropped values are deleted in bulk, which is faster."""

    __slots__ = ("begin", "matched", "reaches", "times", "values")

    def __init__(self) -> None:
        self.times: list[Any] = []
        self.reaches: list[Any] = []
        """For each value, the last time that may match it."""
        self.values: list[Any] = []
        self.matched = bytearray()
        """For each value, whether it was matched."""
        self.begin = 0
        """Position of the first kept value."""

    def insert(self, time: Any, reach: Any, value: Any, matched: int) -> None:
        """Keep a value whose time is before the last."""
        place = bisect_right(self.times, time, self.begin)
        self.times.insert(place, time)
        self.reaches.insert(place, reach)
        self.values.insert(place, value)
        self.matched.insert(place, matched)

    def forget(self, count: int) -> Iterator[tuple[Any, Any, int]]:
        """Drop the first `count` values; return their times, the values, and whether each was matched."""
        begin, end = self.begin, self.begin + count
        gone = zip(self.times[begin:end], self.values[begin:end], self.matched[begin:end], strict=True)
        self.begin = end
        if 2 * end > len(self.times):
            del self.times[:end], self.reaches[:end], self.values[:end], self.matched[:end]
            self.begin = 0
        return gone


class Near:
    """Values that match values at nearby times; the times are totally ordered.

    Values are in parallel lists: an object for each would cost more than everything else.
    """

    def __init__(self, *, marks: bool = False) -> None:
        self.size = 0
        """The number of values that are kept."""
        self.rows: dict[Hashable, KeyRow] = {}
        self._counts: dict[Any, int] | None = {} if marks else None
        """Number of values at each time, if unmatched values are wanted.

        Values of one time need not be dropped together: a day later is not the same instant in all time zones.
        """
        self._reaches: list[Any] = []
        """The reaches of all kept values, in order; `_keys` has their keys."""
        self._keys: list[Hashable] = []
        self._begin = 0
        """Position of the first kept value."""

    def add(self, entries: Iterable[tuple[Hashable, Any, Any, Any, int, bool]]) -> list[Any]:
        """Keep values; return the times at which they are the first, if unmatched values are wanted.

        An entry has a value's key, time and reach, the value, and whether it was matched and must be kept.
        """
        rows, reaches, keys, counts = self.rows, self._reaches, self._keys, self._counts
        new: list[Any] = []
        for key, time, reach, value, matched, keep in entries:
            if not keep:
                continue
            row = rows.get(key)
            if row is None:
                row = rows[key] = KeyRow()
            if not row.times or row.times[-1] <= time:
                row.times.append(time)
                row.reaches.append(reach)
                row.values.append(value)
                row.matched.append(matched)
            else:
                row.insert(time, reach, value, matched)
            if not reaches or reaches[-1] <= reach:
                reaches.append(reach)
                keys.append(key)
            else:
                place = bisect_right(reaches, reach, self._begin)
                reaches.insert(place, reach)
                keys.insert(place, key)
            if counts is not None:
                count = counts[time] = counts.get(time, 0) + 1
                if count == 1:
                    new.append(time)
        self.size = len(reaches) - self._begin
        return new

    def keeps(self, time: Any) -> bool:
        """Whether a value is kept at a time, if unmatched values are wanted."""
        return self._counts is not None and time in self._counts

    def waiting(self) -> list[Any]:
        """Return the first time whose completion allows something to be dropped."""
        return self._reaches[self._begin : self._begin + 1]

    def forget(self, arriving: Antichain[Any]) -> list[tuple[Any, list[Any]]]:
        """Drop values as in `MatchState`; return the unmatched ones by time, if wanted. There must be kept values."""
        if arriving.less_equal(self._reaches[self._begin]):
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
        assert self._counts is not None, "unmatched values are wanted"
        left = self._counts.pop(time) - len(gone)
        if left:
            self._counts[time] = left
        return time, [value for _, value, matched in gone if not matched]
