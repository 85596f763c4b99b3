"""Results per time, and per key and time: `reduce_by_time`, `reduce_by_key`, `count_by_key`."""

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import Any, Literal

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer, sync_argument
from pullstream.engine.parts.notified import Notified
from pullstream.errors import CompositionError
from pullstream.modules.folds.fold import Fold, fold_argument

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_KEYS_AT_ONCE = "a key is computed at once; map_async the values to (key, value) first"


class PerTime(Notified):
    """A state for each time, from its first value until it is complete."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[Hashable, Any] = {}

    @abstractmethod
    def new(self) -> Any:
        """The state of a time before its first value."""

    @abstractmethod
    def add(self, time: Hashable, values: Sequence[Any]) -> None:
        """Take values into the state of their time."""

    @abstractmethod
    def results(self, state: Any) -> Sequence[Any]:
        """What is answered of a time's state when it is complete."""

    @override
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        if time not in self.states:
            self.notify(time, time)
            self.states[time] = self.new()
        self.add(time, values)

    @override
    def complete(self, time: Hashable) -> None:
        self.give(time, self.results(self.states.pop(time)))


class _ByTime(PerTime):
    def __init__(self, fold: Fold[Any, Any], *, eager: bool = False, on_error: str = "fail") -> None:
        super().__init__()
        self._fold = fold
        self._eager = eager
        self._skips = on_error == "skip"

    @override
    def new(self) -> list[Any]:
        return []

    @override
    def add(self, time: Hashable, values: Sequence[Any]) -> None:
        fold, state = self._fold, self.states[time]
        if not (self._eager or self._skips):
            state[:] = [reduce(fold.step, values, state[0] if state else fold.initial())]
            return
        results: list[Any] = []
        try:
            for value in values:
                try:
                    state[:] = [fold.step(state[0] if state else fold.initial(), value)]
                except Exception:
                    if not self._skips:
                        raise
                    self.left_out()
                else:
                    if self._eager:
                        results.append(fold.finish(state[0]))
        finally:
            self.give(time, results)

    @override
    def results(self, state: list[Any]) -> Sequence[Any]:
        # Everything at a time may have been left out.
        return [self._fold.finish(state[0])] if state else ()


class _ByKey(PerTime):
    def __init__(
        self, key: Callable[[Any], Hashable], fold: Fold[Any, Any], *, eager: bool = False, on_error: str = "fail"
    ) -> None:
        super().__init__()
        self._key = key
        self._fold = fold
        self._skips = on_error == "skip"
        self._plain = not (eager or self._skips)
        self._eager = eager

    @override
    def new(self) -> dict[Hashable, Any]:
        # What is made for a missing key stays there even if the step then raises, which a failed stream never shows.
        return defaultdict(self._fold.initial) if self._plain else {}

    @override
    def add(self, time: Hashable, values: Sequence[Any]) -> None:
        table, key, step = self.states[time], self._key, self._fold.step
        if self._plain:
            for value in values:
                name = key(value)
                table[name] = step(table[name], value)
            return
        results: list[Any] = []
        try:
            for value in values:
                try:
                    name = key(value)
                    table[name] = step(table[name] if name in table else self._fold.initial(), value)
                except Exception:
                    if not self._skips:
                        raise
                    self.left_out()
                else:
                    if self._eager:
                        results.append((name, self._fold.finish(table[name])))
        finally:
            self.give(time, results)

    @override
    def results(self, state: dict[Hashable, Any]) -> Sequence[Any]:
        finish = self._fold.finish
        return [(name, finish(held)) for name, held in state.items()]


class _Counts(PerTime):
    def __init__(self, key: Callable[[Any], Hashable] | None = None) -> None:
        super().__init__()
        self._key = key

    @override
    def new(self) -> Counter[Hashable]:
        return Counter()

    @override
    def add(self, time: Hashable, values: Sequence[Any]) -> None:
        self.states[time].update(values if self._key is None else map(self._key, values))

    @override
    def results(self, state: Counter[Hashable]) -> Sequence[Any]:
        return list(state.items())


def _options(module: str, on_error: str, *, eager: bool) -> tuple[tuple[str, object], ...]:
    if on_error not in ("fail", "skip"):
        raise CompositionError(f"{module}() at {Site.here()} got on_error={on_error!r}: it is 'fail' or 'skip'")
    options: tuple[tuple[str, object], ...] = (("eager", True),) if eager else ()
    return options if on_error == "fail" else (*options, ("on_error", on_error))


def reduce_by_time(
    fold: Fold[A, R], *, eager: bool = False, on_error: Literal["fail", "skip"] = "fail"
) -> Transformer[A, R]:
    """Fold the values of each time; the result comes when the time is complete, and not before.

    >>> import pullstream as ps
    >>> sales = ps.values([(1, 3), (1, 5), (2, 4)], time=lambda sale: sale[0])
    >>> ps.run(ps.pipe(sales, ps.reduce_by_time(ps.agg.sum(lambda sale: sale[1])), ps.collect(timed=True)))
    [(1, 8), (2, 4)]

    Times come as they complete, the least first; a time without values has no result. For `eager` and `on_error` see
    `reduce_by_key`.
    """
    fold_argument("reduce_by_time", fold)
    return Transformer((Module("reduce_by_time", _ByTime, (fold,), _options("reduce_by_time", on_error, eager=eager)),))


def reduce_by_key(
    key: Callable[[A], K], fold: Fold[A, R], *, eager: bool = False, on_error: Literal["fail", "skip"] = "fail"
) -> Transformer[A, tuple[K, R]]:
    """Fold the values of each key and time; `(key, result)` pairs come when the time is complete, and not before.

    >>> import pullstream as ps
    >>> words = ps.values([(1, "a"), (1, "b"), (1, "a"), (2, "a")], time=lambda pair: pair[0])
    >>> counts = ps.reduce_by_key(lambda pair: pair[1], ps.Fold(int, lambda n, _: n + 1))
    >>> ps.run(ps.pipe(words, counts, ps.collect()))
    [('a', 2), ('b', 1), ('a', 1)]

    The pairs of a time come in the order in which their keys were first seen; times come as they complete, the least
    first. The states of a time are kept until then, and dropped with it.

    With `eager=True` the result so far comes after every value as well. `finish` is then called with states that go
    on: it must not give away one that `step` changes in place. With `on_error="skip"` a value whose key or step raises
    is left out, and counted; what `finish` raises is no value's fault.
    """
    sync_argument("reduce_by_key", "key", key, _KEYS_AT_ONCE)
    fold_argument("reduce_by_key", fold)
    options = _options("reduce_by_key", on_error, eager=eager)
    return Transformer((Module("reduce_by_key", _ByKey, (key, fold), options),))


def count_by_key(
    key: Callable[[Any], Hashable] | None = None,
    *,
    eager: bool = False,
    on_error: Literal["fail", "skip"] = "fail",
) -> Transformer[Any, tuple[Any, int]]:
    """Count the values of each key and time; `(key, count)` pairs come when the time is complete, and not before.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abca"), ps.count_by_key(), ps.collect()))
    [('a', 2), ('b', 1), ('c', 1)]

    Without `key` a value is its own. Order, `eager` and `on_error` are those of `reduce_by_key`.
    """
    if key is not None:
        sync_argument("count_by_key", "key", key, _KEYS_AT_ONCE)
    options = _options("count_by_key", on_error, eager=eager)
    if not options:
        return Transformer((Module("count_by_key", _Counts, () if key is None else (key,)),))
    return Transformer((Module("count_by_key", _ByKey, (key or _itself, Fold(int, _one_more)), options),))


def _itself(value: Any) -> Any:
    return value


def _one_more(count: int, _: object) -> int:
    return count + 1
