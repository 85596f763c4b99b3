"""The ways in which neighbours may behave; each combination is a cell of the grid."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, product
from random import Random
from typing import Any, Final, Literal, Self, get_args

import attrs
from attrs.validators import ge
from more_itertools import interleave_longest

VALUES: Final = (0, 1, 2, 3, 4, 5)

NUMBERS: Final = (1, 3, 0, 2, 5, 4)
"""The input numbers; unordered (unless a subject asks for order), so the last one is not the largest."""

ALIKE: Final = (1, 1, 3, 1, 3)
"""Input numbers with duplicates: adjacent and apart, at one time and at several."""

APART: Final = 100
"""The difference between the numbers of one source and the next."""

LONG: Final = 100.0
"""Seconds without events before a quiet end; by then all work has ended."""
LIMITS: Final = (1, 2, 1000)

DELAY: Final = 1.0
"""Seconds that a delayed source takes per answer; an async callable takes a tenth. The time is virtual."""

SourceEnding = Literal["done", "failure"]
Many = Literal["", "in-order", "out-of-order", "interleaved", "alone"]
Way = Literal["end", "abort", "error", "cancel", "raise"]

ENDINGS: Final[tuple[SourceEnding, ...]] = ("done", "failure")
MANY: Final[tuple[Many, ...]] = ("in-order", "out-of-order", "interleaved")
TERMINATIONS: Final[tuple[Way, ...]] = ("abort", "error")
FROM_OUTSIDE: Final[tuple[Way, ...]] = ("abort", "cancel")


@attrs.frozen
class Cell:
    """A way in which the neighbours of a module may behave.

    Upstream emits `values` values and then the `ending`, immediately or `delayed`. All are at one time, each is at its
    own (`timed`), or several times are in one answer (`many`): in order, out of order, or `interleaved`, with two times
    open at once; with `alone`, only the values at the time `position` are emitted. Before a `quiet` end, nothing
    arrives for a long time. With `alike`, some values are equal. Downstream asks for up to `limit` values and for one,
    in turn; with `whole`, it takes multi-time answers as they are. After `position` asks, the stream ends in one of
    several ways, `way`: normally (`end`), by an abort, an error, or the cancellation of an ask; with `raise`, the
    module's callable raises at that value.

    A termination is sent between asks or, with `moment`, that many seconds after an ask on another lane. It waits for
    its confirmation, or is an indication. It is sent once, or `again` while the first is in progress.

    `seed` is for trio's scheduler, which runs the tasks of a step in random order, so that a cell always runs the same.
    """

    values: int = attrs.field(default=3, validator=ge(0))
    ending: SourceEnding = "done"
    delayed: bool = False
    timed: bool = False
    limit: int = attrs.field(default=1, validator=ge(1))
    way: Way = "end"
    position: int = attrs.field(default=0, validator=ge(0))
    moment: float | None = None
    waits: bool = True
    again: bool = False
    seed: int = 0
    many: Many = ""
    whole: bool = False
    quiet: bool = False
    alike: bool = False

    def time(self, value: int) -> int:
        """Return the time of the value at a position."""
        if self.many in ("interleaved", "alone"):
            # 0 1 0 1 2 3: two values at each of two times that are open at once.
            return value % 2 + 2 * (value // 4)
        if self.many:
            # One value at the first time, then two at each: an answer of two values has two times.
            time = (value + 1) // 2
            return time if self.many == "in-order" else time ^ 1
        return value if self.timed else 0

    def places(self) -> list[int]:
        """Return the positions of the values in order of arrival; with `alone`, only those at the time `position`."""
        return [place for place in range(self.values) if self.many != "alone" or self.time(place) == self.position]

    @property
    def effort(self) -> tuple[object, ...]:
        """A measure of complexity: the simplest failing cell is reported first."""
        above = (bool(self.many), self.timed, self.delayed, self.quiet, self.alike, self.ending != "done")
        special = (self.way != "end", *above)
        ways = (self.again, not self.waits, self.moment is not None, self.whole)
        return (sum(special), *special, *ways, self.limit, self.values, self.position, self.seed)

    def __str__(self) -> str:
        """Return the differences from the simplest cell, in the form that `Cell.parse` reads."""
        fields = attrs.fields(type(self))
        shown = [(field.name, getattr(self, field.name), field.default) for field in fields]
        return " ".join(
            f"{name}={value}" for name, value, default in shown if name in ("values", "limit") or value != default
        )

    @property
    def kind(self) -> tuple[object, ...]:
        """The kind of events in the cell, without the number of values and the way they are asked for."""
        return self.way, self.many, self.timed, self.delayed, self.quiet, self.alike, self.ending

    @classmethod
    def parse(cls, text: str) -> "Self":
        """Return the cell for a text as given by `str`: `values=4 limit=1 way=abort`.

        Raises: ValueError: the text is not a cell.
        """
        kinds = {field.name: field.type for field in attrs.fields(cls)}
        given: dict[str, Any] = {}
        for word in text.replace(",", " ").split():
            name, equals, value = word.partition("=")
            if not equals or name not in kinds:
                raise ValueError(
                    f"a cell consists of name=value pairs with the names {', '.join(kinds)}, but got {word!r}"
                )
            try:
                given[name] = _read(kinds[name], value)
            except ValueError as exc:
                raise ValueError(f"a cell cannot have {word!r}: {exc}") from None
        return cls(**given)


def _read(kind: Any, text: str) -> object:
    """Return the value of a field of a type for its text."""
    if kind is int:
        return int(text)
    if kind == float | None:
        return None if text == "None" else float(text)
    known: dict[str, object] = {str(value): value for value in ((True, False) if kind is bool else get_args(kind))}
    if text not in known:
        raise ValueError(f"{text!r} is not one of {', '.join(filter(None, known))}")
    return known[text]


def supplies(*, fed: bool) -> Iterator[Cell]:
    """Yield the behaviours of upstream; a source has no upstream."""
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
    """Yield cells with a quiet end, before which all work ends."""
    for values, limit in product((2, 3, 5), LIMITS):
        yield Cell(values, timed=True, limit=limit, quiet=True)
        yield Cell(values, limit=limit, many="in-order", quiet=True)  # several batches at a time


def _alike() -> Iterator[Cell]:
    """Yield cells with equal values. They have no other events, because the value that raises is found by equality."""
    for values, timed, limit in product((2, 5), (False, True), LIMITS):
        yield Cell(values, timed=timed, limit=limit, alike=True)
    for many, whole in product(MANY, (False, True)):
        yield Cell(5, limit=LIMITS[-1], many=many, whole=whole, alike=True)


@cache
def grid(*, sink: bool, fed: bool, around: bool, differ: bool = False) -> Sequence[Cell]:
    """Return all cells for a kind of module; with `differ`, none with equal values."""
    cells = _sink_cells(around=around) if sink else _stream_cells(fed=fed, around=around)
    return (*cells, *(_alike() if fed and not differ else ()))


def _stream_cells(*, fed: bool, around: bool) -> Iterator[Cell]:
    """Yield the cells of a source or transformer, except those that a module could not distinguish."""
    yield from _quiet() if fed else ()
    for supply in supplies(fed=fed):
        yield supply
        for position in range(supply.values + 2):
            if supply.ending == "done" or position >= supply.values:
                # Events upstream of a termination are never reached.
                at = attrs.evolve(supply, position=position)
                yield from _terminations(at, fed=fed)
                if around and position <= supply.values:
                    yield attrs.evolve(at, way="raise")


def _terminations(at: Cell, *, fed: bool) -> Iterator[Cell]:
    """Yield the ways in which a consumer may end a stream at one position."""
    moments: tuple[float, ...] = (0.0,)
    if at.delayed:
        moments = (0.05 * DELAY, 1.05 * DELAY)
    elif not fed:
        moments = (0.0, 0.05 * DELAY, 1.05 * DELAY)
    # How a termination is sent does not depend on how many values were asked for.
    sent = ((True, False), (False, False), (True, True), (False, True)) if at.limit == 1 else ((True, False),)
    for way, moment, (waits, again) in product(TERMINATIONS, (None, *moments), sent):
        yield attrs.evolve(at, way=way, moment=moment, waits=waits, again=again)
    yield from (attrs.evolve(at, way="cancel", moment=moment) for moment in moments)


def _sink_cells(*, around: bool) -> Iterator[Cell]:
    """Yield the cells of a sink, which has no consumer: it is aborted or cancelled from outside."""
    yield from _quiet()
    for supply in supplies(fed=True):
        yield supply
        if supply.delayed:
            for way, position in product(FROM_OUTSIDE, range(supply.values + 1)):
                yield attrs.evolve(supply, way=way, position=position)
        if around:
            yield from (attrs.evolve(supply, way="raise", position=position) for position in range(supply.values + 1))


def sample(cells: Sequence[Cell], number: int, seed: int = 0) -> list[Cell]:
    """Return a random sample with equally many cells of each kind; always the same for a seed.

    Rare cells are in every sample: quiet ends, times that are open at once, and equal values.
    """
    chance = Random(number + 1000 * seed)  # noqa: S311 - not for security
    rows: dict[object, list[Cell]] = {}
    for cell in cells:
        rare = "quiet" if cell.quiet else "alike" if cell.alike else cell.many if cell.way == "end" else ""
        kind = rare or cell.way
        rows.setdefault(kind, []).append(cell)
    for row in rows.values():
        chance.shuffle(row)
    return list(islice(interleave_longest(*rows.values()), number))
