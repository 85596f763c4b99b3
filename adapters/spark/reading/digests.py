"""A digest of Arrow batches that tells their rows, and not their order: what is fetched again comes in another order.

Rows are hashed by the column, with numpy, and added up modulo 2^64. It is made to notice that Spark has put other rows
into a partition, and to be cheap; nobody chooses rows to deceive it.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from adapters.arrow import Array, RecordBatch, pyarrow

_ODD: Final = 0x9E3779B97F4A7C15
_INVERSE: Final = pow(_ODD, -1, 1 << 64)
_NULL: Final = 0x632BE59BD9B4E019
_LONG: Final = 64
"""Bytes a value, on average, from which on values are hashed one by one."""


def digest(batches: Iterable[RecordBatch]) -> tuple[int, int]:
    """The number of rows, and the sum of their hashes."""
    rows, total = 0, 0
    for batch in batches:
        rows += batch.num_rows
        total += int(_of_row(batch.columns, batch.num_rows).sum())
    return rows, total % (1 << 64)


def _numpy() -> Any:
    return import_module("numpy")


def _of_row(columns: Iterable[Array], rows: int) -> Any:
    """A hash for each row, of its values in all columns."""
    np = _numpy()
    hashes = np.full(rows, rows and _NULL, np.uint64)
    for column in columns:
        hashes ^= _of_value(column)
        # Mixed with each column, or rows that exchange their values would look the same.
        hashes *= np.uint64(_ODD)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _of_value(column: Array) -> Any:
    """A hash for each value of a column."""
    np, pa = _numpy(), pyarrow()
    hashes = _plain(column)
    if column.null_count:
        hashes = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashes, np.uint64(_NULL))
    return hashes if not pa.types.is_nested(column.type) else hashes * np.uint64(_ODD)


def _plain(column: Array) -> Any:
    """The same where no value is null; below a null it is anything."""
    np, types = _numpy(), pyarrow().types
    kind = column.type
    if types.is_null(kind):
        return np.zeros(len(column), np.uint64)
    if types.is_boolean(kind):
        return column.cast(pyarrow().uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    if types.is_struct(kind):
        return _of_row(column.flatten(), len(column))
    if types.is_map(kind) or types.is_list(kind) or types.is_large_list(kind):
        parts = [column.keys, column.items] if types.is_map(kind) else [column.values]
        return _of_lists(_offsets(column), _of_row(parts, len(parts[0])))
    if types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        return _of_bytes(column)
    width = getattr(kind, "bit_width", 0) // 8
    if width in (1, 2, 4, 8, 16):
        lanes = np.frombuffer(column.buffers()[1], np.dtype(f"u{min(width, 8)}"))
        lanes = lanes.reshape(-1, max(1, width // 8))[column.offset : column.offset + len(column)]
        plain = lanes[:, 0].astype(np.uint64)
        return plain if width < 16 else plain * np.uint64(_ODD) ^ lanes[:, 1]
    return _one_by_one(map(repr, column.to_pylist()), len(column))


def _one_by_one(values: Iterable[Any], size: int) -> Any:
    np = _numpy()
    return np.fromiter(map(hash, values), np.int64, size).view(np.uint64)


def _offsets(column: Array) -> Any:
    np, types = _numpy(), pyarrow().types
    large = types.is_large_list(column.type) or str(column.type).startswith("large_")
    offsets = np.frombuffer(column.buffers()[1], np.int64 if large else np.int32)
    return offsets[column.offset : column.offset + len(column) + 1]


def _of_bytes(column: Array) -> Any:
    np = _numpy()
    offsets = _offsets(column) if len(column) else np.zeros(1, np.int64)
    if int(offsets[-1] - offsets[0]) > _LONG * len(column):
        return _one_by_one(column.to_pylist(), len(column))
    data = column.buffers()[2]
    elements = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return _of_lists(offsets, elements.astype(np.uint64) + np.uint64(1))


def _powers(size: int) -> tuple[Any, Any]:
    """The powers of a number, and those of its inverse, from 0 on, at least so many."""
    global _made  # noqa: PLW0603 - made once, and again when a larger batch comes
    if len(_made[0]) <= size:
        np = _numpy()
        powers = np.full(2 * size + 1, _ODD, np.uint64), np.full(2 * size + 1, _INVERSE, np.uint64)
        for each in powers:
            each[0] = 1
            np.cumprod(each, out=each)
        _made = powers
    return _made


_made: tuple[Any, Any] = ((), ())


def _of_lists(offsets: Any, elements: Any) -> Any:
    """A hash for each list, of its elements' hashes in their order: a polynomial, by differences of running sums."""
    np = _numpy()
    starts = (offsets - offsets[0]).astype(np.int64)
    size = int(starts[-1])
    powers, inverses = _powers(size)
    sums = np.zeros(size + 1, np.uint64)
    np.cumsum(elements[int(offsets[0]) : int(offsets[-1])] * powers[:size], out=sums[1:])
    hashes = (sums[starts[1:]] - sums[starts[:-1]]) * inverses[starts[:-1]]
    hashes ^= hashes >> np.uint64(31)
    return hashes * np.uint64(_ODD) + np.diff(starts).astype(np.uint64)
