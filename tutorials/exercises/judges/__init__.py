"""The judges of the exercises: each has a function `judge`, and `HINTS` of three levels for each kind of mistake."""

import importlib

from pullstream.conformance.findings import HINTS as MENDING
from tutorials.exercises import Exercise


def hints(exercise: Exercise, kind: str = "") -> tuple[str, str, str]:
    """Return three hints for an exercise and a kind of mistake: where to read, what to look at, the line in words."""
    given: dict[str, tuple[str, str, str]] = importlib.import_module(f"{__name__}.{exercise.name}").HINTS
    where, look, line = given[""]
    return given.get(kind, (where, f"To fix it: {MENDING[kind]}." if kind in MENDING else look, line))
