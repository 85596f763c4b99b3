"""The judge of the exercises: it accuses no right answer, and every wrong one of what is wrong with it.

A wrong answer lies in `wrong/`, in a folder of its exercise's name, and its first line says of which kinds of mistake
it may be accused; a right one that is not the solution lies in `right/`.
"""

import builtins
import re
from pathlib import Path

import pytest

import pullstream as ps
from pullstream.checker import RULES
from tutorials.exercises import EXERCISES
from tutorials.exercises.judges import hints
from tutorials.judging.judge import judged
from tutorials.judging.module import told_simply
from tutorials.judging.process import judged_apart
from tutorials.judging.verdict import KINDS

HERE = Path(__file__).parent
OUTSIDE = {"spin"}
"""Kinds of which a process has to be ended."""


def answers(folder, few):
    """Parameters for the answers in a folder: all, of which but a few of each exercise are slow."""
    return [
        pytest.param(exercise, path, id=f"{exercise.name}-{path.stem}", marks=[pytest.mark.slow] * (n >= few))
        for exercise in EXERCISES
        for n, path in enumerate(sorted((HERE / folder / exercise.name).glob("*.py")))
    ]


def kinds(path):
    """The kinds that the header of a wrong answer names."""
    return set(re.match(r"# wrong: (.*)\n", path.read_text())[1].split())


each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


@each
def test_a_solution_is_right(exercise):
    """What `solution` shows is accused of nothing."""
    verdict = judged(exercise, exercise.solution)
    assert verdict.right, verdict.told()


@pytest.mark.slow
@each
def test_right_answers_are_right_at_three_seeds(exercise):
    """In whatever order tasks run: the solution, and the others."""
    for path in (exercise.solution, *(HERE / "right" / exercise.name).glob("*.py")):
        verdict = judged(exercise, path, 3)
        assert verdict.right, (path.name, verdict.told())


@pytest.mark.slow
@each
def test_wrong_answers_are_wrong_at_three_seeds(exercise):
    """And of the same kinds; the template is wrong, too."""
    assert judged(exercise, exercise.template, 3).code == 1
    for path in (HERE / "wrong" / exercise.name).glob("*.py"):
        verdict = (judged_apart if kinds(path) & OUTSIDE else judged)(exercise, path, 3)
        assert verdict.kind in kinds(path), (path.name, verdict.told())


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("exercise", "path"), answers("right", 1))
def test_another_right_answer_is_not_accused(exercise, path):
    """There is more than one way to be right."""
    verdict = judged(exercise, path)
    assert verdict.right, verdict.told()


@each
def test_there_are_other_right_answers(exercise):
    """The judge has been tried with at least two of them, and with wrong ones."""
    assert len(list((HERE / "right" / exercise.name).glob("*.py"))) >= 2
    assert len(list((HERE / "wrong" / exercise.name).glob("*.py"))) >= 3


@each
def test_a_template_is_wrong_until_it_is_touched(exercise):
    """It loads, and is not right by luck."""
    verdict = judged(exercise, exercise.template)
    assert verdict.code == 1, verdict.told()


@pytest.mark.parametrize(("exercise", "path"), answers("wrong", 1))
def test_a_wrong_answer_is_accused_of_what_is_wrong(exercise, path):
    """The first line of the file says of what; the message can be read, and shows nothing of the judge's own."""
    expected = kinds(path)
    verdict = (judged_apart if expected & OUTSIDE else judged)(exercise, path)
    told = verdict.told()

    assert verdict.kind in expected, told
    assert verdict.code in {1, 3}
    assert len(told.splitlines()) <= 20
    assert max(map(len, told.splitlines())) <= 100
    assert not re.search(r"\b_[A-Za-z]\w+|Cell\(|=True\)|site-packages|pullstream/", told), told
    assert len(hints(exercise, verdict.kind)) == 3


def test_every_kind_that_a_header_names_is_one():
    """A slip of the pen in a header would be a test that cannot fail."""
    named = {kind for path in (HERE / "wrong").rglob("*.py") for kind in kinds(path)}
    exceptions = {*dir(builtins), *dir(ps), *dir(ps.errors)}
    assert named - set(KINDS) - exceptions == set()
    assert set(RULES) <= set(KINDS)


def test_a_mistake_in_a_table_is_at_the_table():
    """What is assigned is nowhere defined: its line is that of the assignment, and not the file's first."""
    (exercise,) = (exercise for exercise in EXERCISES if exercise.name == "updates")
    path = HERE / "wrong" / "updates" / "forgotten.py"
    assert path.read_text().splitlines()[judged(exercise, path).line - 1].startswith("MOVES =")


def test_a_message_without_its_places_is_a_sentence():
    """Who is named as composed somewhere is so for a user's file, and not for the judge's: the comma goes with it."""
    assert told_simply("one, composed at a.py:7, keeps it: b") == "one keeps it: b"
    assert told_simply("one, composed at a.py:7, and two, composed at b.py:1: hang") == "one, and two: hang"
