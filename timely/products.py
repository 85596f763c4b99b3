"""Times with several parts: `Product` (componentwise), `Lexicographic` (first difference decides); their summaries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Final, TypeVar, final

import attrs
from typing_extensions import override

from .errors import SummaryError, TimeDomainError
from .order import BEGINNING, is_total, less_equal, sort_key
from .summary import DERIVED, Delay, Identity, Path, Summary, derive

T = TypeVar("T", bound=Hashable)


class _Parts:
    """A time with several parts; equality and hash follow from the parts."""

    __slots__ = ("_hash", "parts")

    parts: tuple[Any, ...]

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self._hash = hash((type(self), parts))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parts) and type(other) is type(self) and self.parts == other.parts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __le__(self, other: Any) -> bool:
        raise NotImplementedError

    def sort_key(self) -> tuple[Any, ...]:
        """A key for sorting: comparing the parts in turn extends both orders."""
        return tuple(map(sort_key, self.parts))


@final
class Product(_Parts):
    """Componentwise order: at or before in every part. Two products are often incomparable.

    >>> Product(1, 5) <= Product(2, 5), Product(1, 5) <= Product(2, 0)
    (True, False)
    """

    __slots__ = ()
    componentwise: ClassVar = True

    @override
    def __le__(self, other: Any) -> bool:
        if type(other) is not Product or len(self.parts) != len(other.parts):
            return NotImplemented
        return all(map(less_equal, self.parts, other.parts))

    def join(self, other: Product) -> Product:
        """The least upper bound: part by part."""
        return Product(*map(join, self.parts, other.parts))

    def meet(self, other: Product) -> Product:
        """The greatest lower bound: part by part."""
        return Product(*map(meet, self.parts, other.parts))


@final
class Lexicographic(_Parts):
    """Order by the first part that differs, as in a dictionary.

    >>> Lexicographic(1, 5) <= Lexicographic(2, 0)
    True
    """

    __slots__ = ()

    @property
    def totally_ordered(self) -> bool:
        """Total when every part is."""
        return all(map(is_total, self.parts))

    @override
    def __le__(self, other: Any) -> bool:
        if type(other) is not Lexicographic or len(self.parts) != len(other.parts):
            return NotImplemented
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            if mine != theirs:
                return less_equal(mine, theirs)
        return True


def join(a: Any, b: Any) -> Any:
    """The least upper bound of two times: the earliest time at or after both.

    Your own types can provide it as a method `join(other)`.

    Raises:
        TimeDomainError: the two are incomparable and their type has no `join`.

    >>> join(3, 5), join(Product(1, 5), Product(2, 0)), join(frozenset("a"), frozenset("b")) == frozenset("ab")
    (5, Product(2, 5), True)
    """
    if less_equal(a, b):
        return b
    if less_equal(b, a):
        return a
    if isinstance(a, frozenset):
        return a | b
    own: Any = getattr(a, "join", None)
    if own is None:
        raise TimeDomainError(f"{a!r} and {b!r} are incomparable and {type(a).__name__} has no join() to combine them")
    return own(b)


def meet(a: Any, b: Any) -> Any:
    """The greatest lower bound of two times: the latest time at or before both.

    Your own types can provide it as a method `meet(other)`.

    Raises:
        TimeDomainError: the two are incomparable and their type has no `meet`.

    >>> meet(3, 5), meet(Product(1, 5), Product(2, 0)), meet(frozenset("ab"), frozenset("bc")) == frozenset("b")
    (3, Product(1, 0), True)
    """
    if less_equal(a, b):
        return a
    if less_equal(b, a):
        return b
    if isinstance(a, frozenset):
        return a & b
    own: Any = getattr(a, "meet", None)
    if own is None:
        raise TimeDomainError(f"{a!r} and {b!r} are incomparable and {type(a).__name__} has no meet() to combine them")
    return own(b)


def advance(time: T, frontier: Iterable[T]) -> T:
    """The latest time that is equivalent to `time` for all times at or after a frontier.

    It is the meet of the joins of `time` with each of the frontier's times: a time at or after the frontier is at or
    after the result exactly if it is at or after `time`. This lets you merge changes made long ago, because their order
    no longer matters. With an empty frontier, `time` is returned unchanged.

    Raises:
        TimeDomainError: two times are incomparable and their type has no `join` or no `meet`.

    >>> advance(1, [5]), advance(7, [5]), advance(Product(1, 4), [Product(3, 2), Product(2, 3)])
    (5, 7, Product(2, 4))
    """
    joined = [join(time, reached) for reached in frontier]
    return reduce(meet, joined) if joined else time


@final
@attrs.frozen(order=False)
class Componentwise(Summary):
    """A summary for each part of a `Product` or `Lexicographic`.

    >>> Componentwise((Delay(1), Delay(0))).results_in(Product(1, 2))
    Product(2, 2)
    """

    parts: tuple[Summary, ...]
    strict: bool = DERIVED()
    converts: bool = DERIVED()

    def __attrs_post_init__(self) -> None:
        if any(part.up or part.down for part in self.parts):
            raise SummaryError("a part of a product cannot enter or leave a loop: only whole times can")
        converts = any(part.converts for part in self.parts)
        derive(self, converts=converts, strict=any(part.strict for part in self.parts) and not converts)

    @override
    def results_in(self, time: Any) -> Any:
        if time is BEGINNING:
            return time
        if not isinstance(time, _Parts) or len(time.parts) != len(self.parts):
            raise SummaryError(f"{self!r} needs a time with {len(self.parts)} parts, not {time!r}")
        if isinstance(time, Lexicographic):
            self._check_lexicographic(time)
        parts = [part.results_in(value) for part, value in zip(self.parts, time.parts, strict=True)]
        if None not in parts:
            return type(time)(*parts)
        if isinstance(time, Lexicographic) and None in parts[1:]:
            raise SummaryError(
                f"{self!r} stops {time!r} because of a part other than the first, but would let later times pass: "
                "only the first part of a lexicographic time may have a limit"
            )
        return None

    def _check_lexicographic(self, time: Lexicographic) -> None:
        """Refuse a part that may map two times to one: the parts after it could then go back."""
        for part, value in zip(self.parts[:-1], time.parts, strict=False):
            if not _keeps_apart(part, value):
                raise SummaryError(
                    f"{part!r} may map two different times to one, for example near {value!r}; the later parts of a "
                    "lexicographic time could then go back. Before the last part, use only delays, and only of "
                    "integers, fractions, dates and datetimes, whose sums are exact"
                )

    @override
    def merge(self, other: Summary) -> Summary | None:
        if isinstance(other, Componentwise) and len(other.parts) == len(self.parts):
            return Componentwise(tuple(a.followed_by(b) for a, b in zip(self.parts, other.parts, strict=True)))
        return None

    @override
    def less_equal(self, other: Summary) -> bool:
        if isinstance(other, Componentwise) and len(other.parts) == len(self.parts):
            return all(a.less_equal(b) for a, b in zip(self.parts, other.parts, strict=True))
        if isinstance(other, Identity):
            return all(part.less_equal(other) for part in self.parts)
        return Summary.less_equal(self, other)


_EXACT: Final[dict[type, frozenset[type]]] = {
    int: frozenset({int, Fraction}),
    Fraction: frozenset({int, Fraction}),
    timedelta: frozenset({date, datetime, timedelta}),
}
"""For each type of step, the types of times to which it can be added without rounding two of them to the same time."""


def _keeps_apart(part: Summary, time: Any) -> bool:
    """Whether times that differ from this one certainly stay different from it."""
    if isinstance(part, Path):
        return all(_keeps_apart(step, time) for step in part.steps)
    if isinstance(part, Delay):
        step: object = part.step
        return not part.strict or time is BEGINNING or type(time) in _EXACT.get(type(step), frozenset())
    return isinstance(part, Identity)
