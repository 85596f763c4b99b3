"""Conversions from values and rows of a change feed to changes, and from changes to their total."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, cast

from typing_extensions import TypeVar, override

import pullstream as ps
from pullstream.authoring import Carries, Key, Sync, Traits, opens
from pullstream.incremental.errors import MultiplicityError
from pullstream.modules.times.per_time import ValuesByTime, following
from pullstream.timely import BEGINNING

A = TypeVar("A", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class _InMemory(ValuesByTime):
    """Processes the values of each time when it is complete, in the order of the times, and keeps a memory."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)
    _last: Hashable = BEGINNING

    @override
    def results(self, time: Hashable, state: list[Any]) -> Sequence[Any]:
        self._last = following(self.location, self._last, time)
        return self.changed(state)

    @abstractmethod
    def changed(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results for a time."""

    def put(self, key: Any, value: Any) -> None:
        """Set an entry of the memory; None removes it."""
        memory = self.memory.at(self._last)
        if value is not None:
            memory[key] = value
        elif key in memory:
            del memory[key]


class _Upserts(_InMemory):
    def __init__(self, key: Callable[[Any], Hashable], deletes: Callable[[Any], object] | None) -> None:
        super().__init__()
        self._key = key
        self._deletes = deletes

    @override
    def changed(self, values: Sequence[Any]) -> Sequence[Any]:
        last = {self._key(value): value for value in values}
        changes: list[tuple[Any, int]] = []
        for key, value in last.items():
            before = self.memory.get(key)
            after = None if self._deletes is not None and self._deletes(value) else (value,)
            if before != after:
                changes += [(record, -1) for record in before or ()] + [(record, 1) for record in after or ()]
                self.put(key, after)
        return changes


@ps.transformer
def upserts(
    key: Key[A, Hashable],
    *,
    deletes: Annotated[
        Callable[[A], object] | None, Sync("a test is computed synchronously; use map_async first")
    ] = None,
) -> ps.Transformer[A, tuple[A, int]]:
    """Convert values to changes of a collection with the last value of each key: add the new one, remove the old one.

    A value for which `deletes` is true removes the old value without replacing it.

    >>> import pullstream as ps
    >>> from pullstream.incremental import upserts
    >>> prices = ps.values([(1, "tea", 3), (1, "rye", 2), (2, "tea", 4), (3, "rye", None)], time=lambda price: price[0])
    >>> prices = ps.pipe(prices, upserts(lambda price: price[1], deletes=lambda price: price[2] is None))
    >>> ps.run(ps.pipe(prices, ps.map(lambda change: (change[0][1:], change[1])), ps.collect()))
    [(('tea', 3), 1), (('rye', 2), 1), (('tea', 3), -1), (('tea', 4), 1), (('rye', 2), -1)]

    Changes are emitted when a time is complete. Of several values of a key at one time, the last one counts. The last
    value of each key is kept for the whole run, and a journal saves it.

    Raises: CapabilityError: two times are incomparable.
    """
    return opens(_Upserts(key, deletes))


class _Integrate(_InMemory):
    @override
    def changed(self, values: Sequence[Any]) -> Sequence[Any]:
        total: dict[Any, int] = {}
        for change in values:
            try:
                record, diff = cast("tuple[Any, int]", change)
            except (TypeError, ValueError):
                raise TypeError(
                    f"integrate() takes changes, (record, diff), but got {change!r}: for a program with several "
                    f"outputs, filter(...) one by its name and map(...) it to record and diff"
                ) from None
            total[record] = total.get(record, 0) + diff
        for record, diff in total.items():
            count = self.memory.get(record, 0) + diff
            if count < 0:
                raise MultiplicityError(
                    f"{self.location}: {record!r} has the count {count} at {self._last!r}: it was removed more often "
                    f"than it was added"
                )
            self.put(record, count or None)
        return [dict(self.memory)]


@ps.transformer
def integrate() -> ps.Transformer[tuple[A, int], dict[A, int]]:
    """Emit the whole collection after the changes of each time: a dict with the count of each record.

    >>> import pullstream as ps
    >>> from pullstream.incremental import integrate
    >>> changes = ps.values([(1, "a"), (1, "b"), (2, "a")], time=lambda change: change[0])
    >>> changes = ps.pipe(changes, ps.map(lambda change: (change[1], 1 if change[0] == 1 else -1)))
    >>> ps.run(ps.pipe(changes, integrate(), ps.collect(timed=True)))
    [(1, {'a': 1, 'b': 1}), (2, {'b': 1})]

    The dict is copied for every time at which anything changes, so use this for small collections and tests. Add
    `last()` to get only the final one.

    Raises:
        CapabilityError: two times are incomparable.
        MultiplicityError: a record was removed more often than it was added.
    """
    return opens(_Integrate())


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
