"""Loops: times with a counter per loop, and the monoid of paths through loop contexts (002).

Entering a loop appends a counter at 0, feedback adds to the last counter, and leaving drops it. One type serves every
depth: outside all loops a time is just itself (a date, an integer, ...), inside it is `LoopTime(outer, counters)`.

There are two orders. The *product* order (`LoopTime`) compares every coordinate, as timely dataflow does today.
*Naiad's* order (`NaiadTime`) compares the epoch, and separately the counters lexicographically.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, final

import attrs
from typing_extensions import override

from .errors import SummaryError
from .order import BEGINNING, less_equal, sort_key
from .products import join, meet
from .summary import DERIVED, IDENTITY, Identity, Summary, derive


@final
@attrs.frozen(cache_hash=True, order=False, repr=False)
class LoopTime:
    """A time inside one or more loops, in the product order.

    >>> LoopTime(3, (0, 5)) <= LoopTime(3, (1, 5)), LoopTime(3, (0, 5)) <= LoopTime(3, (1, 0))
    (True, False)
    """

    outer: Any
    counters: tuple[int, ...]

    def __le__(self, other: Any) -> bool:
        if type(other) is not LoopTime or len(self.counters) != len(other.counters):
            return NotImplemented
        return less_equal(self.outer, other.outer) and all(
            mine <= theirs for mine, theirs in zip(self.counters, other.counters, strict=True)
        )

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __repr__(self) -> str:
        return f"LoopTime({self.outer!r}, {self.counters!r})"

    def join(self, other: LoopTime) -> LoopTime:
        """The least upper bound: coordinate by coordinate."""
        return LoopTime(join(self.outer, other.outer), tuple(map(max, self.counters, other.counters)))

    def meet(self, other: LoopTime) -> LoopTime:
        """The greatest lower bound: coordinate by coordinate."""
        return LoopTime(meet(self.outer, other.outer), tuple(map(min, self.counters, other.counters)))

    def sort_key(self) -> tuple[Any, ...]:
        """A key for sorting: the lexicographic order extends the product order."""
        return (sort_key(self.outer), self.counters)


@final
@attrs.frozen(cache_hash=True, order=False, repr=False)
class NaiadTime:
    """A time in Naiad's order: epochs compared on their own, loop counters lexicographically.

    >>> NaiadTime(3, (0, 5)) <= NaiadTime(3, (1, 0)), NaiadTime(2, (1,)) <= NaiadTime(3, (0,))
    (True, False)
    """

    epoch: Any
    counters: tuple[int, ...] = ()

    def __le__(self, other: Any) -> bool:
        if type(other) is not NaiadTime or len(self.counters) != len(other.counters):
            return NotImplemented
        return less_equal(self.epoch, other.epoch) and self.counters <= other.counters

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __repr__(self) -> str:
        return f"NaiadTime({self.epoch!r}, {self.counters!r})"

    def join(self, other: NaiadTime) -> NaiadTime:
        """The least upper bound: the later epoch, the later counters."""
        return NaiadTime(join(self.epoch, other.epoch), max(self.counters, other.counters))

    def meet(self, other: NaiadTime) -> NaiadTime:
        """The greatest lower bound: the earlier epoch, the earlier counters."""
        return NaiadTime(meet(self.epoch, other.epoch), min(self.counters, other.counters))

    def sort_key(self) -> tuple[Any, ...]:
        """A key for sorting: epoch first, then the counters."""
        return (sort_key(self.epoch), self.counters)


@attrs.frozen(repr=False, order=False)
class LoopSummary(Summary):
    """A path through loop contexts in normal form, `e^k f^a (i f^b)*`: leave k loops, feed back a times, enter again.

    Two rules bring every word of e (leave), i (enter), f (feedback) into this form: `ie = 1` and `fe = e` (002).

    >>> LoopSummary.word("ieeiffieeif")
    LoopSummary('eif')
    >>> LoopSummary.word("ei").results_in(LoopTime(3, (7,)))
    LoopTime(3, (0,))
    >>> FEEDBACK.results_in(LoopTime(3, (7,))), LEAVE.results_in(LoopTime(3, (7,))), ENTER.results_in(3)
    (LoopTime(3, (8,)), 3, LoopTime(3, (0,)))
    """

    leaves: int = 0
    feedback: int = 0
    enters: tuple[int, ...] = ()

    up: int = DERIVED()
    down: int = DERIVED()
    strict: bool = DERIVED()
    lexicographic: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        derive(self, up=self.leaves, down=len(self.enters), strict=self.feedback > 0)
        if self.leaves < 0 or self.feedback < 0 or any(step < 0 for step in self.enters):
            raise SummaryError(f"a loop cannot be left, fed back or entered a negative number of times: {self.letters}")

    @classmethod
    def word(cls, letters: str) -> Summary:
        """The normal form of a word over e, i and f.

        Raises:
            SummaryError: the word contains another letter.
        """
        units = {"e": cls(leaves=1), "i": cls(enters=(0,)), "f": cls(feedback=1)}
        summary: Summary = IDENTITY
        for letter in letters:
            if letter not in units:
                raise SummaryError(f"a path through loops is spelled with e, i and f, not {letter!r}")
            summary = summary.followed_by(units[letter])
        return summary

    @property
    def letters(self) -> str:
        """The normal form spelled out."""
        return "e" * self.leaves + "f" * self.feedback + "".join("i" + "f" * step for step in self.enters)

    @property
    @override
    def advances(self) -> bool:
        return self.leaves == 0 or (self.lexicographic and self.feedback > 0)

    @override
    def results_in(self, time: Any) -> Any:
        if time is BEGINNING:
            return time
        naiad = isinstance(time, NaiadTime)
        if self.lexicographic and not naiad:
            raise SummaryError(f"{self!r} uses Naiad's order, which does not apply to {time!r}: make it a NaiadTime")
        outer: Any = time.epoch if naiad else time.outer if isinstance(time, LoopTime) else time
        counters = time.counters if isinstance(time, LoopTime | NaiadTime) else ()
        if self.leaves > len(counters):
            raise SummaryError(f"{self!r} leaves {self.leaves} loops, but {time!r} is inside {len(counters)}")
        counters = counters[: len(counters) - self.leaves]
        if self.feedback and counters:
            counters = (*counters[:-1], counters[-1] + self.feedback)
        elif self.feedback:
            if naiad or type(outer) is not int:
                raise SummaryError(f"{self!r} feeds back outside any loop: {time!r} has no counter there")
            outer += self.feedback
        counters += self.enters
        return NaiadTime(outer, counters) if naiad else LoopTime(outer, counters) if counters else outer

    @override
    def merge(self, other: Summary) -> Summary | None:
        if not isinstance(other, LoopSummary) or type(other) is not type(self):
            return None
        rest = len(self.enters) - other.leaves
        if rest < 0:
            joined = type(self)(self.leaves - rest, other.feedback, other.enters)
        elif rest == 0:
            joined = type(self)(self.leaves, self.feedback + other.feedback, other.enters)
        else:
            last = self.enters[rest - 1] + other.feedback
            joined = type(self)(self.leaves, self.feedback, (*self.enters[: rest - 1], last, *other.enters))
        return joined if joined.letters else IDENTITY

    @override
    def less_equal(self, other: Summary) -> bool:
        if isinstance(other, Identity):
            other = type(self)()
        if not isinstance(other, LoopSummary):
            return Summary.less_equal(self, other)
        if len(self.enters) - self.leaves != len(other.enters) - other.leaves:
            return False
        deeper = self.leaves - other.leaves
        if deeper < 0 or (deeper and self.feedback):
            # `other` drops coordinates that may be arbitrarily large here. Only in Naiad's order can its feedback, in a
            # more significant coordinate, make up for that.
            return deeper < 0 and self.lexicographic and other.feedback > 0
        mine = (self.feedback, *self.enters)[1 if deeper else 0 :]
        theirs = (*(0 for _ in range(deeper - 1)), other.feedback, *other.enters)
        return mine <= theirs if self.lexicographic else all(a <= b for a, b in zip(mine, theirs, strict=True))

    @override
    def split(self) -> Iterator[Summary]:
        yield from (type(self).word(letter) for letter in self.letters)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.letters!r})"


@final
@attrs.frozen(repr=False, order=False)
class NaiadSummary(LoopSummary):
    """Loop paths compared by Naiad's order: more of them are comparable, so fewer must be kept.

    >>> NaiadSummary.word("f") <= NaiadSummary.word("efi"), LoopSummary.word("f") <= LoopSummary.word("efi")
    (True, False)
    """

    lexicographic: ClassVar[bool] = True


def split_time(time: Any, depth: int) -> tuple[Any, tuple[int, ...]]:
    """A sort key for the part of a time outside its innermost `depth` loops, and the counters of those loops.

    >>> split_time(LoopTime(3, (1, 7)), 1)
    (((1, 3), (1,)), (7,))
    """
    if isinstance(time, LoopTime | NaiadTime):
        outer, counters = time.sort_key()
        cut = max(len(counters) - depth, 0)
        return (outer, counters[:cut]), counters[cut:]
    return (sort_key(time), ()), ()


ENTER = LoopSummary(enters=(0,))
LEAVE = LoopSummary(leaves=1)
FEEDBACK = LoopSummary(feedback=1)
