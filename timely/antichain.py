"""Antichains: sets of pairwise incomparable times, the shape of every frontier.

A frontier says which times may still come: exactly those at or after one of its elements. The empty antichain is
therefore the *end of time*, the greatest antichain of all: nothing more may come.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from .errors import TimeDomainError
from .order import BEGINNING, less_equal, minimal, sort_key, unlike

T_co = TypeVar("T_co", covariant=True, bound=Hashable)


class Antichain(Generic[T_co]):
    """An immutable set of minimal times: of the elements given, only the minimal ones are kept.

    Equality and hash ignore the order of the elements. Antichains are themselves ordered: `a <= b` when every element
    of `b` is at or after some element of `a`. A frontier that has advanced is therefore greater.

    >>> frontier = Antichain([3, 5])
    >>> frontier, frontier.less_equal(4), frontier.less_equal(2)
    (Antichain([3]), True, False)
    >>> Antichain([3]) <= Antichain([4]) <= Antichain()
    True
    """

    __slots__ = ("_elements",)

    _elements: tuple[T_co, ...]

    def __init__(self, elements: Iterable[T_co] = ()) -> None:
        self._elements = tuple(minimal(elements))

    @classmethod
    def of_minimal(cls, elements: tuple[Any, ...]) -> Antichain[Any]:
        """Wrap elements already known to be pairwise incomparable (unchecked)."""
        new = cast("Antichain[Any]", cls.__new__(cls))
        new._elements = elements  # noqa: SLF001 - made here
        return new

    @property
    def elements(self) -> tuple[T_co, ...]:
        """The minimal times, in no particular order."""
        return self._elements

    def less_equal(self, time: Any) -> bool:
        """Whether `time` may still come: some element is at or before it. Always false for the empty antichain.

        Raises:
            TimeDomainError: `time` belongs to another domain.
        """
        element: Any
        for element in self._elements:
            if element is BEGINNING:
                return True
            try:
                if element <= time:
                    return True
            except TypeError as error:
                raise unlike(element, time) from error
        return False

    def less_than(self, time: Any) -> bool:
        """Whether some element is strictly before `time`.

        >>> Antichain([3]).less_than(3), Antichain([3]).less_than(4)
        (False, True)
        """
        return any(element != time and less_equal(element, time) for element in self._elements)

    def insert(self, time: Any) -> Antichain[Any]:
        """The antichain with `time` added, or this antichain when `time` is already covered.

        >>> Antichain([3]).insert(2)
        Antichain([2])
        """
        return self if self.less_equal(time) else Antichain((*self._elements, time))

    def union(self, other: Iterable[Any]) -> Antichain[Any]:
        """The greatest lower bound of both: the times that may come from either.

        >>> Antichain([3]).union([2, 7])
        Antichain([2])
        """
        return Antichain((*self._elements, *other))

    def __le__(self, other: Antichain[Any]) -> bool:
        return all(self.less_equal(element) for element in other._elements)

    def __lt__(self, other: Antichain[Any]) -> bool:
        return self != other and self <= other

    def __ge__(self, other: Antichain[Any]) -> bool:
        return other <= self

    def __gt__(self, other: Antichain[Any]) -> bool:
        return other < self

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __contains__(self, time: object) -> bool:
        return time in self._elements

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Antichain):
            return NotImplemented
        mine, theirs = self._elements, cast("Antichain[Any]", other)._elements
        return mine == theirs or (len(mine) == len(theirs) and set(mine) == set(theirs))

    def __hash__(self) -> int:
        return hash(frozenset(self._elements))

    def __repr__(self) -> str:
        elements: list[Any] = list(self._elements)
        with suppress(TimeDomainError):
            elements.sort(key=sort_key)
        return f"Antichain({elements!r})" if elements else "Antichain()"
