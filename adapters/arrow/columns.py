"""Arrow columns: their values in Python, and positions where values change."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import reduce
from itertools import chain, pairwise, repeat
from typing import Any, Final, overload

from typing_extensions import override

from pullstream.authoring import ascending

from .package import Array, DataType, RecordBatch, np, pa, types


def values(column: Array) -> list[Any]:
    """Convert a column to Python values, in the fastest way for its type; a null is None.

    A timestamp becomes an int (microseconds since 1970, UTC), also inside lists, structs and maps. A timestamp without
    a zone counts as UTC. Fractions of a microsecond are cut off, also in durations. All other values are those of
    `to_pylist`.
    """
    if _holds(column.type):
        column = _in_microseconds(column)
        column = column.cast(_mapped(column.type, lambda kind: kind if types.is_duration(kind) else pa.int64()))
    kind = column.type
    if types.is_date32(kind):
        check(column)
    elif types.is_decimal(kind):
        return np.asarray(column).tolist()
    elif column.null_count or not (_is_number(kind) or types.is_duration(kind)):
        return column.to_pylist()
    # Through NumPy: thirty times faster for dates, and a missing date is still None.
    return _numpy(column).tolist()


def _numpy(column: Array) -> Any:
    """A column of numbers, dates or durations as a NumPy array; without nulls, except for dates.

    `to_numpy` does the same, but also imports pandas if installed, which takes longer than reading a small file.
    """
    dates = types.is_date32(column.type)
    if types.is_boolean(column.type):
        return _numpy(column.cast(pa.uint8())).astype(bool)
    kind = "int32" if dates else "m8[us]" if types.is_duration(column.type) else column.type.to_pandas_dtype()
    if not len(column):
        return np.empty(0, kind)
    # Stop at the last value: the rest of the buffer need not hold whole values.
    array = np.frombuffer(column.buffers()[1], kind, column.offset + len(column))[column.offset :]
    array.flags.writeable = False
    if dates:
        array = array.astype("M8[D]")
        if column.null_count:
            array[_numpy(column.is_null())] = None
    return array


def _is_number(kind: DataType) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def decoded(column: Array) -> Array:
    """The column, decoded if it is dictionary-encoded."""
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def one_batch(table: Any) -> RecordBatch:
    """A pyarrow table with columns as one record batch, without the schema's metadata."""
    columns = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, table.schema.names)


def by_column(batch: RecordBatch) -> dict[str, Any]:
    """Convert an Arrow batch to NumPy arrays by column name: for `ps.map`, after a source with `as_="batches"`.

    Numbers without nulls are not copied, and are read-only. A timestamp becomes an int64 (microseconds since 1970,
    UTC). Any other column becomes an array of Python objects, the `values` of the column, in which a null is None. If
    several columns have the same name, the last one is used.

    >>> import pyarrow as pa
    >>> columns = by_column(pa.record_batch({"n": [1, 2, 3], "k": ["a", None, "b"]}))
    >>> (int(columns["n"].sum()), columns["k"].tolist())
    (6, ['a', None, 'b'])
    """
    return dict(zip(batch.schema.names, map(_array, batch.columns), strict=True))


def _array(column: Array) -> Any:
    if types.is_timestamp(column.type):
        column = _in_microseconds(column).cast(pa.int64())
    if column.null_count == 0 and _is_number(column.type):
        return _numpy(column)
    # NumPy would turn lists of equal length into a two-dimensional array.
    array = np.empty(len(column), object)
    array[:] = values(column)
    return array


def converted(kind: DataType) -> bool:
    """Whether `values` differs from `to_pylist` for a type, or is much faster."""
    return _holds(kind) or types.is_date32(kind) or types.is_decimal(kind)


def check(column: Array) -> None:
    """Refuse instants and durations beyond the range of microseconds, and dates that Python lacks."""
    if _holds(column.type, lambda kind: kind.unit in {"s", "ms"}):
        _in_microseconds(column)
    elif types.is_date32(column.type):
        # NumPy would turn dates that Python lacks into ints.
        try:
            pa.compute.min_max(column).as_py()
        except OverflowError as exc:
            raise ValueError(
                "a date is not in the years 1 to 9999: cast the column to string, or leave it out"
            ) from exc


def run_starts(*columns: Array) -> Array:
    """The rows where runs of rows with equal values in these columns begin, starting with 0; two nulls are equal."""
    if len(columns[0]) == 0:
        return pa.array([], pa.uint64())
    changes = map(_changes, columns)
    # Making it from a Python value would import pandas.
    first = pa.nulls(1).is_null()
    return pa.compute.indices_nonzero(pa.concat_arrays([first, reduce(pa.compute.or_, changes)]))


def _changes(column: Array) -> Array:
    """Whether each value after the first differs from the one before."""
    compute = pa.compute
    this, before = column.slice(1), column.slice(0, len(column) - 1)
    changes = compute.not_equal(this, before)
    if column.null_count:
        changes = compute.or_(changes.fill_null(False), compute.xor(this.is_null(), before.is_null()))  # noqa: FBT003
    return changes


def never_decreases(column: Array) -> bool:
    """Whether the values of a column without nulls never decrease."""
    try:
        ordered = pa.compute.less_equal(column.slice(0, len(column) - 1), column.slice(1))
        # None for a column of one value, which has no successor.
        return pa.compute.all(ordered).as_py() is not False
    except pa.ArrowNotImplementedError:
        return ascending(values(column))


FEW: Final = 4
"""The number of times converted one by one; a single conversion costs as much as many together."""


class ColumnTimes(Sequence[Hashable]):
    """A column's values as times; once more than a few are accessed, one of each run of equal times is converted."""

    __slots__ = ("_column", "_runs", "_single", "_starts", "_times")

    def __init__(self, column: Array, starts: Array | None = None) -> None:
        self._column = column
        self._starts = starts
        """The starts of the runs, if they are known."""
        self._single: dict[int, Hashable] = {}
        """The times converted one by one, by position; usually the first and last."""
        self._runs: tuple[list[int], list[Hashable]] | None = None
        """The starts of the runs, and their times."""
        self._times: list[Hashable] | None = None

    def _apart(self) -> tuple[list[int], list[Hashable]]:
        if self._runs is None:
            starts = run_starts(self._column) if self._starts is None else self._starts
            self._runs = starts.to_pylist(), values(self._column.take(starts))
        return self._runs

    def changes(self) -> list[int]:
        """The positions where the time differs from the one before."""
        return self._apart()[0][1:]

    def _made(self) -> list[Hashable]:
        if self._times is None:
            starts, heads = self._apart()
            if len(heads) == len(self._column):
                self._times = heads
            else:
                ends = pairwise([*starts, len(self._column)])
                runs = (repeat(time, end - start) for time, (start, end) in zip(heads, ends, strict=True))
                self._times = list(chain.from_iterable(runs))
        return self._times

    @override
    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, place: int) -> Hashable: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hashable]: ...
    @override
    def __getitem__(self, place: int | slice) -> Hashable | Sequence[Hashable]:
        if self._times is None and isinstance(place, int):
            at = range(len(self._column))[place]
            if self._runs is not None:
                starts, heads = self._runs
                return heads[bisect_right(starts, at) - 1]
            if at not in self._single and len(self._single) < FEW:
                self._single[at] = values(self._column.slice(at, 1))[0]
            if at in self._single:
                return self._single[at]
        if self._times is None and isinstance(place, slice) and place.step in (None, 1):
            start, stop, _ = place.indices(len(self._column))
            return ColumnTimes(self._column.slice(start, max(0, stop - start)))
        return self._made()[place]

    @override
    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._made())

    @override
    def __repr__(self) -> str:
        return repr(self._made())


def in_utc(batch: RecordBatch) -> RecordBatch:
    """A batch whose zoned timestamps all use UTC; the instants do not change."""
    if not any(_holds(field.type, _elsewhere) for field in batch.schema):
        return batch
    columns = [_in_utc(column) if _holds(column.type, _elsewhere) else column for column in batch.columns]
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


def _in_utc(column: Array) -> Array:
    return column.cast(_mapped(column.type, lambda kind: pa.timestamp(kind.unit, "UTC") if _elsewhere(kind) else kind))


def _elsewhere(kind: DataType) -> bool:
    return getattr(kind, "tz", None) not in (None, "UTC")


def _in_microseconds(column: Array) -> Array:
    kind = _mapped(
        column.type, lambda kind: pa.duration("us") if types.is_duration(kind) else pa.timestamp("us", kind.tz)
    )
    return column.cast(kind, safe=not _holds(column.type, lambda kind: kind.unit == "ns"))


def _holds(kind: DataType, what: Callable[[DataType], bool] = lambda _: True) -> bool:
    """Whether a type contains a timestamp or a duration for which `what` is true."""
    if types.is_timestamp(kind) or types.is_duration(kind):
        return what(kind)
    if types.is_dictionary(kind):
        return _holds(kind.value_type, what)
    children = range(kind.num_fields) if types.is_nested(kind) else ()
    return any(_holds(kind.field(number).type, what) for number in children)


def _mapped(kind: DataType, of: Callable[[DataType], DataType]) -> DataType:
    """A type with `of` applied to every timestamp and duration in it; a dictionary becomes its value type."""
    if types.is_timestamp(kind) or types.is_duration(kind):
        return of(kind)
    if types.is_dictionary(kind):
        return _mapped(kind.value_type, of)
    # Inside a null struct, even non-nullable fields are null, which a cast would reject.
    return nested(kind, lambda part: part.with_type(_mapped(part.type, of)).with_nullable(True))  # noqa: FBT003 - pyarrow's


def with_nulls(kind: DataType) -> DataType:
    """A type all parts of which may be null, except for the keys of maps."""
    return nested(kind, lambda part: part.with_type(with_nulls(part.type)).with_nullable(True))  # noqa: FBT003 - pyarrow's


def nested(kind: DataType, of: Callable[[Any], Any]) -> DataType:
    """A type with `of` applied to the fields of a struct, a list or a map; keys are never null."""
    if types.is_struct(kind):
        return pa.struct([of(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(of(kind.key_field).with_nullable(False), of(kind.item_field), kind.keys_sorted)  # noqa: FBT003
    if types.is_large_list(kind):
        return pa.large_list(of(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(of(kind.value_field), kind.list_size)
    return pa.list_(of(kind.value_field)) if types.is_list(kind) else kind


def without_views(kind: DataType) -> DataType:
    """A type without the text and byte views that polars writes: Arrow cannot `take` rows of views."""
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, without_views(kind.value_type), kind.ordered)
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    return nested(kind, lambda part: part.with_type(without_views(part.type)))
