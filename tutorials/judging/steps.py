"""The step of a traced run at which it goes wrong: where its page opens."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pullstream.trace import Trace
from pullstream.trace.times import encode

At: TypeAlias = Callable[[Trace], int | None]
"""Finds a step of a run; None if there is none."""


def step_of(trace: Trace, at: At | None = None) -> int | None:
    """Return the step that `at` finds, or else the first violation of a rule, or else the first failure."""
    found = None if at is None else at(trace)
    return found or _first(trace, {"violation"}) or _first(trace, {"error", "error soon", "failed"})


def value_at(number: int) -> At:
    """Find the step at which the sink receives the value with this number, from 0, or the end instead."""

    def at(trace: Trace) -> int | None:
        edges = [edge["id"] for edge in trace.header["edges"] if edge["to"] in trace.header["sinks"]]
        seen = 0
        for step, _, kind, *about in trace.events:
            if edges and kind in {"value", "done", "failed"} and about[0] == edges[0]:
                seen += about[3] if kind == "value" else number + 1
                if seen > number:
                    return step
        return None

    return at


def completion_of(time: object) -> At:
    """Find the step at which a time is complete at the sink, or at which the run ends without it."""

    def at(trace: Trace) -> int | None:
        written = encode(time)
        for step, _, kind, *about in trace.events:
            if kind == "completed" and about[1] == written:
                return step
        return len(trace.events) or None

    return at


def first_difference(got: Sequence[object], wanted: Sequence[object]) -> int:
    """Return the number of the first value that differs, is missing, or is one too many.

    >>> first_difference("abc", "abd"), first_difference("ab", "abc"), first_difference("abc", "ab")
    (2, 2, 2)
    """
    same = [mine == right for mine, right in zip(got, wanted, strict=False)]
    return same.index(False) if False in same else len(same)


def _first(trace: Trace, kinds: set[str]) -> int | None:
    return next((step for step, _, kind, *_ in trace.events if kind in kinds), None)
