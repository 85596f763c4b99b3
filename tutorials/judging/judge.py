"""The judging of one file: run its exercise's spec, and turn what it raises into a verdict."""

import importlib
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pullstream.errors import one_of
from pullstream.trace import Trace, traced_runs
from tutorials.exercises import Exercise
from tutorials.judging.answer import Answer, Unjudgeable
from tutorials.judging.module import as_wrong, told_simply
from tutorials.judging.steps import step_of
from tutorials.judging.verdict import Verdict, Wrong


def judged(exercise: Exercise, file: Path, seeds: int = 1, trace: Path | None = None) -> Verdict:
    """Return the verdict on a file, in this process; with `trace`, write the run that goes wrong there."""
    spec: Any = importlib.import_module(f"tutorials.exercises.judges.{exercise.name}")
    verdict = partial(Verdict, exercise.told, file=str(file), read=exercise.read)
    answer = None
    warned: list[warnings.WarningMessage] = []
    try:
        answer = Answer(file)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            spec.judge(answer, seeds)
    except Unjudgeable as exc:
        return verdict(2, line=exc.line, happened=str(exc))
    except Exception as exc:  # noqa: BLE001 - the answer has raised it
        failure = one_of(exc)
        wrong = as_wrong(failure)
        line = wrong.line
        if answer is not None and line is None:
            line = answer.line(failure) or answer.last
        happened = told_simply(wrong.happened) + _forgotten(warned)
        step = None
        if trace is not None and answer is not None and getattr(spec, "TRACED", True):
            step = _show_again(wrong, partial(spec.judge, answer, seeds), trace)
        return verdict(1, wrong.kind, line=line, happened=happened, drawing=told_simply(wrong.drawing), step=step)
    return verdict()


def _forgotten(warned: list[warnings.WarningMessage]) -> str:
    """Return a hint on a call without `await`, if Python has warned of one."""
    names = [re.search(r"(\w+)' was never awaited", str(warning.message)) for warning in warned]
    return next((f"; `await` is missing in front of a call of {name[1]}()" for name in names if name), "")


def _show_again(wrong: Wrong, judge: Callable[[], object], trace: Path) -> int | None:
    """Run again what went wrong, and write the trace of the run, if there is one.

    Returns the step of the trace at which it goes wrong, if there is one.
    """
    with traced_runs() as runs, suppress(Exception):
        (wrong.again or judge)()
    written = [text for run in runs if (text := run.getvalue())]
    if not written:
        return None
    # The judge stops at the run that goes wrong.
    text = written[0 if wrong.again else -1]
    trace.write_text(text, encoding="utf-8")
    return step_of(Trace.of(text.splitlines()), wrong.at)
