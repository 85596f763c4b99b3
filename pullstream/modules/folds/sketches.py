"""Sketches: states of folds that stay small however many values they have seen, with a known error.

The sketches are those of Apache DataSketches. Two states merge into the state of all their values, and pickles are
compact, so parts can be folded on other machines.
"""

import pickle
from collections.abc import Hashable
from functools import cache
from typing import Any, ClassVar, Final, Self

from pullstream.errors import SketchesMissing, of_extra

RANKS: Final = 400
"""The size of a sketch of quantiles: in 99 of 100 cases the rank of a result is at most 0.7 % of all values off."""
UNIQUE: Final = 14
"""The size of a sketch of distinct values, as a power of 2: the standard deviation of a result is 0.8 %."""
FREQUENT: Final = 12
"""The size of a sketch of frequent values, as a power of 2: a count is at most 0.09 % of all values too high."""


def driver() -> Any:
    """Import the package; raises `SketchesMissing` if it is not installed."""
    return of_extra("sketches", "datasketches", SketchesMissing)


@cache
def _pickles_class() -> Any:
    """Return the class that serializes single values.

    No instance is kept: when a process exits, the driver reports each one left, in hundreds of lines.
    """
    base: Any = driver().PyObjectSerDe

    class Pickles(base):
        """Writes each value as its length and its pickle."""

        def get_size(self, item: Any) -> int:
            return len(self.to_bytes(item))

        def to_bytes(self, item: Any) -> bytes:
            data = pickle.dumps(item)
            return len(data).to_bytes(4, "big") + data

        def from_bytes(self, data: Any, offset: int) -> tuple[Any, int]:
            begin = offset + 4
            length = int.from_bytes(data[offset:begin], "big")
            return pickle.loads(bytes(data[begin : begin + length])), 4 + length  # noqa: S301 - from a state

    return Pickles


class _OfItems:
    """A sketch of any Python values."""

    kind: ClassVar[str]
    size: ClassVar[int]

    def __init__(self, data: bytes | None = None) -> None:
        kind = getattr(driver(), self.kind)
        self.sketch = kind(self.size) if data is None else kind.deserialize(data, _pickles_class()())

    def add(self, value: Any) -> Self:
        """Add a value."""
        self.sketch.update(value)
        return self

    def merge(self, other: Self) -> Self:
        """Add the values of another sketch."""
        self.sketch.merge(other.sketch)
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.sketch.serialize(_pickles_class()()),)


class Quantiles(_OfItems):
    """The ranks of values that can be compared."""

    kind, size = "kll_items_sketch", RANKS


class Frequent(_OfItems):
    """The most frequent values, with their counts."""

    kind, size = "frequent_items_sketch", FREQUENT

    def most(self, k: int) -> list[tuple[Any, int]]:
        """Return the `k` most frequent values and their counts."""
        kind = driver().frequent_items_error_type.NO_FALSE_NEGATIVES
        found = [(item, estimate) for item, estimate, _, _ in self.sketch.get_frequent_items(kind)]
        return sorted(found, key=lambda pair: -pair[1])[:k]


class Unique:
    """The number of distinct values."""

    def __init__(self, data: bytes | None = None) -> None:
        kind = driver().hll_sketch
        self.sketch = kind(UNIQUE) if data is None else kind.deserialize(data)

    def add(self, value: Hashable) -> Self:
        """Add a value."""
        self.sketch.update(_constant(value))
        return self

    def merge(self, other: Self) -> Self:
        """Add the values of another sketch."""
        union = driver().hll_union(UNIQUE)
        union.update(self.sketch)
        union.update(other.sketch)
        self.sketch = union.get_result()
        return self

    def __reduce__(self) -> Any:
        return Unique, (self.sketch.serialize_compact(),)


def _constant(value: Any) -> int | str:
    r"""Return a value with the same hash in all processes; equal values give equal results.

    >>> [_constant(value) for value in (1, 1.0, True, "1", (1, "a"))]
    [1, 1, 1, '1', "\x00(1, 'a')"]
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, str):
        return value
    if type(value).__repr__ is object.__repr__:
        raise TypeError(
            f"{value!r} ({type(value).__name__}) cannot be counted with approximate=True: give `of` a function that "
            f"returns numbers, text, or tuples of them"
        )
    return f"\0{value!r}"
