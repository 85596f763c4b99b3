"""`tumbling`, `sliding` and `sessions`: aggregates in windows over a time column."""

from contextlib import suppress
from math import gcd
from typing import Annotated, Any

from typing_extensions import override

from pullstream import Transformer, transformer
from pullstream.authoring import Call, duration, not_negative, opens

from ..arrow import RecordBatch
from .aggregates import Aggregate, aggregates
from .expressions import column_name
from .grouping import Grouped, Numbers, grouped
from .package import ColumnError, np, pa
from .reducing import TOGETHER, key_names
from .stamping import FAR, Late
from .windowing import FIRST, LAST, START, STOP, EventTimeWindows, numbers_of

WINDOW = "__window__"
"""A column added to the rows: the pane or window that they belong to."""


class _OnGrid(EventTimeWindows):
    """Keeps partial results for panes: stretches of time that belong to the same windows."""

    marks = (FIRST,), (LAST,)
    added = (WINDOW,)

    _size = _every = _pane = 1

    def __init__(self, size: Any, every: Any, *groups: Any, **times: Any) -> None:
        super().__init__(*groups, **times)
        self._durations = size, every
        self._merged = 0
        """The number of partial results after the last merge."""
        self._closed = -FAR
        """All windows that end at or before this time have been emitted."""

    @override
    def begin(self) -> None:
        self._size, self._every = map(self.kind.duration, self._durations, ("size", "every"))
        self._pane = gcd(self._size, self._every)

    @override
    def ends(self, times: Numbers) -> Numbers:
        return ((times - self._size) // self._every + 1) * self._every + self._size

    @override
    def partial(self, table: RecordBatch) -> RecordBatch:
        panes = numbers_of(table, START)[0] // self._pane * self._pane
        table = table.append_column(WINDOW, pa.array(panes))
        if self._every > self._size:
            # The other panes are between two windows.
            table = table.filter(pa.array(panes % self._every < self._size))
        return self.groups.partial(table)

    @override
    def merged(self, partial: RecordBatch) -> RecordBatch:
        if len(partial) > 2 * self._merged + TOGETHER:
            # Results that cannot be merged fail when their window closes.
            with suppress(ColumnError):
                partial = self.groups.regrouped(partial)
            self._merged = len(partial)
        return partial

    @override
    def due(self, partial: RecordBatch) -> int:
        return self.least_end(max(int(numbers_of(partial, WINDOW)[0].min()), self._closed))

    @override
    def close(self, partial: RecordBatch, until: int) -> tuple[RecordBatch, RecordBatch]:
        (panes,) = numbers_of(partial, WINDOW)
        first = self.ends(panes)
        found: list[Numbers] = []
        for number in range(-(-self._size // self._every)):
            ends = first + number * self._every
            chosen = (ends - self._size <= panes) & (ends > self._closed) & (ends <= until)
            found.append(np.stack([np.flatnonzero(chosen), ends[chosen]]))
        places, ends = np.concatenate(found, axis=1)
        over = partial.take(pa.array(places))
        over = over.set_column(over.schema.get_field_index(WINDOW), WINDOW, pa.array(ends))
        # Keep the panes that are also in a later window.
        rest = partial.filter(pa.array(panes // self._every * self._every + self._size > until))
        self._closed, self._merged = until, min(self._merged, len(rest))
        return over, rest

    @override
    def whole(self, partial: RecordBatch) -> RecordBatch:
        return self.groups.regrouped(partial)

    @override
    def bounds(self, partial: RecordBatch) -> tuple[Numbers, Numbers]:
        (ends,) = numbers_of(partial, WINDOW)
        return ends - self._size, ends


class _Sessions(EventTimeWindows):
    """Keeps the open sessions of every key; sessions that later rows connect are merged."""

    marks = (START, FIRST), (STOP, LAST)

    _gap = 1

    def __init__(self, gap: Any, *groups: Any, **times: Any) -> None:
        super().__init__(*groups, **times)
        self._duration = gap

    @override
    def begin(self) -> None:
        self._gap = self.kind.duration(self._duration, "gap")

    @override
    def ends(self, times: Numbers) -> Numbers:
        return times + self._gap

    @override
    def changes(self, times: Numbers) -> Numbers:
        # A row belongs to every session of its key that ends after it.
        return times + 1

    @override
    def partial(self, table: RecordBatch) -> RecordBatch:
        return self.groups.partial(table, self._grouped(table, rows=True))

    @override
    def merged(self, partial: RecordBatch) -> RecordBatch:
        return self.groups.regrouped(partial, self._grouped(partial, rows=False))

    def _grouped(self, table: RecordBatch, *, rows: bool) -> Grouped:
        """Group single rows, or sessions that may overlap, into the sessions of each key."""
        starts, stops, first, last = numbers_of(table, START, STOP, FIRST, LAST)
        by_key = grouped([table.column(key) for key in self.keys], len(table))
        # NumPy sorts numbers of 16 bits in linear time.
        keys = by_key.numbers.astype(np.uint16 if by_key.count <= 2**16 else np.int64)
        # Rows are already in the order of their numbers.
        order = np.argsort(starts, kind="stable") if rows else np.lexsort((first, starts))
        order = order[np.argsort(keys[order], kind="stable")]
        starts, keys, latest = starts[order], keys[order], stops[order]
        new = np.ones(len(keys), bool)
        new[1:] = keys[1:] != keys[:-1]
        in_order = rows or (new[1:] | (latest[1:] > latest[:-1])).all()
        if not in_order:
            # A running maximum of ranks, offset by key, gives the latest stop so far of the same key.
            ranked = np.sort(stops)
            ranks = np.searchsorted(ranked, latest) + keys.astype(np.int64) * len(stops)
            latest = ranked[np.maximum.accumulate(ranks) % len(stops)]
        new[1:] |= starts[1:] >= latest[:-1] + self._gap
        begins = np.flatnonzero(new)
        numbers = np.empty(len(keys), np.int64)
        numbers[order] = np.cumsum(new) - 1
        made = Grouped(numbers, len(begins))
        made.first = order[begins]
        made.last = order[np.append(begins[1:], len(keys)) - 1] if in_order else made.ends((stops, last), last=True)
        return made

    @override
    def due(self, partial: RecordBatch) -> int:
        return self.least_end(int(numbers_of(partial, STOP)[0].min()))

    @override
    def close(self, partial: RecordBatch, until: int) -> tuple[RecordBatch, RecordBatch]:
        over = self.bounds(partial)[1] <= until
        return partial.filter(pa.array(over)), partial.filter(pa.array(~over))

    @override
    def bounds(self, partial: RecordBatch) -> tuple[Numbers, Numbers]:
        starts, stops = numbers_of(partial, START, STOP)
        return starts, stops + self._gap


def _results(call: Call, named: dict[str, Any]) -> dict[str, Aggregate]:
    """Check the aggregates; neither results nor keys may hide the columns of the window."""
    if "origin" in named and not isinstance(named["origin"], Aggregate):
        # `ps.tumbling` and `ps.sliding` have this option.
        why = (
            "a session starts at its first row"
            if call.module == "sessions"
            else "windows start at multiples of their distance from 0, or from 1 January 1970, UTC; for another "
            f"origin, use ps.stamp and ps.{call.module}"
        )
        raise call.refuse(f"has no origin=: {why}")
    own = ("start", "end")
    for key in call["keys"]:
        if key in own:
            raise call.refuse(
                f"got the key {key!r}, but windows have a column {key!r} of their own; give the key another name with "
                f"columns.with_columns upstream"
            )
    return aggregates(call, named, (*own, *call["keys"]))


Size = Annotated[Any, duration]
Keys = Annotated[Any, key_names]
At = Annotated[str, column_name]
Lateness = Annotated[Any, not_negative]
Named = Annotated[Any, _results]


@transformer
def tumbling(
    size: Size, /, *keys: Keys, at: At, lateness: Lateness, late: Late = "error", **named: Named
) -> Transformer[Any, Any]:
    """Aggregate the rows of each key in adjacent windows over a time column; emit each window when it closes.

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

    It does the work of `ps.stamp` and `ps.tumbling` at once: `at` is the column of times, which may arrive in any
    order. A window closes when a row at least `lateness` after its end arrives. Its results are emitted at the time of
    its end, which the window does not include. A row more than `lateness` behind the latest is late: an error, dropped
    and counted, or passed to a sink, as a row in columns.

    Times are whole numbers, dates, or timestamps (results are at ints, microseconds since 1970, UTC); `size` and
    `lateness` are whole numbers or timedeltas. Windows start at multiples of the size from 0, or from 1970 (UTC).
    Keys are in the order in which they first arrived. Memory holds the groups of open windows, and up to 100,000 rows
    or, if that is more, a quarter as many rows as groups. The input may have only one time; see `ps.stamp`.

    Raises:
        ColumnError: at an ask; a time is null or has another type, or as in `reduce_by_key`.
        CapabilityError: at an ask; a row is late, or the input has a second time.
    """
    return opens(_OnGrid(size, size, keys, named, at=at, lateness=lateness, late=late))


@transformer
def sliding(
    size: Size, every: Size, /, *keys: Keys, at: At, lateness: Lateness, late: Late = "error", **named: Named
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
    return opens(_OnGrid(size, every, keys, named, at=at, lateness=lateness, late=late))


@transformer
def sessions(
    gap: Size, /, *keys: Keys, at: At, lateness: Lateness, late: Late = "error", **named: Named
) -> Transformer[Any, Any]:
    """Aggregate the rows of each key in windows over a time column that end after a gap without rows.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> clicks = ps.values([{"second": second} for second in (1, 4, 3, 20, 24)])
    >>> sessions = columns.sessions(5, at="second", lateness=2, n=columns.count())
    >>> for row in ps.run(ps.pipe(clicks, sessions, ps.collect())):
    ...     print(row)
    {'start': 1, 'end': 9, 'n': 3}
    {'start': 20, 'end': 29, 'n': 2}

    A session starts at the time of its first row and ends `gap` after the time of its last. A row belongs to it if its
    time is before that end. `first` and `last` take the earliest and the latest row. Sessions with equal ends are
    emitted in the order in which they began. Everything else is as in `tumbling`.
    """
    return opens(_Sessions(gap, keys, named, at=at, lateness=lateness, late=late))
