"""From Arrow batches to rows: named tuples, split where the time changes."""

from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from adapters.spark.arrow import Array, RecordBatch, pyarrow
from adapters.spark.errors import NullTimeError


class Rows:
    """Makes rows of batches whose last column is the rows' time.

    A row is a named tuple of the other columns: `row.carrier`. A name that is no Python identifier, or begins with an
    underscore, becomes `_` and the column's position. Nulls are None. A TIMESTAMP is an int, microseconds since 1970
    in UTC (thirty times cheaper than a datetime; one without a zone counts as UTC), a DATE a datetime.date; the same
    holds for times.
    """

    def __init__(self, names: Sequence[str], time: str) -> None:
        row: type[tuple[Any, ...]] = namedtuple("Row", names, rename=True)  # type: ignore[misc] # noqa: PYI024
        # Past the generated constructor, which is written in Python.
        self._row = cast("Callable[[tuple[Any, ...]], Any]", partial(cast("Any", tuple).__new__, row))
        self._time = time

    def runs(self, batch: RecordBatch) -> Iterator[tuple[Hashable, list[Any]]]:
        """The rows of a batch in runs of equal time, each with its time.

        Raises:
            NullTimeError: a row has no time.
        """
        *columns, time = batch.columns
        if time.null_count:
            raise NullTimeError(
                f"{time.null_count} of the next {len(time)} rows have no time: {self._time} is null. Give them one, or "
                f"leave them out with a filter in Spark",
            )
        lists = [values(column) for column in columns]
        # A row of no columns is still a row.
        rows = list(map(self._row, zip(*lists, strict=True) if lists else [()] * len(time)))
        starts = run_starts(time)
        times = values(time.take(starts))
        bounds: list[int] = [*starts.to_pylist(), len(rows)]
        for at, start, end in zip(times, bounds, bounds[1:], strict=False):
            yield at, rows[start:end]


def run_starts(time: Array) -> Array:
    """Where in a column without nulls a run of equal values begins; the first is 0, of an empty column none."""
    pa = pyarrow()
    if len(time) == 0:
        return pa.array([], pa.uint64())
    changes = pa.compute.not_equal(time.slice(1), time.slice(0, len(time) - 1))
    first = pa.array([True], pa.bool_())
    return pa.compute.indices_nonzero(pa.concat_arrays([first, changes]))


def values(column: Array) -> list[Any]:
    """The Python values of a column, by the fastest way there is for its type."""
    pa = pyarrow()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if pa.types.is_date32(column.type) or (column.null_count == 0 and pa.types.is_primitive(column.type)):
        # Through numpy: with dates thirty times faster, and a missing date is still None.
        return column.to_numpy(zero_copy_only=False).tolist()
    return column.to_pylist()
