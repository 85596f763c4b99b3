"""The judge of the exercises reports no mistake in a right answer, and the actual mistake in a wrong one.

The answers are in `answers`, as changes of the solutions: see `patches`.
"""

import builtins
import re

import pytest

import pullstream as ps
from pullstream.checker import RULES
from tests.sampling import amount
from tests.tutorials.patches import ANSWERS, answer_named
from tutorials.exercises import EXERCISES, exercise_named
from tutorials.exercises.judges import hints
from tutorials.judging.judge import judged
from tutorials.judging.module import told_simply
from tutorials.judging.process import judged_apart
from tutorials.judging.verdict import KINDS

RIGHT = {answer for answer in ANSWERS if answer.kinds == {"right"}}


SEEDS = amount(1, 3)
"""The number of task orders in which each answer is judged."""


def verdict_on(answer, folder):
    """Judge an answer; an answer that never yields is ended along with its process."""
    if "spin" in answer.kinds:
        return judged_apart(answer.exercise, answer.written(folder), SEEDS, limit=2)
    return judged(answer.exercise, answer.written(folder), SEEDS)


KIT = {"rows", "take_while", "steps", "store", "pairs", "largest", "one_behind"}
"""Exercises whose wrong answers also test the conformance kit, which must find every kind of mistake."""


def each_of(answers):
    """Parameters for answers: all are slow but the first of each exercise, and the kit's first of each kind."""
    ordered = sorted((answer for answer in ANSWERS if answer in answers), key=lambda answer: answer.name)
    kits = [answer for answer in ordered if answer.exercise.name in KIT]
    first = {answer.kinds: answer for answer in reversed(kits)}.values()
    first = {*first, *{answer.exercise: answer for answer in reversed(ordered)}.values()}
    return pytest.mark.parametrize(
        "answer",
        [
            pytest.param(
                answer,
                id=f"{answer.exercise.name}-{answer.name}",
                marks=[pytest.mark.slow] * (answer not in first),
            )
            for answer in ordered
        ],
    )


each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


@pytest.mark.sampled(8)
@each
def test_a_solution_is_right(exercise):
    verdict = judged(exercise, exercise.solution, SEEDS)
    assert verdict.right, verdict.told()


@pytest.mark.sampled(6)
@each_of(RIGHT)
def test_other_right_answers_are_right(answer, tmp_path):
    verdict = verdict_on(answer, tmp_path)
    assert verdict.right, verdict.told()


@each
def test_an_unchanged_template_is_wrong(exercise):
    verdict = judged(exercise, exercise.template, SEEDS)
    assert verdict.code == 1, verdict.told()


@each_of({*ANSWERS} - RIGHT)
def test_a_wrong_answer_s_mistake_is_reported(answer, tmp_path):
    verdict = verdict_on(answer, tmp_path)
    report = verdict.told()

    assert verdict.kind in answer.kinds, report
    assert verdict.code in {1, 3}
    assert len(report.splitlines()) <= 20
    assert max(map(len, report.splitlines())) <= 100
    assert not re.search(r"\b_[A-Za-z]\w+|Cell\(|=True\)|site-packages|pullstream/", report), report
    assert len(hints(answer.exercise, verdict.kind)) == 3


def test_every_kind_of_mistake_exists():
    """A typo there would make a test that cannot fail."""
    named = {kind for answer in {*ANSWERS} - RIGHT for kind in answer.kinds}
    exceptions = {*dir(builtins), *dir(ps), *dir(ps.errors)}
    assert named - set(KINDS) - exceptions == set()
    assert set(RULES) <= set(KINDS)


def test_a_mistake_in_a_table_has_its_line(tmp_path):
    """A table has no definition, so the line is that of its assignment."""
    answer = answer_named("updates", "forgotten")
    line = verdict_on(answer, tmp_path).line
    assert answer.text.splitlines()[line - 1].startswith("MOVES =")
    written = answer.written(tmp_path)
    written.write_text(answer.text, encoding="utf-8-sig")  # as some editors do
    assert judged(answer.exercise, written).line == line


def test_a_missing_return_is_named(tmp_path):
    answer = tmp_path / "words_a_day.py"
    answer.write_text("\ndef words_a_day(lines):\n    print(lines)\n")
    verdict = judged(exercise_named("words_a_day"), answer)
    assert (verdict.code, verdict.line) == (2, 2)
    assert verdict.happened == "words_a_day() returned None: is a `return` missing?"


def test_a_verdict_includes_the_toolkits_hint(tmp_path):
    verdict = verdict_on(answer_named("take_while", "iterates_the_reader"), tmp_path)
    assert "read with `async for batch in ctx.batches(upstream)`" in re.sub(r"\s+", " ", verdict.happened)


def test_a_missing_await(tmp_path):
    verdict = verdict_on(answer_named("requester", "forgets_await"), tmp_path)
    assert verdict.happened.endswith("; `await` is missing in front of a call of ask()")


def test_messages_without_places_are_sentences():
    assert told_simply("one, composed at a.py:7, keeps it: b") == "one keeps it: b"
    assert told_simply("one, composed at a.py:7, answered twice") == "one answered twice"
    assert told_simply("run() at /home/judges/one.py:3 needs a sink") == "run() needs a sink"
    assert told_simply("part 1 of pipe() at /home/judging/module.py:3 is None") == "part 1 of pipe() is None"
    assert told_simply("one, composed at a.py:7, and two, composed at b.py:1: hang") == "one, and two: hang"
