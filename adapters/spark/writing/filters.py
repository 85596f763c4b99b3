"""Conditions on rows, which Spark tells a source that it reads."""

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
    """A condition on a column: rows that do not meet it Spark leaves out, whether they come or not.

    `test` is as in SQL, where a null meets none but `is null` and `<=>`; `negated` is NOT in front of it. `value` is as
    Spark has it in Python: a timestamp is a datetime in UTC, and of `in` a list.

    >>> RowFilter("day", ">=", dt.date(2013, 1, 1))
    RowFilter(column='day', test='>=', value=datetime.date(2013, 1, 1), negated=False)
    """

    column: str
    test: Test
    value: Any = None
    negated: bool = False

    @classmethod
    def of(cls, told: Sequence[Any]) -> "RowFilter":
        """The filter that Spark's process has told of: JSON, in which what that cannot tell has its type beside it."""
        column, test, value, negated = told
        return cls(column, test, _value(value), negated)


Prune: TypeAlias = Callable[[Source[Any], Sequence[RowFilter]], Source[Any]]
"""A function of a source, and what Spark looks for, that gives one in place of it, which may leave out the rest."""

_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "list": lambda items: [*map(_value, items)],
}


def _value(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, content),) = cast("dict[str, Any]", told).items()
    return _TYPES[kind](content)
