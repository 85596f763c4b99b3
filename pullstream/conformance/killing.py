"""Tests of sinks that commit complete times: their process is killed before a step, and the next run continues."""

import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, cast

import attrs

from pullstream.blueprint import Blueprint
from pullstream.conformance.apart import Send, apart, can_be_apart
from pullstream.conformance.places import shown_place
from pullstream.conformance.report import ConformanceError
from pullstream.errors import PullstreamError
from pullstream.modules.sinks.committer import STEPS, Committer
from pullstream.modules.sources.values import values as numbers
from pullstream.modules.values.map import map as map_values
from pullstream.program.pipe import pipe
from pullstream.program.run import run

TIMES: Final = 5
PER_TIME: Final = 3

SPLIT: Final = 2
"""The most values in a batch while the sink may be killed: the values of a time come in several batches."""

LIMIT: Final = 60.0
"""Seconds of real time that a run may take."""

Make = Callable[[Path], Blueprint]
Read = Callable[[Path], Mapping[Hashable, Any]]


@attrs.frozen
class KillReport:
    """A report of the kills, and what was wrong after them; `print` shows it."""

    kills: int
    steps: int
    """The number of places where a run can be killed."""
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return not self.findings

    def check(self) -> Self:
        """Raise a `ConformanceError` if values were lost, repeated or visible too early."""
        __tracebackhide__ = True
        if self.findings:
            raise ConformanceError("\n".join(self.findings[:3]))
        return self

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.kills} kills at {self.steps} places: {'ok' if self.ok else 'broken'}", *self.findings]
        )


def kills(
    make: Make,
    read: Read,
    *,
    values: Callable[[int], object] = lambda n: n,
    number: int | None = 40,
    seed: int = 0,
    limit: float = LIMIT,
) -> KillReport:
    """Kill a sink that is a `Committer` at its steps, run it again, and compare its output with an undisturbed run's.

    `make` receives an empty folder and returns the sink, which writes there, or elsewhere under a name that it derives
    from the folder's. `read` receives the same folder and returns what is visible: the values of each time. It must
    work at any moment, and return an empty mapping before the first commit. The times are 0 to 4, with three values
    each, in one batch or several: the numbers 0 to 14, or the results of `values` for them.

    The places are the steps of the protocol, and each line that runs in the file that defines the committer. At
    `number` of them, chosen at random but always the same (another `seed` chooses others; None takes all), a process is
    killed (SIGKILL) and the visible values are read. Then the sink runs again, and may be killed again, until a run
    finishes. Every second series has a journal. After each kill, each time must be visible as a whole or not at all,
    times whose `commit` has returned must be visible, and visible times must stay visible. At the end, everything must
    be as if nothing had happened.

    >>> import json, os, pullstream as ps
    >>> from pullstream.conformance import kills
    >>> class Files(ps.authoring.Committer):
    ...     def __init__(self, folder):
    ...         self.folder, self.prepared = folder, {}
    ...     def prepare(self, batch):
    ...         self.prepared.setdefault(batch.time, []).extend(batch.values)
    ...     async def commit(self, times):
    ...         for time in times:  # a time's file is replaced, so nothing is repeated
    ...             new = self.folder / f"{time}.new"
    ...             new.write_text(json.dumps(self.prepared.pop(time)))
    ...             os.replace(new, self.folder / f"{time}.json")
    >>> @ps.sink
    ... async def write_files(upstream, ctx, folder):
    ...     await Files(folder).run(upstream, ctx)
    >>> def read(folder):
    ...     return {int(path.stem): json.loads(path.read_text()) for path in folder.glob("*.json")}
    >>> kills(write_files, read, number=2).check().ok
    True

    Raises:
        ValueError: `number` or `limit` is not positive.
        PullstreamError: this system cannot copy a process, or an undisturbed run failed.
    """
    if limit <= 0 or (number is not None and number <= 0):
        raise ValueError(f"kills() needs positive numbers, but got number={number!r} and limit={limit!r}")
    if not can_be_apart():
        raise PullstreamError("kills() copies this process for each run, and this system cannot: use Linux or macOS")
    trial = _KillTrial(make, read, values, limit)
    with tempfile.TemporaryDirectory(prefix="pullstream-kills-") as folder:
        return trial.judged(Path(folder), number, random.Random(seed))  # noqa: S311 - a choice of tests


class _KillTrial:
    """The runs of one sink, each in a process of its own."""

    def __init__(self, make: Make, read: Read, values: Callable[[int], object], limit: float) -> None:
        self._make = make
        self._read = read
        self._values = values
        self._limit = limit
        self._expected: Mapping[Hashable, Any] = {}
        self._committed: Sequence[Hashable] = ()
        """The times for which `commit` had returned before the last kill."""

    def judged(self, root: Path, number: int | None, dice: random.Random) -> KillReport:
        steps, where = self._life(root / "whole", None, journal=False, limit=TIMES * PER_TIME)
        if steps is None:
            raise PullstreamError(f"the sink fails without being killed: {where}")
        if steps == 0:
            raise PullstreamError("the sink is not a Committer, so kills() has no steps at which to kill it")
        self._expected = self._seen(root / "whole")
        if len(self._expected) != TIMES:
            raise PullstreamError(f"read() must return the values of {TIMES} times, but got {dict(self._expected)!r}")
        steps, where = self._life(root / "split", None, journal=False)
        wrong = where if steps is None else self._difference(self._seen(root / "split"), self._expected, "")
        if steps is None or wrong:
            return KillReport(0, 0, (f"not killed, but with a time's values in several batches: {wrong}",))
        places = range(steps) if number is None else sorted(dice.sample(range(steps), min(number, steps)))
        findings: list[str] = []
        count = 0
        for at, place in enumerate(places):
            killed, found = self._series(root / str(place), place, dice, journal=at % 2 == 1)
            count += killed
            findings += [found] if found else []
        return KillReport(count, steps, tuple(findings))

    def _series(self, folder: Path, place: int, dice: random.Random, *, journal: bool) -> tuple[int, str]:
        """Run until one finishes; return the number of kills and what was wrong."""
        before: Mapping[Hashable, Any] = {}
        killed_at: list[str] = []
        kill_at: int | None = place
        while True:
            steps, where = self._life(folder, kill_at, journal=journal)
            after = f"killed {' and '.join(killed_at)}" if killed_at else "not killed"
            if steps is not None:
                wrong = self._difference(self._seen(folder), dict.fromkeys(self._expected), "")
                return len(killed_at), f"{after}, then run to the end: {wrong}" if wrong else ""
            if kill_at is None or not where.startswith("before"):
                return len(killed_at), f"{after}, the next run failed: {where}"
            killed_at.append(where)
            now = self._seen(folder)
            wrong = self._difference(now, before, " too early")
            if hidden := [time for time in self._committed if time not in now]:
                wrong = wrong or f"the values at {hidden[0]!r} are not visible, although `commit` has returned"
            if wrong:
                return len(killed_at), f"killed {' and '.join(killed_at)}: {wrong}"
            before = now
            kill_at = dice.randrange(place + 1) if dice.random() < 0.5 and len(killed_at) < 4 else None

    def _difference(self, now: Mapping[Hashable, Any], required: Mapping[Hashable, Any], early: str) -> str:
        for time in now:
            if time not in self._expected:
                return f"the time {time!r} is visible, although it has no values"
            if now[time] != self._expected[time]:
                return f"the values at {time!r} are visible{early} as {now[time]!r} instead of {self._expected[time]!r}"
        lost = [time for time in required if time not in now]
        return f"the values at {lost[0]!r} are lost" if lost else ""

    def _seen(self, folder: Path) -> Mapping[Hashable, Any]:
        kind, found = self._apart(lambda: self._read(folder / "target"))
        if kind != "end":
            raise PullstreamError(f"read() failed: {found}")
        return cast("Mapping[Hashable, Any]", found)

    def _life(self, folder: Path, kill_at: int | None, *, journal: bool, limit: int = SPLIT) -> tuple[int | None, str]:
        """Run the sink once; return its number of steps, or where it was killed or why it failed."""
        (folder / "target").mkdir(parents=True, exist_ok=True)
        last = folder / "last"

        def live() -> int:
            steps = _Steps(kill_at, last)
            source = numbers(range(TIMES * PER_TIME), time=lambda number: number // PER_TIME)
            with steps:
                sink: Any = self._make(folder / "target")
                pipeline = cast("Any", pipe)(source, map_values(self._values), sink)
                run(pipeline, journal=folder / "journal" if journal else None, limit=limit)
            return steps.count

        kind, found = self._apart(live)
        if kind == "end":
            return cast("int", found), ""
        if kind != "killed":
            return None, found
        where, self._committed = json.loads(last.read_text())
        return None, f"before {where}"

    def _apart(self, work: Callable[[], object]) -> tuple[str, Any]:
        """Return ("end", result), ("raised", text) or ("killed", "")."""
        answers: list[tuple[str, Any]] = []

        def answer(send: Send) -> None:
            try:
                send(("end", work()))
            except BaseException as exc:  # noqa: BLE001 - reported by the parent
                send(("raised", f"{type(exc).__name__}: {exc}"))

        ended = apart(answer, answers.append, self._limit)
        if ended is None:
            return answers[0]
        return ("killed", "") if ended.rule == "crash" else ("raised", ended.message)


class _Steps:
    """Counts the steps of the sinks in this process, and kills it before one of them."""

    def __init__(self, kill_at: int | None, last: Path) -> None:
        self._kill_at = kill_at
        self._last = last
        self._files: set[str] = set()
        self._lock = threading.Lock()
        self._committed: list[Hashable] = []
        self.count = 0

    def __enter__(self) -> Self:
        STEPS.append(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        STEPS.remove(self._step)
        sys.settrace(None)
        threading.settrace(None)

    def _step(self, sink: Committer[Any], name: str, time: Hashable) -> None:
        if not self._files:
            # The tracer of this thread sees the functions that it calls from now on.
            self._files.add(type(sink).commit.__code__.co_filename)
            threading.settrace(self._trace)
            sys.settrace(self._trace)
        if name == "committed":
            self._committed.append(time)
        self._count(lambda: name if time is None else f"{name} at {time!r}")

    def _trace(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        if event == "line":
            self._count(lambda: shown_place(frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    def _count(self, name: Callable[[], str]) -> None:
        with self._lock:
            if self.count == self._kill_at:
                self._last.write_text(json.dumps([name(), self._committed]))
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
