"""The state of a join: values of a source by time and key, until none can match them any more."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, Final

import attrs
from typing_extensions import override

from pullstream.timely import Antichain
from pullstream.timely.order import is_total

_TIME: Final = attrgetter("time")
_REACH: Final = attrgetter("reach")


@attrs.define(eq=False)
class KeptValue:
    """A value that is kept; `reach` is the last time of a value that may match it."""

    time: Any
    reach: Any
    value: Any
    matched: bool = False


class Kept:
    """Values that match those at the same time."""

    def __init__(self) -> None:
        self.size = 0
        """The number of values that are kept."""
        self._times: dict[Hashable, dict[Hashable, list[KeptValue]]] = {}
        self._reaches: dict[Hashable, Any] = {}
        self._heap: list[tuple[Any, Any]] | None = []

    def add(self, key: Hashable, entry: KeptValue) -> bool:
        """Keep a value; whether it is the first one at its time."""
        self.size += 1
        first = entry.time not in self._times
        if first:
            self._times[entry.time] = {}
            self._reaches[entry.time] = entry.reach
            if self._heap is not None and is_total(entry.time):
                heappush(self._heap, (entry.reach, entry.time))
            else:
                self._heap = None
        self._times[entry.time].setdefault(key, []).append(entry)
        return first

    def find(self, key: Hashable, time: Any, reach: Any) -> Sequence[tuple[Any, Sequence[KeptValue]]]:
        """The values that match one at `time`, each group with the time of what comes of it."""
        del reach
        values = self._times.get(time)
        return () if values is None or key not in values else ((time, values[key]),)

    def waiting(self) -> list[Any]:
        """The last times that are waited for: of those that are in one order, the first."""
        if self._heap is None:
            return list(self._reaches.values())
        return [self._heap[0][0]] if self._heap else []

    def forget(self, arriving: Antichain[Any]) -> list[tuple[Any, list[KeptValue]]]:
        """Drop the times that nothing can match any more which may still be `arriving`."""
        return [(time, self._drop(time)) for time in self._over(arriving)]

    def _over(self, arriving: Antichain[Any]) -> list[Any]:
        if self._heap is None:
            return [time for time, reach in self._reaches.items() if not arriving.less_equal(reach)]
        over: list[Any] = []
        while self._heap and not arriving.less_equal(self._heap[0][0]):
            over.append(heappop(self._heap)[1])
        return over

    def _drop(self, time: Any) -> list[KeptValue]:
        del self._reaches[time]
        entries = [entry for group in self._times.pop(time).values() for entry in group]
        self.size -= len(entries)
        return entries


class _KeyRow:
    """The values of one key, in the order of their times; those that are dropped go in turns, as deleting costs."""

    def __init__(self) -> None:
        self.entries: list[KeptValue] = []
        self.begin = 0
        """The position of the first that is kept."""

    def add(self, entry: KeptValue) -> None:
        """Keep a value."""
        entries = self.entries
        if entries and entry.time < entries[-1].time:
            insort(entries, entry, lo=self.begin, key=_TIME)
        else:
            entries.append(entry)

    def forget(self, time: Any) -> bool:
        """Drop the values up to a time; whether none is left."""
        entries = self.entries
        self.begin = bisect_right(entries, time, lo=self.begin, key=_TIME)
        if 2 * self.begin > len(entries):
            del entries[: self.begin]
            self.begin = 0
        return not entries


class Near(Kept):
    """Values that match those at times not too far away; times are in one order."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[Hashable, _KeyRow] = {}

    @override
    def add(self, key: Hashable, entry: KeptValue) -> bool:
        if key not in self._keys:
            self._keys[key] = _KeyRow()
        self._keys[key].add(entry)
        return super().add(key, entry)

    @override
    def find(self, key: Hashable, time: Any, reach: Any) -> Sequence[tuple[Any, Sequence[KeptValue]]]:
        row = self._keys.get(key)
        if row is None:
            return ()
        entries = row.entries
        start = bisect_left(entries, time, lo=row.begin, key=_REACH)
        now = bisect_right(entries, time, lo=start, key=_TIME)
        end = bisect_right(entries, reach, lo=now, key=_TIME)
        before = [(time, entries[start:now])] if start < now else []
        return [*before, *((entry.time, [entry]) for entry in entries[now:end])]

    @override
    def _drop(self, time: Any) -> list[KeptValue]:
        for key in self._times[time]:
            if self._keys[key].forget(time):
                del self._keys[key]
        return super()._drop(time)
