"""The record of a time, and the records of a table's earlier runs."""

import datetime as dt
import json
from collections.abc import Container
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final
from uuid import UUID

import attrs

from pullstream.timely import Lexicographic, Product

_BY_REPR: Final = frozenset({bytes, dt.timedelta, UUID, type(None)})
"""Types whose values have the same `repr`, in all processes, if and only if they are equal."""


@attrs.frozen
class Recorded:
    """The record of earlier runs in a table: which times they committed, how many, and with which journal."""

    id: str = ""
    journal: str | None = None
    texts: Container[str] = ()
    """The committed times."""
    count: int = 0
    rows: dict[str, int] = attrs.field(factory=dict)
    """The number of rows at each time, where that is recorded."""
    restored: bool = False
    """Whether the table was restored to a state without some of the times."""

    def __contains__(self, time: object) -> bool:
        with suppress(ValueError):
            return self.count > 0 and encoded(time) in self.texts
        # The sink refuses such a time when it receives the rows.
        return False


@attrs.frozen
class Entry:
    """The record of a time, which is committed with its rows."""

    text: str
    number: int
    rows: int
    id: str
    journal: str | None
    first: bool
    """Whether the target does not yet record which journal it belongs to."""


def encoded(time: Any) -> str:
    """Return a time as text: in all processes, equal times have equal texts, and different times have different ones.

    >>> import datetime as dt
    >>> [encoded(time) for time in (3, 3.0, "3", dt.date(2020, 1, 2), (1, "a"))]
    ['3', '3', '"3"', '2020-01-02', '(1, "a")']
    >>> encoded(frozenset({"b", "a"})), encoded(Product(1, Decimal("0.50")))
    ('{"a", "b"}', 'Product(1, 0.5)')

    Raises:
        ValueError: the time's type has no such text.
    """
    if isinstance(time, dt.datetime) and time.tzinfo is not None:
        return time.astimezone(dt.UTC).isoformat()
    if isinstance(time, dt.date):
        return time.isoformat()
    if isinstance(time, str):
        return json.dumps(time)
    if isinstance(time, (Real, Decimal)):
        return _number(time)
    if isinstance(time, (tuple, Product, Lexicographic)):
        kind = "" if isinstance(time, tuple) else type(time).__name__
        return f"{kind}({', '.join(map(encoded, time))})"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(time, frozenset):
        return f"{{{', '.join(sorted(map(encoded, time)))}}}"  # pyright: ignore[reportUnknownArgumentType]
    if type(time) in _BY_REPR:
        return repr(time)
    raise ValueError(f"{time!r} ({type(time).__name__}) has no text that is the same in all processes")


def _number(time: Any) -> str:
    if isinstance(time, Integral):
        return str(int(time))
    try:
        numerator, denominator = time.as_integer_ratio()
    except (OverflowError, ValueError):
        # Infinite, or not a number.
        return repr(float(time))
    if denominator == 1:
        return str(numerator)
    with suppress(OverflowError):
        if time == float(time):
            return repr(float(time))
    return f"{numerator}/{denominator}"
