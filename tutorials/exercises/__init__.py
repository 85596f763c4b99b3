"""The exercises: each has a template next to this file, a solution in `solutions` and a judge in `judges`."""

from pathlib import Path
from typing import Final

import attrs

FOLDER: Final = Path(__file__).parent


@attrs.frozen
class Exercise:
    """An exercise: its number, whose first half is a chapter's, its name and title, and the section to read for it."""

    number: str
    name: str
    title: str
    read: str

    @property
    def told(self) -> str:
        """The number and the name."""
        return f"{self.number} {self.name}"

    @property
    def template(self) -> Path:
        """The file that a learner begins with."""
        return FOLDER / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        """A correct answer."""
        return FOLDER / "solutions" / f"{self.name}.py"


EXERCISES: Final = (
    Exercise("0.1", "words_a_day", "words a day from a list", "0.5"),
    Exercise("1.1", "which_rule", "which rule is broken?", "1.13"),
    Exercise("1.2", "requester", "write the requester of a drawing", "1.7"),
    Exercise("2.1", "one_ahead", "what is printed, and one ahead", "2.5"),
    Exercise("3.1", "rows", "rows of a table", "3.3"),
    Exercise("4.1", "take_while", "values until one fails a test", "4.8"),
    Exercise("4.2", "by_hand", "the words of rows, by hand", "4.6"),
    Exercise("4.3", "steps", "differences between neighbours", "2.3"),
    Exercise("5.1", "store", "store every value", "5.2"),
    Exercise("6.1", "pairs", "pairs of two sources", "6.2"),
    Exercise("6.2", "read_ahead", "read ahead by n", "6.5"),
    Exercise("7.1", "when", "when is it complete?", "7.5"),
    Exercise("7.2", "report", "a report a day", "7.2"),
    Exercise("7.3", "till", "a till that closes at midnight", "7.4"),
    Exercise("8.1", "largest", "the largest of each time", "8.7"),
    Exercise("8.2", "one_behind", "each value when the next has come", "8.9"),
    Exercise("9.1", "proofs", "could-result-in, as a table", "9.2"),
    Exercise("9.2", "normal_form", "the normal form of a path", "9.6"),
    Exercise("9.3", "no_later", "which path is no later?", "9.7"),
    Exercise("10.1", "find_cycles", "does every cycle advance?", "10.2"),
    Exercise("10.2", "frontier", "what can still come?", "10.4"),
    Exercise("10.3", "summarize", "a graph as one node", "10.5"),
    Exercise("10.4", "updates", "updates for the tracker", "10.8"),
    Exercise("11.1", "reach", "how far is it?", "11.14"),
    Exercise("12.1", "contract", "is this report within the contract?", "12.2"),
    Exercise("13.1", "node", "the largest of each time, as a node of the model", "13.1"),
    Exercise("13.2", "record", "a run, recorded for the model", "13.5"),
    Exercise("14.1", "takings", "takings that survive", "14.4"),
)


def exercise_named(name: str) -> Exercise:
    """Return the exercise with a name or a number.

    Raises:
        LookupError: there is none.
    """
    for exercise in EXERCISES:
        if name in {exercise.name, exercise.number, f"{exercise.name}.py"}:
            return exercise
    raise LookupError(f"there is no exercise {name!r}; `python -m pullstream learn list` lists them all")
