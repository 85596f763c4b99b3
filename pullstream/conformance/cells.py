"""The ways in which partners may behave: each combination is a cell of the grid."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from random import Random
from typing import Any, Final, Literal, Self, get_args

import attrs
from more_itertools import interleave_longest

VALUES: Final = (0, 1, 2, 3, 4, 5)

NUMBERS: Final = (1, 3, 0, 2, 5, 4)
"""The numbers that come, in no order, unless a subject asks for one: what only looks at the last finds no largest."""

ALIKE: Final = (1, 1, 3, 1, 3)
"""The numbers that come where some are equal: one right after the other, and not, at one time, and at several."""

APART: Final = 100
"""The difference between the numbers of one source and of the next."""

LONG: Final = 100.0
"""Seconds for which nothing happens before a quiet end: whatever was begun has come to its end by then."""
LIMITS: Final = (1, 2, 1000)

DELAY: Final = 1.0
"""Seconds that a delayed source takes for an answer, and an async callable a tenth of it. The time is virtual."""

Ending = Literal["done", "failure"]
Many = Literal["", "in-order", "out-of-order", "interleaved", "one-by-one"]
Way = Literal["end", "abort", "error", "cancel", "raise"]

ENDINGS: Final[tuple[Ending, ...]] = ("done", "failure")
MANY: Final[tuple[Many, ...]] = ("in-order", "out-of-order", "interleaved")
TERMINATIONS: Final[tuple[Way, ...]] = ("abort", "error")
FROM_OUTSIDE: Final[tuple[Way, ...]] = ("abort", "cancel")


@attrs.frozen
class Cell:
    """A way in which the partners of a module may behave.

    From above come `values` values, then `ending`, immediately or `delayed`, at one time, or each at a time of its own
    (`timed`), or at times of which an answer has `many`, in order or not; interleaved, two of them are open at once.
    Before a `quiet` end nothing comes for long. Some values are equal where they are `alike`. From below
    come asks for at most `limit` values; a `whole` one takes an answer of many times as it is. After `position` asks
    the end comes, in one of several ways, `way`: nothing special (`end`), an abort, an error, or the cancellation of an
    ask; with `raise` it is the module's callable that raises, at that value.

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
    quiet: bool = False
    alike: bool = False

    def time(self, value: int) -> int:
        """The time of the value that comes in a place."""
        if self.many in ("interleaved", "one-by-one"):
            # 0 1 0 1 2 3: two values at each of two times that are open at once.
            return value % 2 + 2 * (value // 4)
        if self.many:
            # The first alone, then two at a time: an answer of two values has two times.
            time = (value + 1) // 2
            return time if self.many == "in-order" else time ^ 1
        return value if self.timed else 0

    def places(self) -> list[int]:
        """The places of the values, in the order in which they come: `one-by-one`, one time after another."""
        places = list(range(self.values))
        return sorted(places, key=self.time) if self.many == "one-by-one" else places

    @property
    def effort(self) -> tuple[object, ...]:
        """A measure of how much there is to understand: of cells that fail the simplest is told first."""
        above = (bool(self.many), self.timed, self.delayed, self.quiet, self.alike, self.ending != "done")
        special = (self.way != "end", *above)
        ways = (self.again, not self.waits, self.moment is not None, self.whole)
        return (sum(special), *special, *ways, self.limit, self.values, self.position, self.seed)

    def __str__(self) -> str:
        """The differences from the simplest cell, as `Cell.parse` reads it."""
        fields = attrs.fields(type(self))
        shown = [(field.name, getattr(self, field.name), field.default) for field in fields]
        return " ".join(
            f"{name}={value}" for name, value, default in shown if name in ("values", "limit") or value != default
        )

    @property
    def kind(self) -> tuple[object, ...]:
        """The kind of what happens, whatever the number of values, and how they are asked for."""
        return self.way, self.many, self.timed, self.delayed, self.quiet, self.alike, self.ending

    @classmethod
    def parse(cls, text: str) -> "Self":
        """The cell that a text says, as `str` gives it: `values=4 limit=1 way=abort`.

        Raises:
            ValueError: it says something else.
        """
        given: dict[str, Any] = {}
        for word in text.replace(",", " ").split():
            name, equals, value = word.partition("=")
            if not equals or name not in _READ:
                raise ValueError(f"a cell is said by name=value, of {', '.join(_READ)}, and {word!r} is none")
            given[name] = _READ[name](value)
        return cls(**given)


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(filter(None, choices))}")
        return text

    return read


def _yes(text: str) -> bool:
    return _one_of("True", "False")(text) == "True"


_READ: Final[dict[str, Callable[[str], object]]] = {
    "values": int,
    "ending": _one_of(*get_args(Ending)),
    "delayed": _yes,
    "timed": _yes,
    "limit": int,
    "way": _one_of(*get_args(Way)),
    "position": int,
    "moment": lambda text: None if text == "None" else float(text),
    "waits": _yes,
    "again": _yes,
    "seed": int,
    "many": _one_of(*get_args(Many)),
    "whole": _yes,
    "quiet": _yes,
    "alike": _yes,
}


def supplies(*, fed: bool) -> Iterator[Cell]:
    """The behaviours from above; a source has nothing above it."""
    if not fed:
        yield from (Cell(limit=limit, whole=whole) for limit, whole in product(LIMITS, (False, True)))
        return
    for values, ending, delayed, timed, limit in product(VALUES, ENDINGS, (False, True), (False, True), LIMITS):
        if values > 1 or not timed:
            yield Cell(values, ending, delayed, timed, limit)
    for values, ending, many, limit, whole in product((3, 5), ENDINGS, MANY, LIMITS, (False, True)):
        if limit > 1 or (many == "interleaved" and not whole):
            yield Cell(values, ending, delayed=whole, limit=limit, many=many, whole=whole)


def _quiet() -> Iterator[Cell]:
    """Cells with a quiet end, before which everything that was begun comes to its end."""
    for values, limit in product((2, 3, 5), LIMITS):
        yield Cell(values, timed=True, limit=limit, quiet=True)


def _alike() -> Iterator[Cell]:
    """Cells in which some values are equal. Nothing else happens in them: the value that raises is told by itself."""
    for values, timed, limit in product((2, 5), (False, True), LIMITS):
        yield Cell(values, timed=timed, limit=limit, alike=True)
    for many, whole in product(MANY, (False, True)):
        yield Cell(5, limit=LIMITS[-1], many=many, whole=whole, alike=True)


@cache
def grid(*, sink: bool, fed: bool, around: bool, differ: bool = False) -> Sequence[Cell]:
    """All cells of a module of this kind; with `differ` none in which two values are equal."""
    cells = _sink_cells(around=around) if sink else _stream_cells(fed=fed, around=around)
    return (*cells, *(_alike() if fed and not differ else ()))


def _stream_cells(*, fed: bool, around: bool) -> Iterator[Cell]:
    """The grid of a source or a transformer, without the cells that differ in nothing a module could notice."""
    yield from _quiet() if fed else ()
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
    yield from _quiet()
    for supply in supplies(fed=True):
        yield supply
        if supply.delayed:
            for way, position in product(FROM_OUTSIDE, range(supply.values + 1)):
                yield attrs.evolve(supply, way=way, position=position)
        if around:
            yield from (attrs.evolve(supply, way="raise", position=position) for position in range(supply.values + 1))


def sample(cells: Sequence[Cell], number: int, seed: int = 0) -> list[Cell]:
    """A sample of the cells, as many of each kind as there are; by chance, but always the same for a seed.

    Those that no other cell stands for are in every sample: quiet ends, times that are open at once, and equal values.
    """
    chance = Random(number + 1000 * seed)  # noqa: S311 - nothing secret
    rows: dict[object, list[Cell]] = {}
    for cell in cells:
        rare = "quiet" if cell.quiet else "alike" if cell.alike else cell.many if cell.way == "end" else ""
        kind = rare or cell.way
        rows.setdefault(kind, []).append(cell)
    for row in rows.values():
        chance.shuffle(row)
    return list(islice(interleave_longest(*rows.values()), number))
