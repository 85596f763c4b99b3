"""A trace, read from its file."""

import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, cast

import attrs

from pullstream.errors import PullstreamError
from pullstream.trace.times import Json

PARTS: Final = ("modules", "places", "edges", "sinks", "plan")
"""The parts of a run that the first line of its trace tells."""


class TraceError(PullstreamError):
    """The mistake of a file that is read as a trace and is none. The message says where."""


@attrs.frozen
class Trace:
    """A traced run, as it was written: its graph, its events in their order, and the model's verdict.

    An event is a list: its number, from 1, the clock of the run in seconds, its kind, and what it is about.

    | kind | about |
    | --- | --- |
    | ask | edge, lane, number of the request, limit |
    | abort, error (abort soon, error soon: without waiting) | edge, lane, number of the request, reason |
    | ack | edge, lane, number of the last request |
    | value | edge, lane, number of the request, how many values, their time, the first of them |
    | done, failed, cancelled | edge, lane, number of the request that is so answered, failure |
    | stamps | what changed as one: place, time, and how many pointstamps came (or, below zero, went) |
    | frontiers | the places whose frontier has moved by that, and where it is now |
    | awaited, completed, dismissed | place, time: a wait begins, is told that the time is complete, is given up |
    | rest | nothing can go on until something comes from outside, or time passes |
    | said | place, and the frontier that the run itself says is there |
    | untracked | from here on times cannot be compared, and nothing is complete |
    | edge | an edge of a stream that a module has opened |
    | violation | module, rule, what it did; of a run that is not checked, what it refused all the same |
    | acquired, released | module that has taken what it needs, or let go of it |
    | ended | module (none: the run), how, failure |
    """

    header: dict[str, Json]
    events: Sequence[Sequence[Json]]
    sends: Sequence[Json] = ()
    """The times that came out of steps that change them, as far as it mattered: step, time, and what came of it."""
    verdict: dict[str, Json] | None = None
    """The last line; None if the trace is not whole."""

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a trace from its file.

        Raises:
            OSError: it cannot be read.
            TraceError: it is no trace.
        """
        # Where what wrote it was killed, its last line may end in the middle of a letter: the line is not whole then.
        with Path(path).open(encoding="utf-8", errors="surrogateescape") as lines:
            return cls.of(lines)

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """A trace of its lines. Of a run that was killed, the last one may not be whole: it is left out.

        Raises:
            TraceError: they are none.
        """
        rows = _rows(lines)
        if not rows or not isinstance(rows[0], dict) or "trace" not in rows[0]:
            raise TraceError(
                "this is no trace: its first line does not say what it is of, as run(..., trace=) writes it"
            )
        header, *rest = rows
        if missing := [part for part in PARTS if part not in header]:
            raise TraceError(f"this is no whole trace: its first line does not tell its {missing[0]}")
        sends: Sequence[Json] = ()
        verdict: dict[str, Json] | None = None
        events: list[Sequence[Json]] = []
        for number, row in enumerate(rest, 2):
            if isinstance(row, list) and is_event(cast("list[Json]", row)):
                events.append(cast("list[Json]", row))
            elif not isinstance(row, dict):
                raise TraceError(f"line {number} of the trace is no event: that has a number, a clock and a kind")
            elif "sends" in row:
                sends = cast("dict[str, Sequence[Json]]", row)["sends"]
            else:
                verdict = cast("dict[str, Json]", row)
        return cls(header, events, sends, verdict)

    @property
    def modules(self) -> Sequence[str]:
        """The names of the run's modules, in the order of the pipeline."""
        modules: list[dict[str, str]] = self.header["modules"]
        return [module["name"] for module in modules]


def is_event(row: Sequence[Json]) -> bool:
    """Whether a line of JSON is an event, as far as all of them are alike."""
    match row:
        case [int(), float() | int(), str(), *_]:
            return True
        case _:
            return False


def _rows(lines: Iterable[str]) -> list[Any]:
    """Read the lines, but for a last one that is not whole."""
    rows: list[Any] = []
    broken: TraceError | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if broken is not None:
            raise broken
        try:
            line.encode()  # bytes that are no letter are not taken for one
            rows.append(json.loads(line))
        except ValueError as exc:
            broken = TraceError(f"line {number} of the trace is not whole: {exc}")
    if broken is not None and not rows:
        raise broken
    return rows
