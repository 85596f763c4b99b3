"""Answers to the exercises, wrong and right, each written as changes of the solution.

`answers` has one file for each exercise. An answer begins with its name and the kinds of mistake that the judge may
report, or `right`; the next line says what it does. `name of other` changes that other answer instead of the solution.
The changes follow, each of a text that occurs exactly once:

- `old → new` replaces a part of a line;
- lines with `-` are replaced by lines with `+`, and lines with a space stay; `-...` stands for the lines in between.

A blank line ends a change of lines. Blank lines of the solution are ignored.
"""

import re
from pathlib import Path

import attrs

from tutorials.exercises import EXERCISES, Exercise

FOLDER = Path(__file__).parent / "answers"


@attrs.frozen
class Answer:
    """An answer: the kinds of its mistakes (`right` for none), what it does, and its text."""

    exercise: Exercise
    name: str
    kinds: frozenset[str]
    why: str
    text: str

    def written(self, folder: Path) -> Path:
        """Write the answer to a folder, under the name of the exercise."""
        path = folder / self.exercise.template.name
        path.write_text(self.text, encoding="utf-8")
        return path


def answers_to(exercise: Exercise) -> list[Answer]:
    """Read the answers to an exercise."""
    text = (FOLDER / f"{exercise.name}.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^# (\w+)(?: of (\w+))?: (.+)\n# (.+)\n", text, flags=re.MULTILINE)
    rows = {name: (of, kinds, why, body) for name, of, kinds, why, body in zip(*[iter(parts)] * 5, strict=True)}
    assert len(rows) == len(parts) / 5, f"{exercise.name} has two answers with the same name"
    solution = "".join(f"{line}\n" for line in exercise.solution.read_text().splitlines() if line.strip())

    def text_of(name: str) -> str:
        of, *_, body = rows[name]
        return changed(text_of(of) if of else solution, body, f"{exercise.name}, {name}")

    return [
        Answer(exercise, name, frozenset(kinds.split()), why, text_of(name))
        for name, (_, kinds, why, _) in rows.items()
    ]


def changed(text: str, changes: str, name: str) -> str:
    """Apply changes.

    Raises:
        ValueError: one does not apply, or applies at several places.
    """
    for change in filter(None, re.split(r"\n\n+", changes.strip("\n"))):
        for old, new in by_lines(change) if re.search(r"^[-+]", change, re.MULTILINE) else by_words(change):
            places = [*re.finditer(old, text, re.MULTILINE)]
            if len(places) != 1:
                raise ValueError(f"{name}: this occurs {len(places)} times, and must occur once:\n{change}")
            text = text[: places[0].start()] + new + text[places[0].end() :]
    return text


def by_words(change: str) -> list[tuple[str, str]]:
    """Return patterns and replacements for the lines `old → new`."""
    pairs = [line.split(" →", 1) for line in change.splitlines()]
    return [(re.escape(old), new.removeprefix(" ")) for old, new in pairs]


def by_lines(change: str) -> list[tuple[str, str]]:
    """Return the pattern and the replacement for whole lines."""
    lines = [(line[0], f"{line[1:]}\n") for line in change.splitlines()]
    old = "".join("(?:.*\n)*?" if line == "...\n" else f"^{re.escape(line)}" for sign, line in lines if sign in "- ")
    everything = [line for sign, line in lines if sign in "- "]
    old = r"\A" * (everything[0] == "...\n") + old + r"\Z" * (everything[-1] == "...\n")
    return [(old, "".join(line for sign, line in lines if sign in "+ "))]


ANSWERS = [answer for exercise in EXERCISES for answer in answers_to(exercise)]


def answer_named(exercise: str, name: str) -> Answer:
    """Return an answer by its exercise and its name."""
    (found,) = [answer for answer in ANSWERS if (answer.exercise.name, answer.name) == (exercise, name)]
    return found
