"""Conversions from values to changes (`upserts`), and from changes to their total (`integrate`)."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, cast

from typing_extensions import TypeVar, override

import pullstream as ps
from pullstream.authoring import Carries, Key, Notified, Sync, Traits, opens
from pullstream.errors import CapabilityError
from pullstream.incremental.errors import MultiplicityError
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING, less_equal

A = TypeVar("A", bound=Hashable)
K = TypeVar("K", bound=Hashable)


def following(location: object, last: Hashable, time: Hashable) -> Hashable:
    """Return the time, which must be at or after the last one.

    Raises:
        CapabilityError: the two are incomparable.
    """
    if less_equal(last, time):
        return time
    raise CapabilityError(
        f"{location}, carries a table from each time to the next, but {last!r} and {time!r} are in no order: "
        f"use map_time(f) to get totally ordered times",
        time,
    )


class _InMemory(Notified):
    """Processes the values of each time when it is complete, in the order of the times, and keeps a memory."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Hashable, list[Any]] = {}
        self._last: Hashable = BEGINNING

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in self.apart(batch):
            if run.time not in self._waiting:
                self.notify(run.time, run.time)
                self._waiting[run.time] = []
            self._waiting[run.time] += run.values

    @override
    def complete(self, time: Hashable) -> None:
        self._last = following(self.location, self._last, time)
        results = self.results(self._waiting.pop(time))
        self.give(time, results)

    @abstractmethod
    def results(self, values: Sequence[Any]) -> Sequence[Any]:
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
    def results(self, values: Sequence[Any]) -> Sequence[Any]:
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
        Callable[[A], object] | None, Sync("a test is decided at once; map_async the values first")
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

    Raises:
        CapabilityError: two times are incomparable.
    """
    return opens(_Upserts(key, deletes))


class _Integrate(_InMemory):
    @override
    def results(self, values: Sequence[Any]) -> Sequence[Any]:
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
