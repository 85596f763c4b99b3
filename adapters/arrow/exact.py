"""Columns of a given type that keep each value exactly, and the search for a value that does not match."""

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from itertools import chain, compress
from numbers import Integral, Number
from typing import Any, Final, TypeAlias, cast

from .columns import with_nulls
from .package import Array, DataType, pa, types
from .rows import blocks

TROUBLE: Final = (ValueError, TypeError, ArithmeticError, NotImplementedError)
"""Exceptions for a value that does not match, including pyarrow's own."""

_Check: TypeAlias = Callable[[Sequence[Any], Array | None], None]
"""A function that refuses values, given the column if one was already made."""

_WHOLE: Final[frozenset[type]] = frozenset({int, type(None)})
_LISTS: Final[frozenset[type]] = frozenset({list, tuple, set, frozenset, type(None)})

_FAMILIES: Final = (
    "integer", "floating", "decimal", "timestamp", "duration", "time", "date", "string large_string string_view",
)  # fmt: skip
"""Types between which pyarrow's cast is lossless or raises; each entry is one group."""

_ALIKE: Final = frozenset({
    ("integer", "floating"), ("integer", "decimal"), ("floating", "integer"), ("floating", "decimal"),
    ("date", "timestamp"),
})  # fmt: skip

_BYTES: Final = "binary large_binary fixed_size_binary binary_view"
_LIKE_LISTS: Final = "list large_list fixed_size_list list_view large_list_view"


def exact_array(values: Sequence[Any] | Array, kind: DataType | None = None) -> Array:
    """Make an Arrow column from values or another column; without a `kind`, of a type that holds them all.

    A float may be rounded (to float32), and an aware datetime becomes UTC; every other value is kept exactly.

    Raises:
        ValueError: a value does not match the type, or would be changed, as pyarrow changes 1.5 to the integer 1.
        TypeError: a value does not match the type.
        ArithmeticError: a value is too large for the type.
        NotImplementedError: a column of this type cannot be converted to that type.
    """
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        column: Array = values
        return column if kind is None else _without_nulls(column if column.type == kind else _cast(column, kind))
    try:
        array = pa.array(values, kind)
    except pa.ArrowInvalid:
        if kind is not None or not {int, Decimal} <= _types(values):
            raise
        # pyarrow infers the number of digits from the decimals only.
        pa.array([value for value in values if type(value) is int])
        array = pa.array([Decimal(value) if type(value) is int else value for value in values])
    # If pyarrow infers integers, all values are integers.
    check = None if kind is None and types.is_integer(array.type) else _check_of(array.type)
    if check is not None:
        check(values, array)
    if kind is None and types.is_temporal(array.type):
        _of_one_kind(values)
    return _without_nulls(array)


def first_misfit(
    column: Sequence[Any] | Array, kind: DataType | None, convert: Callable[[Any, Any], Array] = exact_array
) -> tuple[int, Any, Exception] | None:
    """The first value that does not match a type or, without one, the values before it: position, value and error."""
    sizes = range(1, len(column) + 1)
    place, problem = first_failure(lambda size: convert(column[:size], kind), sizes, TROUBLE)
    if problem is None:
        return None
    value: Any = column[place]
    try:
        value = value.as_py() if hasattr(value, "as_py") else value
    except OverflowError:
        # A date that Python does not have.
        value = value.cast("string").as_py()
    return place, value, problem


def first_failure(
    attempt: Callable[[int], object], sizes: Sequence[int], kinds: tuple[type[Exception], ...] = (Exception,)
) -> tuple[int, Exception | None]:
    """The place of the first size with which a call fails, and its failure; the number of sizes if none fails."""
    failures: dict[int, Exception] = {}

    def fails(size: int) -> bool:
        try:
            attempt(size)
        except kinds as exc:
            failures[size] = exc
        return size in failures

    place = bisect_left(sizes, x=True, key=fails)
    return place, failures[sizes[place]] if place < len(sizes) else None


# ---- values that pyarrow would change silently


@lru_cache(maxsize=1024)
def _check_of(kind: DataType) -> _Check | None:
    """A check that refuses values that a column would change; None if pyarrow itself raises."""
    if types.is_integer(kind):
        return _whole
    if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind):
        return partial(_times, kind)
    if types.is_date(kind):
        return _days
    if _is(kind, _BYTES):
        return _bytes
    if types.is_floating(kind):
        return _floats if kind.bit_width == 64 else partial(_small_floats, kind)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _check_of(kind.value_type)
    if types.is_struct(kind):
        return partial(_structs, {field.name: _check_of(field.type) for field in kind})
    if types.is_map(kind):
        checks = _check_of(kind.key_type), _check_of(kind.item_type)
        return partial(_maps, checks) if any(checks) else None
    if _is(kind, _LIKE_LISTS):
        return partial(_lists, _check_of(kind.value_type), kind.value_type)
    return None


def _is(kind: DataType, names: str) -> bool:
    """Whether a type is one of pyarrow's types with these names."""
    return any(getattr(types, f"is_{name}")(kind) for name in names.split())


def _whole(values: Sequence[Any], _: Array | None = None) -> None:
    """Refuse numbers with fractions."""
    seen = _types(values)
    if _WHOLE.issuperset(seen):
        return
    _no_truth(seen)
    broken = {kind for kind in seen if issubclass(kind, Number) and not issubclass(kind, Integral)}
    if broken and any(type(value) in broken and value != value // 1 for value in values):
        raise ValueError("it is not an integer")


def _times(kind: DataType, values: Sequence[Any], _: Array | None) -> None:
    """Refuse times finer than the type, or in a time zone it lacks."""
    seen = _types(values)
    _whole(values)
    if types.is_timestamp(kind) and kind.unit != "us" and any(issubclass(of, Number) for of in seen):
        raise TypeError("a number is a timestamp in microseconds: make the type timestamp[us], or give datetimes")
    if types.is_time(kind) and any(getattr(value, "tzinfo", None) is not None for value in values):
        raise ValueError("the type has no time zone")
    # The time types of pandas have nanoseconds.
    finer = {of for of in seen if hasattr(of, "nanosecond") or hasattr(of, "nanoseconds")}
    if kind.unit != "ns" and finer and any(type(value) in finer and _nanoseconds(value) for value in values):
        raise ValueError("it has nanoseconds")
    if kind.unit in {"s", "ms"}:
        pa.array([value for value in values if not isinstance(value, (Number, type(None)))]).cast(kind)


def _of_one_kind(values: Sequence[Any]) -> None:
    """Refuse numbers, and zones and times of day that only some values have; pyarrow looks only at the first value."""
    seen = _types(values)
    if any(issubclass(kind, Number) for kind in seen):
        raise TypeError("a number is not a time")
    if len({issubclass(kind, dt.datetime) for kind in seen if issubclass(kind, dt.date)}) > 1:
        raise TypeError("only some of the values have a time of day")
    if len({getattr(value, "tzinfo", None) is None for value in values if value is not None}) > 1:
        raise ValueError("only some of the values have a time zone")


def _nanoseconds(value: Any) -> int:
    return getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)


def _bytes(values: Sequence[Any], _: Array | None) -> None:
    if any(issubclass(kind, str) for kind in _types(values)):
        raise TypeError("text is not bytes")


def _days(values: Sequence[Any], _: Array | None) -> None:
    seen = _types(values)
    if any(issubclass(kind, Number) for kind in seen):
        raise ValueError("a number is not a date")
    times = {kind for kind in seen if issubclass(kind, dt.datetime)}
    if times and any(type(value) in times and value.time() != dt.time() for value in values):
        raise ValueError("a date has no time of day")


def _floats(values: Sequence[Any], _: Array | None) -> None:
    _no_truth(_types(values))


def _small_floats(kind: DataType, values: Sequence[Any], array: Array | None) -> None:
    _floats(values, None)
    infinities = _infinite(pa.array(values, kind) if array is None else array)
    if infinities.true_count and any(abs(value) != float("inf") for value in compress(values, infinities.to_pylist())):
        raise ValueError("it is too large")


def _infinite(column: Array) -> Array:
    return pa.compute.is_inf(column.cast(pa.float64()))


def _types(values: Sequence[Any]) -> set[type[Any]]:
    return set(map(type, values))


def _no_truth(seen: set[type[Any]]) -> None:
    # NumPy's bool is not a Python bool.
    if any(kind.__name__ in {"bool", "bool_"} for kind in seen):
        raise ValueError("a bool is not a number")


def _structs(checks: Mapping[str, _Check | None], values: Sequence[Any], _: Array | None) -> None:
    # pyarrow accepts a list of pairs as a dict.
    rows: list[Any] = [
        dict(cast("Any", value)) if type(value) is list else value for value in values if value is not None
    ]
    for block in blocks(rows):
        if block.names is not None and isinstance(block.values[0], tuple) and list(block.names) != list(checks):
            raise ValueError(f"a tuple inside a row matches by position, but its names are not the type's: {[*checks]}")
        for name, column in zip(block.names or checks, block.columns, strict=False):
            if name not in checks:
                raise ValueError(f"the type has no {name!r}")
            if (check := checks[name]) is not None:
                check(column, None)


def _maps(checks: tuple[_Check | None, _Check | None], values: Sequence[Any], _: Array | None) -> None:
    items: list[Any] = []
    for value in values:
        if value is not None:
            items.extend(value.items() if hasattr(value, "items") else value)
    if not all(isinstance(item, (tuple, list)) for item in items):
        raise TypeError("its elements are not pairs")
    for place, check in enumerate(checks):
        if check is not None:
            check([item[place] for item in items], None)


def _lists(check: _Check | None, kind: DataType, values: Sequence[Any], _: Array | None) -> None:
    seen = _types(values)
    if any(issubclass(kind, (str, bytes, bytearray)) for kind in seen):
        raise TypeError("text is not a list")
    if check is None:
        return
    if not _LISTS.issuperset(seen):
        values = [() if value is None or _is_like(value, kind) else list(value) for value in values]
    check(list(chain.from_iterable(filter(None, values))), None)


def _is_like(value: Any, kind: DataType) -> bool:
    """Whether a value is a NumPy array of the column's type."""
    dtype: Any = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind in "iuf" and pa.from_numpy_dtype(dtype) == kind


@lru_cache(maxsize=1024)
def _is_strict(kind: DataType) -> bool:
    """Whether a part of the values may not be null; keys of maps, for which pyarrow raises, do not count."""
    return kind != with_nulls(kind)


def _without_nulls(column: Array) -> Array:
    """The column; refused if there are nulls inside its values where its type has none, which pyarrow accepts."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        for chunk in column.chunks:
            _without_nulls(chunk)
    elif _is_strict(kind):
        # Flattened, the parts of a null struct are null, and those of a null list are left out.
        if types.is_struct(kind):
            parts, nulls = column.flatten(), column.null_count
        else:
            parts, nulls = [(_entries(column) if types.is_map(kind) else column).flatten()], 0
        for place, part in enumerate(parts):
            field = kind.field(place)
            if part.null_count > nulls and not field.nullable:
                raise ValueError(f"its {field.name!r} is null, which the type does not allow")
            _without_nulls(part)
    return column


def _entries(maps: Any) -> Any:
    """Maps as lists; pyarrow neither flattens maps nor casts those with nulls inside a key or an item."""
    kind, buffers = pa.list_(maps.type.field(0)), maps.buffers()[:2]
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], fields=list(kind.value_type))
    return pa.ListArray.from_buffers(kind, len(maps), buffers, offset=maps.offset, children=[entries])


def _cast(column: Array, kind: DataType) -> Array:
    """Cast a column exactly; types without a lossless cast are converted value by value."""
    before, after = _family(column.type), _family(kind)
    if after is None or (before != after and (before, after) not in _ALIKE):
        return exact_array(column.to_pylist(), kind)
    array = column.cast(kind)
    if before == "floating":
        if after == "decimal" and not array.cast(column.type).equals(column):
            raise ValueError("it has more digits")
        if after == "floating" and not _infinite(array).equals(_infinite(column)):
            raise ValueError("it is too large")
    return array


def _family(kind: DataType) -> str | None:
    return next((names for names in _FAMILIES if _is(kind, names)), None)
