"""A column as event time: whole numbers that are compared and added, and Python's times made of them."""

import datetime as dt
from typing import Any, Final

import attrs

from ..arrow import DataType, values
from .grouping import Numbers
from .package import ColumnError, np, pa

FAR: Final = 2**62
"""A number beyond all times; times and durations beyond it cannot be added in 64 bits."""


@attrs.frozen
class TimeKind:
    """The type of a time column: whole numbers, dates (as days) or timestamps (as microseconds since 1970, UTC)."""

    where: str
    column: str
    kind: DataType

    def __attrs_post_init__(self) -> None:
        """Refuse a type that has no exact durations."""
        types = pa.types
        if not (types.is_integer(self.kind) or types.is_date(self.kind) or types.is_timestamp(self.kind)):
            raise ColumnError(
                f"{self.where}: the time column {self.column!r} is {self.kind}; times must be whole numbers, dates or "
                f"timestamps, so cast it above"
            )

    def numbers(self, column: Any) -> Numbers:
        """The times of a column without nulls."""
        kind = column.type
        if not len(column):
            return np.zeros(0, np.int64)
        if _family(kind) != _family(self.kind):
            TimeKind(self.where, self.column, kind)
            raise ColumnError(
                f"{self.where}: the time column {self.column!r} is {kind}, but it was {self.kind} in the rows before; "
                f"cast it to one type above"
            )
        try:
            if pa.types.is_timestamp(kind):
                column = column.cast(pa.timestamp("us", kind.tz), safe=kind.unit != "ns")
            elif pa.types.is_date(kind):
                column = column.cast(pa.date32()).cast(pa.int32())
            found: Numbers = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            found = np.array([FAR])
        if not (found.min() > -FAR and found.max() < FAR):
            raise ColumnError(f"{self.where}: the time column {self.column!r} has a time beyond ±2**62")
        return found

    def duration(self, given: Any, name: str) -> int:
        """A duration in the unit of the times."""
        types = pa.types
        number: Any = None
        if isinstance(given, dt.timedelta):
            if types.is_timestamp(self.kind):
                number = given // dt.timedelta(microseconds=1)
            elif types.is_date(self.kind) and given == dt.timedelta(days=given.days):
                number = given.days
        elif isinstance(given, int) and not types.is_date(self.kind):
            number = given
        if number is None:
            needs = "a timedelta of whole days" if types.is_date(self.kind) else "a whole number"
            needs = "a timedelta, or microseconds" if types.is_timestamp(self.kind) else needs
            raise ColumnError(
                f"{self.where}: {name}={given!r} cannot be added to the time column {self.column!r}, which is "
                f"{self.kind}; give {needs}"
            )
        if number > FAR // 2:
            raise ColumnError(f"{self.where}: {name}={given!r} is too long to be added to times")
        return number

    def column_of(self, numbers: Numbers) -> Any:
        """A column of times in the type of the time column."""
        if pa.types.is_timestamp(self.kind):
            return pa.array(numbers, pa.timestamp("us", self.kind.tz))
        if pa.types.is_date(self.kind):
            return pa.array(numbers.astype(np.int32), pa.int32()).cast(pa.date32())
        return pa.array(numbers, pa.int64())

    def times(self, numbers: Numbers) -> list[Any]:
        """Python's times, as rows have them: ints, or dates."""
        return values(self.column_of(numbers))

    def time(self, number: int) -> Any:
        """One of Python's times."""
        return self.times(np.array([number]))[0]


def _family(kind: DataType) -> tuple[bool, ...]:
    """The family of a type of times: times of two families cannot be compared, so it must not change in a stream."""
    types = pa.types
    aware = types.is_timestamp(kind) and kind.tz is not None
    return types.is_integer(kind), types.is_date(kind), types.is_timestamp(kind), aware
