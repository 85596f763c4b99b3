"""Conversion of Arrow batches to a stream's values: named tuples, tuples, dicts, or the batches themselves."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from keyword import iskeyword
from typing import Any, Literal, TypeAlias, cast

from pullstream import Batch, CompositionError, PullstreamError
from pullstream.authoring import Ascending, Site

from .collector import between_its_rounds
from .columns import ColumnTimes, converted, goes_on, run_starts, values
from .package import Array, RecordBatch
from .rows import tuple_names

As: TypeAlias = Literal["rows", "tuples", "dicts", "batches"]
"""The form of a table's values: `"rows"` are named tuples, `"batches"` are Arrow record batches."""

_FORMS = ("rows", "tuples", "dicts", "batches")


class NullTimeError(PullstreamError, ValueError):
    """A row has no time, so it belongs to no batch."""


def shape_argument(module: str, as_: object) -> None:
    """Refuse, when composing, an unknown `as_`."""
    if as_ not in _FORMS:
        raise CompositionError(
            f"{module}() at {Site.here()} got as_={as_!r}: use {', '.join(map(repr, _FORMS[:-1]))} or {_FORMS[-1]!r}"
        )


class Shape:
    """Converts Arrow batches to the form that `as_` says.

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
        self._as = as_
        self._named = names is not None
        self._names: Sequence[str] | None = None
        if names is not None:
            self._name(names)

    def _name(self, names: Sequence[str]) -> None:
        self._names = names
        # Bypasses the generated constructor, which is written in Python.
        self._row = cast("Callable[[tuple[Any, ...]], Any]", partial(cast("Any", tuple).__new__, _row(tuple(names))))

    def of(self, batch: RecordBatch) -> list[Any]:
        """The values of a batch in order; for `"batches"` the batch itself, if it has rows."""
        if self._as == "batches":
            return [self._renamed(batch)] if len(batch) else []
        if not self._named and self._names != batch.schema.names:
            self._name(batch.schema.names)
        if self._as == "dicts" and batch.columns and not any(converted(column.type) for column in batch.columns):
            # Nearly twice as fast.
            return self._renamed(batch).to_pylist()
        with between_its_rounds():
            return self._rows(batch)

    def _rows(self, batch: RecordBatch) -> list[Any]:
        lists = [values(column) for column in batch.columns]
        # A row of no columns is still a row.
        rows = zip(*lists, strict=True) if lists else iter([()] * len(batch))
        if self._as == "tuples":
            return list(rows)
        if self._as == "dicts":
            return [dict(zip(cast("Sequence[str]", self._names), row, strict=True)) for row in rows]
        return list(map(self._row, rows))

    def timed(self, batch: RecordBatch, time: Array, shown: str = "their time") -> Iterator[Batch[Any]]:
        """Pair the values with their times: all at once if the times are in order, else in runs of equal times.

        `time` is a column as long as the batch. With `"batches"`, the batch is split where the time changes.

        Raises:
            NullTimeError: a row has no time; the message says that `shown` is null.
        """
        if time.null_count:
            raise NullTimeError(
                f"no time in {time.null_count} of the next {len(time)} rows: {shown} is null. Give every row a time, "
                f"or remove rows without one with a filter",
            )
        if len(time) == 0:
            return
        starts = run_starts(time)
        in_order = goes_on(time)
        if in_order and len(starts) > 1 and self._as != "batches":
            yield Batch.of(Ascending(ColumnTimes(time)), self.of(batch))
            return
        times = values(time.take(starts))
        spans = pairwise([*starts.to_pylist(), len(time)])
        if self._as == "batches":
            whole = self._renamed(batch)
            parts: list[Any] = [[whole.slice(start, end - start)] for start, end in spans]
        else:
            rows = self.of(batch)
            parts = [rows[start:end] for start, end in spans] if len(times) > 1 else [rows]
        if in_order and len(times) > 1:
            yield Batch.of(Ascending(times), [part for (part,) in parts])
            return
        yield from map(Batch, times, parts)

    def _renamed(self, batch: RecordBatch) -> RecordBatch:
        return batch.rename_columns(list(cast("Sequence[str]", self._names))) if self._named else batch


@lru_cache(maxsize=1024)
def _row(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The named tuple type for columns; its rows can be pickled although the class cannot be imported."""
    row: Any = namedtuple("Row", _attributes(names), rename=True)  # type: ignore[misc] # noqa: PYI024
    # If two columns have the same name, the second gets its attribute's name, or it would be lost.
    columns = tuple(name if name not in names[:place] else row._fields[place] for place, name in enumerate(names))
    if columns != names:
        return _row(columns)
    row._columns = columns  # noqa: SLF001 - the class is made here
    row._asdict = _named
    row.__reduce__ = _reduced
    return row


def _attributes(names: tuple[str, ...]) -> Iterator[str]:
    """Attribute names for columns; invalid and repeated names are replaced by the position."""
    for name in names:
        attribute = re.sub(r"\W+", "_", name).strip("_")
        attribute += "_" * iskeyword(attribute)
        yield attribute if attribute == name or attribute not in names else ""


def _names(row: Any) -> tuple[str, ...]:
    return tuple_names(cast("Any", type(row))) or ()


def _named(row: Any) -> dict[str, Any]:
    return dict(zip(_names(row), row, strict=True))


def _reduced(row: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _restored, (_names(row), tuple(row))


def _restored(columns: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return cast("Any", tuple).__new__(_row(columns), values)
