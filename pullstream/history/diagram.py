r"""Diagrams of events in the specification's notation.

    D: ask1(Ans1) -> U: Ans1=value(0)
    -> D: ask2(Ans2)  -> U: Ans2=done
                     \-> D: abort3(Ans3) -> U: Ans3=done

A line contains a request and what follows from it. A request sent while others are outstanding gets a new line, behind
a diagonal; further right means later. When nothing is outstanding, the next line begins with an arrow. In addition to
the specification, an ask for more than one value shows its limit, and a batch shows its number of values and its time
(unless 0); a multi-time batch shows the time of each value.
"""

from collections.abc import Iterable, Sequence
from reprlib import Repr
from typing import Final

import attrs

from pullstream.history.events import Act, Batched, Seen, Times

WIDTH: Final = 104
"""The column at which a row of concurrent events is wrapped."""

_SHORT = Repr()
_SHORT.maxstring, _SHORT.maxother = 24, 32
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 3


@attrs.frozen
class Face:
    """A side of a module, with the marks of its events."""

    below: str
    above: str
    mark: str = ""


EDGE: Final = Face("D", "U")
INPUT: Final = Face("TI", "U", "T")
OUTPUT: Final = Face("D", "TO")


def diagram(events: Iterable[Seen], *, gap: int | None = None) -> str:
    r"""Draw the events of one edge; after the first `gap` events, some are missing.

    >>> from pullstream.history.events import Batched
    >>> ask, value = Seen(0, Act.ASK, 1, 0, 1), Seen(2, Act.VALUE, 1, 0, Batched(0, 1, ("a",)))
    >>> abort, done = Seen(1, Act.ABORT, 2, 1), Seen(3, Act.DONE, 2, 1)
    >>> print(diagram([ask, abort, value, done]))
    D: ask1(Ans1)                    -> U: Ans1=value('a')
                 \-> D: abort2(Ans2)                       -> U: Ans2=done
    """
    drawing = _Drawing()
    for number, event in enumerate(events):
        if number == gap:
            drawing.say("...")
        drawing.add(event, EDGE)
    return drawing.text()


def module_diagram(output: Sequence[Seen], inputs: Sequence[Seen]) -> str:
    """Draw the events on both sides of a transformer, with the specification's marks D, TI, U, TO."""
    drawing = _Drawing()
    both = [(event, OUTPUT) for event in output] + [(event, INPUT) for event in inputs]
    for event, face in sorted(both, key=lambda pair: pair[0].order):
        drawing.add(event, face)
    return drawing.text()


NOTATION: Final = {
    Act.ASK: "ask{name}(Ans{name}{about})",
    Act.ABORT: "abort{name}(Ans{name})",
    Act.ERROR: "error{name}({about} Ans{name})",
    Act.DONE_INDICATION: "done{name}",
    Act.ERROR_INDICATION: "error{name}({about})",
    Act.ACK: "ack",
    Act.VALUE: "Ans{name}={about}",
    Act.DONE: "Ans{name}=done",
    Act.FAILURE: "Ans{name}=error({about})",
    Act.CANCELLED: "Ans{name}=cancelled",
}
"""The specification's notation for each act."""


def shown(event: Seen, face: Face = EDGE) -> str:
    """Return an event in the specification's notation."""
    match event.what:
        case Act.ASK:
            about = "" if event.about == 1 else f" {event.about}"
        case Act.VALUE:
            about = _value(event.about)
        case _:
            about = _SHORT.repr(event.about)
    text = NOTATION[event.what].format(name=f"{face.mark}{event.number}", about=about)
    return f"{face.below if event.requested else face.above}: {text}"


def _value(about: object) -> str:
    if not isinstance(about, Batched):
        return f"value({_SHORT.repr(about)})"
    shown_values = map(_SHORT.repr, about.sample)
    if isinstance(about.time, Times):
        shown_values = map(_at, about.sample, about.time)
    values = ", ".join(shown_values)
    more = "" if about.count <= len(about.sample) else f", ... {about.count} in all"
    time = "" if isinstance(about.time, Times) or about.time == 0 else f" at {_SHORT.repr(about.time)}"
    return f"value({values}{more}){time}"


def _at(value: object, time: object) -> str:
    return f"{_SHORT.repr(value)} at {_SHORT.repr(time)}"


Key = tuple[str, int]


class _Drawing:
    """The lines of a group of concurrent events, and the finished groups."""

    def __init__(self) -> None:
        self._finished: list[str] = []
        self._lines: list[str] = []
        self._line_of: dict[Key, int] = {}
        self._outstanding: set[Key] = set()
        self._last: tuple[int, Seen, Face] | None = None
        self._right = 0

    def add(self, event: Seen, face: Face) -> None:
        text, key = shown(event, face), (face.mark, event.number)
        if self._lines and (not self._outstanding or self._right + 4 + len(text) > WIDTH) and event.requested:
            self._break()
        if event.requested:
            line = self._request(event, face, text)
            if event.what in (Act.ASK, Act.ABORT, Act.ERROR):
                self._line_of[key] = line
                self._outstanding.add(key)
        else:
            line = self._answer(key, text)
            self._outstanding.discard(key)
        self._right = len(self._lines[line])
        self._last = (line, event, face)

    def say(self, text: str) -> None:
        """Add a line of text."""
        self._break()
        self._finished.append(text)

    def text(self) -> str:
        return "\n".join((*self._finished, *self._lines))

    def _break(self) -> None:
        # Sequential events continue in one row.
        going_on = dict.fromkeys(self._outstanding, 0) if len(self._lines) == 1 else {}
        self._finished += self._lines
        self._lines, self._line_of, self._last, self._right = [], going_on, None, 0

    def _request(self, event: Seen, face: Face, text: str) -> int:
        if self._last is None:
            return self._new(f"-> {text}" if self._finished else text)
        line, last, last_face = self._last
        follows = last_face.mark != face.mark or (not last.requested and last.lane == event.lane)
        if follows and len(self._lines[line]) == self._right:
            self._lines[line] += f" -> {text}"
            return line
        return self._new(f"{' ' * self._right}\\-> {text}")

    def _answer(self, key: Key, text: str) -> int:
        if len(self._lines) == 1 and self._right + 4 + len(text) > WIDTH:
            # Sequential events: the row continues on the next line.
            self._break()
            return self._new(f"-> {text}")
        line = self._line_of.get(key)
        if line is None:
            # Its request is further up, in a wrapped row, or no longer kept.
            return self._new(f"{' ' * self._right}-> {text}")
        self._lines[line] = f"{self._lines[line]:<{self._right}} -> {text}"
        return line

    def _new(self, text: str) -> int:
        self._lines.append(text)
        return len(self._lines) - 1
