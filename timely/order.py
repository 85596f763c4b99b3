"""The order of logical times: Python's own `<=`, a least element, and sorting.

A time is any hashable value whose type defines `<=` as a partial order that agrees with `==`. Numbers, dates and
strings bring a total order, tuples compare lexicographically, frozensets by inclusion, `Product` componentwise. Two
times may be incomparable: both `a <= b` and `b <= a` are then false.

Three optional class attributes let a type of yours help the tracker; without them everything still works, only slower:

- `totally_ordered = True`: any two values of the type are comparable;
- `sort_key(self)`: a value that sorts, such that `a < b` implies `a.sort_key() < b.sort_key()` (a linear extension);
- `componentwise = True`: `a <= b` says the same as `<=` of each of their `parts`, two tuples of one length.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from itertools import islice, pairwise
from math import isnan
from operator import le, ne
from typing import Any, Final, Protocol, TypeVar, cast, final, overload, runtime_checkable

from .errors import TimeDomainError

T = TypeVar("T", bound=Hashable)


@runtime_checkable
class PartialOrder(Protocol):
    """The interface of times: a partial order by `<=`, and a hash that agrees with `==`."""

    def __le__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...


@final
class Beginning:
    """The time below every other: where a source stands before it knows anything. There is one, `BEGINNING`.

    It is at or below the times of every domain and no path moves it.

    >>> BEGINNING <= 0, BEGINNING <= "a", 0 <= BEGINNING, BEGINNING <= BEGINNING
    (True, True, False, True)
    >>> min([3, BEGINNING, 1])
    BEGINNING
    """

    __slots__ = ()

    def __le__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __ge__(self, other: object) -> bool:
        return other is self

    def __gt__(self, other: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        return 0x6265_6769

    def __repr__(self) -> str:
        return "BEGINNING"

    def __reduce__(self) -> str:
        return "BEGINNING"


BEGINNING: Final = Beginning()


def less_equal(a: Any, b: Any) -> bool:
    """Whether `a` is at or before `b`.

    Raises:
        TimeDomainError: the two belong to domains that have no common order.

    >>> less_equal(1, 2), less_equal(frozenset("a"), frozenset("b"))
    (True, False)
    """
    if a is BEGINNING:
        return True
    if b is BEGINNING:
        return False
    try:
        return bool(a <= b)
    except TypeError as error:
        raise unlike(a, b) from error


def less_than(a: Any, b: Any) -> bool:
    """Whether `a` is strictly before `b`.

    >>> less_than(1, 1), less_than(BEGINNING, 1)
    (False, True)
    """
    return a != b and less_equal(a, b)


def unlike(a: object, b: object) -> TimeDomainError:
    """The error for two times without a common order, naming both."""
    if isinstance(a, datetime) and isinstance(b, datetime):
        return TimeDomainError(
            f"a time with a time zone and one without cannot be compared: {a!r} and {b!r}; give both one, "
            f"time.replace(tzinfo=...), or neither"
        )
    return TimeDomainError(
        f"times of two domains cannot be compared: {a!r} ({type(a).__name__}) and {b!r} ({type(b).__name__}); "
        "keep one domain per edge, or convert one before they meet",
    )


def minimal(times: Iterable[T]) -> list[T]:
    """The minimal elements, in order of first appearance, without repeats.

    >>> minimal([frozenset("ab"), frozenset("a"), frozenset("b"), frozenset("a")])
    [frozenset({'a'}), frozenset({'b'})]
    """
    if isinstance(times, Ascending):
        return [times[0]] if times else []
    times = times if isinstance(times, Sequence) else list(times)
    if in_one_order(times):
        # Nothing looks as quickly as `min` does, and of many times this is the commonest kind.
        return [cast("Any", min)(times)]
    if len(times) > FEW and (pairs := _pairs(times)) is not None:
        return [times[place] for place in _minimal_pairs(pairs)]
    least: list[T] = []
    for time in times:
        for other in least:
            if less_equal(other, time):
                break
        else:
            least = [other for other in least if not less_equal(time, other)]
            least.append(time)
    return least


FEW: Final = 8
"""The number of times that are compared each with each: to sort them would cost more."""


def _pairs(times: Sequence[Any]) -> Sequence[tuple[Any, Any]] | None:
    """The parts of times that are pairs, ordered componentwise, each part in one order; None of others."""
    kinds = set(map(type, times))
    if len(kinds) == 1 and getattr(kinds.pop(), "componentwise", False):
        pairs = [time.parts for time in times]
        if len(pairs[0]) == 2 and in_one_order(pairs):
            return pairs
    return None


def _minimal_pairs(pairs: Sequence[tuple[Any, Any]]) -> list[int]:
    """The places of the minimal ones: from left to right, those that are lower than all before them."""
    found: list[int] = []
    for place in sorted(range(len(pairs)), key=pairs.__getitem__):
        if not found or pairs[place][1] < pairs[found[-1]][1]:
            found.append(place)
    return sorted(found)


_TOTAL: tuple[type, ...] = (int, float, str, bytes, date, timedelta, clock_time, Fraction, Decimal, Beginning)
_TOTAL_EXACT = frozenset(_TOTAL)
_QUICK: Final = frozenset({int, bool, str, bytes, date, timedelta, Fraction})
_NUMBERS: Final = frozenset({int, bool, float})


def is_total(time: object) -> bool:
    """Whether this time comes from a domain in which any two times are comparable.

    >>> is_total(3), is_total((1, "a")), is_total(frozenset())
    (True, True, False)
    """
    kind = type(time)
    if kind in _TOTAL_EXACT:
        return True
    if kind is tuple:
        return all(is_total(part) for part in cast("tuple[object, ...]", time))
    total: object = getattr(time, "totally_ordered", None)
    return total if isinstance(total, bool) else isinstance(time, _TOTAL)


def in_one_order(times: Sequence[object]) -> bool:
    """Whether times, of which there are some, are all comparable, as `min` and `sorted` compare them, at a quick look.

    >>> in_one_order([3, 1]), in_one_order([3, "a"]), in_one_order([0.5, float("nan")]), in_one_order([])
    (True, False, False, False)
    >>> in_one_order([(1, "a"), (0, "b")]), in_one_order([(1, "a"), (0, 7)]), in_one_order([(1,), (1, 2)])
    (True, False, False)
    """
    kinds = set(map(type, times))
    if len(kinds) != 1:
        # Numbers compare exactly, however large they are; NaN alone is not itself.
        return len(kinds) > 1 and kinds <= _NUMBERS and not any(map(ne, times, times))
    kind = kinds.pop()
    if kind is float:
        return not isnan(sum(cast("Sequence[float]", times)))
    if kind is datetime:
        return len({cast("datetime", time).tzinfo is None for time in times}) == 1
    if kind is clock_time:
        return len({cast("clock_time", time).utcoffset() is None for time in times}) == 1
    if kind is tuple:
        pairs = cast("Sequence[tuple[object, ...]]", times)
        # Of two tuples the parts at one place are compared, and with no others.
        return len(set(map(len, pairs))) == 1 and all(map(in_one_order, zip(*pairs, strict=True)))
    if kind is Decimal:
        return not any(map(Decimal.is_nan, cast("Sequence[Decimal]", times)))
    return kind in _QUICK


def ascending(times: Sequence[object]) -> bool:
    """Whether of times none is before, or beside, the one in front of it.

    Raises:
        TimeDomainError: two neighbours belong to domains that have no common order.

    >>> ascending([1, 1, 2]), ascending([2, 1]), ascending([frozenset("a"), frozenset("b")]), ascending([])
    (True, False, False, True)
    """
    if isinstance(times, Ascending):
        return True
    if in_one_order(times):
        return all(map(cast("Any", le), times, islice(times, 1, None)))
    return all(before is time or less_equal(before, time) for before, time in pairwise(times))


@final
class Ascending(Sequence[T]):
    """Times of which whoever made it knows that they are `ascending`: who wants the least one looks at the first.

    >>> minimal(Ascending(range(1, 1_000_000_000)))
    [1]
    """

    __slots__ = ("_times",)

    def __init__(self, times: Sequence[T]) -> None:
        self._times = times

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, int):
            return self._times[place]
        part = self._times[place]
        return part if (place.step or 1) < 0 else Ascending(part)

    def __iter__(self) -> Iterator[T]:
        return iter(self._times)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._times)

    def __repr__(self) -> str:
        return repr(list(self._times))


def sort_key(time: Any) -> Any:
    """A key to sort times by: keys are totally ordered, and extend the partial order of the times.

    Raises:
        TimeDomainError: the type is neither total nor has a `sort_key` method.

    >>> sorted([frozenset("ab"), frozenset(), frozenset("a")], key=sort_key)[0]
    frozenset()
    """
    key = _key(time)
    return (0,) if key is None else (1, key)


def has_sort_key(time: object) -> bool:
    """Whether this time, with all of its parts, can be sorted by `sort_key`.

    >>> has_sort_key((1, "a")), has_sort_key((1, object()))
    (True, False)
    """
    try:
        sort_key(time)
    except TimeDomainError:
        return False
    return True


def _key(time: Any) -> Any:
    if time is BEGINNING:
        return None
    own: Callable[[], Any] | None = getattr(time, "sort_key", None)
    if own is not None:
        return own()
    if isinstance(time, tuple):
        return tuple(sort_key(part) for part in cast("tuple[Any, ...]", time))
    if isinstance(time, frozenset):
        return len(cast("frozenset[Any]", time))
    if is_total(time):
        return time
    raise TimeDomainError(
        f"{time!r} ({type(time).__name__}) cannot be sorted: give the type a sort_key() method "
        "that extends its partial order to a total one",
    )
