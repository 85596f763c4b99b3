"""What a judge says: right, or the kind of a mistake, with what happened."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

import attrs

from pullstream.checker import RULES
from pullstream.conformance.findings import BESIDE
from tutorials.judging.steps import At

WIDTH: Final = 100
LINES: Final = 20

KINDS: Final[dict[str, str]] = {
    **RULES,
    **BESIDE,
    "values": "what comes out is what the task says",
    "demand": "as much is asked for ahead as the task says",
    "drawing": "what the two say at the edge is what is drawn",
    "prediction": "what you say is what happens",
    "resumed": "a run that was killed and started again gives what an undisturbed one does",
    "bound": "what goes round comes to its end, and nothing grows for ever",
    "lax": "what comes from nothing is not believed",
    "strict": "what is within the contract is believed",
    "past": "nothing is asked for, or sent, in the past of what was given (Conditions 1 and 2)",
    "domain": "times are of one kind",
    "record": "what is written down is what happened, all of it and nothing else",
    "model": "the model allows what is written down",
    "waiting": "a module waits for others, not for itself",
}
"""What each kind of mistake is against; other kinds are the names of exceptions."""


class Wrong(Exception):
    """An answer is wrong: the kind of the mistake, what happened in words, and drawn."""

    def __init__(
        self,
        kind: str,
        happened: str,
        drawing: str = "",
        line: int | None = None,
        again: Callable[[], object] | None = None,
        *,
        at: At | None = None,
    ) -> None:
        super().__init__(happened)
        self.kind = kind
        self.happened = happened
        self.drawing = drawing
        self.line = line
        self.again = again
        """Does once more what has gone wrong, to be seen: the first run in it is what is looked at."""
        self.at = at
        """Finds the step of that run at which it goes wrong, where no rule is broken."""


@attrs.frozen
class Verdict:
    """The verdict on an answer. `code` is the exit code: 0 right, 1 wrong, 2 cannot be judged, 3 took too long."""

    exercise: str
    code: int = 0
    kind: str = ""
    file: str = ""
    line: int | None = None
    happened: str = ""
    drawing: str = ""
    read: str = ""
    step: int | None = None
    """The step of the run that was written down at which it goes wrong."""

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.code == 0

    def json(self) -> str:
        """One line of JSON."""
        return json.dumps(attrs.asdict(self))

    @classmethod
    def parse(cls, line: str) -> Self:
        """What `json` gave."""
        return cls(**json.loads(line))

    @property
    def said(self) -> str:
        """The kind of the mistake, and what it is against."""
        return f"{self.kind}: {KINDS[self.kind]}" if self.kind in KINDS else self.kind

    def told(self, width: int = WIDTH) -> str:
        """The verdict in words: the rule, the line, what happened, the drawing, where to read on."""
        width = min(width, WIDTH)
        if self.right:
            return f"right: {self.exercise}"
        word = {1: "wrong", 2: "cannot be judged", 3: "took too long"}[self.code]
        head = [f"{word}: {self.exercise}", *_filled(self.said, width, "  ")]
        place = _shown(self.file) + (f":{self.line}" if self.line else "")
        foot = [f"  {place}", *_filled(f"read: {self.read}   hint: python -m pullstream learn hint", width, "  ")]
        happened = _filled(self.happened, width, "  ")
        room = LINES - len(head) - len(foot)
        if len(happened) > room:
            happened = [*happened[: room - 1], "  ..."]
        drawn = [line for row in self.drawing.splitlines() for line in _filled(row, width, "    ")]
        if drawn and self.kind in RULES:
            drawn = _here(drawn, width)
        room -= len(happened)
        if len(drawn) > room:
            drawn = ["    ...", *drawn[len(drawn) - room + 1 :]] if room > 1 else []
        return "\n".join([*head, foot[0], *happened, *drawn, *foot[1:]])


def _here(drawn: list[str], width: int) -> list[str]:
    """Mark the last line of a drawing: what is drawn there is against the rule."""
    mark = "   <- here"
    fits = len(drawn[-1]) + len(mark) <= width
    return [*drawn[:-1], drawn[-1] + mark] if fits else [*drawn, f"    {mark.strip()}"]


def _filled(text: str, width: int, margin: str) -> list[str]:
    """Lines that fit; those of a drawing keep their columns as far as that goes."""
    lines: list[str] = []
    for row in text.splitlines():
        if len(margin + row) <= width:
            lines.append((margin + row).rstrip())
        else:
            lines += textwrap.wrap(
                row, width, initial_indent=margin, subsequent_indent=f"{margin}  ", break_on_hyphens=False
            )
    return lines


def _shown(file: str) -> str:
    """A path as one types it: below here if it is."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else file
