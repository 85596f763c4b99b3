"""Ready-made folds, for `reduce`, `reduce_by_time`, `reduce_by_key`, `aggregate`, `accumulate` and `scan`.

Every fold except `count` takes `of`, a function that is applied to each value first: `agg.sum(of)` adds up its results.
All folds have a `merge`, so parts of the values can be folded separately (`Fold.partial`, `Fold.merging`). Unlike in
SQL, None is not skipped and usually raises a TypeError: `filter` it out first, or let `of` replace it. Do the same
with NaN, which has no order: with it, `min`, `max`, `top` and `quantile` depend on the order of values. Without values,
`count`, `count_unique` and `sum` give 0, `top` and `most_common` give [], and the others raise ValueError.

>>> import pullstream as ps
>>> from pullstream import agg
>>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.reduce_by_time(agg.mean()), ps.collect()))
[2.0]
"""

import heapq
import operator
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final, TypeAlias, cast, overload

import attrs

from pullstream.blueprint import Call, Example, Positive, Sync, checked
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, B, V
from pullstream.engine.parts.fused import result_of
from pullstream.late import publish
from pullstream.modules.folds import sketches
from pullstream.modules.folds.fold import Fold, folds, itself, one_more

_KEY: Final = Sync("a fold cannot await; use map_async first", "a value")
Of: TypeAlias = Annotated[Function[A, B] | None, _KEY]


def _part(call: Call, q: Any) -> Any:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise call.refuse(f"needs q from 0 to 1, but got {q!r}. Example: quantile(0.5, of)")
    return q


@checked
def count() -> Fold[Any, int]:
    """Count the values."""
    return Fold(int, one_more, merge=operator.add)


@overload
def sum() -> Fold[Any, Any]: ...
@overload
def sum(of: Function[A, B], start: B | int = 0) -> Fold[A, B]: ...
@overload
def sum(*, start: B) -> Fold[B, B]: ...
@checked
def sum(of: Of[Any, Any] = None, start: Any = 0) -> Fold[Any, Any]:
    """Sum the values. `start` is the sum of no values; set it for values that are not numbers: `start=timedelta()`.

    If partial results are merged, every part begins with `start`, so it must be neutral.
    """
    return Fold(partial(itself, start), partial(_plus, of or itself), merge=operator.add)


@overload
def min() -> Fold[V, V]: ...
@overload
def min(of: Function[A, B]) -> Fold[A, B]: ...
@checked
def min(of: Of[Any, Any] = None) -> Fold[Any, Any]:
    """Find the least value; among equal ones, the first."""
    return _extreme(_least, operator.lt, of or itself, 0)


@overload
def max() -> Fold[V, V]: ...
@overload
def max(of: Function[A, B]) -> Fold[A, B]: ...
@checked
def max(of: Of[Any, Any] = None) -> Fold[Any, Any]:
    """Find the greatest value; among equal ones, the first."""
    return _extreme(_greatest, operator.gt, of or itself, 0)


@checked
def min_by(of: Annotated[Function[V, Any], _KEY]) -> Fold[V, V]:
    """Find the value for which `of` is least; among equal ones, the first.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["melon", "fig", "plum"]), ps.reduce(ps.agg.min_by(len))))
    'fig'
    """
    return _extreme(_least, operator.lt, of, 1)


@checked
def max_by(of: Annotated[Function[V, Any], _KEY]) -> Fold[V, V]:
    """Find the value for which `of` is greatest; among equal ones, the first."""
    return _extreme(_greatest, operator.gt, of, 1)


@checked
def mean(of: Of[V, Any] = None) -> Fold[V, Any]:
    """Compute the arithmetic mean."""
    return Fold(list, partial(_add_up, of or itself), _mean, _added_up)


@checked
def quantile(q: Annotated[float, _part], of: Of[V, Any] = None, *, approximate: bool = False) -> Fold[V, Any]:
    """Compute the `q`-quantile, with `q` from 0 to 1: 0.5 is the median.

    Between two values, it is interpolated linearly. All values are kept until the end. With `approximate=True` a few
    thousand are kept, and the result is one of the values, whose rank is about 0.7 % off. That needs the extra
    `sketches`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 0, 5, 1]), ps.reduce_by_time(ps.agg.quantile(0.5)), ps.collect()))
    [3.0]
    """
    if approximate:
        return _sketched(sketches.Quantiles, of, partial(_sketched_quantile, q))
    return Fold(list, partial(_keep, of or itself), partial(_quantile, q), _extended)


@checked
def top(k: Positive, of: Of[V, Any] = None) -> Fold[V, list[V]]:
    """Find the `k` values for which `of` is greatest, greatest first; among equal ones, the first.

    Only `k` values are kept. For the values that are most frequent, use `most_common`.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> ps.run(ps.pipe(ps.values(["fig", "melon", "plum", "lime"]), ps.reduce_by_time(agg.top(2, len)), ps.collect()))
    [['melon', 'plum']]
    """
    return Fold(_ranking, partial(_push, k, of or itself), _greatest_first, partial(_pushed, k))


@checked
def most_common(k: Positive, of: Of[V, Hashable] = None, *, approximate: bool = False) -> Fold[V, list[Any]]:
    """Find the `k` most frequent values and how often they occur, most frequent first; among equal ones, the first.

    Each distinct value is kept until the end. With `approximate=True` at most 3,072 are kept, a count is too high by at
    most 0.09 % of the number of all values, and equal ones are in any order. That needs the extra `sketches`.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> ps.run(ps.pipe(ps.values("abracadabra"), ps.reduce(agg.most_common(2))))
    [('a', 5), ('b', 2)]
    """
    if approximate:
        return _sketched(sketches.Frequent, of, operator.methodcaller("most", k))
    return Fold(Counter, partial(_count, of or itself), operator.methodcaller("most_common", k), _updated)


@checked
def count_unique(of: Of[V, Hashable] = None, *, approximate: bool = False) -> Fold[V, int]:
    """Count the distinct values. Each one is kept until the end.

    With `approximate=True` at most 16 kB are kept, and the result is about 0.8 % off. That needs the extra `sketches`.
    Values other than ints, floats and text are then distinguished by their `repr`, so `Decimal("1.0")` and
    `Decimal("1.00")` count as two.
    """
    if approximate:
        return _sketched(sketches.Unique, of, _estimate)
    return Fold(set, partial(_include, of or itself), len, _updated)


@checked
def several(**aggregates: Annotated[Fold[A, Any], folds, Example("n=agg.count()")]) -> Fold[A, dict[str, Any]]:
    """Compute several named aggregates of the same values; the result is a dict.

    It has a `merge` if all of its folds do. With `on_error` in the module, a value for which one of them raises is left
    out of all. But a `quantile`, `top`, `most_common` or `count_unique` before it has taken the value: name these last.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> both = agg.several(n=agg.count(), most=agg.max())
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.reduce_by_time(both), ps.collect()))
    [{'n': 3, 'most': 3}]
    """
    every = _All(tuple(aggregates.items()))
    merges = all(fold.merge is not None for fold in aggregates.values())
    return Fold(every.initial, every.step, every.finish, every.merge if merges else None)


# Module-level functions instead of closures, so that a blueprint can be pickled.


def _plus(of: Callable[[Any], Any], total: Any, value: Any) -> Any:
    return total + of(value)


def _extreme(
    step: Callable[..., Any], before: Callable[[Any, Any], bool], of: Callable[[Any], Any], place: int
) -> Fold[Any, Any]:
    """Make the fold for the first value in an order by `of`: it keeps [of(value), value], and returns one of them."""
    return Fold(list, partial(step, of), partial(_best, place), partial(_first_of, before))


# Two functions: passing the comparison as a function would cost a tenth of the fold's time.
def _least(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    key = of(value)
    return [key, value] if not best or key < best[0] else best


def _greatest(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    key = of(value)
    return [key, value] if not best or best[0] < key else best


def _first_of(before: Callable[[Any, Any], bool], best: list[Any], other: list[Any]) -> list[Any]:
    return other if other and (not best or before(other[0], best[0])) else best


def _best(place: int, best: list[Any]) -> Any:
    if not best:
        raise ValueError("no values, so there is no least or greatest one; reduce(f, initial) returns initial instead")
    return best[place]


def _add_up(of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    number = of(value)
    # Not `+=`: the first state is one of the user's objects.
    return [state[0] + number, state[1] + 1] if state else [number, 1]


def _added_up(state: list[Any], other: list[Any]) -> list[Any]:
    return [state[0] + other[0], state[1] + other[1]] if state and other else state or other


def _mean(state: list[Any]) -> Any:
    if not state:
        raise ValueError("no values, so there is no mean")
    total, number = state
    return total / number


def _keep(of: Callable[[Any], Any], numbers: list[Any], value: Any) -> list[Any]:
    numbers.append(of(value))
    return numbers


def _extended(numbers: list[Any], other: list[Any]) -> list[Any]:
    numbers.extend(other)
    return numbers


def _quantile(q: float, numbers: list[Any]) -> Any:
    if not numbers:
        raise ValueError("no values, so there is no quantile")
    numbers.sort()
    place = q * (len(numbers) - 1)
    below = int(place)
    part: Any = place - below
    if not part:
        return numbers[below]
    gap = numbers[below + 1] - numbers[below]
    return numbers[below] + gap * (Decimal(part) if isinstance(gap, Decimal) else part)


def _ranking() -> list[Any]:
    """Make the state of `top`: the number of values so far, which orders equal ones, and a heap of the greatest."""
    return [0, []]


def _push(k: int, of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    number, heap = state
    state[0] = number + 1
    _keep_greatest(k, heap, (of(value), -number, value))
    return state


def _keep_greatest(k: int, heap: list[Any], entry: tuple[Any, int, Any]) -> None:
    if len(heap) < k:
        sorted([entry, *heap[:1]])  # raises if they cannot be compared, before the push leaves the entry in the heap
        heapq.heappush(heap, entry)
    else:
        heapq.heappushpop(heap, entry)


def _pushed(k: int, state: list[Any], other: list[Any]) -> list[Any]:
    """Push another heap's values as if they had arrived after these."""
    number, heap = state
    for given, order, value in other[1]:
        _keep_greatest(k, heap, (given, order - number, value))
    state[0] = number + other[0]
    return state


def _greatest_first(state: list[Any]) -> list[Any]:
    heap: list[tuple[Any, int, Any]] = state[1]
    return [value for _, _, value in sorted(heap, key=lambda entry: entry[:2], reverse=True)]


def _include(of: Callable[[Any], Hashable], seen: set[Hashable], value: Any) -> set[Hashable]:
    key = of(value)
    seen.add(key if seen else result_of(of, key))
    return seen


def _updated(state: Any, other: Any) -> Any:
    """Merge two sets of values, or two Counters, whose counts are added."""
    state.update(other)
    return state


def _count(of: Callable[[Any], Hashable], counts: dict[Hashable, int], value: Any) -> dict[Hashable, int]:
    key = of(value) if counts else result_of(of, of(value))
    counts[key] = counts.get(key, 0) + 1
    return counts


def _sketched(kind: Any, of: Callable[[Any], Any] | None, finish: Callable[[Any], Any]) -> Fold[Any, Any]:
    """Make a fold whose state is a sketch; refuse it, when composing, without the package."""
    sketches.driver()
    return Fold(kind, partial(_put, of or itself), finish, kind.merge)


def _put(of: Callable[[Any], Any], sketch: Any, value: Any) -> Any:
    return sketch.add(of(value))


def _sketched_quantile(q: float, state: Any) -> Any:
    if state.sketch.is_empty():
        raise ValueError("no values, so there is no quantile")
    return state.sketch.get_quantile(q, inclusive=True)


def _estimate(state: Any) -> int:
    return round(state.sketch.get_estimate())


@attrs.frozen
class _All:
    """The functions of the fold that computes several others."""

    folds: tuple[tuple[str, Fold[Any, Any]], ...]

    def initial(self) -> tuple[Any, ...]:
        return tuple([fold.initial() for _, fold in self.folds])

    def step(self, states: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        # If one of them raises, the others must not have taken the value.
        return tuple([fold.step(state, value) for (_, fold), state in zip(self.folds, states, strict=True)])

    def finish(self, states: tuple[Any, ...]) -> dict[str, Any]:
        return {name: fold.finish(state) for (name, fold), state in zip(self.folds, states, strict=True)}

    def merge(self, states: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
        merges = [cast("Callable[[Any, Any], Any]", fold.merge) for _, fold in self.folds]
        return tuple([merge(state, other) for merge, state, other in zip(merges, states, others, strict=True)])


__all__ = [
    "count",
    "count_unique",
    "max",
    "max_by",
    "mean",
    "min",
    "min_by",
    "most_common",
    "quantile",
    "several",
    "sum",
    "top",
]

publish(__name__)
