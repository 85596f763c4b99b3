"""From values to Arrow record batches: dicts, named tuples, tuples, or record batches as they are."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from adapters.arrow import DataType, RecordBatch, exact_array, pyarrow
from adapters.files.writing.errors import SchemaError

Schema: TypeAlias = Any

_TROUBLE = (ValueError, TypeError, OverflowError)
"""What pyarrow raises for a value that does not fit; its own errors are among these."""


class Columns:
    """Makes record batches of values, with one schema a file.

    Without a schema the columns are found by what comes: a type that holds all that was seen (a null is of any type,
    an int may be a float) until `fix` is called, and after that every value must fit.
    """

    def __init__(self, shown: str, schema: Schema) -> None:
        self._shown = shown
        self.schema: Any = schema
        self.fixed = schema is not None
        self._rows = 0

    def batches(self, values: Sequence[Any]) -> list[RecordBatch]:
        """The values in Arrow's form, in order."""
        made: list[RecordBatch] = []
        types: set[Any] = set(map(type, values))
        kinds = set(map(_kind, types))
        if len(kinds) == 1 and _batch not in kinds:
            made.append(self._of_rows(kinds.pop(), values))
        else:
            # Few are mixed, and batches are few.
            made.extend(self._of_rows(_kind_of(value), [value]) for value in values)
        return made

    def _of_rows(self, kind: "_Reader", values: Sequence[Any]) -> RecordBatch:
        names, columns = kind(self, values)
        batch = self._given(names, columns) if self.fixed else self._found(names, columns)
        self._rows += batch.num_rows
        return batch

    def fix(self) -> Schema:
        """The file's schema, from now on."""
        self.fixed = True
        if self.schema is None:
            self.schema = pyarrow().schema([])
        return self.schema

    def fitted(self, batch: RecordBatch) -> Any:
        """What was made before the schema was known, as the schema has it."""
        pa = pyarrow()
        if batch.schema.equals(self.schema):
            return batch
        size = batch.num_rows
        columns = [
            batch.column(field.name).cast(field.type)
            if field.name in batch.schema.names
            else pa.nulls(size, field.type)
            for field in self.schema
        ]
        return _batch_of(self.schema, columns, size)

    # ---- with a schema

    def _given(self, names: Sequence[str], columns: Sequence[Any]) -> RecordBatch:
        pa = pyarrow()
        if list(names) != self.schema.names:
            columns = self._ordered(names, columns)
        arrays: list[Any] = []
        fields: list[Any] = list(self.schema)
        for field, column in zip(fields, columns, strict=True):
            array: Any
            try:
                if isinstance(column, (pa.Array, pa.ChunkedArray)):
                    array = column if column.type == field.type else column.cast(field.type)
                else:
                    array = exact_array(column, field.type)
            except _TROUBLE as exc:
                raise self._misfit(field.name, column, _of_type(field.type), exc) from exc
            if array.null_count and not field.nullable:
                raise SchemaError(f"{self._shown}: the column {field.name!r} takes no nulls, and one came")
            arrays.append(array)
        return _batch_of(self.schema, arrays, len(columns[0]) if columns else 0)

    def _ordered(self, names: Sequence[str], columns: Sequence[Any]) -> list[Any]:
        """The columns in the schema's order; what is missing is null, what is unknown does not fit."""
        unknown = [name for name in names if name not in self.schema.names]
        if unknown:
            raise SchemaError(
                f"{self._shown}: the value {self._rows + 1} has a column {unknown[0]!r}, and the file's are "
                f"{', '.join(self.schema.names)}; give all of them a schema=, or leave it out with ps.map",
            )
        size = len(columns[0]) if columns else 0
        by_name = dict(zip(names, columns, strict=True))
        return [by_name.get(name, [None] * size) for name in self.schema.names]

    # ---- without

    def _found(self, names: Sequence[str], columns: Sequence[Any]) -> RecordBatch:
        pa = pyarrow()
        arrays: list[Any] = []
        for name, column in zip(names, columns, strict=True):
            try:
                arrays.append(column if isinstance(column, pa.Array) else pa.array(column))
            except _TROUBLE as exc:
                first = next((value for value in column if value is not None), None)
                raise self._misfit(name, column, _like(first), exc) from exc
        found = pa.schema([pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)])
        if self.schema is None:
            self.schema = found
        elif not self.schema.equals(found):
            self.schema = self._united(found, columns)
        return _batch_of(found, arrays, len(columns[0]) if columns else 0)

    def _united(self, found: Schema, columns: Sequence[Any]) -> Schema:
        pa = pyarrow()
        try:
            return pa.unify_schemas([self.schema, found], promote_options="permissive")
        except _TROUBLE as exc:
            for name, column in zip(found.names, columns, strict=True):
                known = self.schema.get_field_index(name)
                kind = self.schema.field(known).type if known >= 0 else found.field(name).type
                try:
                    pa.unify_schemas(
                        [pa.schema([(name, kind)]), pa.schema([found.field(name)])], promote_options="permissive"
                    )
                except _TROUBLE:
                    raise self._misfit(name, column, _of_type(kind), exc) from exc
            raise

    def _misfit(
        self, name: str, column: Sequence[Any], fits: Callable[[Any], object], exc: BaseException
    ) -> SchemaError:
        """Name the first value that does not fit."""
        culprit = number = None
        for place, value in enumerate(column):
            plain: Any = value.as_py() if hasattr(value, "as_py") else value
            try:
                fits(plain)
            except _TROUBLE:
                culprit, number = f"{plain!r} ({type(plain).__name__})", self._rows + place + 1
                break
        kind = ""
        if self.schema is not None and name in self.schema.names:
            kind = f" is {self.schema.field(name).type}, and"
        return SchemaError(
            f"{self._shown}: the column {name!r}{kind} does not take {culprit}, value {number}: "
            f"{exc}; give a schema=, or make the values alike with ps.map",
        )

    def refuse(self, value: Any) -> SchemaError:
        """What to say of a value that is no row."""
        return SchemaError(
            f"{self._shown}: the value {self._rows + 1}, {value!r} ({type(value).__name__}), is no row: rows are "
            f"dicts, named tuples, tuples, or Arrow record batches",
        )


_Reader: TypeAlias = Callable[[Columns, Sequence[Any]], tuple[Sequence[str], Sequence[Any]]]


def _kind(of: type[Any]) -> _Reader:
    if issubclass(of, Mapping):
        return _dicts
    if hasattr(of, "_fields"):
        return _named
    if issubclass(of, (tuple, list)):
        return _tuples
    pa = pyarrow()
    return _batch if issubclass(of, (pa.RecordBatch, pa.Table)) else _none


def _kind_of(value: Any) -> _Reader:
    return _kind(value.__class__)


def _dicts(_: Columns, rows: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
    names = list(rows[0])
    if set(map(len, rows)) == {len(names)}:
        # The same keys in all, as usual: twice as fast as looking.
        try:
            return names, [list(map(itemgetter(name), rows)) for name in names]
        except KeyError:
            pass
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    return names, [[row.get(name) for row in rows] for name in names]


def _named(columns: Columns, rows: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
    return rows[0]._fields, _turned(columns, rows, len(rows[0]._fields))


def _tuples(columns: Columns, rows: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
    names = [f"f{number}" for number in range(len(rows[0]))] if columns.schema is None else columns.schema.names
    return names, _turned(columns, rows, len(names))


def _turned(columns: Columns, rows: Sequence[Any], width: int) -> Sequence[Any]:
    wrong = next((row for row in rows if len(row) != width), None)
    if wrong is not None:
        raise SchemaError(f"{columns.refuse(wrong)}; this one has {len(wrong)} columns, where the file has {width}")
    return list(zip(*rows, strict=True))


def _batch(_: Columns, rows: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
    (batch,) = rows
    pa = pyarrow()
    columns: list[Any] = list(batch.columns)
    if isinstance(batch, pa.Table):
        columns = [column.combine_chunks() for column in columns]
    # How a dictionary is filled is a matter of how the values came, and must not show.
    plain = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    return batch.schema.names, plain


def _none(columns: Columns, rows: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
    raise columns.refuse(rows[0])


def _like(first: Any) -> Callable[[Any], object]:
    return lambda value: pyarrow().array([first, value])


def _of_type(kind: DataType) -> Callable[[Any], object]:
    return lambda value: exact_array([value], kind)


def _batch_of(schema: Schema, arrays: Sequence[Any], size: int) -> RecordBatch:
    pa = pyarrow()
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    # Rows without columns are still rows.
    return pa.RecordBatch.from_struct_array(pa.array([{}] * size, pa.struct([])))
