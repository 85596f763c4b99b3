"""A multiset of times that knows its minimal elements as counts change."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar, cast

from .antichain import Antichain
from .errors import NegativeCountError
from .order import is_total, less_equal, minimal, unlike

T = TypeVar("T", bound=Hashable)


class MutableAntichain(Generic[T]):
    """Counts of times, and the frontier of those that are there.

    For totally ordered times a change costs O(log n) in the number n of distinct times (a heap whose dead entries are
    dropped when they come to the top); for partial orders O(1) unless a minimal element goes, then O(n).

    >>> times = MutableAntichain()
    >>> times.update(3, 1), times.update(5, 1), times.update(3, -1)
    (True, False, True)
    >>> times.frontier
    Antichain([5])
    """

    __slots__ = ("_counts", "_heap", "_total", "elements")

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        self.elements: tuple[T, ...] = ()  # the minimal times; read it, never set it
        self._heap: list[Any] = []
        self._total = True

    def update(self, time: T, delta: int) -> bool:
        """Change the count of a time; says whether the frontier changed.

        Raises:
            NegativeCountError: the count would become negative; nothing is changed.
            TimeDomainError: `time` cannot be compared with the times here.
        """
        counts = self._counts
        old = counts.get(time, 0)
        new = old + delta
        if new > 0:
            counts[time] = new
            return old == 0 and self._appeared(time)
        if new < 0:
            raise NegativeCountError(f"the count of {time!r} would become {new}")
        if old == 0:
            return False
        del counts[time]
        return self._vanished(time)

    @property
    def frontier(self) -> Antichain[T]:
        """The minimal times."""
        return cast("Antichain[T]", Antichain.of_minimal(self.elements))

    def count(self, time: T) -> int:
        """The number of times that `time` is there."""
        return self._counts.get(time, 0)

    def less_equal(self, time: Any) -> bool:
        """Whether some time here is at or before `time`."""
        return any(less_equal(element, time) for element in self.elements)

    def __iter__(self) -> Iterator[tuple[T, int]]:
        return iter(tuple(self._counts.items()))

    def __len__(self) -> int:
        """The number of distinct times."""
        return len(self._counts)

    def __repr__(self) -> str:
        return f"MutableAntichain({self._counts!r})"

    def _appeared(self, time: Any) -> bool:
        if self._total and not is_total(time):
            self._total = False
            self._heap.clear()
        elements = self.elements
        if not self._total:
            if any(less_equal(element, time) for element in elements):
                return False
            self.elements = (*(element for element in elements if not less_equal(time, element)), time)
            return True
        try:
            heappush(self._heap, time)
            if elements and elements[0] <= time:
                return False
        except TypeError as error:
            raise unlike(time, elements[0]) from error
        self.elements = (time,)
        return True

    def _vanished(self, time: Any) -> bool:
        elements = self.elements
        if not self._total:
            if time not in elements:
                return False
            rest = tuple(element for element in elements if element != time)
            if len(rest) == len(self._counts):
                self.elements = rest
                return True
            # Only what the lost time alone held down can come up.
            up = [t for t in self._counts if less_equal(time, t) and not any(less_equal(e, t) for e in rest)]
            self.elements = (*rest, *minimal(up))
            return True
        heap, counts = self._heap, self._counts
        if len(heap) > 64 and len(heap) > 2 * len(counts):
            heap[:] = counts
            heapify(heap)
        if elements[0] != time:
            return False
        while heap and heap[0] not in counts:
            heappop(heap)
        self.elements = (heap[0],) if heap else ()
        return True
