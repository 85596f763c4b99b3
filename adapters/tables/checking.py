"""Checks of rows before they are written to a table: values that it would change are refused."""

import datetime as dt
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, islice, repeat
from numbers import Number
from typing import Any, Final

import attrs
from typing_extensions import override

from ..arrow import TROUBLE, Array, DataType, OpenTimes, Packing, RecordBatch, exact_array, pa

_ZONES: Final = "the type has no time zone, but the value has one", "the type has a time zone, but the value has none"

Unkept = Callable[[str, Any], tuple[Array, str] | None]
"""`TargetTable.unkept`."""


@attrs.define(eq=False, slots=False)
class CheckedPacking(Packing):
    """Refuses values that the database would change and, in a column of timestamps, values that Arrow would change.

    The time column may have numbers: as in all sources, they are microseconds.
    """

    _unkept: Unkept = attrs.field(kw_only=True, alias="unkept")
    _exists: bool = attrs.field(kw_only=True, alias="exists")

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self._exists:
            self.absent = "; if the table has a default for it, give a schema= without that column"
            self._advice = "convert the values with ps.map, or change the columns of the existing table"

    @override
    def converted(self, name: str, column: Sequence[Any] | Array, kind: DataType) -> Array:
        types = pa.types
        array = super().converted(name, column, kind)
        marked, why = self._unkept(name, array) or (None, "")
        if marked is not None and marked.index(value=True).as_py() >= 0:
            raise ValueError(why)
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


def exact_times(times: Sequence[Hashable], kind: DataType) -> Any:
    """Return times as values of their column's type; raises one of `TROUBLE` if that would change a time."""
    array: Any = exact_array(times, kind)
    if pa.types.is_floating(kind) and array.to_pylist() != times:
        raise ValueError("it would be rounded")
    return array


@attrs.define(eq=False, slots=False)
class CheckedTimes(OpenTimes):
    """Open times that refuse a row if its time column has another time."""

    _refused: Callable[[str], Exception] = attrs.field(kw_only=True, alias="refused")

    @override
    def check(self, packed: list[RecordBatch], runs: Sequence[tuple[Hashable, int]], rows: int) -> None:
        if self.column is None:
            return
        times = chain.from_iterable(repeat(time, count) for time, count in runs)
        for batch in packed:
            column = batch.column(self.column)
            given = list(islice(times, batch.num_rows)) or [runs[0][0]]
            # Many times are converted at once. If one does not match, its run is checked again, alone.
            place, why = 0, f"the time of the row is {given[0]!r}"
            try:
                exact = exact_times(given, column.type) if len(runs) > 1 else exact_times(given[:1], column.type)[0]
                place = pa.compute.equal(column, exact).fill_null(False).index(value=False).as_py()  # noqa: FBT003 - pyarrow's own
            except TROUBLE:
                why += (
                    f" ({type(given[0]).__name__}), and the column is {column.type}: stamp the rows by the column with "
                    f"ps.stamp, or convert its values with ps.map or the times with ps.map_time"
                )
            if place >= 0:
                row = (
                    f"{self.place(rows + place)} has {column[place].as_py()!r}" if len(column) else "no row has a value"
                )
                if len(column) and column[place].as_py() == given[place]:
                    why += ". Python cannot tell apart the hours that clocks show twice: stamp the rows in UTC"
                raise self._refused(f"{row} in the column {self.column!r}: {why}")
            rows += batch.num_rows
