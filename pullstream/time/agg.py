"""Aggregates: ready-made folds, for `aggregate`, `reduce_by_key`, `reduce_by_time`, `running` and `scan`.

Each but `count` takes `of`, a function that gives what it is about, a number say, of a value.

>>> import pullstream as ps
>>> from pullstream import agg
>>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.reduce_by_time(agg.mean()), ps.collect()))
[2.0]
"""

from collections.abc import Callable, Hashable
from functools import partial
from heapq import heappush, heappushpop
from typing import Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Site, count_argument, sync_argument
from pullstream.errors import CompositionError
from pullstream.time.fold import Fold

A = TypeVar("A")
B = TypeVar("B")

_AT_ONCE = "it is called at once; map_async the values first"


def count() -> Fold[Any, int]:
    """How many values there are."""
    return Fold(int, _one_more)


@overload
def sum() -> Fold[Any, Any]: ...
@overload
def sum(of: Callable[[A], B], start: B | int = 0) -> Fold[A, B]: ...
@overload
def sum(*, start: B) -> Fold[B, B]: ...
def sum(of: Callable[[Any], Any] | None = None, start: Any = 0) -> Fold[Any, Any]:
    """The sum of all; `start` is the sum of nothing, for what is not a number: `start=timedelta()`."""
    return Fold(partial(_itself, start), partial(_plus, _of("sum", of)))


@overload
def min() -> Fold[A, A]: ...
@overload
def min(of: Callable[[A], B]) -> Fold[A, B]: ...
def min(of: Callable[[Any], Any] | None = None) -> Fold[Any, Any]:
    """The least; of several that are equal, the first."""
    return Fold(list, partial(_less, _of("min", of)), _only)


@overload
def max() -> Fold[A, A]: ...
@overload
def max(of: Callable[[A], B]) -> Fold[A, B]: ...
def max(of: Callable[[Any], Any] | None = None) -> Fold[Any, Any]:
    """The greatest; of several that are equal, the first."""
    return Fold(list, partial(_greater, _of("max", of)), _only)


def mean(of: Callable[[A], Any] | None = None) -> Fold[A, Any]:
    """The arithmetic mean."""
    return Fold(list, partial(_add_up, _of("mean", of)), _mean)


def quantile(q: float, of: Callable[[A], Any] | None = None) -> Fold[A, Any]:
    """The value below which a part `q`, from 0 to 1, of all lie: 0.5 is the median.

    Between two values it is interpolated, linearly. All are kept until the end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 0, 5, 1]), ps.reduce_by_time(ps.agg.quantile(0.5)), ps.collect()))
    [3.0]
    """
    if isinstance(q, bool) or not 0 <= q <= 1:
        raise CompositionError(f"quantile() at {Site.here()} needs a q from 0 to 1, and got {q!r}")
    return Fold(list, partial(_keep, _of("quantile", of)), partial(_quantile, q))


def top(k: int, of: Callable[[A], Any] | None = None) -> Fold[A, list[A]]:
    """The `k` values of which `of` gives the most, the greatest first; of those that are equal, the first ones.

    >>> import pullstream as ps
    >>> from pullstream import agg
    >>> ps.run(ps.pipe(ps.values(["fig", "melon", "plum", "lime"]), ps.reduce_by_time(agg.top(2, len)), ps.collect()))
    [['melon', 'plum']]
    """
    count_argument("top", "k", k, least=1)
    return Fold(list, partial(_push, k, _of("top", of)), _greatest_first)


def distinct(of: Callable[[A], Hashable] | None = None) -> Fold[A, int]:
    """How many different ones there are; each is kept until the end."""
    return Fold(set, partial(_include, _of("distinct", of)), len)


def _of(name: str, of: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if of is None:
        return _itself
    sync_argument(name, "of", of, _AT_ONCE)
    return of


# Functions by name, and no closures, so that a blueprint can be pickled by name as well.


def _itself(value: Any) -> Any:
    return value


def _one_more(number: int, _: object) -> int:
    return number + 1


def _plus(of: Callable[[Any], Any], total: Any, value: Any) -> Any:
    return total + of(value)


def _less(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    given = of(value)
    if not best or given < best[0]:
        best[:] = [given]
    return best


def _greater(of: Callable[[Any], Any], best: list[Any], value: Any) -> list[Any]:
    given = of(value)
    if not best or best[0] < given:
        best[:] = [given]
    return best


def _only(best: list[Any]) -> Any:
    return best[0]


def _add_up(of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    given = of(value)
    if state:
        state[0] += given
        state[1] += 1
    else:
        state[:] = [given, 1]
    return state


def _mean(state: list[Any]) -> Any:
    total, number = state
    return total / number


def _keep(of: Callable[[Any], Any], kept: list[Any], value: Any) -> list[Any]:
    kept.append(of(value))
    return kept


def _quantile(q: float, kept: list[Any]) -> Any:
    kept.sort()
    place = q * (len(kept) - 1)
    below = int(place)
    part = place - below
    return kept[below] + (kept[below + 1] - kept[below]) * part if part else kept[below]


def _push(k: int, of: Callable[[Any], Any], state: list[Any], value: Any) -> list[Any]:
    """Keep the greatest in a heap; beside it, how many there have been, by which equal ones are told apart."""
    if not state:
        state[:] = [0, []]
    number, heap = state
    state[0] = number + 1
    entry = (of(value), -number, value)
    if len(heap) < k:
        heappush(heap, entry)
    else:
        heappushpop(heap, entry)
    return state


def _greatest_first(state: list[Any]) -> list[Any]:
    return [value for _, _, value in sorted(state[1], key=lambda entry: entry[:2], reverse=True)]


def _include(of: Callable[[Any], Hashable], seen: set[Hashable], value: Any) -> set[Hashable]:
    seen.add(of(value))
    return seen
