"""Traces, read from files."""

import json
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, cast

import attrs

from pullstream.errors import PullstreamError
from pullstream.trace.times import Json

PARTS: Final = ("modules", "places", "edges", "sinks", "plan")
"""The parts of a run described by the first line of its trace."""


class TraceError(PullstreamError):
    """A file or text is not a valid trace. The message says where."""


@attrs.frozen
class Trace:
    """A traced run: its graph, its events in order, and the model's verdict.

    An event is a list: its number, from 1, the run's clock in seconds, its kind, and its content.

    | kind | content |
    | --- | --- |
    | ask | edge, lane, number of the request, limit |
    | abort, error (abort soon, error soon: without waiting) | edge, lane, number of the request, reason |
    | ack | edge, lane, number of the last request |
    | value | edge, lane, number of the request, number of values, their time, the first of them |
    | done, failed, cancelled | edge, lane, number of the answered request, failure |
    | stamps | one atomic change: place, time, and how many pointstamps were added (negative: removed) |
    | frontiers | the places whose frontier has moved by that change, and their new frontiers |
    | awaited, completed, dismissed | place, time: a wait begins, is notified of completion, is given up |
    | rest | nothing can move until something arrives from outside, or time passes |
    | untracked | from here on times cannot be compared, and none completes |
    | edge | an edge of a stream that a module has opened |
    | violation | module, rule, what it did; in an unchecked run, an answer that was refused anyway |
    | deviation | in a run of `shake`: the deviation from the normal schedule that begins here, in words |
    | acquired, released | module that has acquired or released its resources |
    | ended | module (none: the run), how, failure |
    """

    header: dict[str, Json]
    events: Sequence[Sequence[Json]]
    sends: Sequence[Json] = ()
    """The results of steps that change times, where they mattered: step, time, resulting times."""
    verdict: dict[str, Json] | None = None
    """The last line; None if the trace is incomplete."""

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a trace from its file, or raise `OSError`, or `TraceError` if it is not a trace."""
        # If the writer was killed, the last line may end in the middle of a character.
        with Path(path).open(encoding="utf-8", errors="surrogateescape") as lines:
            return cls.of(lines)

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """Make a trace from its lines, or raise `TraceError`. An incomplete last line, of a killed run, is left out."""
        rows = _rows(lines)
        if not rows or not isinstance(rows[0], dict) or "trace" not in rows[0]:
            raise TraceError(
                "this is not a trace: its first line does not describe a run, as run(..., trace=) writes it"
            )
        header, *rest = rows
        if missing := [part for part in PARTS if part not in header]:
            raise TraceError(f"this trace is incomplete: its first line does not describe its {missing[0]}")
        sends: Sequence[Json] = ()
        verdict: dict[str, Json] | None = None
        events: list[Sequence[Json]] = []
        for number, row in enumerate(rest, 2):
            match row:
                case [int(), float() | int(), str(), *_]:
                    events.append(row)
                case {"sends": sends}:
                    pass
                case dict():
                    verdict = cast("dict[str, Json]", row)
                case _:
                    raise TraceError(
                        f"line {number} of the trace is not an event, which has a number, a clock and a kind"
                    )
        return cls(header, events, sends, verdict)

    @property
    def modules(self) -> Sequence[str]:
        """The names of the run's modules, in pipeline order."""
        modules: list[dict[str, str]] = self.header["modules"]
        return [module["name"] for module in modules]


def with_times(kind: str, about: Sequence[Any], read: Callable[[Any], Any]) -> Sequence[Any]:
    """Return the content of an event with `read` applied to each of its times."""
    match kind, about:
        case "stamps", [changes]:
            return [[(place, read(time), delta) for place, time, delta in changes]]
        case (("awaited" | "completed" | "dismissed"), [place, time]):
            return [place, read(time)]
        case "frontiers", [frontiers]:
            return [[(place, [read(time) for time in times]) for place, times in frontiers]]
        case _:
            return about


def _rows(lines: Iterable[str]) -> list[Any]:
    """Read the lines, except an incomplete last one."""
    rows: list[Any] = []
    broken: TraceError | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if broken is not None:
            raise broken
        try:
            line.encode()  # refuses bytes that are not text
            rows.append(json.loads(line))
        except ValueError as exc:
            if not rows:
                break
            broken = TraceError(f"line {number} of the trace is incomplete: {exc}")
    return rows
