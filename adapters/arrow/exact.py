"""Python values as Arrow columns of a given type, each value kept as it is."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from adapters.arrow.package import Array, DataType, pyarrow

_WHOLE: Final = frozenset({int, bool, type(None)})


def exact_array(values: Sequence[Any], kind: DataType) -> Array:
    """An Arrow column of some values.

    Raises:
        ValueError: one does not fit the type, or only by losing something: pyarrow makes 1.5, as a whole number, 1.
        TypeError: one does not fit the type.
        OverflowError: one is too large for it.
    """
    pa = pyarrow()
    if (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)) and not _WHOLE.issuperset(map(type, values)):
        for value in values:
            if isinstance(value, (float, Decimal)) and value != value // 1:
                raise ValueError("it is not whole")
    return pa.array(values, kind)
