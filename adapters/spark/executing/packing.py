"""From what a stream gives to Arrow batches of the schema that Spark was told."""

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast

import attrs

from adapters.arrow import RecordBatch, exact_array, pyarrow
from pullstream.errors import PullstreamError

Schema: TypeAlias = Any

_TROUBLE = (ValueError, TypeError, OverflowError)
"""What pyarrow raises for a value that does not fit; its own errors are among these."""


class RowError(PullstreamError, ValueError):
    """A value that a stream on the executors gave is no row of its schema."""


@attrs.frozen
class Portion:
    """Values of one answer, with their time, and the key whose stream gave them."""

    values: Sequence[Any]
    time: Any = 0
    key: tuple[Any, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows they will be."""
        first = self.values[0]
        if hasattr(first, "num_rows"):
            return sum(getattr(value, "num_rows", 1) for value in self.values)
        return len(self.values)


class Packing:
    """Makes Arrow batches of values: named tuples and dicts by name, tuples and lists by position, Arrow batches.

    `given` names the columns that need not be in a value: a name's place among (time, key, key, ...). What is neither
    tuple, list nor dict fills the only other column.
    """

    def __init__(self, schema: Schema, given: Mapping[str, int]) -> None:
        self._schema = schema
        self._names: list[str] = schema.names
        self._given = given
        self._rest = [number for number, name in enumerate(self._names) if name not in given]
        # How a named tuple calls columns whose names are no names in Python.
        called: tuple[str, ...] = namedtuple("Row", self._names, rename=True)._fields  # type: ignore[misc] # noqa: PYI024
        self._places = {**{name: at for at, name in enumerate(called)}, **{n: at for at, n in enumerate(self._names)}}

    def batches(self, portions: Sequence[Portion]) -> Iterator[RecordBatch]:
        """The rows of all, in their order, in as few batches as may be.

        Raises:
            RowError: a value is no row of the schema; the message names it, and the column.
        """
        pa = pyarrow()
        columns: list[list[Any]] = [[] for _ in self._names]
        for portion in portions:
            for kind, values in _by_kind(portion.values):
                if issubclass(kind, (pa.RecordBatch, pa.Table)):
                    if columns[0]:
                        yield self._built(columns)
                        columns = [[] for _ in self._names]
                    for value in values:
                        yield self._batch(value, portion)
                    continue
                for column, more in zip(columns, self._columns(kind, values, portion), strict=True):
                    column.extend(more)
        if columns[0]:
            yield self._built(columns)

    # ---- rows to columns

    def _columns(self, kind: type, values: Sequence[Any], portion: Portion) -> Sequence[Sequence[Any]]:
        if issubclass(kind, Mapping):
            return self._of_dicts(values, portion)
        fields: tuple[str, ...] | None = getattr(cast("Any", kind), "_fields", None)
        if fields is not None and issubclass(kind, tuple):
            return self._by_name(fields, list(zip(*values, strict=True)), values, portion)
        if issubclass(kind, (tuple, list)):
            return self._by_position(values, portion)
        if len(self._rest) == 1 or len(self._names) == 1:
            return self._filled({(self._rest or [0])[0]: values}, len(values), portion)
        raise self._no_row(values[0], f"a row of {len(self._rest)} columns is a tuple, a named tuple or a dict")

    def _by_position(self, values: Sequence[Any], portion: Portion) -> Sequence[Sequence[Any]]:
        width = len(values[0])
        places = list(range(len(self._names))) if width == len(self._names) else self._rest
        wrong = next((value for value in values if len(value) != len(places)), None)
        if wrong is not None:
            raise self._no_row(wrong, f"it has {len(wrong)} columns")
        columns: Any = zip(*values, strict=True) if places else ()
        return self._filled(dict(zip(places, columns, strict=True)), len(values), portion)

    def _of_dicts(self, values: Sequence[Any], portion: Portion) -> Sequence[Sequence[Any]]:
        known = set(self._names)
        for value in values:
            if not known.issuperset(value):
                raise self._no_row(value, f"there is no column {next(name for name in value if name not in known)!r}")
        given = self._given_values(portion)
        return [[value.get(name, given.get(name)) for value in values] for name in self._names]

    def _by_name(
        self, fields: Sequence[str], columns: Sequence[Any], values: Sequence[Any], portion: Portion
    ) -> Sequence[Sequence[Any]]:
        unknown = next((field for field in fields if field not in self._places), None)
        if unknown is not None:
            raise self._no_row(values[0], f"there is no column {unknown!r}")
        places = [self._places[field] for field in fields]
        return self._filled(dict(zip(places, columns, strict=True)), len(values), portion)

    def _filled(self, columns: Mapping[int, Sequence[Any]], rows: int, portion: Portion) -> Sequence[Sequence[Any]]:
        if len(columns) == len(self._names):
            return [columns[place] for place in range(len(self._names))]
        given = self._given_values(portion)
        return [columns.get(place) or [given.get(name)] * rows for place, name in enumerate(self._names)]

    def _given_values(self, portion: Portion) -> dict[str, Any]:
        values = (portion.time, *portion.key)
        return {name: values[place] for name, place in self._given.items()}

    # ---- columns to batches

    def _batch(self, batch: RecordBatch, portion: Portion) -> RecordBatch:
        pa = pyarrow()
        names: list[str] = batch.schema.names
        unknown = next((name for name in names if name not in self._places), None)
        if unknown is not None:
            raise RowError(f"an Arrow batch has a column {unknown!r}, which is not in the schema: {self._shown()}")
        by_place = {self._places[name]: column for name, column in zip(names, batch.columns, strict=True)}
        given = self._given_values(portion)
        rows: int = batch.num_rows
        arrays: list[Any] = []
        for place, field in enumerate(self._schema):
            column = by_place.get(place)
            if column is None:
                arrays.append(self._array(field, [given.get(field.name)] * rows))
                continue
            if isinstance(column, pa.ChunkedArray):
                column = column.combine_chunks()
            try:
                arrays.append(self._checked(field, column.cast(field.type)))
            except _TROUBLE as exc:
                raise RowError(
                    f"the column {field.name!r} is {field.type}, and an Arrow batch has it as {column.type}: {exc}"
                ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _built(self, columns: Sequence[Sequence[Any]]) -> RecordBatch:
        arrays = [self._array(field, column) for field, column in zip(self._schema, columns, strict=True)]
        return pyarrow().RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: Any, column: Sequence[Any]) -> Any:
        try:
            return self._checked(field, exact_array(column, field.type))
        except _TROUBLE as exc:
            if isinstance(exc, RowError):
                raise
            raise self._misfit(field, column, exc) from None

    def _checked(self, field: Any, array: Any) -> Any:
        if array.null_count and not field.nullable:
            raise RowError(f"the column {field.name!r} takes no nulls, and one came")
        return array

    def _misfit(self, field: Any, column: Sequence[Any], exc: BaseException) -> RowError:
        """Name the first value that does not fit."""
        for value in column:
            try:
                exact_array([value], field.type)
            except _TROUBLE as told:
                shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
                return RowError(
                    f"the column {field.name!r} is {field.type}, and cannot be {shown} ({type(value).__name__}): {told}"
                )
        return RowError(f"the column {field.name!r} is {field.type}, and its values do not fit together: {exc}")

    def _no_row(self, value: Any, why: str) -> RowError:
        shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
        return RowError(f"{shown} ({type(value).__name__}) is no row of the schema: {why}; {self._shown()}")

    def _shown(self) -> str:
        columns = ", ".join(f"{field.name} {field.type}" for field in self._schema)
        given = [name for name in self._names if name in self._given]
        extra = f", of which {' and '.join(given)} may be left out" * bool(given)
        return f"the columns are {columns}{extra}"


def _by_kind(values: Sequence[Any]) -> Iterator[tuple[type, Sequence[Any]]]:
    kinds = set(map(type, values))
    if len(kinds) == 1:
        yield kinds.pop(), values
    else:
        for kind, same in groupby(values, type):
            yield kind, list(same)
