"""Path summaries: how the times of messages change along a path (002, 003).

A summary maps a time to the least time that can come out of the path, or to nothing when no message at that time can
take it (an overflow: never wrapped, never clamped). Three promises make progress tracking sound:

- *monotone*: a later time in never gives an earlier time out, and a time that passes lets every earlier one pass;
- *advancing*: no time comes out earlier than it went in (leaving a loop forgets a coordinate, which is not going back);
- `BEGINNING` stays `BEGINNING`, whatever the path.

Summaries compose (`followed_by`) and are compared: `p <= q` when `p` never gives a later time than `q`. "Cannot tell"
counts as not `<=`: a set of minimal summaries then keeps both, which is never wrong, only longer.

A summary says three things about its shape, from which graphs are checked for cycles that do not advance: `up` (how
many loop contexts the path leaves on its way), `down` (how many it then enters), and `strict` (whether in the
outermost context it visits every time is strictly advanced). One that `converts` leads from one domain of times to
another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final, final

import attrs
from typing_extensions import override

from timely.errors import SummaryError
from timely.order import BEGINNING, less_equal


class Summary(ABC):
    """What every path summary offers. Subclasses are immutable values with `==` and `hash`."""

    __slots__ = ()

    @property
    def up(self) -> int:
        """How many loop contexts the path leaves on its way."""
        return 0

    @property
    def down(self) -> int:
        """How many it then enters."""
        return 0

    @property
    def strict(self) -> bool:
        """Is every time strictly advanced in the outermost context the path visits?"""
        return False

    @property
    def converts(self) -> bool:
        """Does the path lead to another domain of times?"""
        return False

    @abstractmethod
    def results_in(self, time: Any) -> Any:
        """The least time that comes out when `time` goes in, or `None` when none can.

        Raises:
            SummaryError: `time` does not fit this path, or would be moved backwards.
        """

    def followed_by(self, other: Summary) -> Summary:
        """The summary of this path and then `other`."""
        if isinstance(other, Identity):
            return self
        merged = self.merge(other)
        return Path.of(self, other) if merged is None else merged

    def merge(self, other: Summary) -> Summary | None:
        """A common form of this path and then `other`, where there is one; neither is the identity."""
        del other
        return None

    @property
    def advances(self) -> bool:
        """Is it known that no time comes out earlier than it went in? Leaving a loop may forget a coordinate."""
        return self.up == 0

    def split(self) -> Iterator[Summary]:
        """The steps this summary consists of."""
        yield self

    def less_equal(self, other: Summary) -> bool:
        """Is the time that comes out here, for every time in, never later than through `other`?"""
        return self == other

    def __le__(self, other: Summary) -> bool:
        return self.less_equal(other)


@final
@attrs.frozen(order=False)
class Identity(Summary):
    """The path that leaves times as they are.

    >>> IDENTITY.results_in(3)
    3
    """

    @override
    def results_in(self, time: Any) -> Any:
        return time

    @override
    def followed_by(self, other: Summary) -> Summary:
        return other

    @override
    def less_equal(self, other: Summary) -> bool:
        return other.advances


IDENTITY: Final = Identity()


@final
@attrs.frozen(order=False)
class Delay(Summary):
    """Add a fixed step to the time: `t + step`, or nothing once that passes `limit`.

    Works for whatever can be added and compared: integers, fractions, dates with a `timedelta`.

    >>> Delay(2).results_in(3), Delay(100, limit=255).results_in(200)
    (5, None)
    >>> Delay(2).followed_by(Delay(3))
    Delay(step=5, limit=None)
    """

    step: Any = attrs.field()
    limit: Any = None
    strict: bool = attrs.field(init=False, repr=False, eq=False)  # pyright: ignore[reportIncompatibleMethodOverride]

    def __attrs_post_init__(self) -> None:
        try:
            zero: Any = self.step - self.step
            object.__setattr__(self, "strict", bool(zero < self.step))
            backwards = not zero <= self.step
        except TypeError as error:
            raise SummaryError(
                f"a delay needs a step that can be subtracted and compared, not {self.step!r}"
            ) from error
        if backwards:
            raise SummaryError(f"a delay of {self.step!r} would move times backwards")

    @override
    def results_in(self, time: Any) -> Any:
        if time is BEGINNING:
            return time
        try:
            later = time + self.step
        except OverflowError:
            return None
        except TypeError as error:
            raise SummaryError(f"cannot add the step {self.step!r} to the time {time!r}") from error
        return later if self.limit is None or later <= self.limit else None

    @override
    def merge(self, other: Summary) -> Summary | None:
        if isinstance(other, Delay) and type(other.step) is type(self.step):
            passing = None if self.limit is None else self.limit + other.step
            return Delay(self.step + other.step, _least(passing, other.limit))
        return None

    @override
    def less_equal(self, other: Summary) -> bool:
        if isinstance(other, Delay) and type(other.step) is type(self.step):
            return bool(self.step <= other.step) and self._passes_all_of(other)
        if isinstance(other, Identity):
            return not self.strict and self.limit is None
        return Summary.less_equal(self, other) or Path.below(self, other)

    def _passes_all_of(self, other: Delay) -> bool:
        if self.limit is None:
            return True
        return other.limit is not None and bool(other.limit - other.step <= self.limit - self.step)


def _least(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


@final
@attrs.frozen(order=False)
class MapTime(Summary):
    """Any monotone function as a summary: a window's end, a conversion to another domain.

    `strict=True` promises that every time is strictly advanced, which lets the path close a cycle. Within one domain
    each answer is checked: an earlier time out than in is refused. Across domains (`converts=True`) there is no order
    to check.

    >>> hour = MapTime(lambda t: -(-t // 60) * 60)
    >>> hour.results_in(61), hour.results_in(60)
    (120, 60)
    """

    function: Callable[[Any], Any]
    strict: bool = False  # pyright: ignore[reportIncompatibleMethodOverride]
    converts: bool = False  # pyright: ignore[reportIncompatibleMethodOverride]

    def __attrs_post_init__(self) -> None:
        if self.strict and self.converts:
            raise SummaryError("a summary that converts between domains cannot be strict: the two have no common order")

    @override
    def results_in(self, time: Any) -> Any:
        if time is BEGINNING:
            return time
        later = self.function(time)
        if later is None or self.converts:
            return later
        if not less_equal(time, later):
            raise SummaryError(f"{self.function!r} moves the time {time!r} backwards, to {later!r}")
        if self.strict and later == time:
            raise SummaryError(f"{self.function!r} is declared strict but leaves the time {time!r} where it is")
        return later

    @override
    def less_equal(self, other: Summary) -> bool:
        return Summary.less_equal(self, other) or Path.below(self, other)


@final
@attrs.frozen(order=False)
class Path(Summary):
    """Several summaries in a row that have no shorter form."""

    steps: tuple[Summary, ...]

    @classmethod
    def of(cls, *parts: Summary) -> Summary:
        """Compose, joining neighbours that have a common form.

        >>> Path.of(Delay(1), IDENTITY, Delay(2))
        Delay(step=3, limit=None)
        """
        steps: list[Summary] = []
        for part in parts:
            for step in part.steps if isinstance(part, Path) else (part,):
                if isinstance(step, Identity):
                    continue
                merged = steps[-1].merge(step) if steps else None
                if merged is None:
                    steps.append(step)
                else:
                    steps[-1:] = [] if isinstance(merged, Identity) else [merged]
        return IDENTITY if not steps else steps[0] if len(steps) == 1 else cls(tuple(steps))

    @override
    def results_in(self, time: Any) -> Any:
        for step in self.steps:
            if time is None:
                return None
            time = step.results_in(time)
        return time

    @property
    @override
    def up(self) -> int:
        return self._shape()[0]

    @property
    @override
    def down(self) -> int:
        return self._shape()[1]

    @property
    @override
    def strict(self) -> bool:
        return self._shape()[2]

    def _shape(self) -> tuple[int, int, bool]:
        height = top = 0
        strict = False
        for step in self.steps:
            apex = height + step.up
            if apex > top:
                top, strict = apex, step.strict
            elif apex == top:
                strict = strict or step.strict
            height = apex - step.down
        return top, top - height, strict

    @override
    def less_equal(self, other: Summary) -> bool:
        return self == other or Path.below(self, other)

    @staticmethod
    def below(small: Summary, large: Summary) -> bool:
        """Is `small` the path `large` with some detours left out?

        A detour (a stretch that ends in the loop context it began in, without leaving it) only ever advances times, so
        leaving it out of a chain of monotone steps never gives a later time.
        """
        return _contained(tuple(_letters(small)), tuple(_letters(large)))


def _letters(summary: Summary) -> Iterator[Summary]:
    """The steps of a path, those through loops one letter at a time, so that detours can be told apart."""
    if isinstance(summary, Path):
        for step in summary.steps:
            yield from _letters(step)
    elif not isinstance(summary, Identity):
        yield from summary.split()


def _contained(small: tuple[Summary, ...], large: tuple[Summary, ...]) -> bool:
    """Is `small` left when some detours are cut out of `large`?"""
    matched: list[set[int]] = [{0}] + [set() for _ in large]  # how much of `small`, by how much of `large`
    for start, step in enumerate(large):
        here = matched[start]
        matched[start + 1].update(n + 1 for n in here if n < len(small) and small[n] == step)
        height = 0
        for end in range(start, len(large)):
            height -= large[end].up
            if height < 0 or large[end].converts:
                break
            height += large[end].down
            if height == 0:
                matched[end + 1] |= here
                break
    return len(small) in matched[-1]
