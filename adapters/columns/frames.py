"""Conversion of a stream's values to columns, and back to rows that stay in Arrow."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from pullstream import PullstreamError

from ..arrow import ArrowRows, Columns, RecordBatch, RowForm, decoded
from .package import ColumnError, pa, pl

Frame = Any
"""A polars DataFrame."""


RESERVED: Final = re.compile(r"__(\d|(row|time|window|first|last|start|stop)__$)")
"""The names of columns that modules add to the rows, and of partial results."""


def rows_at_once(limit: int) -> int:
    """The most rows that a module asks for in columns, in a run with a limit; with 1 there are no batches at all.

    A row in columns costs so little that most of an ask with the limit would be the cost of the ask. Where rows are
    slower, the pace asks for fewer.
    """
    return limit if limit == 1 else 16 * limit


class ColumnReader:
    """Gives the values of one module's batches as columns.

    Rows that are not in Arrow yet are converted: dicts and named tuples, which must have the same columns throughout.
    `where` names the module in errors.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._names: list[str] | None = None
        self._types: dict[str, Any] = {}
        """The types of converted columns, for batches in which all values of a column are null."""

    def rows(self, values: Sequence[Any]) -> ArrowRows:
        """Return the values as rows in Arrow.

        Raises:
            ColumnError: they are no rows, or have other columns than the rows before.
            SchemaError: the values of a column have no common type.
        """
        rows = values if isinstance(values, ArrowRows) else self._converted(values)
        names: list[str] = rows.schema.names
        if names != self._names:
            self._check(names, rows.where())
        return rows

    def until_failure(self, values: Sequence[Any]) -> tuple[ArrowRows | None, Exception | None]:
        """The values before the first that cannot be converted, if there are any, and the error for that one."""
        try:
            return self.rows(values), None
        except PullstreamError as exc:
            place, first = first_failure(lambda size: self.rows(values[:size]), range(1, len(values) + 1))
            return (self.rows(values[:place]) if place else None), first or exc

    def _check(self, names: list[str], place: str) -> None:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ColumnError(f"{self.where}: two columns are named {twice[0]!r}; give each a name of its own")
        own = next(filter(RESERVED.match, names), None)
        if own is not None:
            raise ColumnError(
                f"{self.where}: the column {own!r} has a name that these modules use for columns of their own; give it "
                f"another name where it is read"
            )
        if self._names is not None:
            lost = [name for name in self._names if name not in names]
            new = [name for name in names if name not in self._names]
            if lost or new:
                what = [f"no column {name!r}" for name in lost] + [f"a new column {name!r}" for name in new]
                raise ColumnError(
                    f"{self.where}: a batch{place} has {', '.join(what)}, but the columns before were "
                    f"{', '.join(map(repr, self._names))}; all rows of a stream must have the same columns"
                )
        self._names = names

    def _converted(self, values: Sequence[Any]) -> ArrowRows:
        first: Any = values[0]
        form: RowForm = "dicts" if isinstance(values[0], Mapping) else "rows"
        known = _columns(first)
        other = next((value for value in values if _columns(value) != known), first)
        if other is not first:
            raise ColumnError(
                f"{self.where}: {first!r} and {other!r} do not have the same columns; convert the values with ps.map, "
                f"to dicts with the same keys or named tuples of one type"
            )
        if form == "rows" and not hasattr(first, "_fields"):
            raise ColumnError(
                f"{self.where} needs rows with named columns, but got {first!r} ({type(first).__name__}); convert the "
                f"values with ps.map, to dicts or named tuples, and read tables with as_='rows' or 'dicts'"
            )
        (batch,) = Columns(self.where, None, lambda _: None).batches(values)
        return ArrowRows(self._typed(batch), form)

    def _typed(self, batch: RecordBatch) -> RecordBatch:
        """The batch, with columns of nothing but nulls in the type that they had before."""
        kinds = {field.name: field.type for field in batch.schema}
        self._types |= {name: kind for name, kind in kinds.items() if kind != pa.null()}
        for place, (name, kind) in enumerate(kinds.items()):
            if kind == pa.null() and name in self._types:
                batch = batch.set_column(place, name, pa.nulls(batch.num_rows, self._types[name]))
        return batch


def _columns(value: Any) -> Any:
    return value.keys() if issubclass(value.__class__, Mapping) else value.__class__


def first_failure(compute: Callable[[int], object], sizes: Sequence[int]) -> tuple[int, Exception | None]:
    """The place of the first size for which a computation fails, and why; it has failed for the last."""
    failures: dict[int, Exception] = {}

    def fails(size: int) -> bool:
        try:
            compute(size)
        except Exception as exc:  # noqa: BLE001 - of Arrow, of polars, or of a Python function in an expression
            failures[size] = exc
        return size in failures

    # A function in an expression may fail once and not again.
    place = min(bisect_left(sizes, x=True, key=fails), len(sizes) - 1)
    return place, failures.get(sizes[place])


def frame_from(where: str, batch: RecordBatch) -> Frame:
    """A record batch as a polars DataFrame; most types are not copied.

    Raises:
        ColumnError: a column has a type that polars does not know.
    """

    def refused(field: Any, to: str) -> ColumnError:
        return ColumnError(
            f"{where}: polars has no type for the column {field.name!r}, which is {field.type}; cast it to {to} where "
            f"it is read, or remove it with columns.select above"
        )

    for field in batch.schema:
        # Polars panics instead of raising an exception.
        if "decimal256(" in str(field.type):
            raise refused(field, "decimal128")
    try:
        frame: Frame = pl.from_arrow(batch)
    except pl.exceptions.PolarsError:
        for field in batch.schema if batch.num_columns > 1 else ():
            frame_from(where, batch.select([field.name]))
        raise refused(batch.schema.field(0), "another type") from None
    return frame


def frame_of(where: str, rows: ArrowRows, names: Collection[str] | None = None) -> Frame:
    """The columns of rows, or some of them, as a polars DataFrame."""
    batch = rows.batch
    if names is not None:
        batch = batch.select([name for name in batch.schema.names if name in names])
    if not batch.num_columns:
        # Polars would forget how many rows there are.
        return pl.DataFrame({"": [None] * len(rows)})
    return frame_from(where, batch)


def frame_of_all(where: str, parts: Sequence[ArrowRows]) -> Frame:
    """The columns of several parts, one below the other, as one polars DataFrame."""
    return frame_from(where, joined(where, [part.batch for part in parts]))


def joined(where: str, batches: Sequence[RecordBatch]) -> RecordBatch:
    """Batches with the same columns, one below the other; types are widened to hold the values of all.

    Raises:
        ColumnError: the values of a column have no common type.
    """
    if len(batches) == 1:
        return batches[0]
    if any(batch.schema != batches[0].schema for batch in batches):
        batches = list(map(without_dictionaries, batches))
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    try:
        return plain(pa.concat_tables(tables, promote_options="permissive"))
    except pa.ArrowException as exc:
        raise ColumnError(
            f"{where}: a column has values without a common type: {first_line(exc)}; convert them above"
        ) from None


def computed(frame: Frame, *given: Any, **named: Any) -> Frame:
    """The results of expressions, one for each row: a literal is repeated only beside a column."""
    return frame.select(pl.int_range(pl.len()).alias("__row__"), *given, **named).drop("__row__")


def rows_of(where: str, frame: Frame, form: RowForm) -> ArrowRows:
    """The rows of a polars DataFrame.

    Raises:
        ColumnError: a column has a type that Arrow does not have.
    """
    for name, kind in frame.schema.items():
        if str(kind) in {"Int128", "UInt128", "Object"}:
            raise ColumnError(f"{where}: the result's column {name!r} is {kind}, which Arrow does not have; cast it")
    return ArrowRows(plain(frame.to_arrow(compat_level=pl.CompatLevel.oldest())), form)


def plain(table: Any) -> RecordBatch:
    """A pyarrow table as one record batch."""
    columns = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def first_line(exc: BaseException) -> str:
    """The first line of an error's message."""
    return (str(exc) or type(exc).__name__).strip().split("\n")[0]


def without_dictionaries(batch: RecordBatch) -> RecordBatch:
    """A record batch whose dictionaries have become plain columns."""
    return pa.RecordBatch.from_arrays(list(map(decoded, batch.columns)), batch.schema.names)
