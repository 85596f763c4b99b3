"""`unique_by_time`, `sort_by_time` and `accumulate`: the values of each time deduplicated, sorted, or folded."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Annotated, Any, overload

from typing_extensions import override

from pullstream.blueprint import Emits, Key, Transformer
from pullstream.blueprint.parts import Function, Same
from pullstream.blueprint.variables import A, K, R, V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import result_of
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import CapabilityError
from pullstream.failures import Caught, caught
from pullstream.modules.folds.accumulator import Accumulator, EarlyResults, KeyStates
from pullstream.modules.folds.fold import Emitted, Fold, a_fold, itself
from pullstream.modules.folds.reduce import PerTime
from pullstream.modules.values.on_error import OnError, catches, guarded
from pullstream.resuming.interfaces import Resumable
from pullstream.timely import BEGINNING, less_equal


class _UniqueByTime(PerTime[set[Hashable]]):
    """Emits values with new keys at once, and keeps only the keys."""

    own_pace = False

    def __init__(self, key: Callable[[Any], Hashable], on_error: object) -> None:
        super().__init__()
        self._key = key
        self._catches = catches(on_error)

    @override
    def new(self) -> set[Hashable]:
        return set()

    @override
    def notify(self, time: Hashable, held: Hashable, *, before: bool = False) -> None:
        # Nothing is emitted later, so nothing is held.
        self.remind(time, before=before)

    @override
    def add(self, time: Hashable, state: set[Hashable], values: Sequence[Any]) -> None:
        new: list[Any] = []
        try:
            self._add((repeat(time), repeat(state), values), new, [])
        finally:
            self.give(time, new)

    @override
    def add_each(self, times: Sequence[Hashable], states: Iterable[set[Hashable]], values: Iterable[Any]) -> None:
        new: list[Any] = []
        new_times: list[Hashable] = []
        try:
            self._add((times, states, values), new, new_times)
        finally:
            self.give_many(new_times, new)

    def _add(self, arrived: tuple[Iterable[Any], ...], new: list[Any], new_times: list[Hashable]) -> None:
        """Note the keys of values, each with its time and state, and add the new values to `new`."""
        key = self._key
        for time, seen, value in zip(*arrived, strict=False):
            try:
                if (name := key(value)) in seen:
                    continue
                if not seen:
                    # The first key shows whether the function returns coroutines.
                    result_of(key, name)
                seen.add(name)
                new.append(value)
            except Exception as exc:
                if not self._catches:
                    raise
                new.append(caught(value, exc))
            new_times.append(time)

    @override
    def results(self, time: Hashable, state: set[Hashable]) -> Sequence[Any]:
        return ()


@transformer
@Emits.AT_ONCE
def unique_by_time(key: Key[V, Hashable] | None = None, *, on_error: OnError[V] = "fail") -> Same[V]:
    """Keep the first value with each key at each time; without `key`, a value is its own key.

    >>> import pullstream as ps
    >>> visits = ps.values([(1, "ann"), (1, "bob"), (1, "ann"), (2, "ann")], time=lambda visit: visit[0])
    >>> ps.run(ps.pipe(visits, ps.unique_by_time(lambda visit: visit[1]), ps.collect()))
    [(1, 'ann'), (1, 'bob'), (2, 'ann')]

    Values are delivered immediately. The keys of a time are kept until that time is complete; `unique` keeps the keys
    of the whole stream. Errors in `key`, and keys that cannot be hashed, are handled as in `map`, except that there is
    no `on_error="result"`.
    """
    return opens(_UniqueByTime(key or itself, on_error))


def following(location: object, last: Hashable, time: Hashable, *, instead: str = "") -> Hashable:
    """Return the time; raises `CapabilityError`, with what to do `instead`, unless it is at or after the last one."""
    if less_equal(last, time):
        return time
    raise CapabilityError(
        f"{location}, carries a state from each time to the next, but {last!r} and {time!r} have no order. Use "
        f"map_time(f) to make ordered times{instead}",
        time,
    )


class ValuesByTime(PerTime[list[Any]]):
    """Keeps the values of a time until it is complete."""

    @override
    def new(self) -> list[Any]:
        return []

    @override
    def add(self, time: Hashable, state: list[Any], values: Sequence[Any]) -> None:
        state.extend(values)

    @override
    def add_each(self, times: Sequence[Hashable], states: Iterable[list[Any]], values: Iterable[Any]) -> None:
        for state, value in zip(states, values, strict=False):
            state.append(value)


class _Sorting(ValuesByTime):
    def __init__(self, key: Callable[[Any], Any] | None, on_error: object) -> None:
        super().__init__()
        self._key = key
        self._catches = catches(on_error)

    @override
    def results(self, time: Hashable, state: list[Any]) -> Sequence[Any]:
        key = self._key
        if key is None or not self._catches:
            return sorted(state, key=key)
        names = [*map(guarded(key), state)]
        marks = [name for name in names if name.__class__ is Caught]
        pairs = [pair for pair in zip(names, state, strict=True) if pair[0].__class__ is not Caught]
        return [*marks, *(value for _, value in sorted(pairs, key=itemgetter(0)))]


@transformer
@Emits.PER_TIME
def sort_by_time(key: Key[V, Any] | None = None, *, on_error: OnError[V] = "fail") -> Same[V]:
    """Sort the values of each time, by a key if there is one; deliver times in order, each when it is complete.

    >>> import pullstream as ps
    >>> late = ps.stamp(lambda n: n // 10, lateness=1)
    >>> ps.run(ps.pipe(ps.values([12, 21, 11, 35]), late, ps.sort_by_time(), ps.collect(timed=True)))
    [(1, 11), (1, 12), (2, 21), (3, 35)]

    Values with equal keys keep their order, so a constant key keeps the order of all. They are kept until the time is
    complete. Without times, all values are at one time, so `sort_by_time` sorts the whole stream. Errors in `key` are
    handled as in `map`, except that there is no `on_error="result"`.
    """
    return opens(_Sorting(key, on_error))


class _Accumulating(ValuesByTime, Resumable):
    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self, fold: Fold[Any, Any], **options: Any) -> None:
        super().__init__()
        self._accumulator = Accumulator(fold, **options)
        self._table: KeyStates = _EmittedStates() if fold.finish is itself else {}
        self._last: Hashable = BEGINNING

    @override
    def restore(self) -> None:
        self._table.update(self.memory)
        if isinstance(self._table, _EmittedStates):
            self._table.restored.update(self._table)

    @override
    def results(self, time: Hashable, state: list[Any]) -> Sequence[Any]:
        instead = ", or reduce_by_time(fold) for a separate state per time"
        self._last = following(self.location, self._last, time, instead=instead)
        early: EarlyResults = []
        touched = self._accumulator.new(self._table)
        # Call this first: it saves the states as of the time before, and the steps may change them in place.
        memory = self.memory.at(time)
        try:
            self._accumulator.add((touched,), state, early)
        finally:
            self.give(time, [result for _, result in early])
        self._table.update(touched)
        if memory.saves:
            memory.update(touched)
        if isinstance(self._table, _EmittedStates):
            self._table.restored.difference_update(touched)
            self._table.check(self.location)
        return self._accumulator.results(touched)


class _EmittedStates(dict[Hashable, Any]):
    """The states of keys, which were emitted as results.

    At each time, the first one that a step continues from is checked.
    """

    _name: Hashable = None

    def __init__(self) -> None:
        super().__init__()
        self._emitted = Emitted()
        self.restored: set[Hashable] = set()
        """The keys whose states are from an earlier run and were not emitted in this one."""

    @override
    def __getitem__(self, name: Hashable) -> Any:
        state = super().__getitem__(name)
        if not (self._emitted.ended or self._emitted.waits) and name not in self.restored:
            self._emitted.before(state)
            self._name = name
        return state

    def check(self, location: Location) -> None:
        """Check the first state, if a step has continued from it; raises `TypeError` if it was changed."""
        if self._emitted.waits:
            self._emitted.after(super().__getitem__(self._name), str(location))


@overload
def accumulate(fold: Fold[A, R], *, eager: bool = False, on_error: OnError[A] = "fail") -> Transformer[A, R]: ...
@overload
def accumulate(
    fold: Fold[A, R], *, key: Function[A, K], eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, tuple[K, R]]: ...
@transformer
@Emits.PER_TIME
def accumulate(
    fold: Annotated[Fold[Any, Any], a_fold],
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
) -> Transformer[Any, Any]:
    """Fold across all times, in their order, and emit the result so far when each time is complete.

    >>> import pullstream as ps
    >>> sales = ps.pipe(ps.values([(1, 3), (3, 5), (2, 4)]), ps.stamp(lambda sale: sale[0], lateness=2))
    >>> ps.run(ps.pipe(sales, ps.accumulate(ps.agg.sum(lambda sale: sale[1])), ps.collect(timed=True)))
    [(1, 3), (2, 7), (3, 12)]

    `reduce_by_time` starts a new fold at each time. `scan` folds in order of arrival and emits a result for every
    value.

    With a `key`, each key has a state of its own, and a complete time emits `(key, result)` pairs for the keys that
    arrived at it. States are kept for the whole run. `finish` is called while the fold continues, so it must not return
    an object that `step` changes in place: `Fold(dict, step, dict)` copies it. The values of a time are kept until it
    is complete, and folded then. `eager` and `on_error` are as in `reduce_by_key`.

    Raises: CapabilityError: the times have no order. TypeError: `step` has changed a result in place.
    """
    return opens(_Accumulating(fold, key=key, eager=eager, on_error=on_error))
