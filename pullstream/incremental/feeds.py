"""Rows of a table's change feed, in the format of Spark and Delta Lake, as changes: `change_of`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

TYPE: Final = "_change_type"
"""The column with the type of change."""

OF_THE_FEED: Final = frozenset({TYPE, "_commit_version", "_commit_timestamp"})
"""The columns that belong to the feed, not to the table."""

DIFFS: Final = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
"""The diff for each type of change."""


def change_of(row: Any) -> tuple[tuple[Any, ...], int]:
    """Convert a row of a change feed to a change: the table's columns as a tuple, and 1 or -1.

    >>> from pullstream.incremental import change_of
    >>> change_of({"id": 7, "item": "tea", "_change_type": "update_preimage", "_commit_version": 3})
    ((7, 'tea'), -1)

    `insert` and `update_postimage` add the row (1), `delete` and `update_preimage` remove it (-1). The row must have
    column names: it may be a row of `from_dataframe`, one of Spark's own, or a dict. Columns keep the row's order. All
    rows must have the same order: a dict in another order is a different record. A feed is ordered by commits, so with
    commits as times the maintained result is right for each version of the table:

        feed = session.read.option("readChangeFeed", "true").option("startingVersion", 0).table("orders")
        changes = ps.pipe(spark.from_dataframe(feed, time="_commit_version"), ps.map(change_of), maintain(program))

    With several tables, add the table's name: `ps.map(lambda row: ("orders", *change_of(row)))`. A feed that does not
    begin at the table's first version removes rows that were never added. In that case, first add every row of the
    table as of that version.

    Raises:
        TypeError: the row has no column names, or no column `_change_type`.
        ValueError: the type of change is none of the four.
    """
    names, values = _columns(row)
    kind, kept = _places(names)
    diff = DIFFS.get(values[kind])
    if diff is None:
        raise ValueError(f"{row!r} is not a change of a feed: its {TYPE} must be one of {', '.join(DIFFS)}")
    return tuple(values[place] for place in kept), diff


def _columns(row: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names of a row's columns, and their values."""
    if isinstance(row, Mapping):
        named = cast("Mapping[str, Any]", row)
        return tuple(named), tuple(named.values())
    # The original column names: attributes of a named tuple cannot begin with an underscore, as the feed's columns do.
    names = getattr(row, "_columns", None) or getattr(row, "__fields__", None)
    if not isinstance(row, tuple) or names is None:
        raise TypeError(f"change_of() needs the names of columns, but {row!r} has none: read the feed as rows or dicts")
    return tuple(names), cast("tuple[Any, ...]", row)


@lru_cache(maxsize=256)
def _places(names: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """The indices of the type of change and of the table's columns."""
    if TYPE not in names:
        raise TypeError(
            f"a row with the columns {', '.join(names)} is not from a change feed, which has {TYPE}: read the table "
            f'with option("readChangeFeed", "true"), and keep that column'
        )
    return names.index(TYPE), tuple(place for place, name in enumerate(names) if name not in OF_THE_FEED)
