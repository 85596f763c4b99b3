"""Conversion of Arrow batches to a stream's values: named tuples, tuples, dicts, or the batches themselves."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from pullstream import Batch, PullstreamError
from pullstream.authoring import Ascending, Call, OneOf

from .arrow_rows import ArrowRows, Origin, plain
from .columns import ColumnTimes, check, never_decreases, run_starts, values
from .package import Array, RecordBatch

As: TypeAlias = Literal["rows", "tuples", "dicts", "batches"]
"""The form of a table's values: `"rows"` are named tuples, `"batches"` are Arrow record batches."""

_FORM = OneOf(*get_args(As))


class NullTimeError(PullstreamError, ValueError):
    """A row has no time, so it belongs to no batch."""

    @classmethod
    def of(cls, missing: int, rows: int, shown: str) -> "NullTimeError":
        """Make the error for `rows` rows, of which `missing` have no time because `shown` is null."""
        return cls(
            f"no time in {missing} of the next {rows} rows: {shown} is null. Give every row a time, or filter "
            f"out the rows without one"
        )


def shape_argument(module: str, as_: object) -> None:
    """Refuse, when composing, an unknown `as_`."""
    _FORM(Call(module, name="as_"), as_)


class Shape:
    """Converts Arrow batches to the form `as_`: a sequence of rows, created on access (`ArrowRows`), or the batch.

    A row is a named tuple: `row.carrier`. If a column's name is not a valid Python name, the attribute is a cleaned
    form of it: `row.unit_price` for "unit price", `row.class_` for "class". If that is empty or taken, it is `_` and
    the column's position. `row._columns` and `row._asdict()` have the original names, as do all lookups by name. Nulls
    are None. A TIMESTAMP is an int (microseconds since 1970, UTC), which is thirty times cheaper than a datetime; one
    without a zone counts as UTC. A DATE is a datetime.date.

    `names` are the columns' names, if they differ from those in the batches.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"day": [1, 1, 2], "carrier": ["AA", "UA", None]})
    >>> Shape("rows").of(batch)[0].carrier
    'AA'
    >>> Shape("dicts").of(batch)[2]
    {'day': 2, 'carrier': None}
    >>> list(Shape("tuples").timed(batch, batch.column("day")))
    [Batch.of(times=[1, 1, 2], values=[(1, 'AA'), (1, 'UA'), (2, None)])]
    """

    def __init__(self, as_: As = "rows", names: Sequence[str] | None = None) -> None:
        self._as: As = as_
        self._names = None if names is None else list(names)

    def of(self, batch: RecordBatch, origin: Origin | None = None, schema: Any = None) -> Sequence[Any]:
        """The values of a batch in order; for `"batches"` the batch itself, if it has rows.

        `origin` and `schema` are those of `ArrowRows`.
        """
        if self._names is not None:
            batch = batch.rename_columns(self._names)
        if self._as == "batches":
            batch = batch if schema is None else plain(batch, schema)
            return [batch] if len(batch) else []
        # Rows are created later, but the reader must raise the error of an invalid value.
        for column in batch.columns:
            check(column)
        return ArrowRows(batch, self._as, origin=origin, schema=schema)

    def timed(
        self,
        batch: RecordBatch,
        time: Array,
        shown: str = "their time",
        origin: Origin | None = None,
        schema: Any = None,
    ) -> Iterator[Batch[Any]]:
        """Pair the values with their times: all at once if the times are in order, else in runs of equal times.

        `time` is a column as long as the batch. With `"batches"`, the batch is split where the time changes.

        Raises:
            NullTimeError: a row has no time; the message says that `shown` is null.
        """
        if time.null_count:
            raise NullTimeError.of(time.null_count, len(time), shown)
        if len(time) == 0:
            return
        starts = run_starts(time)
        heads = time.take(starts)
        in_order = len(starts) > 1 and never_decreases(heads)
        rows = self.of(batch, origin, schema)
        if in_order and self._as != "batches":
            yield Batch.of(Ascending(ColumnTimes(time, starts)), rows)
            return
        times = values(heads)
        spans = pairwise([*starts.to_pylist(), len(time)])
        if self._as == "batches":
            parts: list[Any] = [[rows[0].slice(start, end - start)] for start, end in spans]
        else:
            parts = [rows[start:end] for start, end in spans] if len(times) > 1 else [rows]
        if in_order:
            yield Batch.of(Ascending(times), [part for (part,) in parts])
        else:
            yield from map(Batch, times, parts)
