"""The judging of one file: its exercise's spec is run, and what it raises is the verdict."""

import importlib
from functools import partial
from pathlib import Path
from typing import Any

from tutorials.exercises import Exercise
from tutorials.judging.answer import Answer, Unjudgeable
from tutorials.judging.module import alone, as_wrong, told_simply
from tutorials.judging.verdict import Verdict


def judged(exercise: Exercise, file: Path, seeds: int = 1) -> Verdict:
    """The verdict on a file, in this process."""
    spec: Any = importlib.import_module(f"tutorials.exercises.judges.{exercise.name}")
    verdict = partial(Verdict, exercise.told, file=str(file), read=exercise.read)
    answer = None
    try:
        answer = Answer(file)
        spec.judge(answer, seeds)
    except Unjudgeable as exc:
        return verdict(2, line=exc.line, happened=str(exc))
    except Exception as exc:  # noqa: BLE001 - whatever it is, an answer has raised it
        failure = alone(exc)
        wrong = as_wrong(failure)
        line = wrong.line
        if answer is not None and line is None:
            line = answer.line(failure) or answer.first
        happened = told_simply(wrong.happened)
        return verdict(1, wrong.kind, line=line, happened=happened, drawing=told_simply(wrong.drawing))
    return verdict()
