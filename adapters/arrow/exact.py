"""Python values as Arrow columns of a given type, each value kept as it is."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from adapters.arrow.package import Array, DataType, pyarrow

_WHOLE: Final = frozenset({int, bool, type(None)})
_NUMBERS: Final = frozenset({int, float, bool})


def exact_array(values: Sequence[Any], kind: DataType) -> Array:
    """An Arrow column of some values.

    Raises:
        ValueError: one does not fit the type, or only by losing something: pyarrow makes 1.5, as a whole number, 1.
        TypeError: one does not fit the type.
        OverflowError: one is too large for it.
    """
    pa = pyarrow()
    types = pa.types
    if (types.is_integer(kind) or types.is_timestamp(kind)) and not _WHOLE.issuperset(map(type, values)):
        for value in values:
            if isinstance(value, (float, Decimal)) and value != value // 1:
                raise ValueError("it is not whole")
    elif types.is_date(kind) and not _NUMBERS.isdisjoint(map(type, values)):
        raise ValueError("a number is no date")
    return pa.array(values, kind)
