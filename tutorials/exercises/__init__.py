"""The exercises: a template each, beside this file, a solution of each in `solutions` and its judge in `judges`."""

from pathlib import Path
from typing import Final

import attrs

FOLDER: Final = Path(__file__).parent


@attrs.frozen
class Exercise:
    """An exercise: its number, of which the first half is a chapter's, its name, and where to read for it."""

    number: str
    name: str
    title: str
    read: str

    @property
    def told(self) -> str:
        """How it is called."""
        return f"{self.number} {self.name}"

    @property
    def template(self) -> Path:
        """What a learner begins with."""
        return FOLDER / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        """An answer that is right."""
        return FOLDER / "solutions" / f"{self.name}.py"


EXERCISES: Final = (Exercise("4.1", "take_while", "values as long as they pass a test", "4.8"),)


def exercise_named(name: str) -> Exercise:
    """The exercise of a name, or of a number.

    Raises:
        LookupError: there is none.
    """
    for exercise in EXERCISES:
        if name in {exercise.name, exercise.number, f"{exercise.name}.py"}:
            return exercise
    raise LookupError(f"there is no exercise {name!r}; `python -m tutorials list` has them all")
