"""Values by their key."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from adapters.arrow import pyarrow
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
    if isinstance(first, Mapping):
        return zip(map(itemgetter(column), values), values, strict=True)
    if hasattr(first, "_fields"):
        return zip(map(attrgetter(column), values), values, strict=True)
    return ((key, part) for batch in values for key, part in _split(batch, column))


def _split(batch: Any, column: str) -> Iterable[tuple[Hashable, Any]]:
    """A record batch's rows by the value of a column."""
    pa = pyarrow()
    if not isinstance(batch, (pa.RecordBatch, pa.Table)):
        raise TypeError(f"{batch!r} ({type(batch).__name__}) has no column {column!r}: give key= a function")
    keys = batch.column(column)
    found = pa.compute.unique(keys)
    if len(found) == 1:
        yield found[0].as_py(), batch
        return
    for key in found:
        mask = pa.compute.equal(keys, key) if key.is_valid else pa.compute.is_null(keys)
        yield key.as_py(), batch.filter(mask)
