"""Named tuple types for the rows of tables."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import lru_cache
from keyword import iskeyword
from typing import Any, cast


def tuple_names(kind: type) -> tuple[str, ...] | None:
    """The column names of a tuple type, including names that are not attributes; None if it has no names."""
    return getattr(kind, "_columns", getattr(kind, "_fields", None))


@lru_cache(maxsize=1024)
def row_type(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The named tuple type for columns; its rows can be pickled although the class cannot be imported."""
    row: Any = namedtuple("Row", _attributes(names), rename=True)  # type: ignore[misc] # noqa: PYI024
    # If two columns have the same name, the second gets its attribute's name, or it would be lost.
    columns = tuple(name if name not in names[:place] else row._fields[place] for place, name in enumerate(names))
    if columns != names:
        return row_type(columns)
    row._columns = columns  # noqa: SLF001 - the class is made here
    row._asdict = _named
    row.__reduce__ = _reduced
    return row


def _attributes(names: tuple[str, ...]) -> Iterator[str]:
    """Attribute names for columns; invalid and repeated names are replaced by the position."""
    for name in names:
        attribute = re.sub(r"\W+", "_", name).strip("_")
        attribute += "_" * iskeyword(attribute)
        yield attribute if attribute == name or attribute not in names else ""


def _names(row: Any) -> tuple[str, ...]:
    return tuple_names(cast("Any", type(row))) or ()


def _named(row: Any) -> dict[str, Any]:
    return dict(zip(_names(row), row, strict=True))


def _reduced(row: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _restored, (_names(row), tuple(row))


def _restored(columns: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return cast("Any", tuple).__new__(row_type(columns), values)
