"""`reduce_by_time`, `reduce_by_key`, `count_by_key` and `aggregate`: results per time, and per key and time."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, Any, Final, Generic, overload

from typing_extensions import override

from pullstream.blueprint import Emits, Example, Key, Transformer
from pullstream.blueprint.parts import Function, WithCounts
from pullstream.blueprint.variables import A, K, R, S, V
from pullstream.decorators import opens, transformer
from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.countable import before_last, countable
from pullstream.engine.parts.notified import Notified
from pullstream.modules.folds.accumulator import Accumulator, EarlyResults, KeyStates
from pullstream.modules.folds.agg import count, several
from pullstream.modules.folds.fold import Fold, a_fold, folds, itself
from pullstream.modules.values.on_error import OnError
from pullstream.protocol import Batch

MANY: Final = 8
"""The length from which a run of values at one time costs less to handle as a whole than value by value."""


class PerTime(Notified, Inline, Generic[S]):
    """Keeps a state for each time, from its first value until the time is complete."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[Hashable, S] = {}

    @abstractmethod
    def new(self) -> S:
        """Make the state of a time, before its first value."""

    @abstractmethod
    def add(self, time: Hashable, state: S, values: Sequence[Any]) -> None:
        """Add values to the state of their time."""

    @abstractmethod
    def results(self, time: Hashable, state: S) -> Sequence[Any]:
        """Return the results of a time's state when the time is complete."""

    def add_each(self, times: Sequence[Hashable], states: Iterable[S], values: Iterable[Any]) -> None:
        """Add each value to the state of its time, as `add` does. No value may be read before its turn."""
        raise NotImplementedError(f"{type(self).__name__} receives multi-time batches, so it must define add_each()")

    def by_value(self, batch: Batch[Any]) -> bool:
        """Whether to take a multi-time batch value by value, with `add_each`, rather than run by run.

        Not if the time changes seldom, because run by run is then faster. Nor if its times are not totally ordered:
        they may fail anywhere, and the values before the failure must still be counted.
        """
        return MANY * len(batch.changes) >= len(batch.times) and batch.in_one_order

    @override
    def receive(self, batch: Batch[Any]) -> None:
        if batch.uniform:
            self.add(batch.time, self._state(batch.time), batch.values)
            return
        if not self.by_value(batch):
            for run in self.apart(batch):
                self.add(run.time, self._state(run.time), run.values)
            return
        times, values, known = batch.times, countable(batch), self.states
        states = [known[time] if time in known else self._state(time) for time in times]
        try:
            self.add_each(times, states, values)
        except BaseException:
            self.taken = before_last(batch, values)
            raise

    def _state(self, time: Hashable) -> S:
        states = self.states
        if time in states:
            return states[time]
        self.notify(time, time)
        states[time] = state = self.new()
        return state

    @override
    def complete(self, time: Hashable) -> None:
        self.give(time, self.results(time, self.states.pop(time)))


class Folding(PerTime[KeyStates]):
    """Emits the accumulated results of each time."""

    def __init__(self, fold: Fold[Any, Any], **options: Any) -> None:
        super().__init__()
        self._accumulator = Accumulator(fold, **options)

    @override
    def by_value(self, batch: Batch[Any]) -> bool:
        # An eager result must follow the results of the times that are complete by then.
        return not self._accumulator.eager and super().by_value(batch)

    @override
    def new(self) -> KeyStates:
        return self._accumulator.new()

    @override
    def add(self, time: Hashable, state: KeyStates, values: Sequence[Any]) -> None:
        early: EarlyResults = []
        try:
            self._accumulator.add((state,), values, early)
        finally:
            self.give(time, [result for _, result in early])

    @override
    def add_each(self, times: Sequence[Hashable], states: Iterable[KeyStates], values: Iterable[Any]) -> None:
        marks: EarlyResults = []
        try:
            self._accumulator.add_each(states, values, marks)
        finally:
            self.give_many([times[place] for place, _ in marks], [mark for _, mark in marks])

    @override
    def results(self, time: Hashable, state: KeyStates) -> Sequence[Any]:
        return self._accumulator.results(state)


@transformer
@Emits.PER_TIME
def reduce_by_time(
    fold: Annotated[Fold[A, R], a_fold], *, eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, R]:
    """Fold the values of each time into one result, which is emitted when the time is complete.

    >>> import pullstream as ps
    >>> sales = ps.values([(1, 3), (1, 5), (2, 4)], time=lambda sale: sale[0])
    >>> ps.run(ps.pipe(sales, ps.reduce_by_time(ps.agg.sum(lambda sale: sale[1])), ps.collect(timed=True)))
    [(1, 8), (2, 4)]

    Results are emitted as times complete, earliest first. A time without values has no result. `reduce_by_key` folds
    per key and time, `aggregate` computes several named results, `accumulate` carries its state from time to time, and
    `reduce` folds the whole stream. `eager` and `on_error` are as in `reduce_by_key`.
    """
    return opens(Folding(fold, eager=eager, on_error=on_error))


@transformer
@Emits.PER_TIME
def reduce_by_key(
    fold: Annotated[Fold[A, R], a_fold], *, key: Key[A, K], eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, tuple[K, R]]:
    """Fold the values of each key and time; emit `(key, result)` pairs when the time is complete.

    >>> import pullstream as ps
    >>> words = ps.values([(1, "a"), (1, "b"), (1, "a"), (2, "a")], time=lambda pair: pair[0])
    >>> counts = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda pair: pair[1])
    >>> ps.run(ps.pipe(words, counts, ps.collect()))
    [('a', 2), ('b', 1), ('a', 1)]

    The pairs of a time are in the order in which their keys first arrived. Times complete earliest first. The states of
    a time are dropped once it is complete.

    With `eager=True`, the result so far is also emitted after every value. `finish` is then called while the fold
    continues, so it must not return an object that `step` changes in place. With `on_error` (see `map`), a value whose
    key or step raises is left out and counted, or goes to a sink. An error in `finish` fails the stream.
    """
    return opens(Folding(fold, key=key, eager=eager, on_error=on_error))


@overload
def count_by_key(*, eager: bool = False, on_error: OnError[V] = "fail") -> WithCounts[V]: ...
@overload
def count_by_key(
    key: Function[A, K] | None, *, eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, tuple[K, int]]: ...
@transformer
@Emits.PER_TIME
def count_by_key(
    key: Key[Any, Hashable] | None = None, *, eager: bool = False, on_error: OnError[Any] = "fail"
) -> Transformer[Any, tuple[Any, int]]:
    """Count the values of each key and time; emit `(key, count)` pairs when the time is complete.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abca"), ps.count_by_key(), ps.collect()))
    [('a', 2), ('b', 1), ('c', 1)]

    Without `key`, a value is its own key. Order, `eager` and `on_error` are as in `reduce_by_key`.
    """
    return opens(Folding(count(), key=key or itself, eager=eager, on_error=on_error))


@overload
def aggregate(
    *, key: None = None, eager: bool = False, on_error: OnError[A] = "fail", **aggregates: Fold[A, Any]
) -> Transformer[A, dict[str, Any]]: ...
@overload
def aggregate(
    *, key: Function[A, K], eager: bool = False, on_error: OnError[A] = "fail", **aggregates: Fold[A, Any]
) -> Transformer[A, tuple[K, dict[str, Any]]]: ...
@transformer
@Emits.PER_TIME
def aggregate(
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
    **aggregates: Annotated[Fold[Any, Any], folds, Example("n=agg.count()")],
) -> Transformer[Any, Any]:
    """Compute several named results for each time, or for each key and time; emit them when the time is complete.

    >>> import pullstream as ps
    >>> sales = ps.values([("tea", 3), ("rice", 5), ("tea", 4)])
    >>> table = ps.aggregate(key=lambda sale: sale[0], n=ps.agg.count(), most=ps.agg.max(lambda sale: sale[1]))
    >>> ps.run(ps.pipe(sales, table, ps.collect()))
    [('tea', {'n': 2, 'most': 4}), ('rice', {'n': 1, 'most': 5})]

    Each keyword argument names a result, and its value is a `Fold`; `ps.agg` has ready-made ones. Without `key`, the
    result is only the dict. For a single result per key, use `reduce_by_key`. Order, `eager` and `on_error` are as in
    `reduce_by_key`.
    """
    return opens(Folding(several(**aggregates), key=key, eager=eager, on_error=on_error))
