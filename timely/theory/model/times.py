"""Times of the model: any hashable values whose `<=` is a partial order (000, section 2.1).

The model uses nothing from the rest of `timely`: integers are a chain, frozensets ordered by inclusion give every small
partial order, and `Tagged` is the disjoint union of time domains.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, Protocol

from attrs import frozen


class Time(Hashable, Protocol):
    """A logical time: hashable, with equality and a partial order `<=` that agree."""

    def __le__(self, other: Any, /) -> bool:
        """Say whether this time is at or before the other."""
        ...


@frozen
class Tagged:
    """A time of one domain among several: the disjoint union of domains (000, section 2.1).

    Times of different domains are never comparable.

    >>> Tagged("UTC", 3) <= Tagged("UTC", 4), Tagged("UTC", 3) <= Tagged("batch", 4)
    (True, False)
    """

    domain: Hashable
    value: Time

    def __le__(self, other: object) -> bool:
        return isinstance(other, Tagged) and self.domain == other.domain and self.value <= other.value


_A: Final = frozenset({"a"})
_B: Final = frozenset({"b"})

SHAPES: Final[dict[str, tuple[Time, ...]]] = {
    "one": (0,),
    "chain 2": (0, 1),
    "antichain 2": (_A, _B),
    "chain 3": (0, 1, 2),
    "vee": (frozenset[str](), _A, _B),
    "wedge": (_A, _B, _A | _B),
}
"""Every relevant shape of partial order on up to three times: the small worlds on which properties are fully checked.

`vee` has one least time below two incomparable ones. `wedge` has two incomparable times below one greatest.
"""


def minimal(times: Iterable[Time]) -> tuple[Time, ...]:
    """Keep the times that have no other below them, in the order given, each once.

    >>> minimal([3, 5, 3])
    (3,)
    """
    distinct = tuple(dict.fromkeys(times))
    if len(distinct) == 1:
        return distinct
    return tuple(t for t in distinct if not any(other <= t and other != t for other in distinct))


def up_masks(times: Sequence[Time]) -> tuple[int, ...]:
    """Give, for each time, the set of times at or after it, as a bit mask over their positions.

    >>> [bin(mask) for mask in up_masks((0, 1, 2))]
    ['0b111', '0b110', '0b100']
    """
    return tuple(sum(1 << j for j, later in enumerate(times) if t <= later) for t in times)
