"""The order of logical times: Python's own `<=`, a least element, and sorting.

A time is any hashable value whose type defines `<=` as a partial order that agrees with `==`. Numbers, dates and
strings have a total order, tuples compare lexicographically, frozensets by inclusion, `Product` componentwise. Two
times may be incomparable: both `a <= b` and `b <= a` are then false.

Your own types can define three optional class attributes. Without them everything still works, only slower:

- `totally_ordered = True`: any two values of the type are comparable;
- `sort_key(self)`: a sortable value such that `a < b` implies `a.sort_key() < b.sort_key()` (a linear extension);
- `componentwise = True`: `a <= b` means `<=` for each of their `parts`, two tuples of the same length.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime, time as clock_time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import compress, islice, pairwise
from math import isnan
from operator import le, ne
from typing import Any, Final, TypeVar, cast, final, overload

from .errors import TimeDomainError

T = TypeVar("T", bound=Hashable)


@final
class Beginning:
    """The time below every other: the time of a source before its first value. The only instance is `BEGINNING`.

    It is at or below the times of every domain, and no path moves it.

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
        TimeDomainError: the two belong to domains without a common order.

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
        # An error from the `<=` of the two has a frame of its own; that of Python's types says no more than `unlike`.
        raise unlike(a, b) from (error if error.__traceback__ and error.__traceback__.tb_next else None)


def less_than(a: Any, b: Any) -> bool:
    """Whether `a` is strictly before `b`.

    >>> less_than(1, 1), less_than(BEGINNING, 1)
    (False, True)
    """
    return a != b and less_equal(a, b)


def unlike(a: object, b: object) -> TimeDomainError:
    """The error for two times without a common order; it names both."""
    if isinstance(a, datetime) and isinstance(b, datetime):
        return TimeDomainError(
            f"a time with a time zone and one without cannot be compared: {a!r} and {b!r}; give both a time zone, "
            f"with time.replace(tzinfo=...), or neither"
        )
    return TimeDomainError(
        f"times of two domains cannot be compared: {a!r} ({type(a).__name__}) and {b!r} ({type(b).__name__}); "
        "convert one of them, so that all times of a stream are of one type",
    )


def minimal(times: Iterable[T]) -> list[T]:
    """The minimal elements, in order of first appearance, without duplicates.

    >>> minimal([frozenset("ab"), frozenset("a"), frozenset("b"), frozenset("a")])
    [frozenset({'a'}), frozenset({'b'})]
    """
    if isinstance(times, Ascending):
        return [times[0]] if times else []
    times = times if isinstance(times, Sequence) else list(times)
    if in_one_order(times):
        # `min` is the fastest way, and times in one order are the most common case.
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
"""Up to this many times are compared pairwise; sorting them would cost more."""


def _pairs(times: Sequence[Any]) -> Sequence[tuple[Any, Any]] | None:
    """The parts of times that are componentwise pairs with both parts in one order; None for other times."""
    kinds = set(map(type, times))
    if len(kinds) == 1 and getattr(kinds.pop(), "componentwise", False):
        pairs = [time.parts for time in times]
        if len(pairs[0]) == 2 and in_one_order(pairs):
            return pairs
    return None


def _minimal_pairs(pairs: Sequence[tuple[Any, Any]]) -> list[int]:
    """The indices of the minimal pairs. In order of their first parts, each second part is below all before it."""
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
    """Whether this time belongs to a domain in which any two times are comparable.

    >>> is_total(3), is_total((1, "a")), is_total(frozenset())
    (True, True, False)
    """
    kind = type(time)
    if kind in _TOTAL_EXACT:
        return True
    if kind is tuple:
        return all(is_total(part) for part in cast("tuple[object, ...]", time))
    total: object = getattr(time, "totally_ordered", None)
    # NumPy's integers are not subclasses of int.
    return total if isinstance(total, bool) else isinstance(time, _TOTAL) or hasattr(time, "__index__")


def in_one_order(times: Sequence[object]) -> bool:
    """Whether a quick check shows that `min` and `sorted` can compare all of these times. False if there are none.

    >>> in_one_order([3, 1]), in_one_order([3, "a"]), in_one_order([0.5, float("nan")]), in_one_order([])
    (True, False, False, False)
    >>> in_one_order([(1, "a"), (0, "b")]), in_one_order([(1, "a"), (0, 7)]), in_one_order([(1,), (1, 2)])
    (True, False, False)
    """
    kinds = set(map(type, times))
    if len(kinds) != 1:
        # Numbers compare exactly, however large they are. NaN is excluded: it does not equal itself.
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
        # Two tuples are compared part by part, so each position is checked separately.
        return len(set(map(len, pairs))) == 1 and all(map(in_one_order, zip(*pairs, strict=True)))
    if kind is Decimal:
        return not any(map(Decimal.is_nan, cast("Sequence[Decimal]", times)))
    return kind in _QUICK


def ascending(times: Sequence[object]) -> bool:
    """Whether each time is at or after the one before it.

    Raises:
        TimeDomainError: two neighbours belong to domains without a common order.

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
    """Times known to be `ascending` by construction: the least is the first, without a search.

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

    def changes(self) -> list[int]:
        """The positions where a time differs from the one before."""
        return changes(self._times)


def changes(times: Sequence[Any]) -> list[int]:
    """The positions where a time differs from the one before; a sequence may have a faster method of its own.

    >>> changes([1, 1, 2, 3, 3])
    [2, 3]
    """
    own = getattr(times, "changes", None)
    return own() if own else list(compress(range(1, len(times)), map(ne, times, islice(times, 1, None))))


def sort_key(time: Any) -> Any:
    """A key for sorting times. Keys are totally ordered and extend the partial order of the times.

    Raises:
        TimeDomainError: the type is not totally ordered and has no `sort_key` method.

    >>> sorted([frozenset("ab"), frozenset(), frozenset("a")], key=sort_key)[0]
    frozenset()
    """
    key = _key(time)
    return (0,) if key is None else (1, key)


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
