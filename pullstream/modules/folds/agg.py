"""Aggregates: ready-made folds, for `aggregate`, `reduce_by_key`, `reduce_by_time`, `accumulate` and `scan`.

Each but `count` takes `of`, a function that gives what it is about, a number say, of a value. All have a `merge`, so
parts of the values can be aggregated apart (`Fold.partial`, `Fold.merging`). None is not skipped (SQL skips it), and is
mostly a TypeError: `filter` it out first, or have `of` give something for it.

>>> import pullstream as ps
>>> from pullstream import agg
>>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.reduce_by_time(agg.mean()), ps.collect()))
[2.0]
"""

import heapq
import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Annotated, Any, TypeAlias, cast, overload

import attrs
from typing_extensions import TypeVar

from pullstream.blueprint import Call, Positive, Sync, checked
from pullstream.blueprint.parts import Function
from pullstream.engine.parts.fold import Fold, folds, itself, one_more

A = TypeVar("A")
V = TypeVar("V", default=Any)
B = TypeVar("B")

Of: TypeAlias = Annotated[Function[A, B] | None, Sync("it is called at once; map_async the values first")]


def _part(call: Call, q: Any) -> Any:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise call.refuse(f"needs a q from 0 to 1, and got {q!r}: quantile(0.5, of)")
    return q


def count() -> Fold[Any, int]:
    """The number of values."""
    return Fold(int, one_more, merge=operator.add)


@overload
def sum() -> Fold[Any, Any]: ...
@overload
def sum(of: Function[A, B], start: B | int = 0) -> Fold[A, B]: ...
@overload
def sum(*, start: B) -> Fold[B, B]: ...
@checked
def sum(of: Of[Any, Any] = None, start: Any = 0) -> Fold[Any, Any]:
    """The sum of all; `start` is the sum of nothing, for what is not a number: `start=timedelta()`.

    Where parts are merged it is in each of them, so it must then really be the sum of nothing.
    """
    return Fold(partial(itself, start), partial(_plus, of or itself), merge=operator.add)


@overload
def min() -> Fold[V, V]: ...
@overload
def min(of: Function[A, B]) -> Fold[A, B]: ...
@checked
def min(of: Of[Any, Any] = None) -> Fold[Any, Any]:
    """The least; of several that are equal, the first."""
    return Fold(list, partial(_less, of or itself), _only, _less_of)


@overload
def max() -> Fold[V, V]: ...
@overload
def max(of: Function[A, B]) -> Fold[A, B]: ...
@checked
def max(of: Of[Any, Any] = None) -> Fold[Any, Any]:
    """The greatest; of several that are equal, the first."""
    return Fold(list, partial(_greater, of or itself), _only, _greater_of)


@checked
def mean(of: Of[V, Any] = None) -> Fold[V, Any]:
    """The arithmetic mean."""
    return Fold(list, partial(_add_up, of or itself), _mean, _added_up)


@checked
def quantile(q: Annotated[float, _part], of: Of[V, Any] = None) -> Fold[V, Any]:
    """The value below which a part `q`, from 0 to 1, of all lie: 0.5 is the median.

    Between two values it is interpolated, linearly. All are kept until the end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 0, 5, 1]), ps.reduce_by_time(ps.agg.quantile(0.5)), ps.collect()))
    [3.0]
    """
    return Fold(list, partial(_keep, of or itself), partial(_quantile, q), _all_kept)


@checked
def top(k: Positive, of: Of[V, Any] = None) -> Fold[V, list[V]]:
    """The `k` values of which `of` gives the most, the greatest first; of those that are equal, the first ones.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> ps.run(ps.pipe(ps.values(["fig", "melon", "plum", "lime"]), ps.reduce_by_time(agg.top(2, len)), ps.collect()))
    [['melon', 'plum']]
    """
    return Fold(list, partial(_push, k, of or itself), _greatest_first, partial(_pushed, k))


@checked
def distinct(of: Of[V, Hashable] = None) -> Fold[V, int]:
    """The number of different values; each is kept until the end."""
    return Fold(set, partial(_include, of or itself), len, _all_seen)


@checked
def several(**aggregates: Annotated[Fold[A, Any], folds]) -> Fold[A, dict[str, Any]]:
    """Several aggregates of the same values at once, with a name for each; the result is a dict.

    It has a `merge` if all of them do.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> both = agg.several(n=agg.count(), most=agg.max())
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.reduce_by_time(both), ps.collect()))
    [{'n': 3, 'most': 3}]
    """
    every = _All(tuple(aggregates.items()))
    merges = all(fold.merge is not None for fold in aggregates.values())
    return Fold(every.initial, every.step, every.finish, every.merge if merges else None)


# Functions by name, and no closures, so that a blueprint can be pickled by name as well.


def _plus(of: Callable[[Any], Any], total: Any, value: Any) -> Any:
    return total + of(value)


def _less(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    candidate = of(value)
    if not best or candidate < best[0]:
        best[:] = [candidate]
    return best


def _greater(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    candidate = of(value)
    if not best or best[0] < candidate:
        best[:] = [candidate]
    return best


def _less_of(best: list[Any], other: list[Any]) -> list[Any]:
    return _less(itself, best, other[0]) if other else best


def _greater_of(best: list[Any], other: list[Any]) -> list[Any]:
    return _greater(itself, best, other[0]) if other else best


def _only(best: list[Any]) -> Any:
    return best[0]


def _add_up(of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    number = of(value)
    if state:
        # Not in place: what is there is a value of the user's.
        state[:] = [state[0] + number, state[1] + 1]
    else:
        state[:] = [number, 1]
    return state


def _added_up(state: list[Any], other: list[Any]) -> list[Any]:
    return [state[0] + other[0], state[1] + other[1]] if state and other else state or other


def _mean(state: list[Any]) -> Any:
    total, number = state
    return total / number


def _keep(of: Callable[[Any], Any], numbers: list[Any], value: Any) -> list[Any]:
    numbers.append(of(value))
    return numbers


def _all_kept(numbers: list[Any], other: list[Any]) -> list[Any]:
    numbers.extend(other)
    return numbers


def _quantile(q: float, numbers: list[Any]) -> Any:
    numbers.sort()
    place = q * (len(numbers) - 1)
    below = int(place)
    part = place - below
    return numbers[below] + (numbers[below + 1] - numbers[below]) * part if part else numbers[below]


def _push(k: int, of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    """Keep the greatest in a heap; beside it, how many there have been, by which equal ones are told apart."""
    if not state:
        state[:] = [0, []]
    number, heap = state
    state[0] = number + 1
    entry = (of(value), -number, value)
    if len(heap) < k:
        heapq.heappush(heap, entry)
    else:
        heapq.heappushpop(heap, entry)
    return state


def _pushed(k: int, state: list[Any], other: list[Any]) -> list[Any]:
    """Push another heap's values as if they had come after these."""
    if not other:
        return state
    if not state:
        state[:] = [0, []]
    number, heap = state
    for given, order, value in other[1]:
        entry = (given, order - number, value)
        if len(heap) < k:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    state[0] = number + other[0]
    return state


def _greatest_first(state: list[Any]) -> list[Any]:
    return [value for _, _, value in sorted(state[1], key=lambda entry: entry[:2], reverse=True)]


def _include(of: Callable[[Any], Hashable], seen: set[Hashable], value: Any) -> set[Hashable]:
    seen.add(of(value))
    return seen


def _all_seen(seen: set[Hashable], other: set[Hashable]) -> set[Hashable]:
    seen.update(other)
    return seen


@attrs.frozen
class _All:
    """The parts of the fold that does several at once."""

    folds: tuple[tuple[str, Fold[Any, Any]], ...]

    def initial(self) -> list[Any]:
        return [fold.initial() for _, fold in self.folds]

    def step(self, states: list[Any], value: Any) -> list[Any]:
        for number, (_, fold) in enumerate(self.folds):
            states[number] = fold.step(states[number], value)
        return states

    def finish(self, states: list[Any]) -> dict[str, Any]:
        return {name: fold.finish(state) for (name, fold), state in zip(self.folds, states, strict=True)}

    def merge(self, states: list[Any], others: list[Any]) -> list[Any]:
        merges = [cast("Callable[[Any, Any], Any]", fold.merge) for _, fold in self.folds]
        return [merge(state, other) for merge, state, other in zip(merges, states, others, strict=True)]
