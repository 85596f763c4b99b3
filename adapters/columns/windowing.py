"""The kernel of windows over a time column: out-of-order rows, a lateness, and results when a window closes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from pullstream import Batch
from pullstream.authoring import Ascending

from ..arrow import ArrowRows, RecordBatch
from .aggregates import Aggregate
from .frames import as_far_as
from .grouping import Numbers
from .groups import Groups, Marks
from .package import ColumnError, np, pa
from .reducing import TOGETHER
from .stamping import FAR, EventTimes

FIRST, LAST = "__first__", "__last__"
"""Columns added to the rows: their number in order of arrival. A group keeps those of its first and last row."""

START, STOP = "__start__", "__stop__"
"""Columns added to the rows: their time. A group keeps those of its first and last row."""


class EventTimeWindows(EventTimes):
    """Assigns rows to windows by a time column, and emits a window when no more of its rows can arrive.

    Rows wait until there are enough to aggregate at once.
    """

    marks: ClassVar[Marks]
    added: ClassVar[Sequence[str]] = ()
    """Columns added to the rows, to group by besides the keys."""

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate], **times: Any) -> None:
        super().__init__(**times)
        self.keys, self._named = keys, named
        self._waiting: list[tuple[ArrowRows, Numbers]] = []
        self._count = 0
        self._earliest = FAR
        """The least time of the rows that wait."""
        self._open: RecordBatch | None = None
        """The partial results of open windows; if there are none, it is empty and keeps their types."""
        self._due = 2 * FAR
        """The earliest end of a window with partial results."""
        self._failure: Exception | None = None
        self._fails_at = 2 * FAR
        """The earliest end of a window that may have no result because one of its rows failed."""

    # ---- what the windows are

    @abstractmethod
    def partial(self, table: RecordBatch) -> RecordBatch:
        """The partial results of rows, by window and key."""

    def changes(self, times: Numbers) -> Numbers:
        """For each time, the earliest end of a window that a row at it may change."""
        return self.ends(times)

    @abstractmethod
    def merged(self, partial: RecordBatch) -> RecordBatch:
        """Merge partial results of the same windows and keys; it may fail."""

    @abstractmethod
    def due(self, partial: RecordBatch) -> int:
        """The earliest end of a window in `partial`, which has rows."""

    @abstractmethod
    def close(self, partial: RecordBatch, until: int) -> tuple[RecordBatch, RecordBatch]:
        """The partial results of windows that end at or before a time, and those of later windows."""

    def whole(self, partial: RecordBatch) -> RecordBatch:
        """Merge the partial results of each closed window."""
        return partial

    @abstractmethod
    def bounds(self, partial: RecordBatch) -> tuple[Numbers, Numbers]:
        """The starts and ends of closed windows."""

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
        # Merging costs as much per group as per row. A waiting row may also extend a window that is due.
        enough = self._count >= max(TOGETHER, len(self._open or ()) // 4)
        if enough or min(self._due, self.least_end(self._earliest)) <= hold:
            self._flush()
        self._emit(hold)
        return min(self._due, self.least_end(hold), self.least_end(self._earliest))

    def least_end(self, time: int) -> int:
        """The earliest end of a window of a row at `time`."""
        return int(self.ends(np.array([time]))[0])

    @override
    def finish(self) -> None:
        self._flush()
        self._emit(2 * FAR - 1)

    def _flush(self) -> None:
        """Aggregate the waiting rows. If one fails, only windows that end before its first window have results."""
        if not self._waiting:
            return
        waiting, number = self._waiting, self.number - self._count
        self._waiting, self._count, self._earliest = [], 0, FAR
        changes = [self.changes(times) for _, times in waiting]

        def partial(until: int) -> RecordBatch | None:
            masks = [part <= until for part in changes]
            numbers = number + np.flatnonzero(np.concatenate(masks))
            if not len(numbers):
                return self._open
            some = [(*part, mask) for part, mask in zip(waiting, masks, strict=True) if mask.any()]
            place, at = pa.array(numbers), pa.array(np.concatenate([times[mask] for _, times, mask in some]))
            chosen = [rows if mask.all() else rows.filtered(mask) for rows, _, mask in some]
            made = self.partial(self.groups.table(chosen, {FIRST: place, LAST: place, START: at, STOP: at}))
            return made if self._open is None else self.merged(self.groups.joined([self._open, made]))

        def ends() -> list[int]:
            found = np.unique(np.concatenate(changes))
            return found[found < self._fails_at].tolist()

        made, end, failure = as_far_as(partial, self._fails_at - 1, ends)
        if failure is not None:
            # Raised after the windows that end earlier.
            self._fails_at, self._failure = end, failure
        if made is not None:
            self._keep(made)

    def _keep(self, partial: RecordBatch) -> None:
        self._open = partial
        self._due = self.due(partial) if len(partial) else 2 * FAR

    def _emit(self, until: int) -> None:
        before = min(until, self._fails_at - 1)
        if self._due <= before:
            over, rest = self.close(self._open, before)
            self._keep(rest)
            self._give(over)
        if self._failure is not None and self._fails_at <= until:
            raise self._failure

    def _give(self, over: RecordBatch) -> None:
        """Emit the results of windows, in order of their ends; if one fails, only those that end before it."""
        try:
            partial = self.whole(over)
            made = self.groups.finished(partial)
        except ColumnError:
            _, ends = self.bounds(over)
            if (ends == ends[0]).all():
                raise
            for end in np.unique(ends):
                self._give(over.filter(pa.array(ends == end)))
            return
        starts, ends = self.bounds(partial)
        order = np.lexsort((*numbers_of(partial, FIRST), starts, ends))
        starts, ends, made = starts[order], ends[order], made.take(pa.array(order))
        columns = [self.kind.column_of(starts), self.kind.column_of(ends), *made.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=["start", "end", *made.schema.names])
        self.ready.put(Batch.of(Ascending(self.kind.times(ends)), ArrowRows(batch, self.form)))


def numbers_of(table: RecordBatch, *names: str) -> tuple[Numbers, ...]:
    """Columns of whole numbers, as NumPy arrays."""
    return tuple(table.column(name).to_numpy() for name in names)
