"""Conversion of values to Arrow record batches with one schema per file."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any

from .exact import TROUBLE, exact_array
from .package import DataType, RecordBatch, Schema, pa, types
from .packing import Packing, SchemaError, batch_of, misfit, numbered, shown
from .rows import KINDS, RowBlock, blocks

_ADVICE = "give a schema=, or convert the values with ps.map"


class Columns:
    """Makes record batches from values, with one schema per file.

    Without a schema the columns are inferred: until `fix` is called, each type is widened to hold all values so far
    (null matches any type, and an int may become a float). After that every value must match. A column of Python
    decimals has 38 digits, because later ones are often larger. `refuse` returns the reason why a schema cannot be
    written, or None.
    """

    def __init__(self, path: str, schema: Schema | None, refuse: Callable[[Schema], str | None]) -> None:
        self.place: Callable[[int], str] = numbered
        self.advice = _ADVICE
        self._path = path
        self.schema: Any = schema
        self._refuse = refuse
        self._packing = None if schema is None else Packing(schema, self._refusal)
        self._rows = self._fitted = 0
        self._python: set[str] = set()
        """The columns with Python values, which have no fixed precision."""

    @property
    def fixed(self) -> bool:
        """Whether the file's schema is fixed."""
        return self._packing is not None

    def batches(self, values: Sequence[Any]) -> list[RecordBatch]:
        """Convert values to record batches, in order."""
        if self._packing is not None:
            return list(self._packing.batches([(values, {})]))
        return list(map(self._found, blocks(values)))

    def fix(self) -> Schema:
        """Fix the file's schema."""
        if self._packing is None:
            self.schema = pa.schema(map(self._widest, () if self.schema is None else self.schema))
            if why := self._refuse(self.schema):
                raise self._refusal(why)
            self._packing = Packing(self.schema, self._refusal, advice=self.advice, rows=self._rows)
        return self.schema

    def fitted(self, batch: RecordBatch) -> Any:
        """Convert a batch made before the schema was fixed."""
        if not batch.schema.equals(self.schema):
            packing = Packing(self.schema, self._refusal, advice=self.advice, rows=self._fitted)
            (batch,) = packing.batches([([batch], {})])
        self._fitted += batch.num_rows
        return batch

    def _refusal(self, why: str) -> SchemaError:
        return SchemaError(f"{self._path}: {why}")

    # ---- without a given schema

    def _widest(self, field: Any) -> Any:
        wide = types.is_decimal128(field.type) and field.name in self._python
        return field.with_type(pa.decimal128(38, field.type.scale)) if wide else field

    def _found(self, block: RowBlock) -> RecordBatch:
        names: Sequence[Any] = self._by_position(block) if block.names is None else block.names
        for name in names:
            if not isinstance(name, str):
                place, row = next((place, row) for place, row in enumerate(block.values) if name in row)
                raise self._refusal(
                    f"{self._named(place)}, {shown(row)}, is not a row: it has a column {shown(name)}, but names must "
                    f"be str; {self.advice}"
                )
        arrays: list[Any] = []
        for name, column in zip(names, block.columns, strict=True):
            try:
                arrays.append(exact_array(column))
            except TROUBLE as exc:
                raise self._misfit(name, None, column, exc) from None
        schema = pa.schema([pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)])
        if self.schema is None:
            self.schema = schema
        elif not self.schema.equals(schema):
            self.schema = self._united(schema, block.columns)
        if not block.is_arrow:
            self._python.update(names)
        self._rows += block.size
        return batch_of(schema, arrays, block.size)

    def _by_position(self, block: RowBlock) -> Sequence[str]:
        width = len(block.columns)
        names = None if block.bare else [f"f{number}" for number in range(width)]
        if self.schema is not None:
            names = self.schema.names
        if names is not None and len(names) == width:
            return names
        why = f"it has {width} column{'s' * (width != 1)} instead of {len(names or ())}; {self.advice}"
        if block.bare:
            why = f"rows are {KINDS}; convert the values with ps.map, or name a single column in a schema="
        raise self._refusal(f"{self._named(0)}, {shown(block.values[0])}, is not a row: {why}")

    def _united(self, found: Schema, columns: Sequence[Any]) -> Schema:
        try:
            return _united(self.schema, found)
        except TROUBLE as exc:
            for field, column in zip(found, columns, strict=True):
                known = self.schema.get_field_index(field.name)
                if known >= 0:
                    kind = self.schema.field(known).type
                    try:
                        _united(pa.schema([(field.name, kind)]), pa.schema([field]))
                    except TROUBLE:
                        raise self._misfit(field.name, kind, column, exc) from None
            raise self._refusal(f"its columns do not match: {exc}; {self.advice}") from None

    def _misfit(self, name: str, kind: Any, column: Sequence[Any], exc: Exception) -> SchemaError:
        convert = exact_array if kind is None else partial(_beside, name)
        return self._refusal(f"{misfit(name, kind, column, self._named, exc, convert=convert)}; {self.advice}")

    def _named(self, place: int) -> str:
        return self.place(self._rows + place)


def _beside(name: str, column: Sequence[Any], kind: Any) -> Any:
    """Convert values for a column that already has values of type `kind`."""
    exact_array(column, kind)
    made = exact_array(column)
    _united(pa.schema([(name, kind)]), pa.schema([(name, made.type)]))
    return made


def _united(known: Schema, found: Schema) -> Schema:
    """One schema for the rows of both, independent of the batches; raises one of `TROUBLE` if there is none."""
    for field in found:
        at = known.get_field_index(field.name)
        kinds = [field.type, known.field(at).type if at >= 0 else field.type]
        for one, other in ((types.is_floating, types.is_decimal), (types.is_string, types.is_binary)):
            if any(map(one, kinds)) and any(map(other, kinds)):
                raise TypeError(f"{kinds[1]} and {kinds[0]} have no common type")
    known, found = with_decimals([known, found])
    # The zone of the first value applies to all, as within one batch.
    kinds_of = dict(zip(known.names, known.types, strict=True))
    zoned = [field.with_type(_matched(_in_zone, field.type, kinds_of.get(field.name, field.type))) for field in found]
    return pa.unify_schemas([known, pa.schema(zoned)], promote_options="permissive")


def with_decimals(schemas: Sequence[Schema]) -> list[Schema]:
    """Schemas with integers widened to decimals where another schema has decimals; Arrow refuses most such pairs."""
    kinds: dict[str, dict[DataType, None]] = {}
    for field in chain.from_iterable(schemas):
        kinds.setdefault(field.name, {})[field.type] = None
    made = partial(_matched, _with_decimals)
    return [
        pa.schema([field.with_type(reduce(made, kinds[field.name], field.type)) for field in schema])
        for schema in schemas
    ]


def _with_decimals(kind: DataType, other: DataType) -> DataType:
    """A decimal type in place of an integer type beside decimals."""
    if types.is_integer(kind) and types.is_decimal(other):
        # A 64-bit integer has up to 20 digits.
        return pa.decimal128(min(38, 20 + other.scale), other.scale)
    return kind


def _in_zone(kind: DataType, other: DataType) -> DataType:
    """A timestamp type in the zone of another."""
    zones = types.is_timestamp(kind) and types.is_timestamp(other) and kind.tz and other.tz
    return pa.timestamp(kind.unit, other.tz) if zones else kind


def _matched(of: Callable[[DataType, DataType], DataType], kind: DataType, other: DataType) -> DataType:
    """A type with `of` applied to each of its parts and the matching part of another type."""
    if (types.is_list(kind) and types.is_list(other)) or (types.is_large_list(kind) and types.is_large_list(other)):
        value = _matched(of, kind.value_type, other.value_type)
        if value != kind.value_type:
            return (pa.list_ if types.is_list(kind) else pa.large_list)(kind.value_field.with_type(value))
    if types.is_struct(kind) and types.is_struct(other):
        places = [other.get_field_index(field.name) for field in kind]
        fields = [
            field if place < 0 else field.with_type(_matched(of, field.type, other.field(place).type))
            for field, place in zip(kind, places, strict=True)
        ]
        return pa.struct(fields)
    return of(kind, other)


def derived_schema(path: str, values: Iterable[Sequence[Any]], place: Callable[[int], str] = numbered) -> Schema:
    """Return the narrowest schema that holds all values; errors name `path`.

    >>> derived_schema("here", [[{"n": 1}, {"n": None}], [{"n": 1.5}]])
    n: double

    Raises:
        SchemaError: the values are not rows, or a column has values without a common type.
    """
    columns = Columns(path, None, lambda _: None)
    columns.place = place
    for some in values:
        columns.batches(some)
    return columns.fix()
