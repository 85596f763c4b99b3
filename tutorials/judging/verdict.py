"""The verdict of a judge: right, or the kind of a mistake with a description."""

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
    "values": "the results must be those of the task",
    "concurrent": "inputs are asked at the same time",
    "demand": "it must ask ahead by as much as the task says",
    "drawing": "the messages at the edge must be those of the drawing",
    "prediction": "your prediction must match what happens",
    "resumed": "a run that is killed and started again must give the results of an undisturbed one",
    "bound": "every loop must end, and no state may grow forever",
    "endless": "the requester must return",
    "lax": "a report outside the contract must be refused",
    "strict": "a report within the contract must be accepted",
    "past": "no request and no message may be in the past of its event (Conditions 1 and 2)",
    "domain": "all times must be of one kind",
    "record": "the record must contain everything that happened, and nothing else",
    "model": "the model must allow the record",
    "waiting": "a module must not wait for itself",
}
"""The rule that each kind of mistake breaks; other kinds are the names of exceptions."""


class Wrong(Exception):
    """Raised for a wrong answer: the kind of the mistake, a description, and a drawing."""

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
        """Runs again what went wrong, for the trace; its first run is the one to show."""
        self.at = at
        """Finds the step at which that run goes wrong, if it breaks no rule."""


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
    """The step of the traced run at which it goes wrong."""

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.code == 0

    def json(self) -> str:
        """Return the verdict as one line of JSON."""
        return json.dumps(attrs.asdict(self))

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read the result of `json`."""
        return cls(**json.loads(line))

    @property
    def said(self) -> str:
        """The kind of the mistake, and the rule that it breaks."""
        return f"{self.kind}: {KINDS[self.kind]}" if self.kind in KINDS else self.kind

    def told(self, width: int = WIDTH, option: str = "") -> str:
        """Describe the verdict: the rule, the line, what happened, the drawing, and where to read.

        `option` is what a command needs to find the folder of the answer; see `Folder.option`.
        """
        width = min(width, WIDTH)
        if self.right:
            return f"right: {self.exercise}"
        word = {1: "wrong", 2: "cannot be judged", 3: "took too long"}[self.code]
        head = [f"{word}: {self.exercise}", *_filled(self.said, width, "  ")]
        place = _shown(self.file) + (f":{self.line}" if self.line else "")
        more = f"read: {self.read}   hint: python -m pullstream learn hint{option}"
        if option:
            # On its own line the command fits, and can be copied.
            more = more.replace("   hint", "\nhint")
        foot = [f"  {place}", *_filled(more, width, "  ")]
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
    """Mark the last line of a drawing, where the rule is broken."""
    mark = "   <- here"
    fits = len(drawn[-1]) + len(mark) <= width
    return [*drawn[:-1], drawn[-1] + mark] if fits else [*drawn, f"    {mark.strip()}"]


def _filled(text: str, width: int, margin: str) -> list[str]:
    """Wrap text to lines that fit; lines of a drawing keep their columns if possible."""
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
    """Return a path relative to the current folder if it is below it."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else file
