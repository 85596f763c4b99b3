"""Columns of a given type, each value kept as it is; and which value it is that does not fit."""

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, compress
from numbers import Integral, Number
from typing import Any, Final, TypeAlias, cast

from .package import Array, DataType, pyarrow
from .rows import blocks

TROUBLE: Final = (ValueError, TypeError, ArithmeticError, NotImplementedError)
"""Exceptions for a value that does not fit; pyarrow's own are among them."""

_Check: TypeAlias = Callable[[Sequence[Any], Array | None], None]
"""Refuses values, of which a column may have been made already."""

_WHOLE: Final[frozenset[type]] = frozenset({int, type(None)})
_LISTS: Final[frozenset[type]] = frozenset({list, tuple, set, frozenset, type(None)})

_FAMILIES: Final = (
    "integer", "floating", "decimal", "timestamp", "duration", "time", "date", "string large_string string_view",
)  # fmt: skip
"""Types among which pyarrow's own cast loses nothing, or says so, as it does between these:"""

_ALIKE: Final = frozenset({
    ("integer", "floating"), ("integer", "decimal"), ("floating", "integer"), ("floating", "decimal"),
    ("date", "timestamp"),
})  # fmt: skip

_BYTES: Final = "binary large_binary fixed_size_binary binary_view"
_LIKE_LISTS: Final = "list large_list fixed_size_list list_view large_list_view"


def exact_array(values: Sequence[Any] | Array, kind: DataType | None = None) -> Array:
    """An Arrow column of some values, or of another column; without a `kind`, of the type that holds them.

    A float may be rounded, as a float32 must be, and an aware datetime becomes UTC; nothing else is lost.

    Raises:
        ValueError: one does not fit the type, or only by losing something: pyarrow makes 1.5, as a whole number, 1.
        TypeError: one does not fit the type.
        ArithmeticError: one is too large for it.
        NotImplementedError: no column of this type becomes one of that.
    """
    pa = pyarrow()
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        column: Array = values
        return column if kind is None or column.type == kind else _cast(column, kind)
    array = pa.array(values, kind)
    # Where pyarrow itself finds that values are whole, they are.
    check = None if kind is None and pa.types.is_integer(array.type) else _check_of(array.type)
    if check is not None:
        check(values, array)
    return array


def first_misfit(column: Sequence[Any] | Array, kind: DataType | None) -> tuple[int, Any, Exception] | None:
    """The first value that does not fit a type, or without one does not go with those before: its place, and why."""
    problems: dict[int, Exception] = {}

    def fails(size: int) -> bool:
        try:
            exact_array(column[:size], kind)
        except TROUBLE as exc:
            problems[size] = exc
        return size in problems

    size = 1 + bisect_left(range(1, len(column) + 1), x=True, key=fails)
    if size not in problems:
        return None
    value: Any = column[size - 1]
    return size - 1, value.as_py() if hasattr(value, "as_py") else value, problems[size]


# ---- what pyarrow takes, and loses something of it


@lru_cache(maxsize=1024)
def _check_of(kind: DataType) -> _Check | None:
    """A check that refuses values of which a column of a type would lose something; None where pyarrow does."""
    types = pyarrow().types
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
    """Whether it is one of the types that pyarrow calls so."""
    types = pyarrow().types
    return any(getattr(types, f"is_{name}")(kind) for name in names.split())


def _whole(values: Sequence[Any], _: Array | None) -> None:
    """Numbers without fractions."""
    _no_fractions(values, _types(values))


def _no_fractions(values: Sequence[Any], seen: set[type[Any]]) -> None:
    if _WHOLE.issuperset(seen):
        return
    _no_truth(seen)
    broken = {kind for kind in seen if issubclass(kind, Number) and not issubclass(kind, Integral)}
    if broken and any(type(value) in broken and value != value // 1 for value in values):
        raise ValueError("it is not whole")


def _times(kind: DataType, values: Sequence[Any], _: Array | None) -> None:
    """Times, as fine as the type has them, or how many of its units they are."""
    seen = _types(values)
    _no_fractions(values, seen)
    if pyarrow().types.is_time(kind) and any(getattr(value, "tzinfo", None) is not None for value in values):
        raise ValueError("the type has no time zone")
    # The times of pandas.
    finer = {of for of in seen if hasattr(of, "nanosecond") or hasattr(of, "nanoseconds")}
    if kind.unit != "ns" and finer and any(type(value) in finer and _nanoseconds(value) for value in values):
        raise ValueError("it has nanoseconds")
    if kind.unit in {"s", "ms"}:
        pyarrow().array([value for value in values if not isinstance(value, (Number, type(None)))]).cast(kind)


def _nanoseconds(value: Any) -> int:
    return getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)


def _bytes(values: Sequence[Any], _: Array | None) -> None:
    if any(issubclass(kind, str) for kind in _types(values)):
        raise TypeError("text is no bytes")


def _days(values: Sequence[Any], _: Array | None) -> None:
    seen = _types(values)
    if any(issubclass(kind, Number) for kind in seen):
        raise ValueError("a number is no date")
    times = {kind for kind in seen if issubclass(kind, dt.datetime)}
    if times and any(type(value) in times and value.time() != dt.time() for value in values):
        raise ValueError("a date has no time of day")


def _floats(values: Sequence[Any], _: Array | None) -> None:
    _no_truth(_types(values))


def _small_floats(kind: DataType, values: Sequence[Any], array: Array | None) -> None:
    _floats(values, None)
    infinities = _infinite(pyarrow().array(values, kind) if array is None else array)
    if infinities.true_count and any(abs(value) != float("inf") for value in compress(values, infinities.to_pylist())):
        raise ValueError("it is too large")


def _infinite(column: Array) -> Array:
    pa = pyarrow()
    return pa.compute.is_inf(column.cast(pa.float64()))


def _types(values: Sequence[Any]) -> set[type[Any]]:
    return set(map(type, values))


def _no_truth(seen: set[type[Any]]) -> None:
    # numpy's is no bool.
    if any(kind.__name__ in {"bool", "bool_"} for kind in seen):
        raise ValueError("a truth value is no number")


def _structs(checks: Mapping[str, _Check | None], values: Sequence[Any], _: Array | None) -> None:
    # Pairs in a list are a dict to pyarrow.
    rows: list[Any] = [
        dict(cast("Any", value)) if type(value) is list else value for value in values if value is not None
    ]
    for block in blocks(rows):
        if block.names is not None and isinstance(block.values[0], tuple) and list(block.names) != list(checks):
            raise ValueError(f"a tuple in a row goes by position, and its names are not those of the type: {[*checks]}")
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
        raise TypeError("what is in it are no pairs")
    for place, check in enumerate(checks):
        if check is not None:
            check([item[place] for item in items], None)


def _lists(check: _Check | None, kind: DataType, values: Sequence[Any], _: Array | None) -> None:
    seen = _types(values)
    if any(issubclass(kind, (str, bytes, bytearray)) for kind in seen):
        raise TypeError("text is no list")
    if check is None:
        return
    if not _LISTS.issuperset(seen):
        values = [() if value is None or _is_like(value, kind) else list(value) for value in values]
    check(list(chain.from_iterable(filter(None, values))), None)


def _is_like(value: Any, kind: DataType) -> bool:
    """Whether it is an array of numpy's, of a column's own type."""
    dtype: Any = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind in "iuf" and pyarrow().from_numpy_dtype(dtype) == kind


def _cast(column: Array, kind: DataType) -> Array:
    """A column of another type, in which its values are what they were; what is not alike goes value by value."""
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
