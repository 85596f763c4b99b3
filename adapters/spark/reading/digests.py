"""A digest of Arrow batches that depends on their rows and not on their order, which changes when they are read again.

The hash of a row is the sum of its values, eight bytes at a time, each multiplied by a number for its place, and then
mixed. The digest is the sum of the hashes modulo 2^64. All is computed by column, with NumPy. It must be cheap and
detect that Spark has put other rows into a partition. It does not protect against rows chosen to collide.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from pullstream.authoring import of_extra

from ...arrow import Array, RecordBatch, pyarrow
from ..errors import SparkMissing

_BITS: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
_ODD: Final = 0xD6E8FEB86659FD93
_INVERSE: Final = pow(_ODD, -1, 1 << 64)
_WORD: Final = 8
_LONG: Final = 32 * _WORD
"""Values with more bytes than this are hashed by Python."""


def digest(batches: Iterable[RecordBatch]) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes."""
    rows, total = 0, 0
    for batch in batches:
        rows += batch.num_rows
        total += int(_of_rows(batch.columns, batch.num_rows).sum())
    return rows, total % (1 << 64)


def _numpy() -> Any:
    return of_extra("spark", "numpy", SparkMissing, named="NumPy")


@cache
def _number(place: int) -> int:
    """A different odd number for each place in a row."""
    mixed = (place + 1) * _STEP & _BITS
    mixed = (mixed ^ mixed >> 32) * _ODD & _BITS
    return mixed ^ mixed >> 32 | 1


def _of_rows(columns: Iterable[Array], rows: int) -> Any:
    """Hash the values of each row."""
    np = _numpy()
    hashes = np.full(rows, _ODD, np.uint64)
    for place, column in enumerate(columns):
        own = np.zeros(rows, np.uint64) if column.null_count else hashes
        for within, word in enumerate(_words(column)):
            own += word * np.uint64(_number(place) * _number(within) & _BITS)
        if column.null_count:
            # The data of a null value is undefined.
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            hashes += np.where(valid, own, np.uint64(_INVERSE * _number(place) & _BITS))
    return _mixed(hashes)


def _mixed(hashes: Any) -> Any:
    np = _numpy()
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(_ODD)
    hashes ^= hashes >> np.uint64(29)
    return hashes


def _words(column: Array) -> Iterator[Any]:
    """The bytes of each value, as numbers of eight bytes; undefined for a null."""
    np, types = _numpy(), pyarrow().types
    kind = column.type
    width = getattr(kind, "bit_width", 0) // 8 if types.is_primitive(kind) or types.is_decimal(kind) else 0
    if types.is_null(kind):
        return
    if types.is_boolean(kind):
        yield column.cast(pyarrow().uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif types.is_struct(kind):
        yield _of_rows(column.flatten(), len(column))
    elif types.is_map(kind) or types.is_list(kind) or types.is_large_list(kind):
        parts = [column.keys, column.items] if types.is_map(kind) else [column.values]
        yield _of_lists(_offsets(column), _of_rows(parts, len(parts[0])))
    elif types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        yield from _of_bytes(column)
    elif width:
        lanes = np.frombuffer(column.buffers()[1], np.dtype(f"u{min(width, _WORD)}"))
        lanes = lanes.reshape(-1, max(1, width // _WORD))[column.offset : column.offset + len(column)]
        for lane in lanes.T:
            yield lane.astype(np.uint64, copy=False)
    else:
        yield _one_by_one(map(repr, column.to_pylist()), len(column))


def _one_by_one(values: Iterable[Any], size: int) -> Any:
    np = _numpy()
    return np.fromiter(map(hash, values), np.int64, size).view(np.uint64)


def _offsets(column: Array) -> Any:
    np, types = _numpy(), pyarrow().types
    large = types.is_large_list(column.type) or str(column.type).startswith("large_")
    if not len(column):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(column.buffers()[1], np.int64 if large else np.int32)
    return offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)


def _of_bytes(column: Array) -> Iterator[Any]:
    """The lengths, or Python's hashes of long values; then the words of the others, cut off at their ends."""
    np = _numpy()
    offsets = _offsets(column)
    first, data = int(offsets[0]), column.buffers()[2]
    size = int(offsets[-1]) - first
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    heads = lengths.astype(np.uint64)
    if len(far := np.flatnonzero(lengths > _LONG)):
        heads[far] = _one_by_one(column.take(pyarrow().array(far)).to_pylist(), len(far))
        lengths[far] = 0
    yield heads
    padded = np.zeros(size + _WORD, np.uint8)
    if size:
        padded[:size] = np.frombuffer(data, np.uint8)[first : first + size]
    # The word that starts at each byte.
    words = np.lib.stride_tricks.as_strided(padded[:_WORD].view("<u8"), (size + 1,), (1,))
    for begin in range(0, int(lengths.max(initial=0)), _WORD):
        some = np.flatnonzero(lengths > begin)
        part = slice(None) if len(some) == len(lengths) else some
        word = words[starts[part] + begin]
        beyond = begin + _WORD - lengths[part]
        word <<= (np.maximum(beyond, 0, out=beyond) * 8).view(np.uint64)
        if part is some:
            # The other values have no more words.
            all_words = np.zeros(len(lengths), np.uint64)
            all_words[some] = word
            word = all_words
        yield word


def _powers(size: int) -> tuple[Any, Any]:
    """The powers of a number and of its inverse, from 0 to at least `size`."""
    global _made  # noqa: PLW0603 - made once, and again for a larger batch
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
    """Hash each list as a polynomial of its elements' hashes, in order, by differences of running sums."""
    np = _numpy()
    starts = offsets - offsets[0]
    size = int(starts[-1])
    powers, inverses = _powers(size)
    sums = np.zeros(size + 1, np.uint64)
    np.cumsum(elements[int(offsets[0]) : int(offsets[-1])] * powers[:size], out=sums[1:])
    hashes = (sums[starts[1:]] - sums[starts[:-1]]) * inverses[starts[:-1]]
    return _mixed(hashes) + np.diff(starts).astype(np.uint64)
