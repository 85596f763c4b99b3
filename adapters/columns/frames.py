"""Conversion of a stream's values to columns, and back to rows that stay in Arrow."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache
from typing import Any, Final, TypeVar

from more_itertools import duplicates_everseen

from pullstream.authoring import shown, some_of

from ..arrow import ArrowRows, Columns, RecordBatch, RowForm, first_failure, first_line, with_decimals
from ..arrow.columns import decoded, one_batch
from ..arrow.row_types import tuple_names
from .package import ColumnError, pa, pl

T = TypeVar("T")

Frame = Any
"""A polars DataFrame."""


RESERVED: Final = re.compile(r"__(\d|(row|time|window|first|last|start|stop)__$)")
"""The names of columns that modules add to the rows, and of partial results."""


def rows_at_once(limit: int) -> int:
    """The most rows that a module asks for at once in columns, in a run with a limit; a limit of 1 stays 1.

    Rows in columns cost so little that an ask for only `limit` of them would be mostly overhead. Where rows cost more,
    the pace asks for fewer.
    """
    return limit if limit == 1 else 16 * limit


class ColumnReader:
    """Converts the values of one module's batches to columns.

    Rows that are not in Arrow yet are converted: dicts and named tuples, which must have the same columns throughout.
    `where` names the module in errors.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._names: list[str] | None = None
        self._plain = Columns(where, None, lambda _: None)
        """The types of the columns that were converted."""
        self._plain.advice = "convert the values with ps.map"

    def rows(self, values: Sequence[Any]) -> ArrowRows:
        """Return the values as rows in Arrow; refuse values that are not rows, or whose columns have changed."""
        rows = values if isinstance(values, ArrowRows) else self._converted(values)
        self._check(rows.schema.names, rows.where)
        return rows

    def until_failure(
        self, values: Sequence[Any], read: Callable[[ArrowRows], Any] = lambda rows: rows
    ) -> tuple[Any, int, Exception | None]:
        """Read the values before the first that cannot be converted or read; return also their number and its error.

        The result is None if the first value fails.
        """
        before = self._plain

        def some(size: int) -> Any:
            self._plain = before
            return read(self.rows(values[:size]))

        made, size, failure = as_far_as(some, len(values), lambda: range(1, len(values) + 1))
        return made, size if failure is None else size - 1, failure

    def _check(self, names: list[str], where: Callable[[], str] = str) -> None:
        if names == self._names:
            return
        twice = sorted({*duplicates_everseen(names)})
        if twice:
            raise ColumnError(f"{self.where}: two columns are named {twice[0]!r}; give each a name of its own")
        own = next(filter(RESERVED.match, names), None)
        if own is not None:
            raise ColumnError(
                f"{self.where}: the column {own!r} has a name that these modules use for columns of their own; give it "
                f"another name where it is read"
            )
        if self._names is not None and (what := _changes(self._names, names)):
            raise ColumnError(
                f"{self.where}: a batch{where()} has {what}, but the earlier columns were "
                f"{some_of(self._names, form=repr)}; all rows of a stream must have the same columns"
            )
        self._names = names

    def _converted(self, values: Sequence[Any]) -> ArrowRows:
        first: Any = values[0]
        form: RowForm = "dicts" if isinstance(values[0], Mapping) else "rows"
        known = _columns(first)
        kinds = {*map(type, values)}
        # Tuples of one type have the same columns.
        alike = len(kinds) == 1 and issubclass(first.__class__, tuple)
        other = first if alike else next((value for value in values if _columns(value) != known), first)
        if other is not first:
            names, others = known[1], _columns(other)[1]
            what = f": the second has {changes}" if names and others and (changes := _changes(names, others)) else ""
            raise ColumnError(
                f"{self.where}: {shown(first)} and {shown(other)} do not have the same columns{what}; convert the "
                f"values with ps.map, all to dicts with the same keys, or all to named tuples with the same names"
            )
        if form == "rows" and not hasattr(first, "_fields"):
            got = "record batches" if isinstance(first, pa.RecordBatch) else f"{first!r} ({type(first).__name__})"
            raise ColumnError(
                f"{self.where} needs rows with named columns, but got {got}; read tables with as_='rows' (the default) "
                f"or 'dicts', which stay in Arrow, and convert other values to dicts or named tuples with ps.map"
            )
        plain = copy(self._plain)
        if form == "rows" and len(kinds) > 1:
            # Named tuples of several types, for example from files with other orders of columns.
            values = [dict(zip(_columns(value)[1], value, strict=True)) for value in values]
        (batch,) = plain.batches(values)
        self._check(batch.schema.names)
        # Use the types of the earlier rows.
        batch = plain.fitted(batch)
        self._plain = plain
        return ArrowRows(batch, form)


def _changes(before: Collection[str], now: Collection[str]) -> str:
    """The missing and the new columns, as text; empty if there are none."""
    lost = [f"no column {name!r}" for name in before if name not in now]
    return some_of([*lost, *(f"a new column {name!r}" for name in now if name not in before)])


def _columns(value: Any) -> tuple[Any, Collection[str]]:
    """The kind of a row, and its columns, in any order; a value without names has its type as its kind."""
    kind = value.__class__
    if issubclass(kind, Mapping):
        return Mapping, value.keys()
    return _named(kind) if isinstance(value, tuple) else (kind, ())


@lru_cache(maxsize=1024)
def _named(kind: Any) -> tuple[Any, Collection[str]]:
    names = tuple_names(kind)
    return (kind, ()) if names is None else (tuple, dict.fromkeys(names).keys())


def as_far_as(
    compute: Callable[[int], T], most: int, sizes: Callable[[], Sequence[int]]
) -> tuple[T | None, int, Exception | None]:
    """Compute the result for `most` or, if that fails, for the last size before the first that fails.

    Return the result (None if the first size fails), `most` or the failing size, and the failure. The last of the
    `sizes` must give the same result as `most`.
    """
    try:
        return compute(most), most, None
    except Exception as exc:  # noqa: BLE001 - as above
        failure = exc
    # Outside the handler, or a new error would have the first one as its context, which says the same.
    tried = sizes()
    place, later = first_failure(compute, tried)
    # A function in an expression may fail once and not again.
    place = min(place, len(tried) - 1)
    return (compute(tried[place - 1]) if place else None), tried[place], later or failure


def frame_from(where: str, batch: RecordBatch) -> Frame:
    """A record batch as a polars DataFrame; most types are not copied, and one that polars lacks is refused."""

    def refused(field: Any, to: str) -> ColumnError:
        return ColumnError(
            f"{where}: polars has no type for the column {field.name!r}, which is {field.type}; cast it to {to} where "
            f"it is read, or remove it with columns.select upstream"
        )

    for field in batch.schema:
        # Polars panics instead of raising an exception.
        if "decimal256(" in str(field.type):
            raise refused(field, "decimal128")
    names: list[str] = batch.schema.names
    if "" in names:
        # Polars would give this column another name.
        frame = frame_from(where, batch.rename_columns([name or "__0" for name in names]))
        frame.columns = names
        return frame
    with suppress(pl.exceptions.PolarsError):
        return pl.from_arrow(batch)
    # Polars cannot convert a slice of a batch with null fixed-size lists, but it can convert a copy.
    with suppress(pl.exceptions.PolarsError):
        return pl.from_arrow(pa.concat_batches([batch]))
    for field in batch.schema if batch.num_columns > 1 else ():
        frame_from(where, batch.select([field.name]))
    raise refused(batch.schema.field(0), "another type")


def frame_of_all(where: str, parts: Sequence[ArrowRows]) -> Frame:
    """The rows of several parts, in order, as one polars DataFrame."""
    return frame_from(where, joined(where, [part.batch for part in parts]))


def joined(
    where: str, batches: Sequence[RecordBatch], shown: Callable[[str], str] = "the column {!r}".format
) -> RecordBatch:
    """Join batches with the same columns, in wider types if needed; `shown` names a column in a refusal."""
    if len(batches) == 1:
        return batches[0]
    differ = any(batch.schema != batches[0].schema for batch in batches)
    plain_batches = list(map(without_dictionaries, batches)) if differ else batches
    tables = [pa.Table.from_batches([batch]) for batch in plain_batches]
    try:
        if differ:
            wide = with_decimals([table.schema for table in tables])
            tables = list(map(_cast, tables, wide))
        # Without metadata: the categories of an enum in the first part would hide the values of other parts.
        return one_batch(pa.concat_tables(tables, promote_options="permissive"))
    except pa.ArrowException as exc:
        names = tables[0].schema.names
        for name in names if len(names) > 1 else ():
            joined(where, [batch.select([name]) for batch in batches], shown)
        kinds = dict.fromkeys(str(table.schema.field(0).type) for table in tables)
        raise ColumnError(
            f"{where}: {shown(names[0])} has values without a common type ({' and '.join(kinds)}): {first_line(exc)}; "
            f"make their types equal upstream, for example with columns.with_columns(pl.col(...).cast(...))"
        ) from None


def _cast(table: Any, schema: Any) -> Any:
    """A table cast to a schema with the same columns; Arrow's own cast breaks lists of nulls of the same type."""
    for place, (before, now) in enumerate(zip(table.schema, schema, strict=True)):
        if before.type != now.type:
            table = table.set_column(place, now, table.column(place).cast(now.type))
    return table


def computed(frame: Frame, *given: Any, **named: Any) -> Frame:
    """The results of expressions, one for each row: a literal is repeated only beside a column."""
    return frame.select(pl.int_range(pl.len()).alias("__row__"), *given, **named).drop("__row__")


def rows_of(where: str, frame: Frame, form: RowForm) -> ArrowRows:
    """The rows of a polars DataFrame; a column of a type that Arrow lacks is refused."""
    for name, kind in frame.schema.items():
        if str(kind) in {"Int128", "UInt128", "Object"}:
            raise ColumnError(f"{where}: the result's column {name!r} is {kind}, which Arrow does not have; cast it")
        if kind.is_nested() and "Enum(" in str(kind):
            frame = frame.cast({name: _without_enums(kind)})
    return ArrowRows(one_batch(frame.to_arrow(compat_level=pl.CompatLevel.oldest())), form)


def _without_enums(kind: Any, text: Any = None) -> Any:
    """A type with categories in place of enums: Arrow keeps an enum's values in its type, and would lose others."""
    if kind == pl.Struct:
        return pl.Struct({field.name: _without_enums(field.dtype, text) for field in kind.fields})
    if kind == pl.List:
        return pl.List(_without_enums(kind.inner, text))
    if kind == pl.Array:
        # Polars cannot make categories in arrays.
        return pl.Array(_without_enums(kind.inner, pl.String()), kind.size)
    return text or pl.Categorical() if kind == pl.Enum else kind


def without_dictionaries(batch: RecordBatch) -> RecordBatch:
    """A record batch with its dictionary columns decoded."""
    return pa.RecordBatch.from_arrays(list(map(decoded, batch.columns)), batch.schema.names)
