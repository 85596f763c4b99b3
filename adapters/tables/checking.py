"""Checks of rows before they are in a table: what it would change is refused."""

import datetime as dt
from collections.abc import Callable, Hashable, Sequence
from numbers import Number
from typing import Any, Final

from typing_extensions import override

from ..arrow import TROUBLE, Array, DataType, Packing, RecordBatch, Schema, Spool, exact_array, pyarrow
from .entries import encoded

_ZONES: Final = "the type has no time zone, but the value has one", "the type has a time zone, but the value has none"


class CheckedPacking(Packing):
    """Refuses values that Arrow would change in a column of timestamps.

    The column of the time may have numbers: as in all sources, they are microseconds.
    """

    @override
    def converted(self, name: str, column: Sequence[Any] | Array, kind: DataType) -> Array:
        pa: Any = pyarrow()
        types = pa.types
        array = super().converted(name, column, kind)
        if not types.is_timestamp(kind):
            return array
        zone = kind.tz is not None
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            given: Any = column
            number = not types.is_temporal(given.type)
            other = types.is_timestamp(given.type) and (given.type.tz is not None) != zone
            if given.null_count == len(given):
                return array
        else:
            number = any(isinstance(value, Number) for value in column)
            other = any((value.tzinfo is not None) != zone for value in column if isinstance(value, dt.datetime))
        if other:
            raise ValueError(_ZONES[zone])
        if number and name not in self.optional:
            raise ValueError("a number is not a timestamp")
        return array


def exact_time(time: Hashable, kind: DataType) -> Any:
    """Return a time as a value of its column's type.

    Raises:
        Exception: the type would change it; one of `TROUBLE`.
    """
    (value,) = exact_array([time], kind)
    if pyarrow().types.is_floating(kind) and value.as_py() != time:
        raise ValueError("it would be rounded")
    return value


class CheckedSpool(Spool):
    """A spool that refuses rows of other times, and values that the database would change."""

    def __init__(
        self, column: str | None, unkept: Callable[[Any], Any], refused: Any, schema: Schema, time: Hashable
    ) -> None:
        super().__init__(schema, time)
        self._column = column
        self._unkept = unkept
        self._refused = refused
        try:
            encoded(time)
        except ValueError as exc:
            raise refused(f"the time {exc}: convert the times with ps.map_time to numbers, dates or text") from None

    @override
    def add(self, batch: RecordBatch) -> None:
        pa: Any = pyarrow()
        found: Any = None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            marked, why = self._unkept(column) or (None, "")
            if marked is not None and (place := marked.index(value=True).as_py()) >= 0:
                found = name, place, why
        if self._column is not None:
            times = batch.column(self._column)
            place, why = 0, f"the time of the row is {self.time!r}"
            try:
                same = pa.compute.equal(times, exact_time(self.time, times.type))
                place = same.fill_null(False).index(value=False).as_py()  # noqa: FBT003 - pyarrow's own
            except TROUBLE:
                why += (
                    f" ({type(self.time).__name__}), and the column is {times.type}: stamp the rows by the column with "
                    f"ps.stamp, or convert its values with ps.map or the times with ps.map_time"
                )
            if place >= 0:
                found = self._column, place, why
        if found is not None:
            name, place, why = found
            row = batch.slice(place, 1).to_pylist()[0]
            raise self._refused(
                f"row {self.rows + place + 1} of the time {self.time!r} has {row[name]!r} in the column {name!r}: {why}"
            )
        super().add(batch)
