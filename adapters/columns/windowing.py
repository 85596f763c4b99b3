"""The kernel of windows over a time column: rows in any order, a lateness, and results when a window is over."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import attrs
from typing_extensions import override

from pullstream import DONE, Batch
from pullstream.authoring import Ascending, Backlog, Done, Kernel, Pace, Traits
from pullstream.errors import CapabilityError
from pullstream.timely import BEGINNING

from ..arrow import ArrowRows, RowForm, pyarrow
from ..arrow.package import numpy
from .aggregates import Aggregate
from .event_times import TimeKind
from .expressions import check_names
from .frames import ColumnReader, rows_at_once
from .grouping import Column, Numbers
from .groups import Groups, Marks, Table
from .late import LateRows
from .package import ColumnError
from .reducing import TOGETHER

FIRST, LAST = "__first__", "__last__"
"""Columns added to the rows: their number in order of arrival. A group has those of its first and its last row."""

WINDOW = "__window__"
"""A column added to the rows: their window, by which they are grouped besides the keys."""

START, STOP = "__start__", "__stop__"
"""Columns added to the rows: their time. A group has those of its first and its last row."""


@attrs.frozen
class WindowPlan:
    """The arguments of a window module; immutable."""

    at: str
    keys: Sequence[str]
    named: Mapping[str, Aggregate]
    durations: Mapping[str, Any]
    lateness: Any
    late: Any


class EventTimeWindows(Kernel[Any]):
    """Assigns rows to windows by a time column, and emits a window when no more of its rows can arrive.

    It replaces the times of its input, of which there may be one, as `ps.stamp` does. It holds the least time at which
    a result may follow.
    """

    marks: ClassVar[Marks]

    def __init__(self, plan: WindowPlan) -> None:
        self.plan = plan
        self.traits = Traits(trusted=True, summaries=((),), later=True, counts=plan.late != "error")
        self._held: Any = BEGINNING
        self._outer: tuple[Hashable] | None = None
        self._kind: TimeKind | None = None
        self._late_rows, self._results = Backlog(self), Backlog(self)
        self._failure: BaseException | None = None
        self._over = False
        self._latest: int | None = None
        self._number = 0
        self._form: RowForm = "rows"
        self._waiting: list[tuple[ArrowRows, Numbers]] = []
        self._count = 0
        self.earliest: int | None = None
        """The least time of the rows that are not folded."""

    # ---- what the windows are

    @abstractmethod
    def begin(self, kind: TimeKind) -> None:
        """Convert the durations, when the type of the times is known."""

    @abstractmethod
    def ends(self, times: Numbers) -> Numbers:
        """The least end of a window that a row at each time may have."""

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
    def placed(self) -> None:
        self.location.hold(BEGINNING)

    @override
    async def acquire(self) -> None:
        where = str(self.location)
        self._pace, self._reader = Pace(self.run, rows_at_once(self.run.limit)), ColumnReader(where)
        self.groups = Groups(where, self.plan.keys, self.plan.named, added=[WINDOW], marks=self.marks)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            for ready in (self._late_rows, self._results):
                if ready:
                    return ready.take(limit)
            if self._failure is not None:
                raise self._failure
            if self._over:
                return DONE
            batch = await self.upstream.ask(self._pace.next())
            self._pace.took()
            if batch is DONE:
                self._end()
                continue
            self._take(batch)
            if self._failure is None:
                self.upstream.ack()
            if not await self.breathe():
                return DONE

    def _end(self) -> None:
        try:
            self._flush()
            self._emit(None)
        except ColumnError as exc:
            self._failure = exc
        self._over = True
        self.location.drop(self._held)

    def _take(self, batch: Batch[Any]) -> None:
        try:
            self._enter(batch.time)
            rows = self._reader.rows(batch.values)
            self._form = rows.form
            times = self._times(rows)
            if len(times):
                self._arrive(rows if len(times) == len(rows) else rows[: len(times)], times)
        except Exception as exc:  # noqa: BLE001 - raised after the results before it
            self._failure = self._failure or exc

    def _enter(self, outer: Hashable) -> None:
        if self._outer is None:
            self._outer = (outer,)
        elif self._outer != (outer,):
            raise CapabilityError(
                f"{self.location} assigns times by the column {self.plan.at!r}, but its input already has several: "
                f"{self._outer[0]!r} and {outer!r}. To discard them, put map_time(lambda _: 0) in front"
            )

    def _times(self, rows: ArrowRows) -> Numbers:
        """The times of rows, up to one without a time, which is the next failure."""
        at = self.plan.at
        check_names(self._reader.where, rows, {at})
        column = rows.batch.column(at)
        if self._kind is None:
            self._kind = TimeKind(self._reader.where, at, column.type)
            self.begin(self._kind)
            self._lateness = self._kind.duration(self.plan.lateness, "lateness")
        if column.null_count:
            place: int = column.is_null().index(value=True).as_py()
            self._failure = ColumnError(
                f"{self._reader.where}: the time column {at!r} is null in row {self._number + place + 1}, "
                f"{rows[place]!r}{rows.where(place)}; remove such rows with a filter"
            )
            column = column.slice(0, place)
        return self._kind.numbers(column)

    def _arrive(self, rows: Any, times: Numbers) -> None:
        np, pa = numpy(), pyarrow()
        latest = times[0] if self._latest is None else self._latest
        before = np.maximum.accumulate(np.concatenate(([latest], times)))
        hold = before[:-1] - self._lateness
        late = times < hold
        self._number += len(rows)
        if late.any():
            if self.plan.late == "error":
                place = int(late.argmax())
                self._failure = self._too_late(rows, times, before, place)
                rows, times, before = rows[:place], times[:place], before[: place + 1]
            else:
                self._aside(rows.batch.filter(pa.array(late)), self.ends(hold[late]))
                rows, times = rows.with_batch(rows.batch.filter(pa.array(~late))), times[~late]
        self._latest = int(before[-1])
        if len(times):
            self._waiting.append((rows, times))
            self._count += len(times)
            least = int(times.min())
            self.earliest = least if self.earliest is None else min(self.earliest, least)
        self._advance(self._latest - self._lateness)

    def _too_late(self, rows: Any, times: Numbers, before: Numbers, place: int) -> CapabilityError:
        kind = self._kind
        assert kind is not None, "a row has arrived"
        return CapabilityError(
            f"{self.location}, got a row that is too late: row {self._number - len(rows) + place + 1}, "
            f"{rows[place]!r}, is at {kind.time(int(times[place]))!r}, but {kind.time(int(before[place]))!r} has "
            f'already arrived, and lateness={self.plan.lateness!r}. Allow more lateness, or pass late="drop" or a sink'
        )

    def _aside(self, batch: Any, times: Numbers) -> None:
        if self.plan.late == "drop":
            self.location.meter.skipped += batch.num_rows
            return
        assert self._kind is not None, "a row has arrived"
        self._late_rows.put(Batch.of(Ascending(self._kind.times(times)), LateRows(batch, self._form)))

    def _advance(self, hold: int) -> None:
        """Close what ends at or before `hold`; earlier times no longer arrive."""
        assert self._kind is not None, "a row has arrived"
        np = numpy()
        least, due = self.earliest, self.due()
        closing = least is not None and int(self.ends(np.array([least]))[0]) <= hold
        # A waiting row may also extend what is due.
        if closing or self._count >= TOGETHER or (due is not None and due <= hold):
            self._flush()
        due = self.due()
        if due is not None and due <= hold:
            self._emit(hold)
        following = [int(self.ends(np.array([hold]))[0])]
        following += [end for end in (self.due(),) if end is not None]
        if self.earliest is not None:
            following.append(int(self.ends(np.array([self.earliest]))[0]))
        held = self._kind.time(min(following))
        if held != self._held:
            self.location.hold(held)
            self.location.drop(self._held)
            self._held = held

    def _flush(self) -> None:
        """Aggregate the rows that wait."""
        if not self._waiting:
            return
        np, pa = numpy(), pyarrow()
        times = np.concatenate([part for _, part in self._waiting])
        number = np.arange(self._number - self._count, self._number - self._count + len(times))
        columns = {FIRST: number, LAST: number, START: times, STOP: times}
        more = {name: pa.array(column) for name, column in columns.items()}
        table = self.groups.table([part for part, _ in self._waiting], more)
        self._waiting, self._count, self.earliest = [], 0, None
        self.fold(self.groups.partial(table.append_column(WINDOW, pa.array(self.assign(table)))))

    def _emit(self, until: int | None) -> None:
        found = self.close(until)
        if found is None or self._kind is None:
            return
        partial, starts, ends = found
        made = self.groups.finished(partial)
        columns = [self._kind.column_of(starts), self._kind.column_of(ends), *made.columns]
        batch = pyarrow().RecordBatch.from_arrays(columns, names=["start", "end", *made.schema.names])
        self._results.put(Batch.of(Ascending(self._kind.times(ends)), ArrowRows(batch, self._form)))


def numbers_of(table: Table, *names: str) -> tuple[Numbers, ...]:
    """Columns of whole numbers."""
    return tuple(table.column(name).to_numpy() for name in names)


def replaced(table: Table, column: Column) -> Table:
    """Groups in other windows."""
    return table.set_column(table.schema.get_field_index(WINDOW), WINDOW, pyarrow().array(column))
