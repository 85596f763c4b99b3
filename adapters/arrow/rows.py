"""Rows: their kinds, and their conversion to columns."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

from .arrow_rows import ArrowRows
from .columns import decoded
from .package import Array, RecordBatch, pa
from .row_types import tuple_names

KINDS: Final = "dicts, named tuples, tuples, or Arrow record batches"

_NOTHING: Final[Mapping[str, Any]] = {}


class RowBlock(NamedTuple):
    """Consecutive rows of one kind as columns: of Python values, or of one Arrow batch."""

    values: Sequence[Any]
    names: Sequence[str] | None
    """The column names; None if columns match by position."""
    columns: Sequence[Sequence[Any] | Array]
    size: int
    bare: bool = False
    """Whether the values are not rows, but the content of a single column."""
    is_arrow: bool = False


def blocks(values: Sequence[Any], given: Mapping[str, Any] = _NOTHING) -> Sequence[RowBlock]:
    """Split values into blocks of columns, in order; `given` fills keys that only some dicts have."""
    if isinstance(values, ArrowRows):
        block = _of_arrow(values.batch)
        # Tuples match by position.
        return [block._replace(names=None) if values.form == "tuples" else block]
    kinds = set(map(type, values))
    if len(kinds) == 1:
        return _of_kind(kinds.pop(), values, given)
    return [block for kind, same in groupby(values, type) for block in _of_kind(kind, list(same), given)]


def _of_kind(kind: type, values: Sequence[Any], given: Mapping[str, Any]) -> Sequence[RowBlock]:
    if issubclass(kind, (tuple, list)):
        names = tuple_names(cast("Any", kind))
        if names is not None or not hasattr(cast("Any", kind), "asDict"):
            return _of_tuples(values, names)
        # Rows of PySpark: each has its own names, or none.
        return [
            block
            for own, same in groupby(values, lambda row: getattr(row, "__fields__", None))
            for block in _of_tuples(list(same), own)
        ]
    if issubclass(kind, Mapping):
        return [_of_dicts(values, given)]
    if issubclass(kind, (pa.RecordBatch, pa.Table)):
        return list(map(_of_arrow, values))
    return [RowBlock(values, None, [values], len(values), bare=True)]


def _of_tuples(values: Sequence[Any], names: Sequence[str] | None) -> Sequence[RowBlock]:
    try:
        return [RowBlock(values, names, list(zip(*values, strict=True)), len(values))]
    except ValueError:
        parts = [list(same) for _, same in groupby(values, len)]
        return [RowBlock(part, names, list(zip(*part, strict=True)), len(part)) for part in parts]


def _of_dicts(rows: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> RowBlock:
    names = list(rows[0])
    if set(map(len, rows)) == {len(names)} and not hasattr(rows[0], "__missing__"):
        # Usually all have the same keys, and this is twice as fast. A defaultdict would create missing ones.
        with suppress(KeyError):
            return RowBlock(rows, names, [list(map(itemgetter(name), rows)) for name in names], len(rows))
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    columns = [[row.get(name, default) for row in rows] for name, default in ((n, given.get(n)) for n in names)]
    return RowBlock(rows, names, columns, len(rows))


def _of_arrow(batch: RecordBatch) -> RowBlock:
    columns: list[Any] = list(batch.columns)
    if isinstance(batch, pa.Table):
        columns = [column.combine_chunks() for column in columns]
    # Dictionary encoding depends on how values were batched, which must not be visible.
    return RowBlock([batch], batch.schema.names, list(map(decoded, columns)), batch.num_rows, is_arrow=True)
