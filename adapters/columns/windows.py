"""`tumbling` and `sliding`: windows of one size over a time column."""

from bisect import insort
from collections.abc import Sequence
from math import gcd
from typing import Annotated, Any, Literal

from typing_extensions import override

from pullstream import Sink, Transformer, transformer
from pullstream.authoring import Call, opens

from ..arrow import ArrowRows, pyarrow
from ..arrow.package import numpy
from .aggregates import Aggregate, Merging, aggregates
from .event_times import Numbers, TimeKind
from .frames import Frame, same
from .late import LateOption
from .package import ColumnError
from .reducing import key_names
from .windowing import ROW, EventTimeWindows, WindowPlan

FIRST, LAST = "__first__", "__last__"
"""Partial columns: the numbers of a group's first and last row."""

MANY = 8
"""The most partial results that a pane keeps before they are merged."""


class _OnGrid(EventTimeWindows):
    """Keeps partial results for panes: the parts of the time axis that are in the same windows."""

    assigned = "__pane__"
    merging = Merging((FIRST,), (LAST,))
    extra = ((ROW, "min", FIRST), (ROW, "max", LAST))

    _size = _every = _pane = 1

    def __init__(self, plan: WindowPlan) -> None:
        super().__init__(plan)
        self._panes: dict[int, list[Frame]] = {}
        self._order: list[int] = []
        """The starts of the panes, in order."""
        self._closed: int | None = None
        """The end of the last window that was emitted."""

    @override
    def begin(self, kind: TimeKind) -> None:
        durations = self.plan.durations
        self._size = kind.duration(durations["size"], "size")
        self._every = kind.duration(durations["every"], "every") if "every" in durations else self._size
        for name, number in (("size", self._size), ("every", self._every)):
            if number <= 0:
                raise ColumnError(f"{kind.where}: {name}={durations.get(name)!r} must be positive")
        self._pane = gcd(self._size, self._every)

    @override
    def ends(self, times: Numbers) -> Numbers:
        return ((times - self._size) // self._every + 1) * self._every + self._size

    @override
    def assign(self, times: Numbers, rows: Sequence[ArrowRows]) -> Any:
        return pyarrow().array(times // self._pane * self._pane)

    @override
    def fold(self, frame: Frame) -> None:
        for (pane, *_), part in frame.partition_by(self.assigned, as_dict=True, maintain_order=True).items():
            self._keep(pane, part.drop(self.assigned))

    def _keep(self, pane: int, part: Frame) -> None:
        if self._every > self._size and pane % self._every >= self._size:
            # Between two windows.
            return
        if pane not in self._panes:
            self._panes[pane] = []
            insort(self._order, pane)
        parts = self._panes[pane]
        parts.append(part)
        if len(parts) > MANY:
            self._panes[pane] = [self.groups.merged(parts)]

    @override
    def due(self) -> int | None:
        return self._next(self._order[0]) if self._order else None

    def _next(self, pane: int) -> int:
        """The end of the first window with a pane that is not emitted yet."""
        end = int(self.ends(numpy().array([pane]))[0])
        return end if self._closed is None else max(end, self._closed + self._every)

    @override
    def close(self, until: int | None) -> tuple[Frame, Numbers, Numbers] | None:
        np = numpy()
        frames: list[Frame] = []
        ends: list[int] = []
        while self._order and (until is None or self._next(self._order[0]) <= until):
            end = self._next(self._order[0])
            inside = [pane for pane in range(end - self._size, end, self._pane) if pane in self._panes]
            whole = self.groups.merged([part for pane in inside for part in self._panes[pane]])
            frames.append(whole.sort(FIRST) if len(inside) > 1 else whole)
            ends += [end] * len(whole)
            self._closed = end
            while self._order and self._order[0] // self._every * self._every + self._size <= end:
                del self._panes[self._order.pop(0)]
        if not frames:
            return None
        last = np.array(ends, np.int64)
        return same(frames), last - self._size, last


class _Named:
    """The check of the results' names: aggregates that do not hide the columns of the window."""

    def __call__(self, call: Call, named: dict[str, Any]) -> dict[str, Aggregate]:
        """Return the aggregates, or refuse them."""
        for name in {"start", "end", *call["keys"]} & named.keys():
            raise call.refuse(f"got {name}= as the name of a result, but there is a column {name!r} already")
        return aggregates(call, named)


Named = Annotated[Any, _Named()]
Late = Annotated[Literal["error", "drop"] | Sink[Any, Any], LateOption()]


@transformer
def tumbling(
    size: Any,
    /,
    *keys: Annotated[Any, key_names],
    at: str,
    lateness: Any,
    late: Late = "error",
    **named: Named,
) -> Transformer[Any, Any]:
    """Aggregate the rows of each key in adjacent windows over a time column; emit a window when it is over.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> rows = [(1, "a"), (4, "b"), (12, "a"), (3, "a"), (27, "b")]
    >>> clicks = ps.values([{"second": second, "who": who} for second, who in rows])
    >>> late = []
    >>> options = {"at": "second", "lateness": 5, "late": ps.drain(late.append)}
    >>> windows = columns.tumbling(10, "who", **options, n=columns.count())
    >>> for time, row in ps.run(ps.pipe(clicks, windows, ps.collect(timed=True))):
    ...     print(time, row)
    10 {'start': 0, 'end': 10, 'who': 'a', 'n': 1}
    10 {'start': 0, 'end': 10, 'who': 'b', 'n': 1}
    20 {'start': 10, 'end': 20, 'who': 'a', 'n': 1}
    30 {'start': 20, 'end': 30, 'who': 'b', 'n': 1}
    >>> late
    [{'second': 3, 'who': 'a'}]

    It does the work of `ps.stamp` and `ps.tumbling` at once: `at` is the column of times, which arrive in any order. A
    window is over when a row has arrived that is at least `lateness` after its end. Its rows are emitted at the time of
    its end, and the window does not include its end. A row that is more than `lateness` behind the latest is late: an
    error, dropped and counted, or passed to a sink, as a row in columns.

    Times are whole numbers, dates, or timestamps (results are at ints, microseconds since 1970, UTC); `size` and
    `lateness` are whole numbers or timedeltas. Windows start at multiples of the size from 0, or from 1 January 1970.
    Keys are in the order in which they first arrived. Memory holds the groups of open windows, and up to 65,536 rows.
    The input may have only one time; see `ps.stamp`.

    Raises:
        ColumnError: at an ask; a time is null or has another type, or as in `reduce_by_key`.
        CapabilityError: at an ask; a row is late, or the input has a second time.
    """
    return opens(_OnGrid(WindowPlan(at, keys, named, {"size": size}, lateness, late)))


@transformer
def sliding(
    size: Any,
    every: Any,
    /,
    *keys: Annotated[Any, key_names],
    at: str,
    lateness: Any,
    late: Late = "error",
    **named: Named,
) -> Transformer[Any, Any]:
    """Aggregate the rows of each key in overlapping windows over a time column; a row is in every window around it.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> clicks = ps.values([{"second": second} for second in (1, 4, 12)])
    >>> windows = columns.sliding(10, 5, at="second", lateness=0, n=columns.count())
    >>> for row in ps.run(ps.pipe(clicks, windows, ps.collect())):
    ...     print(row)
    {'start': -5, 'end': 5, 'n': 2}
    {'start': 0, 'end': 10, 'n': 2}
    {'start': 5, 'end': 15, 'n': 1}
    {'start': 10, 'end': 20, 'n': 1}

    Windows start at multiples of `every`. A row is aggregated once, into a pane as long as the greatest common divisor
    of `size` and `every`, and windows merge panes. If `every` is larger than `size`, rows between windows are in none.
    Everything else is as in `tumbling`.
    """
    return opens(_OnGrid(WindowPlan(at, keys, named, {"size": size, "every": every}, lateness, late)))
