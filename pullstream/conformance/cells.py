"""The ways in which partners may behave: each combination is a cell of the grid."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, product
from random import Random
from typing import Final, Literal

import attrs
from more_itertools import interleave_longest

VALUES: Final = (0, 1, 2, 3, 4, 5)
LIMITS: Final = (1, 2, 1000)

DELAY: Final = 1.0
"""Seconds that a delayed source takes for an answer, and an async callable a tenth of it. The time is virtual."""

Ending = Literal["done", "failure"]
Many = Literal["", "in order", "out of order"]
Way = Literal["end", "abort", "error", "cancel", "raise"]

ENDINGS: Final[tuple[Ending, ...]] = ("done", "failure")
MANY: Final[tuple[Many, ...]] = ("in order", "out of order")
TERMINATIONS: Final[tuple[Way, ...]] = ("abort", "error")
FROM_OUTSIDE: Final[tuple[Way, ...]] = ("abort", "cancel")


@attrs.frozen
class Cell:
    """A way in which the partners of a module may behave.

    From above come `values` values, then `ending`, immediately or `delayed`, at one time, or each at a time of its own
    (`timed`), or at times of which an answer has `many`, in order or not. From below asks with `limit` come, which take
    such an answer as it is if they take it `whole`, and then, after `position` of them, `way`: nothing special (`end`),
    an abort, an error, or the cancellation of an ask; with `raise` it is the module's callable that raises, at that
    value.

    A termination comes in turn or, with `moment`, so many seconds after an ask on another lane that is outstanding;
    it waits for its confirmation, or is an indication; it comes once, or `again` while the first is under way.

    `seed` is that of trio's scheduler, which runs the tasks of a step in any order: the same cell runs the same way.
    """

    values: int = 3
    ending: Ending = "done"
    delayed: bool = False
    timed: bool = False
    limit: int = 1
    way: Way = "end"
    position: int = 0
    moment: float | None = None
    waits: bool = True
    again: bool = False
    seed: int = 0
    many: Many = ""
    whole: bool = False

    def time(self, value: int) -> int:
        """The time of the value that comes in a place."""
        if self.many:
            # The first alone, then two at a time: an answer of two values has two times.
            time = (value + 1) // 2
            return time if self.many == "in order" else time ^ 1
        return value if self.timed else 0

    def __str__(self) -> str:
        fields = attrs.fields(type(self))
        options = [f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.name != "way"]
        return f"Cell(way={self.way!r}, {', '.join(options)})"


def supplies(*, fed: bool) -> Iterator[Cell]:
    """The behaviours from above; a source has nothing above it."""
    if not fed:
        yield from (Cell(limit=limit, whole=whole) for limit, whole in product(LIMITS, (False, True)))
        return
    for values, ending, delayed, timed, limit in product(VALUES, ENDINGS, (False, True), (False, True), LIMITS):
        if values > 1 or not timed:
            yield Cell(values, ending, delayed, timed, limit)
    for values, ending, many, limit, whole in product((3, 5), ENDINGS, MANY, LIMITS[1:], (False, True)):
        yield Cell(values, ending, delayed=whole, limit=limit, many=many, whole=whole)


@cache
def grid(*, sink: bool, fed: bool, around: bool) -> Sequence[Cell]:
    """All cells of a module of this kind."""
    return tuple(_sink_cells(around=around) if sink else _stream_cells(fed=fed, around=around))


def _stream_cells(*, fed: bool, around: bool) -> Iterator[Cell]:
    """The grid of a source or a transformer, without the cells that differ in nothing a module could notice."""
    for supply in supplies(fed=fed):
        yield supply
        for position in range(supply.values + 2):
            if supply.ending == "done" or position >= supply.values:
                # What is further up than a termination is never reached.
                at = attrs.evolve(supply, position=position)
                yield from _terminations(at, fed=fed)
                if around and position <= supply.values:
                    yield attrs.evolve(at, way="raise")


def _terminations(at: Cell, *, fed: bool) -> Iterator[Cell]:
    """The ways in which a requester may end a stream at one position."""
    moments: tuple[float, ...] = (0.0,)
    if at.delayed:
        moments = (0.05 * DELAY, 1.05 * DELAY)
    elif not fed:
        moments = (0.0, 0.05 * DELAY, 1.05 * DELAY)
    # How a termination is sent has nothing to do with how many values were asked for before.
    sent = ((True, False), (False, False), (True, True), (False, True)) if at.limit == 1 else ((True, False),)
    for way, moment, (waits, again) in product(TERMINATIONS, (None, *moments), sent):
        yield attrs.evolve(at, way=way, moment=moment, waits=waits, again=again)
    yield from (attrs.evolve(at, way="cancel", moment=moment) for moment in moments)


def _sink_cells(*, around: bool) -> Iterator[Cell]:
    """The grid of a sink, which has nothing below it: it is aborted, or cancelled, from outside."""
    for supply in supplies(fed=True):
        yield supply
        if supply.delayed:
            for way, position in product(FROM_OUTSIDE, range(supply.values + 1)):
                yield attrs.evolve(supply, way=way, position=position)
        if around:
            yield from (attrs.evolve(supply, way="raise", position=position) for position in range(supply.values + 1))


def sample(cells: Sequence[Cell], number: int) -> list[Cell]:
    """A sample of the cells, as many of each way as there are; by chance, but always the same."""
    chance = Random(number)  # noqa: S311 - nothing secret
    rows: dict[Way, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.way, []).append(cell)
    for row in rows.values():
        chance.shuffle(row)
    return list(islice(interleave_longest(*rows.values()), number))
