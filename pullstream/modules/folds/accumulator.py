"""The accumulator behind every fold, window and running state: tables, from `new` through `add` to `results`."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import islice, tee
from operator import length_hint
from typing import Any, TypeAlias, cast

from pullstream.engine.parts.fused import result_of
from pullstream.errors import no_end
from pullstream.failures import caught
from pullstream.modules.folds.fold import LISTING, Fold, emitting, itself, one_more
from pullstream.protocol import listed

KeyStates: TypeAlias = dict[Hashable, Any]
"""The state of each key; without keys, a single state of the key None."""

EarlyResults: TypeAlias = list[tuple[int, Any]]
"""Early results: the number of a table, and its result so far or the mark of a failure."""


def keys_of(
    key: Callable[[Any], Hashable], values: Sequence[Any]
) -> tuple[list[Hashable], tuple[Any, BaseException] | None]:
    """The keys of values up to the first whose key fails, then that value and its failure, if any.

    >>> keys_of(lambda n: 6 / n, [1, 2, 0, 3])
    ([6.0, 3.0], (0, ZeroDivisionError('division by zero')))
    """
    # A set hashes each key when it is computed: no key after a failing one is computed yet, so none is computed twice.
    left = iter(listed(values))
    found, kept = tee(map(key, left))
    try:
        set[Hashable]().update(found)
    except BaseException as exc:  # noqa: BLE001 - the caller raises it after the values before it
        failure = exc
        keys = list(islice(kept, len(values) - length_hint(left) - 1))
    else:
        failure = no_end()
        # If values are left, a key before them raised StopIteration, and `kept` would continue with their keys.
        unseen = length_hint(left)
        keys = list(islice(kept, len(values) - unseen - 1 if unseen else None))
        if len(keys) == len(values):
            if keys:
                result_of(key, keys[0])
            return keys, None
    # If the key function is not written in Python, an error shows the variable with this name.
    value = values[len(keys)]
    return keys, (value, failure)


class Accumulator:
    """Folds values into tables: a state for each key or, without a key, one for all.

    Without a `fold` the result is the list of the values. With `eager`, `add` also gives the result so far after every
    value. With an `on_error` other than "fail", a value whose key or step raises is left out, and `add` gives its mark,
    which the module downstream handles (see `with_policy`).

    >>> from pullstream import Fold
    >>> counting = Accumulator(Fold(int, lambda n, _: n + 1), key=str.lower)
    >>> table = counting.new()
    >>> counting.add([table], "aBA", [])
    >>> counting.results(table)
    [('a', 2), ('b', 1)]
    """

    def __init__(
        self,
        fold: Fold[Any, Any] | None = None,
        *,
        key: Callable[[Any], Hashable] | None = None,
        eager: bool = False,
        on_error: object = "fail",
    ) -> None:
        fold = LISTING if fold is None else fold
        # A list that is emitted while it grows must be copied.
        self._finish: Callable[[Any], Any] = list if eager and fold is LISTING else fold.finish
        self.initial, self.step = emitting(fold) if eager and self._finish is itself else (fold.initial, fold.step)
        self.key = key
        self._untried = True
        """Whether no result was checked yet; the first shows whether a function returns coroutines."""
        self.eager = eager
        self._catches = on_error != "fail"
        self.plain = not (eager or self._catches)
        """Whether there are no early results, and a value that fails ends the stream."""
        self._lists = fold is LISTING
        self.counts = self.plain and key is not None and self.step is one_more
        """Whether it counts values by key, so only their keys matter."""

    def new(self, before: Mapping[Hashable, Any] | None = None) -> KeyStates:
        """A table without values; a key in the table `before` starts with its state there."""
        if not self.plain or before is not None:
            return _States(self.initial, {} if before is None else before)
        # The state made for a missing key stays even if the step then raises, but a failed stream never shows it.
        return Counter() if self.counts else defaultdict(self.initial)

    def add(self, tables: Sequence[KeyStates], values: Sequence[Any], early: EarlyResults) -> None:
        """Add values to all of the tables, value by value; the key of each is computed once.

        An exception comes after the `early` results.
        """
        if self.plain:
            if len(tables) == 1:
                self._take(tables[0], values)
            else:
                self._take_into_all(tables, values)
            return
        key, step = self.key, self.step
        for value in values:
            failed = False
            try:
                name = None if key is None else key(value)
            except Exception as exc:
                if not self._catches:
                    raise
                early.append((0, caught(value, exc)))
                continue
            for number, table in enumerate(tables):
                try:
                    state = table[name] = step(table[name], value)
                except Exception as exc:
                    if not self._catches:
                        raise
                    # Only one value failed, in however many tables.
                    if not failed:
                        early.append((number, caught(value, exc)))
                    failed = True
                else:
                    if self.eager:
                        early.append((number, self.result(name, state)))

    def _take(self, table: KeyStates, values: Sequence[Any]) -> None:
        key, step = self.key, self.step
        if key is None:
            table[None] = self.fold(table[None], values)
        elif isinstance(table, Counter):
            table.update(values if key is itself else [key(value) for value in values])
        else:
            for value in values:
                name = key(value)
                table[name] = step(table[name], value)

    def _take_into_all(self, tables: Sequence[KeyStates], values: Sequence[Any]) -> None:
        key, step = self.key, self.step
        if self.counts and key is not None:
            names, wrong = keys_of(key, values)
            for table in tables:
                cast("Counter[Hashable]", table).update(names)
            if wrong is not None:
                raise wrong[1]
            return
        for value in values:
            name = None if key is None else key(value)
            for table in tables:
                table[name] = step(table[name], value)

    def add_each(self, tables: Iterable[KeyStates], values: Iterable[Any], early: EarlyResults) -> None:
        """Add each value to a table of its own, unless `eager`; no value is read before its turn.

        An exception comes after the `early` results.
        """
        key, step = self.key, self.step
        if self._catches:
            for number, (table, value) in enumerate(zip(tables, values, strict=False)):
                try:
                    name = None if key is None else key(value)
                    table[name] = step(table[name], value)
                except Exception as exc:  # noqa: BLE001 - the policy handles it
                    early.append((number, caught(value, exc)))
        elif key is None and step is one_more:
            for table, _ in zip(tables, values, strict=False):
                table[None] += 1
        elif key is None:
            for table, value in zip(tables, values, strict=False):
                table[None] = step(table[None], value)
        elif self.counts:
            for table, value in zip(tables, values, strict=False):
                name = key(value)
                table[name] = table.get(name, 0) + 1
        else:
            for table, value in zip(tables, values, strict=False):
                name = key(value)
                table[name] = step(table[name], value)

    def fold(self, state: Any, values: Sequence[Any]) -> Any:
        """The state after some more values."""
        if self._lists:
            state += listed(values)
            return state
        if self.step is one_more:
            return state + len(values)
        return reduce(self.step, values, state)

    def results(self, table: KeyStates) -> list[Any]:
        """The results of a table: `(key, result)` for each key, in the order in which they were first seen.

        Without a key, the single result; none if every value was left out.

        Raises: TypeError: the first of all keys, states or results is a coroutine.
        """
        if self._finish is itself:
            if self._untried:
                for name, state in islice(table.items(), 1):
                    self._try(name, state, state)
            return list(table.values()) if self.key is None else list(table.items())
        return [self.result(name, state) for name, state in table.items()]

    def result(self, name: Hashable, state: Any) -> Any:
        """The result of the state of a key, as `results` gives it."""
        result = self._finish(state)
        if self._untried:
            self._try(name, state, result)
        return result if self.key is None else (name, result)

    def _try(self, name: Hashable, state: Any, result: Any) -> None:
        self._untried = False
        if self.key is not None:
            result_of(self.key, name)
        result_of(self._finish, result_of(self.step, state) if result is state else result)


class _States(dict[Hashable, Any]):
    """A table that keeps a missing key only after a step has made its state."""

    def __init__(self, initial: Callable[[], Any], before: Mapping[Hashable, Any]) -> None:
        super().__init__()
        self._initial = initial
        self._before = before

    def __missing__(self, name: Hashable) -> Any:
        return self._before[name] if name in self._before else self._initial()
