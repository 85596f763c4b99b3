"""The kernel of windows over a time column: rows in any order, a lateness, and results when a window is over."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from pullstream import Batch
from pullstream.authoring import Ascending

from ..arrow import ArrowRows
from .aggregates import Aggregate
from .event_times import FAR
from .frames import first_failure
from .grouping import Numbers
from .groups import Groups, Marks, Table
from .package import ColumnError, np, pa
from .reducing import TOGETHER
from .stamping import EventTimes

FIRST, LAST = "__first__", "__last__"
"""Columns added to the rows: their number in order of arrival. A group has those of its first and its last row."""

START, STOP = "__start__", "__stop__"
"""Columns added to the rows: their time. A group has those of its first and its last row."""


class EventTimeWindows(EventTimes):
    """Assigns rows to windows by a time column, and emits a window when no more of its rows can arrive."""

    marks: ClassVar[Marks]
    added: ClassVar[Sequence[str]] = ()
    """Columns added to the rows, by which they are grouped besides the keys."""

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate], **times: Any) -> None:
        super().__init__(**times)
        self.keys, self._named = keys, named
        self._waiting: list[tuple[ArrowRows, Numbers]] = []
        self._count = 0
        self._earliest = FAR
        """The least time of the rows that are not folded."""
        self._empty: tuple[Table, ...] = ()
        """No partial results, with the types that those so far have in common."""
        self._failure: Exception | None = None
        self._fails_at = 2 * FAR
        """The first end of a window that may have no result, as a row of it failed."""

    # ---- what the windows are

    @abstractmethod
    def partial(self, table: Table) -> Table:
        """The partial results of rows, by window and key."""

    def changes(self, times: Numbers) -> Numbers:
        """The least end of a window that a row at each time may change."""
        return self.ends(times)

    def merged(self, partial: Table) -> Table:
        """Partial results of further rows as `fold` takes them; it may fail, and changes nothing."""
        return partial

    @abstractmethod
    def fold(self, partial: Table) -> None:
        """Take partial results of further rows."""

    @abstractmethod
    def due(self) -> int:
        """The least end of a window that has partial results; a number beyond all times if there is none."""

    @abstractmethod
    def close(self, until: int) -> tuple[Table, Numbers, Numbers] | None:
        """Take the windows that end at or before a time: their groups, starts and ends; see `fails`."""

    # ---- the kernel

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.groups = Groups(self.where, self.keys, self._named, added=self.added, marks=self.marks)

    @override
    def arrived(self, rows: Any, times: Numbers) -> None:
        self._waiting.append((rows, times))
        self._count += len(times)
        self._earliest = min(self._earliest, int(times.min()))

    @override
    def advance(self, hold: int) -> int:
        # A waiting row may also extend what is due.
        if self._count >= TOGETHER or min(self.due(), self.least_end(self._earliest)) <= hold:
            self._flush()
        self._emit(hold)
        return min(self.due(), self.least_end(hold), self.least_end(self._earliest))

    def least_end(self, time: int) -> int:
        """The least end of a window of a row."""
        return int(self.ends(np.array([time]))[0])

    @override
    def finish(self) -> None:
        self._flush()
        self._emit(2 * FAR - 1)

    def _flush(self) -> None:
        """Aggregate the rows that wait. If one fails, no window has a result that ends with its own or later."""
        if not self._waiting:
            return
        waiting, number = self._waiting, self.number - self._count
        self._waiting, self._count, self._earliest = [], 0, FAR
        changes = [self.changes(times) for _, times in waiting]

        def partial(until: int) -> Table | None:
            chosen = [part <= until for part in changes]
            places = np.flatnonzero(np.concatenate(chosen))
            return self.merged(self._partial(waiting, chosen, number + places)) if len(places) else None

        try:
            made = partial(self._fails_at - 1)
        except Exception as exc:  # noqa: BLE001 - raised after the windows that end before
            ends = np.unique(np.concatenate(changes))
            ends = ends[ends < self._fails_at].tolist()
            place, first = first_failure(partial, ends)
            self.fails(ends[place], first or exc)
            made = partial(self._fails_at - 1)
        if made is not None:
            self.fold(made)

    def fails(self, end: int, failure: Exception) -> None:
        """Note that windows with this end or a later one have no results; the failure is raised after those before."""
        self._fails_at, self._failure = end, failure

    def _partial(
        self, waiting: Sequence[tuple[ArrowRows, Numbers]], chosen: Sequence[Numbers], number: Numbers
    ) -> Table:
        """The partial results of chosen rows, which have these numbers."""
        some = [(*part, mask) for part, mask in zip(waiting, chosen, strict=True) if mask.any()]
        times = np.concatenate([times[mask] for _, times, mask in some])
        columns = {FIRST: number, LAST: number, START: times, STOP: times}
        more = {name: pa.array(column) for name, column in columns.items()}
        table = self.groups.table([rows if mask.all() else rows.filtered(mask) for rows, _, mask in some], more)
        made = self.partial(table)
        # Values without a common type fail here, and not where windows are merged.
        self._empty = (self.groups.joined([*self._empty, made.slice(0, 0)]),)
        return made

    def _emit(self, until: int) -> None:
        found = self.close(min(until, self._fails_at - 1)) if self.due() <= until else None
        if found is not None and len(found[0]):
            partial, starts, ends = found
            order = np.lexsort((*numbers_of(partial, FIRST), starts, ends))
            self._give(partial.take(pa.array(order)), starts[order], ends[order])
        if self._failure is not None and self._fails_at <= until:
            raise self._failure

    def _give(self, partial: Table, starts: Numbers, ends: Numbers) -> None:
        """Give the results of windows, in order of their ends; if one fails, those that ended before it."""
        try:
            made = self.groups.finished(partial)
        except ColumnError:
            if ends[0] == ends[-1]:
                raise
            for end in np.unique(ends):
                chosen = ends == end
                self._give(partial.filter(pa.array(chosen)), starts[chosen], ends[chosen])
            return
        columns = [self.kind.column_of(starts), self.kind.column_of(ends), *made.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=["start", "end", *made.schema.names])
        self.ready.put(Batch.of(Ascending(self.kind.times(ends)), ArrowRows(batch, self.form)))


def numbers_of(table: Table, *names: str) -> tuple[Numbers, ...]:
    """Columns of whole numbers."""
    return tuple(table.column(name).to_numpy() for name in names)
