"""Path summaries: how the times of messages change along a path (002, 003).

A summary maps a time to the least time that can come out of the path, or to `None` when no message at that time can
take the path (an overflow is never wrapped or clamped). Three promises make progress tracking sound:

- *monotone*: a later time in never gives an earlier time out, and if a time passes, every earlier time passes;
- *advancing*: no time comes out earlier than it went in (leaving a loop drops a coordinate, which is not going back);
- `BEGINNING` stays `BEGINNING` on every path.

Summaries compose (`followed_by`): the whole gives exactly the time that its steps give one after the other. Steps are
merged into a shorter form only where that holds for every time. Two loop counters add up; two delays do not, because
`t + (a + b)` differs from `t + a + b` for floats, and for parts of a day added to a date.

Summaries are compared: `p <= q` when `p` never gives a later time than `q`. "Unknown" counts as not `<=`: a set of
minimal summaries then keeps both, which is never wrong, only longer.

Three attributes describe the shape of a path, so that a graph can be checked for cycles that do not advance: `up` (the
number of loop contexts the path leaves), `down` (the number it then enters), and `strict` (whether every time is
strictly advanced in the outermost context visited). A summary that `converts` leads to another domain of times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final, final

import attrs
from typing_extensions import override

from .errors import SummaryError
from .order import BEGINNING, less_equal

DERIVED: Final = partial(attrs.field, init=False, repr=False, eq=False)
"""A field that follows from the others: `__attrs_post_init__` sets it with `derive`."""


def derive(value: object, **fields: object) -> None:
    """Set derived fields of a frozen value."""
    for name, content in fields.items():
        object.__setattr__(value, name, content)


class Summary(ABC):
    """A path's effect on times. Subclasses are immutable values with `==` and `hash`."""

    __slots__ = ()

    up: int = 0
    """The number of loop contexts that the path leaves."""
    down: int = 0
    """The number of loop contexts that the path then enters."""
    strict: bool = False
    """Whether every time is strictly advanced in the outermost context the path visits."""
    converts: bool = False
    """Whether the path leads to another domain of times."""

    @abstractmethod
    def results_in(self, time: Any) -> Any:
        """The least time that comes out when `time` goes in, or `None` when none can.

        Raises:
            SummaryError: `time` does not fit this path, or would be moved backwards.
        """

    def followed_by(self, other: Summary) -> Summary:
        """The summary of this path followed by `other`."""
        if isinstance(other, Identity):
            return self
        return Path.of(self, other)

    def merge(self, other: Summary) -> Summary | None:
        """A single form for this path followed by `other`, or None if there is none; neither may be the identity."""
        del other
        return None

    @property
    def advances(self) -> bool:
        """Whether it is certain that no time comes out earlier than it went in.

        False for a path that leaves a loop (it may drop a coordinate) or leads to another domain.
        """
        return self.up == 0 and not self.converts

    def split(self) -> Iterator[Summary]:
        """The steps of this summary, with those through loops split into letters, so that detours can be recognised."""
        yield self

    def less_equal(self, other: Summary) -> bool:
        """Whether this path never gives a later time than `other`, whatever the time in.

        Certain if it is the path `other` with some detours left out and some delays shortened. A detour (a stretch that
        ends in the loop context it began in, without leaving it) can only advance times. Leaving it out of a chain of
        monotone steps therefore never gives a later time. Nor does using a delay that is never later.
        """
        return _contained(tuple(self.split()), tuple(other.split()))

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
    def split(self) -> Iterator[Summary]:
        return iter(())

    @override
    def less_equal(self, other: Summary) -> bool:
        return other.advances and other.up == other.down


IDENTITY: Final = Identity()


def _typed(value: object) -> tuple[type, object]:
    """A step with its type, for comparing: 1 and 1.0 are equal, but differ when added to a large integer."""
    return type(value), value


@final
@attrs.frozen(order=False)
class Delay(Summary):
    """Add a fixed step to the time: `t + step`, or `None` if that passes `limit` or cannot be represented.

    Works for any types that can be added and compared: integers, fractions, dates with a `timedelta`. The result is as
    exact as the addition. Consecutive delays are not merged, because their sum could give a different time. Equal times
    must have equal sums: do not mix floats with integers that a float cannot hold.

    >>> Delay(2).results_in(3), Delay(100, limit=255).results_in(200)
    (5, None)
    >>> Delay(0.1).followed_by(Delay(0.7)).results_in(9.7) == 9.7 + 0.1 + 0.7 != 9.7 + (0.1 + 0.7)
    True

    `strict` means that the step is above zero. Where a sum is rounded, a time may still stay the same (half a day after
    a date is that date). The tracker raises an error when that happens on a cycle that relies on the step.
    """

    step: Any = attrs.field(eq=_typed)  # pyright: ignore[reportUnknownVariableType]
    limit: Any = attrs.field(default=None, eq=_typed)  # pyright: ignore[reportUnknownVariableType]
    strict: bool = DERIVED()

    def __attrs_post_init__(self) -> None:
        try:
            zero: Any = self.step - self.step
            derive(self, strict=bool(zero < self.step))
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
        later = time
        if self.strict:  # even adding zero could round
            try:
                later = time + self.step
            except OverflowError:
                return None
            except TypeError as error:
                raise SummaryError(f"cannot add the step {self.step!r} to the time {time!r}") from error
            if not less_equal(time, later):
                raise SummaryError(
                    f"the time {time!r} plus the step {self.step!r} gives {later!r}, which is earlier: the sum was "
                    "rounded; use a type of times that holds it exactly"
                )
        return later if self.limit is None or later <= self.limit else None

    @override
    def less_equal(self, other: Summary) -> bool:
        if isinstance(other, Identity):
            return not self.strict and self.limit is None
        return Summary.less_equal(self, other)

    def never_later(self, other: Delay) -> bool:
        """Whether this delay never gives a later time than `other`, and gives one whenever `other` does.

        Compares steps with steps and limits with limits, never sums, which may be rounded.
        """
        if type(self.step) is not type(other.step) or not self.step <= other.step:
            return False
        if self.limit is None or other.limit is None:
            return self.limit is None
        return type(self.limit) is type(other.limit) and bool(other.limit <= self.limit)


@final
@attrs.frozen(order=False)
class MapTime(Summary):
    """Use any monotone function as a summary: the end of a window, or a conversion to another domain.

    `strict=True` promises that every time is strictly advanced, which lets the path close a cycle. Within one domain
    each result is checked: it must not be earlier than the time in. Across domains (`converts=True`) there is no order
    to check.

    >>> hour = MapTime(lambda t: -(-t // 60) * 60)
    >>> hour.results_in(61), hour.results_in(60)
    (120, 60)
    """

    function: Callable[[Any], Any]
    strict: bool = False
    converts: bool = False

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
            raise SummaryError(f"{self.function!r} is declared strict but leaves the time {time!r} unchanged")
        return later


@final
@attrs.frozen(order=False)
class Path(Summary):
    """Several summaries in a row that have no shorter form."""

    steps: tuple[Summary, ...]
    up: int = DERIVED()
    down: int = DERIVED()
    strict: bool = DERIVED()
    converts: bool = DERIVED()

    def __attrs_post_init__(self) -> None:
        height = top = 0
        strict = False
        for step in self.steps:
            apex = height + step.up
            if apex > top:
                top, strict = apex, step.strict
            elif apex == top:
                strict = strict or step.strict
            height = apex - step.down
        converts = any(step.converts for step in self.steps)
        derive(self, up=top, down=top - height, strict=strict and not converts, converts=converts)

    @classmethod
    def of(cls, *parts: Summary) -> Summary:
        """Compose summaries, merging neighbours that have a single form.

        >>> from pullstream.timely import ENTER, LEAVE
        >>> Path.of(ENTER, IDENTITY, LEAVE, Delay(2))
        Delay(step=2, limit=None)
        """
        steps: list[Summary] = []
        for part in parts:
            further = part.steps if isinstance(part, Path) else () if isinstance(part, Identity) else (part,)
            # The neighbours within a part cannot be merged, so only the boundaries between parts need attention.
            start = 0
            while steps and start < len(further):
                merged = steps[-1].merge(further[start])
                if merged is None:
                    break
                start += 1
                steps.pop()
                if not isinstance(merged, Identity):
                    steps.append(merged)
            steps += further[start:]
        return IDENTITY if not steps else steps[0] if len(steps) == 1 else cls(tuple(steps))

    @override
    def results_in(self, time: Any) -> Any:
        for step in self.steps:
            if time is None:
                return None
            time = step.results_in(time)
        return time

    @override
    def split(self) -> Iterator[Summary]:
        return chain.from_iterable(step.split() for step in self.steps)


def _contained(small: tuple[Summary, ...], large: tuple[Summary, ...]) -> bool:
    """Whether `small` remains when some detours are cut out of `large`."""
    # For each prefix of `large`, the lengths of the prefixes of `small` that it can match.
    matched: list[set[int]] = [{0}] + [set() for _ in large]
    for start, step in enumerate(large):
        here = matched[start]
        matched[start + 1].update(n + 1 for n in here if n < len(small) and _step_below(small[n], step))
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


def _step_below(small: Summary, large: Summary) -> bool:
    return small == large or (isinstance(small, Delay) and isinstance(large, Delay) and small.never_later(large))
