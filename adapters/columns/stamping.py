"""A column as event time: `stamp`, and the base of windows. Rows may be out of order, within a given lateness."""

import datetime as dt
from abc import abstractmethod
from collections.abc import Hashable
from typing import Annotated, Any, Final, Literal

import attrs
from typing_extensions import override

from pullstream import Batch, Sink, Transformer, transformer
from pullstream.authoring import (
    NOT_YET,
    Ascending,
    Backlog,
    Done,
    Emits,
    LateOption,
    Traits,
    Unanswered,
    not_negative,
    opens,
    shown,
)
from pullstream.errors import CapabilityError
from pullstream.timely import BEGINNING

from ..arrow import ArrowRows, ColumnTimes, DataType, values
from .by_time import InColumns
from .expressions import check_names, column_name
from .grouping import Numbers
from .package import ColumnError, np, pa

FAR: Final = 2**62
"""A bound of all times: beyond it, times and durations could not be added in 64 bits."""


@attrs.frozen
class TimeKind:
    """The type of a time column: whole numbers, dates (as days) or timestamps (as microseconds since 1970, UTC)."""

    where: str
    column: str
    kind: DataType
    own: DataType = attrs.field(init=False)
    """The type in the unit of results."""

    @own.default
    def _own(self) -> DataType:
        types = pa.types
        if types.is_integer(self.kind):
            return pa.int64()
        if types.is_date(self.kind):
            return pa.date32()
        if types.is_timestamp(self.kind):
            return pa.timestamp("us", self.kind.tz)
        raise ColumnError(
            f"{self.where}: the time column {self.column!r} is {self.kind}; times must be whole numbers, dates or "
            f"timestamps, so cast it upstream"
        )

    def numbers(self, column: Any) -> Numbers:
        """The times of a column without nulls, as numbers."""
        if not len(column):
            return np.zeros(0, np.int64)
        own = TimeKind(self.where, self.column, column.type).own
        if own != self.own and not (getattr(own, "tz", None) and getattr(self.own, "tz", None)):
            raise ColumnError(
                f"{self.where}: the time column {self.column!r} is {column.type}, but it was {self.kind} in "
                f"earlier rows; cast it to one type upstream"
            )
        try:
            column = column.cast(self.own, safe="[ns" not in str(column.type))
            found: Numbers = column.view(f"int{self.own.bit_width}").to_numpy().astype(np.int64, copy=False)
        except pa.ArrowInvalid:
            found = np.array([FAR])
        if not (found.min() > -FAR and found.max() < FAR):
            raise ColumnError(f"{self.where}: the time column {self.column!r} has a time beyond ±2**62")
        return found

    def duration(self, given: Any, name: str) -> int:
        """A duration in the unit of the times."""
        needs, unit = "a whole number", None
        if pa.types.is_date(self.own):
            needs, unit = "a timedelta of whole days", dt.timedelta(days=1)
        elif pa.types.is_timestamp(self.own):
            needs, unit = "a timedelta, or microseconds", dt.timedelta(microseconds=1)
        if isinstance(given, dt.timedelta) and unit is not None and not given % unit:
            number = given // unit
        elif isinstance(given, int) and not pa.types.is_date(self.own):
            number = given
        else:
            raise ColumnError(
                f"{self.where}: {name}={given!r} cannot be added to the time column {self.column!r}, which is "
                f"{self.kind}; give {needs}"
            )
        if number > FAR // 2:
            raise ColumnError(f"{self.where}: {name}={given!r} is too long to be added to times")
        return number

    def column_of(self, numbers: Numbers) -> Any:
        """A column of times in the type of the time column."""
        return pa.array(numbers.astype(f"int{self.own.bit_width}")).view(self.own)

    def times(self, numbers: Numbers) -> list[Any]:
        """The times as Python values, as in rows: ints or dates."""
        return values(self.column_of(numbers))


class LateRows(ArrowRows):
    """Late rows on their way to the `late=` sink."""


Late = Annotated[
    Literal["error", "drop"] | Sink[Any, Any], LateOption(LateRows, lambda rows: ArrowRows(rows.batch, rows.form))
]
"""The option `late=`: late rows are an error, are dropped, or go to a sink of their own, still in columns."""


class EventTimes(InColumns):
    """Reads times from a column, separates late rows, and holds the least time at which a result may follow.

    It replaces the time of its input, which may have only one, as `ps.stamp` does.
    """

    kind: TimeKind
    """The type of the times; known after the first row."""

    def __init__(self, at: str, lateness: Any, late: Any) -> None:
        super().__init__()
        self._at, self._given, self._late = at, lateness, late
        self.traits = Traits(trusted=True, summaries=((),), later=True, counts=late != "error")
        self._late_rows = Backlog(self)
        """Late rows, which must not share a batch with others."""
        self._held: Any = BEGINNING
        self._outer: tuple[Hashable] | None = None
        self._begun = False
        self._latest = -FAR
        self._lateness = 0
        self.number = 0
        """The number of rows that have arrived."""

    # ---- what a module supplies

    def begin(self) -> None:
        """Convert the durations, now that the type of the times is known."""

    @abstractmethod
    def ends(self, times: Numbers) -> Numbers:
        """For each time, the least time at which a row at it may have a result."""

    @abstractmethod
    def arrived(self, rows: Any, times: Numbers) -> None:
        """Take rows that are not late."""

    @abstractmethod
    def advance(self, hold: int) -> int:
        """Emit what is final, now that times before `hold` cannot arrive; return the least time that may follow."""

    def finish(self) -> None:
        """Emit all remaining results."""

    # ---- the kernel

    @override
    def placed(self) -> None:
        super().placed()
        self.location.hold(BEGINNING)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        waits = None if self._late_rows else self.handle_next(limit)
        return waits or (self._late_rows.take(limit) if self._late_rows else self.ready.answer(limit) or NOT_YET)

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in self.apart(batch):
            self._enter(run.time)
            found, _, failure = self.reader.until_failure(run.values, self._timed)
            if found is not None:
                self.form = found[0].form
                self._arrive(*found)
            if failure is not None:
                raise failure

    @override
    def complete(self, time: Hashable) -> None:
        # The input has no other time.
        if self._begun:
            self.finish()
        self.location.drop(self._held)

    def _enter(self, outer: Hashable) -> None:
        if self._outer is None:
            self._outer = (outer,)
            self.remind(outer)
        elif self._outer != (outer,):
            raise CapabilityError(
                f"{self.location} assigns times by the column {self._at!r}, but its input already has several: "
                f"{self._outer[0]!r} and {outer!r}. To discard them, put map_time(lambda _: 0) in front"
            )

    def _timed(self, rows: ArrowRows) -> tuple[ArrowRows, Numbers, Numbers]:
        """Rows with their times, and for each row the least time that is not late.

        Raises:
            ColumnError: a time is null or invalid.
            CapabilityError: a row is late, and that is an error.
        """
        at = self._at
        check_names(self.where, rows, {at})
        column = rows.encoded.column(at)
        if column.null_count:
            place: int = column.is_null().index(value=True).as_py()
            raise ColumnError(
                f"{self.where}: the time column {at!r} is null in row {self.number + place + 1}, "
                f"{shown(rows[place])}{rows.where(place)}; remove such rows with a filter"
            )
        if not self._begun:
            self.kind = TimeKind(self.where, at, column.type)
            self.begin()
            if self._given is not None:
                self._lateness = self.kind.duration(self._given, "lateness")
            self._begun = True
        times = self.kind.numbers(column)
        latest = np.maximum.accumulate(np.concatenate(([self._latest], times)))[:-1]
        hold = latest - self._lateness
        if self._late == "error" and (times < hold).any():
            place = int((times < hold).argmax())
            time, before = self.kind.times(np.array([times[place], latest[place]]))
            advice = ". Sort the rows, or allow them to be out of order with stamp(..., lateness=...)"
            if self._given is not None:
                advice = f', and lateness={self._given!r}. Allow more lateness, or pass late="drop" or a sink as late='
            raise CapabilityError(
                f"{self.location}, got a row that is too late: row {self.number + place + 1}, "
                f"{shown(rows[place])}{rows.where(place)}, is at {time!r}, but {before!r} has already arrived{advice}"
            )
        return rows, times, hold

    def _arrive(self, rows: Any, times: Numbers, hold: Numbers) -> None:
        self.number += len(rows)
        late = times < hold
        if late.any():
            if self._late == "drop":
                self.location.leave_out(int(late.sum()))
            else:
                put_aside = LateRows(rows.batch.filter(pa.array(late)), self.form)
                self._late_rows.put(Batch.of(Ascending(self.kind.times(self.ends(hold[late]))), put_aside))
            rows, times = rows.filtered(~late), times[~late]
        if len(times):
            self._latest = max(self._latest, int(times.max()))
            self.arrived(rows, times)
        (held,) = self.kind.times(np.array([self.advance(self._latest - self._lateness)]))
        if held != self._held:
            self.location.hold(held)
            self.location.drop(self._held)
            self._held = held


class _Stamping(EventTimes):
    @override
    def ends(self, times: Numbers) -> Numbers:
        return times

    @override
    def arrived(self, rows: Any, times: Numbers) -> None:
        found = ColumnTimes(self.kind.column_of(times))
        ordered = (times[1:] >= times[:-1]).all()
        self.ready.put(Batch.of(Ascending(found) if ordered else list(found), rows))

    @override
    def advance(self, hold: int) -> int:
        return hold


@transformer
@Emits.AT_OTHER_TIMES
def stamp(
    at: Annotated[str, column_name], /, *, lateness: Annotated[Any, not_negative] = None, late: Late = "error"
) -> Transformer[Any, Any]:
    """Assign each row the time in a column: event time; the rows stay in columns.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> clicks = ps.values([{"second": second} for second in (1, 4, 3)])
    >>> per_second = columns.reduce_by_time(n=columns.count())
    >>> ps.run(ps.pipe(clicks, columns.stamp("second", lateness=2), per_second, ps.collect(timed=True)))
    [(1, {'n': 1}), (3, {'n': 1}), (4, {'n': 1})]

    Times must not decrease, unless `lateness` allows it: then a time is complete when a row more than `lateness` later
    has arrived. Late rows are an error, dropped and counted, or passed to a sink. Times, `lateness` and errors are as
    in `tumbling`. The times of the input are replaced, as in `ps.stamp`.
    """
    return opens(_Stamping(at, lateness, late))
