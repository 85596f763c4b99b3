"""From values to changes, and from changes to what there is: `upserts`, `integrate`."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, cast

from typing_extensions import TypeVar, override

import pullstream as ps
from pullstream.authoring import Carries, Key, Notified, Sync, Traits, opens
from pullstream.errors import CapabilityError
from pullstream.incremental.errors import MultiplicityError
from pullstream.timely import BEGINNING, less_equal

A = TypeVar("A", bound=Hashable)
K = TypeVar("K", bound=Hashable)


def following(location: object, last: Hashable, time: Hashable) -> Hashable:
    """The time, which is after the last one.

    Raises:
        CapabilityError: it is beside that.
    """
    if less_equal(last, time):
        return time
    raise CapabilityError(
        f"{location} carries a table from each time to the next, and {last!r} and {time!r} are in no order: "
        f"map_time(f) to times that are",
        time,
    )


class _InMemory(Notified):
    """Deals with the values of each time when it is complete, in the order of the times, and keeps a memory."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Hashable, list[Any]] = {}
        self._last: Hashable = BEGINNING

    @override
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        if time not in self._waiting:
            self.notify(time, time)
            self._waiting[time] = []
        self._waiting[time] += values

    @override
    def complete(self, time: Hashable) -> None:
        self._last = following(self.location, self._last, time)
        results = self.results(self._waiting.pop(time))
        self.give(time, results)

    @abstractmethod
    def results(self, values: Sequence[Any]) -> Sequence[Any]:
        """Give what is answered for a time."""

    def put(self, key: Any, value: Any) -> None:
        """Set an entry of the memory; None leaves none."""
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
    """Changes of a collection that has, of each key, the value that came last: `(value, 1)`, and -1 for the one before.

    A value for which `deletes` is true is not put in the place of the one before: it takes that away.

    >>> import pullstream as ps
    >>> from pullstream.incremental import upserts
    >>> prices = ps.values([(1, "tea", 3), (1, "rye", 2), (2, "tea", 4), (3, "rye", None)], time=lambda price: price[0])
    >>> prices = ps.pipe(prices, upserts(lambda price: price[1], deletes=lambda price: price[2] is None))
    >>> ps.run(ps.pipe(prices, ps.map(lambda change: (change[0][1:], change[1])), ps.collect()))
    [(('tea', 3), 1), (('rye', 2), 1), (('tea', 3), -1), (('tea', 4), 1), (('rye', 2), -1)]

    They come when a time is complete; of several values of a key at one time the last one counts. The last value of
    each key is kept for the whole run, and saved by a journal.

    Raises:
        CapabilityError: times are in no order.
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
                    f"integrate() takes changes, (record, diff), and got {change!r}: of what comes of several "
                    f"collections, filter(...) one by its name, and map(...) to its record and diff"
                ) from None
            total[record] = total.get(record, 0) + diff
        for record, diff in total.items():
            count = self.memory.get(record, 0) + diff
            if count < 0:
                raise MultiplicityError(
                    f"{self.location}: {record!r} is there {count} times at {self._last!r}: it went more often than "
                    f"it came"
                )
            self.put(record, count or None)
        return [dict(self.memory)]


@ps.transformer
def integrate() -> ps.Transformer[tuple[A, int], dict[A, int]]:
    """Give all that there is after the changes of each time: a dict of how often each record is there.

    >>> import pullstream as ps
    >>> from pullstream.incremental import integrate
    >>> changes = ps.values([(1, "a"), (1, "b"), (2, "a")], time=lambda change: change[0])
    >>> changes = ps.pipe(changes, ps.map(lambda change: (change[1], 1 if change[0] == 1 else -1)))
    >>> ps.run(ps.pipe(changes, integrate(), ps.collect(timed=True)))
    [(1, {'a': 1, 'b': 1}), (2, {'b': 1})]

    All of it is copied for every time at which anything changes: it is for what is small, and for tests. The last one
    alone is what `last()` gives.

    Raises:
        CapabilityError: times are in no order.
        MultiplicityError: a record has gone more often than it came.
    """
    return opens(_Integrate())
