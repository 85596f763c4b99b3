"""Grouping of values by key."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter, methodcaller
from typing import Any, TypeAlias

from pullstream.authoring import Call, Sync

from ...arrow import ArrowRows, SchemaError, decoded, pa, values as python_values
from ...arrow.row_types import tuple_names

Key: TypeAlias = str | Callable[[Any], Hashable] | None
"""A function of a value that gives its key, or the name of a column."""


def key_argument(module: str, key: object, *, wanted: bool, rows: bool) -> None:
    """Refuse, when composing, a `key=` without a `{key}` in the target, or the reverse."""
    call = Call(module, name="key")
    if wanted and key is None:
        raise call.refuse("has {key} in its target: add key=, a function or a column's name")
    if key is not None and not wanted:
        raise call.refuse(
            "got key=, but its target has no {key}, so all keys would share a file: add {key} to the target, or leave "
            "key= out"
        )
    if isinstance(key, str):
        if not rows:
            raise call.refuse(f"got key={key!r}, but its values have no columns: pass a function")
    elif key is not None:
        Sync("use map_async to make pairs first")(call, key)


def by_key(values: Sequence[Any], key: str | Callable[[Any], Hashable]) -> Mapping[Hashable, Sequence[Any]]:
    """Group values by key, keeping their order."""
    if isinstance(values, ArrowRows) and isinstance(key, str):
        return {name: values.with_batch(part) for name, part in _split(values.batch, key, python_values)}
    groups: dict[Hashable, list[Any]] = {}
    pairs = ((key(value), value) for value in values) if callable(key) else _pairs(values, key)
    for name, value in pairs:
        try:
            groups.setdefault(name, []).append(value)
        except TypeError:
            problem = f"{name!r} ({type(name).__name__}) cannot be a key: key= must return text or a number"
            raise TypeError(problem) from None
    return groups


def _pairs(values: Sequence[Any], column: str) -> Iterator[tuple[Hashable, Any]]:
    kind: Any
    for kind, same in groupby(values, type):
        rows = list(same)
        if issubclass(kind, Mapping):
            yield from zip(_of_dicts(rows, column), rows, strict=True)
        elif (names := tuple_names(kind)) is not None:
            _check(names, column)
            # Not by attribute: every tuple has the attributes `count` and `index`.
            yield from zip(map(itemgetter(names.index(column)), rows), rows, strict=True)
        else:
            for batch in rows:
                yield from _split(batch, column)


def _of_dicts(rows: Sequence[Mapping[str, Any]], column: str) -> Sequence[Hashable]:
    # A defaultdict would create a missing column.
    with suppress(KeyError):
        if not hasattr(rows[0], "__missing__"):
            return list(map(itemgetter(column), rows))
    for row in rows:
        _check(row, column)
    return [row[column] for row in rows]


def _check(columns: Iterable[Any], column: str) -> None:
    """Refuse a value that lacks the column, and name the columns that it has."""
    names = list(columns)
    if column not in names:
        has = f"it has {', '.join(map(repr, names))}" if names else "it has none"
        raise SchemaError(f"a value has no column {column!r}, which key= names; {has}")


def _split(
    batch: Any, column: str, converted: Callable[[Any], list[Any]] = methodcaller("to_pylist")
) -> Iterable[tuple[Hashable, Any]]:
    """Group the rows of a record batch by a column."""
    if not isinstance(batch, (pa.RecordBatch, pa.Table)):
        raise TypeError(f"{batch!r} ({type(batch).__name__}) has no column {column!r}: pass a function as key=")
    _check(batch.schema.names, column)
    keys = batch.column(column)
    if isinstance(batch, pa.Table):
        keys = keys.combine_chunks()
    # By dictionary codes, not by comparison: NaN is not equal to itself, and 0.0 == -0.0.
    coded = decoded(keys).dictionary_encode("encode")
    names = converted(coded.dictionary)
    if len(names) == 1:
        yield names[0], batch
        return
    for code, key in enumerate(names):
        yield key, batch.filter(pa.compute.equal(coded.indices, code))
