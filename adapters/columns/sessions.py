"""`sessions`: windows over a time column that last as long as rows follow each other closely."""

from typing import Annotated, Any

from typing_extensions import override

from pullstream import Transformer, transformer
from pullstream.authoring import duration, not_negative, opens

from .expressions import column_name
from .grouping import Grouped, Numbers, grouped
from .groups import Table
from .package import np, pa
from .reducing import key_names
from .stamping import Late
from .windowing import FIRST, LAST, START, STOP, EventTimeWindows, numbers_of
from .windows import Named


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
    def partial(self, table: Table) -> Table:
        return self.groups.partial(table, self._grouped(table, rows=True))

    @override
    def merged(self, partial: Table) -> Table:
        return self.groups.regrouped(partial, self._grouped(partial, rows=False))

    def _grouped(self, table: Table, *, rows: bool) -> Grouped:
        """The sessions of all keys, of single rows or of sessions that may overlap."""
        starts, stops, first, last = numbers_of(table, START, STOP, FIRST, LAST)
        by_key = grouped([table.column(key) for key in self.keys], len(table))
        # NumPy sorts numbers of 16 bits in linear time.
        keys = by_key.numbers.astype(np.uint16 if by_key.count <= 2**16 else np.int64)
        # Rows are in the order of their numbers already.
        order = np.argsort(starts, kind="stable") if rows else np.lexsort((first, starts))
        order = order[np.argsort(keys[order], kind="stable")]
        starts, keys, latest = starts[order], keys[order], stops[order]
        new = np.ones(len(keys), bool)
        new[1:] = keys[1:] != keys[:-1]
        in_order = rows or (new[1:] | (latest[1:] > latest[:-1])).all()
        if not in_order:
            # The latest end so far of the same key: ends are compared by their ranks, which leave room for the key.
            ranked = np.sort(stops)
            ranks = np.searchsorted(ranked, latest) + keys.astype(np.int64) * len(stops)
            latest = ranked[np.maximum.accumulate(ranks) % len(stops)]
        new[1:] |= starts[1:] >= latest[:-1] + self._gap
        begins = np.flatnonzero(new)
        numbers = np.empty(len(keys), np.int64)
        numbers[order] = np.cumsum(new) - 1
        made = Grouped(numbers, len(begins), last_by=(stops, last))
        made.first = order[begins]
        if in_order:
            made.last = order[np.append(begins[1:], len(keys)) - 1]
        return made

    @override
    def due(self, partial: Table) -> int:
        return self.least_end(int(numbers_of(partial, STOP)[0].min()))

    @override
    def close(self, partial: Table, until: int) -> tuple[Table, Table]:
        over = self.bounds(partial)[1] <= until
        return partial.filter(pa.array(over)), partial.filter(pa.array(~over))

    @override
    def bounds(self, partial: Table) -> tuple[Numbers, Numbers]:
        starts, stops = numbers_of(partial, START, STOP)
        return starts, stops + self._gap


@transformer
def sessions(
    gap: Annotated[Any, duration],
    /,
    *keys: Annotated[Any, key_names],
    at: Annotated[str, column_name],
    lateness: Annotated[Any, not_negative],
    late: Late = "error",
    **named: Named,
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
    time is before that end. `first` and `last` are the earliest and the latest. Sessions with equal ends are emitted in
    the order in which they began. Everything else is as in `tumbling`.
    """
    return opens(_Sessions(gap, keys, named, at=at, lateness=lateness, late=late))
