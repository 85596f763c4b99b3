"""Conditions on rows that Spark passes to a source."""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from pullstream import Source

Test: TypeAlias = Literal[
    "=", "<=>", ">", ">=", "<", "<=", "in", "is null", "is not null", "starts with", "ends with", "contains"
]


@attrs.frozen
class RowFilter:
    """A condition on a column. Spark drops rows that do not meet it, so a source may omit them.

    `test` is as in SQL, where a null meets only `is null` and `<=>`. `negated` means NOT in front of it. `value` has
    the type that Spark uses in Python: a timestamp is a datetime in UTC. For `in`, it is a list.

    >>> RowFilter("day", ">=", dt.date(2013, 1, 1))
    RowFilter(column='day', test='>=', value=datetime.date(2013, 1, 1), negated=False)
    """

    column: str
    test: Test
    value: Any = None
    negated: bool = False

    @classmethod
    def of(cls, parts: Sequence[Any]) -> "RowFilter":
        """Make a filter from JSON; values of types that JSON does not have are objects with the type's name as key."""
        column, test, value, negated = parts
        return cls(column, test, _value(value), negated)


Prune: TypeAlias = Callable[[Source[Any], Sequence[RowFilter]], Source[Any]]
"""A function of a source and of Spark's filters; returns the source to read instead, which may omit other rows."""

_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "list": lambda items: [*map(_value, items)],
}


def _value(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    ((kind, content),) = cast("dict[str, Any]", encoded).items()
    return _TYPES[kind](content)
