"""The judging of one file: its exercise's spec is run, and what it raises is the verdict."""

import importlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pullstream.trace import Trace, traced_runs
from tutorials.exercises import Exercise
from tutorials.judging.answer import Answer, Unjudgeable
from tutorials.judging.module import alone, as_wrong, told_simply
from tutorials.judging.steps import step_of
from tutorials.judging.verdict import Verdict, Wrong


def judged(exercise: Exercise, file: Path, seeds: int = 1, trace: Path | None = None) -> Verdict:
    """The verdict on a file, in this process; with `trace`, the run in which it is wrong is written there."""
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
        step = None
        if trace is not None and answer is not None:
            step = _show_again(wrong, partial(spec.judge, answer, seeds), trace)
        return verdict(1, wrong.kind, line=line, happened=happened, drawing=told_simply(wrong.drawing), step=step)
    return verdict()


def _show_again(wrong: Wrong, judge: Callable[[], object], trace: Path) -> int | None:
    """Do once more what has gone wrong, and write its run down; nothing, if there is no run in it.

    Gives the step at which it goes wrong there, if there is one.
    """
    with traced_runs() as runs, suppress(Exception):
        (wrong.again or judge)()
    written = [text for run in runs if (text := run.getvalue())]
    if not written:
        return None
    # The judge stops at the run that is wrong.
    text = written[0 if wrong.again else -1]
    trace.write_text(text, encoding="utf-8")
    return step_of(Trace.of(text.splitlines()), wrong.at)
