"""Values by their key."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from adapters.arrow import SchemaError, pyarrow
from pullstream import CompositionError
from pullstream.blueprint import Site, sync_argument

Key: TypeAlias = str | Callable[[Any], Hashable] | None
"""How a value's key is found: by a function, or by the name of a column."""


def key_argument(module: str, key: object, *, wanted: bool, rows: bool) -> None:
    """Refuse, when composing, a key without a place for it, or a place without a key."""
    where = f"{module}() at {Site.here()}"
    if wanted and key is None:
        raise CompositionError(f"{where} has {{key}} in its target: say key=, a function or a column's name")
    if key is not None and not wanted:
        raise CompositionError(f"{where} got a key=, and has no {{key}} in its target, so keys would share a file")
    if isinstance(key, str):
        if not rows:
            raise CompositionError(f"{where} got key={key!r}, and its values have no columns: give it a function")
    elif key is not None:
        sync_argument(module, "key", key, "map_async the values to pairs first")


def by_key(values: Sequence[Any], key: str | Callable[[Any], Hashable]) -> Mapping[Hashable, Sequence[Any]]:
    """The values of each key, in their order."""
    groups: dict[Hashable, list[Any]] = {}
    pairs = ((key(value), value) for value in values) if callable(key) else _pairs(values, key)
    for found, value in pairs:
        groups.setdefault(found, []).append(value)
    return groups


def _pairs(values: Sequence[Any], column: str) -> Iterable[tuple[Hashable, Any]]:
    first = values[0]
    if not isinstance(first, Mapping) and not hasattr(first, "_fields"):
        return ((key, part) for batch in values for key, part in _split(batch, column))
    found = itemgetter(column) if isinstance(first, Mapping) else attrgetter(column)
    try:
        return list(zip(map(found, values), values, strict=True))
    except (KeyError, AttributeError, TypeError):
        for value in values:
            # A dict gives its keys, as any mapping does.
            _check(getattr(value, "_fields", value), column)
        raise


def _check(columns: Iterable[Any], column: str) -> None:
    """Refuse a value that does not have the column, by those that it has."""
    names = list(columns)
    if column not in names:
        has = f"it has {', '.join(map(repr, names))}" if names else "it has none"
        raise SchemaError(f"a value has no column {column!r}, which key= names; {has}")


def _split(batch: Any, column: str) -> Iterable[tuple[Hashable, Any]]:
    """A record batch's rows by the value of a column."""
    pa = pyarrow()
    if not isinstance(batch, (pa.RecordBatch, pa.Table)):
        raise TypeError(f"{batch!r} ({type(batch).__name__}) has no column {column!r}: give key= a function")
    _check(batch.schema.names, column)
    keys = batch.column(column)
    found = pa.compute.unique(keys)
    if len(found) == 1:
        yield found[0].as_py(), batch
        return
    for key in found:
        mask = pa.compute.equal(keys, key) if key.is_valid else pa.compute.is_null(keys)
        yield key.as_py(), batch.filter(mask)
