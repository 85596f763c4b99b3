"""Arrow columns: their values in Python, and where a value changes."""

from collections.abc import Callable
from typing import Any

from adapters.arrow.package import Array, DataType, RecordBatch, pyarrow


def values(column: Array) -> list[Any]:
    """The Python values of a column, by the fastest way there is for its type; a null is None.

    A timestamp is an int, the microseconds since 1970 in UTC, also inside lists, structs and maps; one without a zone
    counts as UTC, and what is finer than a microsecond is cut off. The rest is what `to_pylist` gives.
    """
    pa = pyarrow()
    if _holds_timestamps(column.type):
        column = _in_microseconds(column)
        column = column.cast(_mapped(column.type, lambda _: pa.int64()))
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.duration("us"), safe=column.type.unit != "ns")
    kind = column.type
    plain = pa.types.is_primitive(kind) and not pa.types.is_time(kind) and column.null_count == 0
    if plain or pa.types.is_date32(kind) or pa.types.is_decimal(kind):
        # Through numpy: with dates thirty times faster, and a missing date is still None.
        return column.to_numpy(zero_copy_only=False).tolist()
    return column.to_pylist()


def run_starts(column: Array) -> Array:
    """Where in a column without nulls a run of equal values begins; the first is 0, of an empty column none."""
    pa = pyarrow()
    if len(column) == 0:
        return pa.array([], pa.uint64())
    changes = pa.compute.not_equal(column.slice(1), column.slice(0, len(column) - 1))
    first = pa.array([True], pa.bool_())
    return pa.compute.indices_nonzero(pa.concat_arrays([first, changes]))


def in_utc(batch: RecordBatch) -> RecordBatch:
    """A batch whose timestamps with a zone all say UTC; the instants stay."""
    pa = pyarrow()

    def utc(kind: DataType) -> DataType:
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")

    columns = [column.cast(_mapped(column.type, utc)) for column in batch.columns]
    if not columns:
        return batch
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


def _in_microseconds(column: Array) -> Array:
    pa = pyarrow()
    return column.cast(_mapped(column.type, lambda kind: pa.timestamp("us", kind.tz)), safe=not _is_finer(column.type))


def _holds_timestamps(kind: DataType) -> bool:
    return pyarrow().types.is_timestamp(kind) or any(map(_holds_timestamps, _children(kind)))


def _is_finer(kind: DataType) -> bool:
    finer = pyarrow().types.is_timestamp(kind) and kind.unit == "ns"
    return finer or any(map(_is_finer, _children(kind)))


def _children(kind: DataType) -> list[DataType]:
    return [kind.field(number).type for number in range(kind.num_fields)] if pyarrow().types.is_nested(kind) else []


def _mapped(kind: DataType, of: Callable[[DataType], DataType]) -> DataType:
    """A type in which `of` has been applied to every timestamp."""
    pa = pyarrow()
    types = pa.types
    if types.is_timestamp(kind):
        return of(kind)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_mapped(field.type, of)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, of), _mapped(kind.item_type, of))
    if types.is_large_list(kind):
        return pa.large_list(_field(kind, of))
    if types.is_fixed_size_list(kind):
        return pa.list_(_field(kind, of), kind.list_size)
    return pa.list_(_field(kind, of)) if types.is_list(kind) else kind


def _field(kind: DataType, of: Callable[[DataType], DataType]) -> Any:
    return kind.value_field.with_type(_mapped(kind.value_type, of))
