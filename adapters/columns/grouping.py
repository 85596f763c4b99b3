"""Groups of rows as numbers: which rows have equal keys, and sums, extremes and lists of each group.

NumPy adds and compares numbers by group in about a nanosecond a row. Other types are left to Arrow.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ..arrow import Array
from .package import ColumnError, np, pa

Numbers = Any
"""A NumPy array of int64."""


class Grouped:
    """The group of each row, as a number from 0; every group has a row."""

    def __init__(self, numbers: Numbers, count: int) -> None:
        self.numbers = numbers
        self.count = count

    @cached_property
    def first(self) -> Numbers:
        """The first row of each group, in order of arrival unless it was set."""
        return self.ends()

    @cached_property
    def last(self) -> Numbers:
        """The last row of each group."""
        return self.ends(last=True)

    def ends(self, by: Sequence[Numbers] = (), *, last: bool = False) -> Numbers:
        """The first or last row of each group, in the order of some columns or of arrival."""
        order = np.arange(len(self.numbers))
        if not all((part[1:] >= part[:-1]).all() for part in by):
            order = np.lexsort(by[::-1])
        order = order if last else order[::-1]
        found = np.zeros(self.count, np.int64)
        found[self.numbers[order]] = order
        return found

    @cached_property
    def sizes(self) -> Array:
        """The number of rows of each group."""
        return pa.array(np.bincount(self.numbers, minlength=self.count))

    def known(self, column: Array) -> Array:
        """The number of values of each group that are not null."""
        if not column.null_count:
            return self.sizes
        return pa.array(np.bincount(self.valid(column), minlength=self.count))

    def valid(self, column: Array) -> Numbers:
        """The groups of the values that are not null."""
        return self.numbers[column.is_valid().to_numpy(zero_copy_only=False)] if column.null_count else self.numbers

    def total(self, column: Array) -> Array:
        """The sums, 0 without values: as decimals if one may exceed 64 bits; refused if one may exceed 76 digits."""
        types, kind = pa.types, column.type
        if not types.is_floating(kind):
            most: Any = max(abs(end or 0) for end in pa.compute.min_max(column).as_py().values()) * len(column)
            if types.is_decimal(kind):
                most = most and most.scaleb(kind.scale)
                if most >= 10**76:
                    raise ColumnError("its values are too large to be summed: their sum may exceed 76 digits")
                # A sum may exceed 38 digits.
                kind = pa.decimal256(76, kind.scale) if most >= 10**37 else kind
            else:
                kind = pa.int64() if most < 2**63 else pa.decimal128(38, 0)
            column = column.cast(kind)
            if types.is_decimal(kind):
                return self._by_arrow(column, "sum", pa.compute.ScalarAggregateOptions(min_count=0))
        values = (column.fill_null(0) if column.null_count else column).to_numpy()
        found = np.zeros(self.count, values.dtype)
        np.add.at(found, self.numbers, values)
        return pa.array(found)

    def extreme(self, column: Array, function: str) -> Array:
        """The "min" or "max" of the values; NaN only if there is nothing else, and null without values."""
        kind = column.type
        floating = pa.types.is_floating(kind)
        if not (floating or pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or pa.types.is_interval(kind):
            return self._by_arrow(column, function)
        if not floating:
            column = column.view(f"{'u' if str(kind)[0] == 'u' else ''}int{kind.bit_width}")
        numbers, values = self.valid(column), column.drop_null().to_numpy()
        found = np.zeros(self.count, values.dtype)
        # Start with any value of each group.
        found[numbers] = values
        (np.fmin if function == "min" else np.fmax).at(found, numbers, values)
        made = pa.array(found, mask=np.bincount(numbers, minlength=self.count) == 0)
        return made if floating else made.view(kind)

    def lists(self, numbers: Numbers, column: Array, *, distinct: bool) -> Array:
        """The values of each group as a list; `numbers` has the group of each value."""
        if distinct:
            places = grouped([pa.array(numbers), column], len(column)).first
            numbers, column = numbers[places], column.take(pa.array(places))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=self.count))))
        column = column.take(pa.array(np.argsort(numbers, kind="stable")))
        return pa.LargeListArray.from_arrays(pa.array(offsets), column)

    def _by_arrow(self, column: Array, function: str, options: Any = None) -> Array:
        table = pa.table({"group": self.numbers, "value": column})
        made = table.group_by("group", use_threads=False).aggregate([("value", function, options)])
        # Arrow returns groups in order of first appearance, which may differ from the order of their numbers.
        return made.sort_by("group").column(f"value_{function}").combine_chunks()


def grouped(keys: Sequence[Array], count: int) -> Grouped:
    """Number the groups of rows with equal keys; null equals null, and NaN equals NaN."""
    codes, size = np.zeros(count, np.int64), 1
    for key in keys:
        more, values = _codes(key)
        if size * values > 2 * count + 1024:
            codes, size = _encoded(pa.array(codes))
        codes, size = more if size == 1 else np.multiply(codes, values, dtype=np.int64) + more, size * values
    if size > 2 * count + 1024:
        # Arrow numbers values in the order in which they appear.
        return Grouped(*_encoded(pa.array(codes)))
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(count)[::-1]
    found = np.flatnonzero(first >= 0)
    found = found[np.argsort(first[found])]
    ranks = np.empty(size, np.int64)
    ranks[found] = np.arange(len(found))
    made = Grouped(ranks.take(codes), len(found))
    made.first = first[found]
    return made


def _codes(key: Array) -> tuple[Numbers, int]:
    """A number for each row, equal for equal keys, and the size of the range of these numbers."""
    types, kind = pa.types, key.type
    if types.is_dictionary(kind):
        codes, size = _codes(pa.concat_arrays([key.dictionary, pa.nulls(1, kind.value_type)]))
        # Null indices point to the null at the end.
        indices = key.indices
        if indices.null_count:
            indices = indices.cast(pa.int64()).fill_null(len(key.dictionary))
        indices = indices.to_numpy()
        return (indices if (codes == np.arange(len(codes))).all() else codes[indices]), size
    if types.is_float16(kind):
        return _codes(key.cast(pa.float32()))
    if types.is_floating(kind):
        # Zeros and NaNs have several forms.
        key = pa.compute.if_else(key.is_nan(), pa.scalar(np.nan, kind), pa.compute.add(key, pa.scalar(0.0, kind)))
    elif types.is_integer(kind) and not key.null_count and len(key):
        values = key.to_numpy()
        least, most = int(values.min()), int(values.max())
        if most - least < 2 * len(key):
            # A difference may not fit into the values' type. In 64 bits, unsigned values wrap twice, which is harmless.
            return np.subtract(values, values.min(), dtype=np.int64, casting="unsafe"), most - least + 1
    try:
        return _encoded(key)
    except pa.ArrowNotImplementedError:
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(repr(value), len(known)) for value in key.to_pylist()], np.int64)
        return codes, max(1, len(known))


def _encoded(column: Array) -> tuple[Numbers, int]:
    made = column.dictionary_encode(null_encoding="encode")
    return made.indices.to_numpy(), max(1, len(made.dictionary))
