"""The record of a time, and those of a table's earlier runs."""

import datetime as dt
import json
from collections.abc import Container, Mapping
from typing import Any

import attrs


@attrs.frozen
class Recorded:
    """The record of earlier runs in a table: which times they committed, how many, and with which journal."""

    id: str = ""
    journal: str | None = None
    texts: Container[str] = ()
    """The committed times."""
    count: int = 0
    rows: Mapping[str, int] = {}
    """The number of rows at each time, where that is recorded."""

    def __contains__(self, time: object) -> bool:
        return self.count > 0 and encoded(time) in self.texts


@attrs.frozen
class Entry:
    """The record of a time, which is committed with its rows."""

    text: str
    number: int
    rows: int
    id: str
    journal: str | None
    first: bool
    """Whether the target does not yet say which journal it belongs to."""


def encoded(time: Any) -> str:
    """Return a time as text: equal times have equal texts.

    >>> import datetime as dt
    >>> [encoded(time) for time in (3, 3.0, "3", dt.date(2020, 1, 2), (1, "a"))]
    ['3', '3', '"3"', '2020-01-02', '(1, "a")']
    """
    if isinstance(time, dt.datetime) and time.tzinfo is not None:
        return time.astimezone(dt.UTC).isoformat()
    if isinstance(time, dt.date):
        return time.isoformat()
    if isinstance(time, str):
        return json.dumps(time)
    if isinstance(time, (int, float)):
        return str(int(time)) if time == time // 1 else repr(time)
    if type(time) is tuple:
        return f"({', '.join(map(encoded, time))})"  # pyright: ignore[reportUnknownArgumentType]
    return repr(time)
