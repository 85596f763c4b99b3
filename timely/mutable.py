"""A multiset of times that keeps its minimal elements up to date as counts change."""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar, cast

from .antichain import Antichain
from .errors import NegativeCountError
from .order import is_total, less_equal, minimal, unlike

T = TypeVar("T", bound=Hashable)


class Chains:
    """The times of a changing set, arranged in ascending rows: every minimal time is the first of its row.

    A time that has left the set is dropped when it reaches the front of its row.

    >>> there = dict.fromkeys([frozenset("a"), frozenset("b"), frozenset("ab")], 1)
    >>> chains = Chains(there)
    >>> for time in there:
    ...     chains.add(time)
    >>> chains.heads() == [frozenset("a"), frozenset("b")]
    True
    >>> del there[frozenset("a")]
    >>> chains.heads() == [frozenset("ab"), frozenset("b")]
    True
    """

    __slots__ = ("_listed", "_rows", "_there")

    def __init__(self, there: Mapping[Any, int]) -> None:
        self._there = there
        self._rows: list[deque[Any]] = []
        self._listed: set[Any] = set()

    def add(self, time: Any) -> None:
        """Add a time that has entered the set."""
        if time in self._listed:
            # It left the set and came back before it was dropped.
            return
        if len(self._listed) > 64 and len(self._listed) > 2 * len(self._there):
            self._rows = [row for row in (deque(filter(self._there.__contains__, row)) for row in self._rows) if row]
            self._listed.intersection_update(self._there)
        self._listed.add(time)
        for row in self._rows:
            if less_equal(row[-1], time):
                row.append(time)
                return
            if less_equal(time, row[0]):
                row.appendleft(time)
                return
        self._rows.append(deque([time]))

    def heads(self) -> list[Any]:
        """The first time in each row that is still in the set. All minimal times are among them."""
        for row in self._rows:
            while row and row[0] not in self._there:
                self._listed.discard(row.popleft())
        self._rows = [row for row in self._rows if row]
        return [row[0] for row in self._rows]


class MutableAntichain(Generic[T]):
    """Counts of times, and the frontier of the times with a count.

    For totally ordered times a change costs O(log n) in the number n of distinct times. (Dead entries of the heap are
    dropped when they reach the top.) For partial orders it costs O(w) in the number w of rows in `Chains`. A single row
    is enough when each time is after the one before, as with the times of a source.

    >>> times = MutableAntichain()
    >>> times.update(3, 1), times.update(5, 1), times.update(3, -1)
    (True, False, True)
    >>> times.frontier
    Antichain([5])
    """

    __slots__ = ("_chains", "_counts", "_heap", "elements")

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        self.elements: tuple[T, ...] = ()  # the minimal times; read it, never set it
        self._heap: list[Any] = []
        self._chains: Chains | None = None  # replaces the heap once a time arrives that has no total order

    def update(self, time: T, delta: int) -> bool:
        """Change the count of a time and return whether the frontier changed.

        Raises:
            NegativeCountError: the count would become negative; nothing is changed.
            TimeDomainError: `time` cannot be compared with the present times.
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
        """The count of `time`."""
        return self._counts.get(time, 0)

    def less_equal(self, time: Any) -> bool:
        """Whether some present time is at or before `time`."""
        return any(less_equal(element, time) for element in self.elements)

    def __iter__(self) -> Iterator[tuple[T, int]]:
        return iter(tuple(self._counts.items()))

    def __len__(self) -> int:
        """The number of distinct times."""
        return len(self._counts)

    def __repr__(self) -> str:
        return f"MutableAntichain({self._counts!r})"

    def _appeared(self, time: Any) -> bool:
        if self._chains is None and not is_total(time):
            self._chains = Chains(self._counts)
            self._heap.clear()
            for before in self._counts:
                self._chains.add(before)
        elements = self.elements
        if self._chains is not None:
            self._chains.add(time)
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
        if self._chains is not None:
            if time not in elements:
                return False
            rest = tuple(element for element in elements if element != time)
            if len(rest) == len(self._counts):
                self.elements = rest
                return True
            # Only times that the lost time covered can become minimal.
            heads = [head for head in self._chains.heads() if less_equal(time, head)]
            self.elements = (*rest, *minimal([head for head in heads if not any(less_equal(e, head) for e in rest)]))
            return True
        heap, counts = self._heap, self._counts
        if len(heap) > 64 and len(heap) > 2 * len(counts):
            heap[:] = counts
            heapify(heap)
        if elements[0] != time:
            return False
        try:
            while heap and heap[0] not in counts:
                heappop(heap)
        except TypeError:
            # Times of two domains, which `BEGINNING` kept from being compared in the heap.
            for other in heap:
                less_equal(heap[0], other)
            raise
        self.elements = (heap[0],) if heap else ()
        return True
