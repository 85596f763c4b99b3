"""The table of contents: the chapters in order, and how to read them."""

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Final

import attrs
from more_itertools import consecutive_groups

from tutorials.exercises import EXERCISES, Exercise
from tutorials.lesson import pieces


@attrs.frozen
class Chapter:
    """A chapter: its number, title, module and reading time, and the extras that it needs."""

    number: int
    title: str
    name: str
    minutes: int
    shown: Sequence[int] | None = None
    """The sections of this chapter, if a module has two chapters."""
    needs: tuple[tuple[str, str], ...] = ()
    """The extras that it needs, each with a module that shows if it is installed."""

    @property
    def module(self) -> str:
        """The module's name."""
        return f"tutorials.{self.name}"

    @property
    def missing(self) -> list[str]:
        """The extras that are not installed."""
        return [extra for extra, module in self.needs if importlib.util.find_spec(module) is None]

    @property
    def pieces(self) -> list[int]:
        """The numbers of its sections."""
        importlib.import_module(self.module)
        return list(self.shown or range(1, len(pieces(self.module)) + 1))

    @property
    def told_beside(self) -> str:
        """The sections of this chapter, and the chapter of the others, if they share a module; else empty."""
        if self.shown is None:
            return ""
        others = [chapter.number for chapter in CHAPTERS if chapter.name == self.name and chapter is not self]
        where = f"chapter {others[0]}" if len(others) == 1 else f"chapters {' and '.join(map(str, others))}"
        return f"sections {in_ranges(self.shown)}; the others are in {where}"

    @property
    def begins(self) -> "Chapter":
        """The first chapter of its module, which has the introduction; often this chapter."""
        return next(chapter for chapter in CHAPTERS if chapter.name == self.name)

    @property
    def exercises(self) -> list[Exercise]:
        """The exercises of the chapter."""
        return [exercise for exercise in EXERCISES if exercise.number.partition(".")[0] == str(self.number)]


CHAPTERS: Final = (
    Chapter(0, "A first pipeline", "a_first_pipeline", 10),
    Chapter(1, "What a pull is", "what_a_pull_is", 35),
    Chapter(2, "Demand", "demand", 10),
    Chapter(3, "A source", "writing_your_own", 10, shown=(1, 2, 3, 12)),
    Chapter(4, "A transformer, and the ways to end", "writing_your_own", 35, shown=(4, 5, 6, 7, 8, 9, 10, 11, 13, 14)),
    Chapter(5, "A sink", "a_sink", 15),
    Chapter(6, "Two inputs, and tasks", "two_inputs", 20),
    Chapter(7, "When is it done", "when_is_it_done", 30, shown=(1, 2, 3, 4, 5, 6, 10, 11, 12)),
    Chapter(8, "The right to emit", "when_is_it_done", 15, shown=(7, 8, 9)),
    Chapter(9, "Could-result-in", "could_result_in", 20),
    Chapter(10, "By query, and by tracker", "by_query_and_tracker", 20),
    Chapter(11, "Loops, and how they end", "when_is_it_done", 10, shown=(13, 14)),
    Chapter(12, "Dataflows in dataflows", "dataflows_in_dataflows", 15),
    Chapter(13, "The model: everything that could happen, and what did", "the_model", 20),
    Chapter(14, "Killed and resumed", "killed_and_resumed", 15, needs=(("files", "pyarrow"), ("display", "rich"))),
    Chapter(15, "Spark as a source", "spark_as_a_source", 15, needs=(("spark", "pyspark"),)),
    Chapter(16, "Kept up to date: programs of collections", "kept_up_to_date", 30),
    Chapter(17, "Into a table, exactly once", "into_a_table", 15, needs=(("files", "pyarrow"),)),
)


def in_ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers as ranges.

    >>> in_ranges((1, 2, 3, 12)), in_ranges((7, 8))
    ('1 to 3, 12', '7, 8')
    """
    groups = map(list, consecutive_groups(numbers))
    return ", ".join(f"{group[0]} to {group[-1]}" if len(group) > 2 else ", ".join(map(str, group)) for group in groups)


def chapter_numbered(number: str) -> Chapter:
    """Return the chapter with a number.

    Raises:
        LookupError: there is none.
    """
    for chapter in CHAPTERS:
        if str(chapter.number) == number:
            return chapter
    raise LookupError(f"there is no chapter {number!r}; `python -m pullstream learn list` lists them all")
