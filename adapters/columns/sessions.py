"""`sessions`: windows over a time column that last as long as rows follow each other closely."""

from collections.abc import Sequence
from typing import Annotated, Any

from typing_extensions import override

from pullstream import Transformer, transformer
from pullstream.authoring import opens

from ..arrow import ArrowRows
from ..arrow.package import numpy
from .aggregates import Merging
from .arrow_partials import Table
from .event_times import Numbers, TimeKind
from .frames import Frame, frame_of_all, same
from .package import ColumnError, polars
from .reducing import key_names
from .windowing import FIRST, LAST, ROW, TIME, EventTimeWindows, WindowPlan, numbers_of
from .windows import Late, Named

START, STOP = "__start__", "__stop__"
"""Partial columns: the times of a session's first and last row."""


class _Sessions(EventTimeWindows):
    """Keeps the open sessions of every key; sessions that later rows connect are merged."""

    assigned = "__session__"
    merging = Merging((START, FIRST), (STOP, LAST))
    extra = ((ROW, "first", FIRST), (ROW, "last", LAST), (TIME, "min", START), (TIME, "max", STOP))

    _gap = 1

    def __init__(self, plan: WindowPlan) -> None:
        super().__init__(plan)
        self._open: Frame | None = None
        self._first_stop: int | None = None

    @override
    def begin(self, kind: TimeKind) -> None:
        gap = self.plan.durations["gap"]
        self._gap = kind.duration(gap, "gap")
        if self._gap <= 0:
            raise ColumnError(f"{kind.where}: gap={gap!r} must be positive")

    @override
    def ends(self, times: Numbers) -> Numbers:
        return times + self._gap

    @override
    def assign(self, times: Numbers, rows: Sequence[ArrowRows]) -> Any:
        pl, np = polars(), numpy()
        keys = self.plan.keys
        frame = frame_of_all(rows, keys).select(*keys, pl.Series(TIME, times), pl.Series(ROW, np.arange(len(times))))
        return self._numbered(frame.sort(TIME, ROW), pl.col(TIME), pl.col(TIME)).sort(ROW).get_column("part").to_arrow()

    @override
    def ordered(self, table: Table) -> Table:
        return table.sort_by([(TIME, "ascending"), (ROW, "ascending")])

    def _numbered(self, frame: Frame, start: Any, stop: Any) -> Frame:
        """Number the sessions of each key in a frame that is sorted by time."""
        pl, keys = polars(), self.plan.keys

        def within(expr: Any) -> Any:
            return expr.over(keys) if keys else expr

        new = (start >= within(stop.cum_max().shift(1)) + self._gap).fill_null(value=True)
        return frame.with_columns(new.alias("new")).with_columns(within(pl.col("new").cum_sum()).alias("part"))

    @override
    def fold(self, frame: Frame) -> None:
        pl = polars()
        parts = [frame.drop(self.assigned)]
        if self._open is not None:
            parts.insert(0, self._open)
        whole = self._numbered(same(parts).sort(START, FIRST), pl.col(START), pl.col(STOP))
        self._open = self.folding.regrouped(whole.rename({"part": self.assigned})).drop(self.assigned)
        self._first_stop = int(numbers_of(self._open, STOP).min())

    @override
    def due(self) -> int | None:
        return None if self._first_stop is None else self._first_stop + self._gap

    @override
    def close(self, until: int | None) -> tuple[Any, str] | None:
        if self._open is None:
            return None
        pl = polars()
        over = pl.lit(True) if until is None else pl.col(STOP) + self._gap <= until  # noqa: FBT003
        closed = self._open.filter(over).sort(STOP, START, FIRST)
        rest = self._open.filter(~over)
        self._open = rest if len(rest) else None
        self._first_stop = int(numbers_of(rest, STOP).min()) if len(rest) else None
        return (closed.with_columns(pl.col(STOP) + self._gap), STOP) if len(closed) else None

    @override
    def start_of(self, ends: Numbers, frame: Frame) -> Numbers:
        return numbers_of(frame, START)


@transformer
def sessions(
    gap: Any, /, *keys: Annotated[Any, key_names], at: str, lateness: Any, late: Late = "error", **named: Named
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
    return opens(_Sessions(WindowPlan(at, keys, named, {"gap": gap}, lateness, late)))
