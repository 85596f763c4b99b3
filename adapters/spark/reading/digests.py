"""A digest of Arrow batches that depends on their rows and not on their order, which changes when they are read again.

The digest is the sum of the hashes of the rows modulo 2^64. A row's hash combines pandas' hashes of its values, column
by column. It must be cheap and detect that Spark has put other rows into a partition. It does not protect against rows
chosen to collide.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from ...arrow import Array, RecordBatch, pyarrow

_ODD: Final = 0x9E3779B97F4A7C15
"""Multiplied with what is hashed before, so that the order of columns and of a list's elements counts."""


def digest(batches: Iterable[RecordBatch]) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes."""
    rows, total = 0, 0
    for batch in batches:
        rows += batch.num_rows
        total += int(_of_rows(batch.columns, batch.num_rows).sum())
    return rows, total % (1 << 64)


def _numpy() -> Any:
    return import_module("numpy")


def _mixed(values: Any) -> Any:
    return import_module("pandas").util.hash_array(values, categorize=False)


def _of_rows(columns: Iterable[Array], rows: int) -> Any:
    """Hash the values of each row."""
    np = _numpy()
    hashes = np.zeros(rows, np.uint64)
    for column in columns:
        hashes = hashes * np.uint64(_ODD) + _of_values(column)
    return _mixed(hashes)


def _of_values(column: Array) -> Any:
    """Hash each value of a column."""
    np, pa = _numpy(), pyarrow()
    kind, types = column.type, pa.types
    if types.is_struct(kind):
        hashes = _of_rows(column.flatten(), len(column))
    elif types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _of_values(column.cast(pa.list_(entry)))
    elif types.is_list(kind) or types.is_large_list(kind):
        hashes = _of_lists(column)
    elif types.is_boolean(kind):
        hashes = _mixed(column.fill_null(False).to_numpy(zero_copy_only=False))  # noqa: FBT003 - pyarrow's own
    elif types.is_primitive(kind):
        # The bits of numbers, dates and times.
        hashes = _mixed(column.view(f"int{kind.bit_width}").fill_null(0).to_numpy())
    else:
        if types.is_decimal(kind):
            column = column.view(pa.binary(kind.byte_width))
        elif not (types.is_string(kind) or types.is_binary(kind) or str(kind).startswith("large_")):
            column = pa.array(map(repr, column.to_pylist()), pa.string())
        hashes = _mixed(column.to_numpy(zero_copy_only=False))
    if column.null_count and not types.is_null(kind):
        hashes = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashes, np.uint64(_ODD))
    return hashes


def _of_lists(column: Array) -> Any:
    """Hash each list: the sum of its elements' hashes, each with its place, by differences of running sums."""
    np = _numpy()
    lengths = column.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    elements = column.flatten()
    places = (np.arange(len(elements)) - np.repeat(starts, lengths)).astype(np.uint64)
    sums = np.zeros(len(elements) + 1, np.uint64)
    np.cumsum(_mixed(_of_values(elements) + places * np.uint64(_ODD)), out=sums[1:])
    return _mixed(sums[ends] - sums[starts] + lengths.astype(np.uint64))
