"""The notes of a traced run: its events, written a thousand at a time, and judged by the model.

Events are noted as they happen and written later. But values become text at once, because they may change.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import trio

from pullstream.checker.pipeline import Checker
from pullstream.checker.rules import Violation
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.errors import CapabilityError, ProtocolError, PullstreamError
from pullstream.trace.file import with_times
from pullstream.trace.graph import graph_of
from pullstream.trace.times import Json, encode, shown
from pullstream.trace.verdict import JUDGED, Judge, StepResults, Verdict

TraceTo: TypeAlias = str | PathLike[str] | TextIO
"""The place of a trace: the path of a file, or an open text file."""


AT_A_TIME: Final = 1_000
"""The number of events written at a time."""

_encoded: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

NotedEvent: TypeAlias = tuple[float, str, tuple[Any, ...]]


class TraceNotes:
    """The events of a run so far, and where they are written."""

    def __init__(self, to: TraceTo, *, checker: Checker | None = None) -> None:
        self.verdict: Verdict | None = None
        self.failure: BaseException | None = None
        """The reason why the trace could not be written."""
        self.begun = False
        """Whether the run has begun, and its description is written."""
        self.rested = False
        """Whether nothing was noted since the last rest."""
        self._to = to
        self._checker = checker
        self._file: TextIO | None = None
        self._clock: Callable[[], float] = float
        self._began = 0.0
        self._noted: list[NotedEvent] = []
        self._changes: dict[tuple[int, Any], int] = {}
        self._number = 0
        self._judge: Judge | None = None
        self._table = StepResults()
        self._reported: list[Violation] = []
        self._refused: list[object] = []
        """The failures of refused answers, each reported once."""

    # ---- the file

    def open(self) -> None:
        """Open the file, and make its folder if there is none, or raise `OSError`."""
        to = self._to
        if isinstance(to, (str, PathLike)):
            path = Path(to)
            path.parent.mkdir(parents=True, exist_ok=True)
            # In JSON, a backslash is also how half a surrogate pair is escaped, as in the name of a file.
            to = path.open("w", encoding="utf-8", errors="backslashreplace")
        self._file = to

    def begin(self, sidecar: Sidecar, edges: "list[dict[str, Json]]", *, limit: int) -> None:
        """Write the description of the run as it begins."""
        self.begun = True
        self._clock = trio.lowlevel.current_clock().current_time
        self._began = self._clock()
        self._changes.clear()
        header, functions = graph_of(sidecar, edges, limit=limit)
        self._judge = Judge(header, functions, self._table)
        self._write([_encoded(header)])
        self._write(self._frontiers())

    def close(self, failure: BaseException | None) -> None:
        """Write the remaining events and the verdict, at the end of the run."""
        how = "complete" if failure is None else type(failure).__name__
        self.note("ended", None, how, None if failure is None else shown(failure))
        self._flush()
        if self._judge is not None:
            self.verdict = self._judge.verdict()
            self._write([_encoded({"sends": self._table.as_json()}), _encoded(self.verdict.as_json())], last=True)

    def shut(self) -> None:
        """Close the file and ignore all further events, whether or not the run has ended."""
        if self._file is not None and self._file is not self._to:
            with suppress(OSError):
                self._file.close()

    # ---- events

    def change(self, place: int, time: Hashable, delta: int) -> None:
        """Note pointstamps added to a place or removed from it."""
        key = place, time
        now = self._changes.get(key, 0) + delta
        if now:
            self._changes[key] = now
        else:
            del self._changes[key]

    def changed(self) -> None:
        """Note the changes so far as one atomic change."""
        if self._changes and self.begun:
            changes, self._changes = self._changes, {}
            self.note("stamps", [(place, time, delta) for (place, time), delta in changes.items()])

    def tell_refused(self, failure: object, module: str) -> None:
        """Note which rule a refused answer breaks, in checked and unchecked runs, when it is first seen."""
        broken = None if failure in (*self._reported, *self._refused) else _broken(failure, module)
        if broken is not None:
            self._refused.append(failure)
            self.note("violation", *broken)

    # ---- writing

    def note(self, kind: str, *about: Any) -> None:
        """Note an event, after violations that the checker has found meanwhile."""
        if self._checker is not None and (new := self._checker.violations[len(self._reported) :]):
            self._reported += new
            for violation in new:
                self.note("violation", violation.module, violation.rule, violation.what)
        noted = self._noted
        noted.append((self._clock(), kind, about))
        self.rested = False
        if len(noted) >= AT_A_TIME:
            self._flush()

    def _flush(self) -> None:
        noted, self._noted = self._noted, []
        lines: list[str] = []
        began = self._began
        for clock, kind, about in noted:
            now = round(clock - began, 6)
            self._number += 1
            lines.append(self._line(now, kind, about))
            if self._judge is not None and kind in JUDGED:
                self._judge.see(self._number, kind, about)
                lines += self._frontiers(now)
        self._write(lines)

    def _line(self, now: float, kind: str, about: tuple[Any, ...]) -> str:
        # Most events of a run are of these three kinds.
        if kind == "ask":
            edge, lane, number, limit = about
            return f'[{self._number},{now},"ask",{edge},{lane},{number},{limit}]'
        if kind == "value":
            edge, lane, number, count, time, sample = about
            written_time = time if time.__class__ is int else _encoded(time)
            return f'[{self._number},{now},"value",{edge},{lane},{number},{count},{written_time},{_encoded(sample)}]'
        if kind == "stamps":
            stamps = sorted([f"[{place},{_written(time)},{delta}]" for place, time, delta in about[0]])
            return f'[{self._number},{now},"stamps",[{",".join(stamps)}]]'
        return _encoded([self._number, now, kind, *with_times(kind, about, encode)])

    def _frontiers(self, now: float = 0.0) -> list[str]:
        """Return the line for the frontiers that have moved, if any have."""
        assert self._judge is not None
        moved = [[place, sorted(map(encode, times), key=repr)] for place, times in self._judge.moved()]
        if not moved:
            return []
        self._number += 1
        return [_encoded([self._number, now, "frontiers", moved])]

    def _write(self, lines: Iterable[str], *, last: bool = False) -> None:
        if self._file is None or self.failure is not None:
            return
        try:
            self._file.writelines(line + "\n" for line in lines)
            if last:
                self._file.flush()
        except (OSError, ValueError) as exc:
            # The run continues; the error is raised at its end.
            self.failure = PullstreamError(f"the trace could not be written: {exc}")
            self.failure.__cause__ = exc


def _broken(failure: object, module: str) -> tuple[str, str, str] | None:
    """Return the module, the rule and what the module did, for a failure that names a broken rule."""
    if isinstance(failure, Violation):
        # From an edge that is watched by hand.
        return failure.module, failure.rule, failure.what
    if isinstance(failure, CapabilityError):
        rule, what = "R12", failure.fault.removesuffix(" (R12)")
    elif isinstance(failure, ProtocolError) and re.match(r"R\d+: ", str(failure)):
        rule, _, what = str(failure).partition(": ")
    else:
        return None
    # The module and its line are stored separately.
    return module, rule, re.sub(r", composed at .*?:\d+", "", what).removeprefix(module).lstrip(", ")


def _written(time: Any) -> str:
    return str(time) if time.__class__ is int else _encoded(encode(time))
