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
    own: DataType = attrs.field(init=False)
    """The same in the unit of results."""

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
            f"timestamps, so cast it above"
        )

    def numbers(self, column: Any) -> Numbers:
        """The times of a column without nulls."""
        if not len(column):
            return np.zeros(0, np.int64)
        own = TimeKind(self.where, self.column, column.type).own
        if own != self.own and not (getattr(own, "tz", None) and getattr(self.own, "tz", None)):
            raise ColumnError(
                f"{self.where}: the time column {self.column!r} is {column.type}, but it was {self.kind} in the rows "
                f"before; cast it to one type above"
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
        """Python's times, as rows have them: ints, or dates."""
        return values(self.column_of(numbers))
