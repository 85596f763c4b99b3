"""Times in a trace: written as JSON, read back as the original values, and displayed."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from reprlib import Repr
from typing import Any, Final, TypeAlias, cast

import attrs

from pullstream.blueprint.shown import ADDRESS
from pullstream.history.events import Batched, Times
from pullstream.timely import BEGINNING, Lexicographic, LoopTime, Product

Json: TypeAlias = Any

_SHORT = Repr()
_SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 40, 60, 24
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 4


class NotInTrace(Exception):
    """A question that a trace cannot answer: how times of an unknown type compare, or what a step makes of one."""


@attrs.frozen(order=False)
class Opaque:
    """A time of a type that is only displayed: the trace does not say how it compares."""

    shown: str

    def __le__(self, other: object) -> bool:
        raise NotInTrace(f"a trace does not say how {self.shown} is compared")


def shown(value: object) -> str:
    """Return a short text for a value, the same in every run: without memory addresses and control characters."""
    if value.__class__ is int or value.__class__ is str:
        text = repr(value)
        if len(text) < _SHORT.maxlong:
            return text
    text = ADDRESS.sub("", _SHORT.repr(value))
    # The repr of a user's class may contain characters that a file or a drawing cannot.
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def encode(value: Any) -> Json:
    """Return a time as JSON: numbers and strings as they are, other types by name."""
    kind = value.__class__
    if kind is int or kind is str or (kind is float and isfinite(value)):
        return value
    coding = _CODINGS.get(kind)
    if coding is None:
        return {"shown": shown(value)}
    name, write, _ = coding
    return {name: write(value)}


def decode(written: Json) -> Any:
    """Return the time that was encoded; `Opaque` for one that is only displayed."""
    if not isinstance(written, dict):
        return written
    ((name, value),) = cast("dict[str, Any]", written).items()
    read = _READERS.get(name)
    return Opaque(value) if read is None else read(value)


def written_batch(batch: Batched) -> list[Json]:
    """Return the number of a batch's values, their time or times, and the first of them."""
    time = {"times": [*map(encode, batch.time)]} if isinstance(batch.time, Times) else encode(batch.time)
    return [batch.count, time, [*map(shown, batch.sample)]]


def _row(values: Iterable[Any]) -> list[Json]:
    return [encode(value) for value in values]


def _read(values: Sequence[Json]) -> list[Any]:
    return [decode(value) for value in values]


Coding: TypeAlias = tuple[str, Callable[[Any], Json], Callable[[Any], Any]]

_CODINGS: Final[dict[type, Coding]] = {
    type(BEGINNING): ("beginning", lambda _: 0, lambda _: BEGINNING),
    bool: ("bool", int, bool),
    date: ("date", date.isoformat, date.fromisoformat),
    datetime: ("datetime", datetime.isoformat, datetime.fromisoformat),
    time: ("clock", time.isoformat, time.fromisoformat),
    timedelta: (
        "timedelta",
        lambda span: [span.days, span.seconds, span.microseconds],
        lambda parts: timedelta(*parts),
    ),
    Fraction: ("fraction", str, Fraction),
    Decimal: ("decimal", str, Decimal),
    tuple: ("tuple", _row, lambda parts: tuple(_read(parts))),
    frozenset: (
        "frozenset",
        lambda members: sorted(_row(members), key=repr),
        lambda members: frozenset(_read(members)),
    ),
    Product: ("product", _row, lambda parts: Product(*_read(parts))),
    Lexicographic: ("lexicographic", _row, lambda parts: Lexicographic(*_read(parts))),
    LoopTime: (
        "loop",
        lambda time: [encode(time.outer), *time.counters],
        lambda parts: LoopTime(decode(parts[0]), tuple(parts[1:])),
    ),
}
_READERS: Final = {name: read for name, _, read in _CODINGS.values()}


def time_text(written: Json) -> str:
    """Return the display text of an encoded time.

    >>> time_text(3), time_text({"date": "2024-02-29"}), time_text({"loop": [3, 0, 2]}), time_text({"product": [1, 2]})
    ('3', '2024-02-29', '3 round 0.2', '(1, 2)')
    """
    if not isinstance(written, dict):
        return str(written)
    ((name, value),) = cast("dict[str, Any]", written).items()
    match name:
        case "beginning":
            return "the beginning"
        case "bool":
            return str(bool(value))
        case "loop":
            return f"{time_text(value[0])} round {'.'.join(map(str, value[1:]))}"
        case "tuple" | "product" | "lexicographic" | "frozenset":
            brackets = "{}" if name == "frozenset" else "()"
            return brackets[0] + ", ".join(map(time_text, value)) + brackets[1]
        case "timedelta":
            return str(timedelta(*value))
        case _:
            return str(value)
