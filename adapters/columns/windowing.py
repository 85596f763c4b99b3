"""The kernel of windows over a time column: rows in any order, a lateness, and results when a window is over."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from pullstream import Batch
from pullstream.authoring import Ascending

from ..arrow import ArrowRows, pyarrow
from ..arrow.package import numpy
from .aggregates import Aggregate
from .grouping import Column, Numbers
from .groups import Groups, Marks, Table
from .reducing import TOGETHER
from .stamping import EventTimes

FIRST, LAST = "__first__", "__last__"
"""Columns added to the rows: their number in order of arrival. A group has those of its first and its last row."""

WINDOW = "__window__"
"""A column added to the rows: their window, by which they are grouped besides the keys."""

START, STOP = "__start__", "__stop__"
"""Columns added to the rows: their time. A group has those of its first and its last row."""


class EventTimeWindows(EventTimes):
    """Assigns rows to windows by a time column, and emits a window when no more of its rows can arrive."""

    marks: ClassVar[Marks]

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate], **times: Any) -> None:
        super().__init__(**times)
        self.keys, self._named = keys, named
        self._waiting: list[tuple[ArrowRows, Numbers]] = []
        self._count = 0
        self._earliest: int | None = None
        """The least time of the rows that are not folded."""

    # ---- what the windows are

    @abstractmethod
    def assign(self, table: Table) -> Numbers:
        """The windows to which rows belong."""

    @abstractmethod
    def fold(self, partial: Table) -> None:
        """Take partial results of further rows."""

    @abstractmethod
    def due(self) -> int | None:
        """The least end of a window that has partial results."""

    @abstractmethod
    def close(self, until: int | None) -> tuple[Table, Numbers, Numbers] | None:
        """Take the windows that end at or before a time, or all: their groups in order, starts and ends."""

    # ---- the kernel

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.groups = Groups(str(self.location), self.keys, self._named, added=[WINDOW], marks=self.marks)

    @override
    def arrived(self, rows: Any, times: Numbers) -> None:
        self._waiting.append((rows, times))
        self._count += len(times)
        least = int(times.min())
        self._earliest = least if self._earliest is None else min(self._earliest, least)

    @override
    def advance(self, hold: int) -> int:
        due = self.due()
        closing = self._earliest is not None and self.least_end(self._earliest) <= hold
        # A waiting row may also extend what is due.
        if closing or self._count >= TOGETHER or (due is not None and due <= hold):
            self._flush()
        due = self.due()
        if due is not None and due <= hold:
            self._emit(hold)
            due = self.due()
        following = [self.least_end(time) for time in (hold, self._earliest) if time is not None]
        return min(following if due is None else [due, *following])

    def least_end(self, time: int) -> int:
        """The least end of a window of a row."""
        return int(self.ends(numpy().array([time]))[0])

    @override
    def finish(self) -> None:
        self._flush()
        self._emit(None)

    def _flush(self) -> None:
        """Aggregate the rows that wait."""
        if not self._waiting:
            return
        np, pa = numpy(), pyarrow()
        times = np.concatenate([part for _, part in self._waiting])
        number = np.arange(self.number - self._count, self.number - self._count + len(times))
        columns = {FIRST: number, LAST: number, START: times, STOP: times}
        more = {name: pa.array(column) for name, column in columns.items()}
        table = self.groups.table([part for part, _ in self._waiting], more)
        self._waiting, self._count, self._earliest = [], 0, None
        self.fold(self.groups.partial(table.append_column(WINDOW, pa.array(self.assign(table)))))

    def _emit(self, until: int | None) -> None:
        found = self.close(until)
        if found is None:
            return
        partial, starts, ends = found
        made = self.groups.finished(partial)
        columns = [self.kind.column_of(starts), self.kind.column_of(ends), *made.columns]
        batch = pyarrow().RecordBatch.from_arrays(columns, names=["start", "end", *made.schema.names])
        self.ready.put(Batch.of(Ascending(self.kind.times(ends)), ArrowRows(batch, self.form)))


def numbers_of(table: Table, *names: str) -> tuple[Numbers, ...]:
    """Columns of whole numbers."""
    return tuple(table.column(name).to_numpy() for name in names)


def replaced(table: Table, column: Column) -> Table:
    """Groups in other windows."""
    return table.set_column(table.schema.get_field_index(WINDOW), WINDOW, pyarrow().array(column))
