"""Rows of a table's change feed, as Spark and Delta Lake give them, as changes: `change_of`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

TYPE: Final = "_change_type"
"""The column that says what has happened to a row."""

OF_THE_FEED: Final = frozenset({TYPE, "_commit_version", "_commit_timestamp"})
"""The columns that are the feed's, and not the table's."""

DIFFS: Final = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
"""The number of times that a row is there more, by what the feed says of it."""


def change_of(row: Any) -> tuple[tuple[Any, ...], int]:
    """The change that a row of a change feed tells: the table's columns, as a tuple, and 1 or -1.

    >>> from pullstream.incremental import change_of
    >>> change_of({"id": 7, "item": "tea", "_change_type": "update_preimage", "_commit_version": 3})
    ((7, 'tea'), -1)

    What came, `insert` and `update_postimage`, is there once more, and what went, `delete` and `update_preimage`, once
    less. The row says the names of its columns: one of `from_dataframe`'s, Spark's own, or a dict. Columns stay in the
    row's order, which has to be one for all rows: a dict in another order is another record. A feed is in the order of
    its commits, so with these for times what is maintained is right for each version of the table:

        feed = session.read.option("readChangeFeed", "true").option("startingVersion", 0).table("orders")
        changes = ps.pipe(spark.from_dataframe(feed, time="_commit_version"), ps.map(change_of), maintain(program))

    Of several tables each has its name: `ps.map(lambda row: ("orders", *change_of(row)))`. A feed that does not begin
    at the table's first version takes away what never came: begin with the table as of then, each row once more.

    Raises:
        TypeError: the row has no names of columns, or none is `_change_type`.
        ValueError: its change is none of the four.
    """
    names, values = _columns(row)
    kind, kept = _places(names)
    diff = DIFFS.get(values[kind])
    if diff is None:
        raise ValueError(f"{row!r} is no change of a feed: its {TYPE} is one of {', '.join(DIFFS)}")
    return tuple(values[place] for place in kept), diff


def _columns(row: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names of a row's columns, and what is in them."""
    if isinstance(row, Mapping):
        named = cast("Mapping[str, Any]", row)
        return tuple(named), tuple(named.values())
    # Names as the columns have them: of the attributes of a named tuple none could begin as the feed's do.
    names = getattr(row, "_columns", None) or getattr(row, "__fields__", None)
    if not isinstance(row, tuple) or names is None:
        raise TypeError(
            f"change_of() goes by the names of columns, and {row!r} has none: read the feed as rows, or as dicts"
        )
    return tuple(names), cast("tuple[Any, ...]", row)


@lru_cache(maxsize=256)
def _places(names: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """The places of the kind of change, and of the table's columns."""
    if TYPE not in names:
        raise TypeError(
            f"a row with the columns {', '.join(names)} is of no change feed, which has {TYPE}: read the table with "
            f'option("readChangeFeed", "true"), and keep that column'
        )
    return names.index(TYPE), tuple(place for place, name in enumerate(names) if name not in OF_THE_FEED)
