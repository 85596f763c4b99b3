"""Figures for a display: samples of a run from the last few seconds, and readable formats for them."""

import datetime as dt
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, cast

import attrs
import trio
from typing_extensions import override

import pullstream as ps
from pullstream.authoring import numbered
from pullstream.timely import BEGINNING, Antichain, Lexicographic, Product, TimelyError
from pullstream.types import Blocking

MOST = 40
"""The maximum length of a time."""

LEAST_TIMES = 3
"""The maximum number of times shown of a frontier."""


def of_time(time: Hashable) -> str:
    """Format a time.

    >>> of_time(dt.date(2013, 7, 31)), of_time(dt.datetime(2013, 7, 31, 14)), of_time(Product(3, dt.date(2013, 7, 31)))
    ('2013-07-31', '2013-07-31 14:00', '(3, 2013-07-31)')
    """
    if time is BEGINNING:
        return "the beginning"
    if isinstance(time, dt.datetime):
        text = time.isoformat(" ", "seconds" if time.second else "minutes")
    elif isinstance(time, (tuple, Product, Lexicographic)):
        text = f"({', '.join(of_time(part) for part in cast('Iterable[Hashable]', time))})"
    else:
        text = str(time)
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


def of_frontier(frontier: Iterable[Hashable], shown: Callable[[Hashable], str]) -> str:
    """Format the earliest times of a frontier.

    >>> of_frontier([3], of_time), of_frontier([(1, 4), (2, 2), (3, 1), (5, 0)], of_time)
    ('3', '(1, 4), (2, 2), (3, 1) and 1 more')
    """
    times = [shown(time) for time in frontier]
    rest = len(times) - LEAST_TIMES
    return ", ".join(times[:LEAST_TIMES]) + (f" and {rest:,} more" if rest > 0 else "")


def of_seconds(seconds: float) -> str:
    """Format a duration.

    >>> of_seconds(5.4), of_seconds(3725), of_seconds(200_000)
    ('0:00:05', '1:02:05', '2 days, 7:33:20')
    """
    return str(dt.timedelta(seconds=int(seconds)))


def of_rate(per_second: float) -> str:
    """Format a rate per second.

    >>> of_rate(84_112.4), of_rate(0.25), of_rate(0)
    ('84,112', '0.2', '0')
    """
    return f"{per_second:.1f}" if 0 < per_second < 10 else f"{per_second:,.0f}"


SPAN = 5.0
"""The seconds over which rates are computed."""

QUIET = 5.0
"""The seconds without progress after which the display says what the run waits for."""

REASONS = 3
"""The maximum number of reasons shown for a deadlock."""


@attrs.frozen
class Sample:
    """The state of a run at one moment."""

    at: float
    """The time of trio's clock, in seconds."""
    wall: float
    """The time of the counters' clock, in seconds."""
    rows: Sequence[ps.types.Counters]
    frontier: Sequence[Hashable]
    done: int

    @property
    def read(self) -> int:
        """The number of values from sources."""
        return sum(row.values_out for row in self.rows if not row.values_in)

    @property
    def moved(self) -> object:
        """A value that changes whenever there is progress."""
        return [(row.values_in, row.values_out, row.status) for row in self.rows], self.frontier


@attrs.frozen
class Row:
    """A module's row in the table."""

    name: str
    """The module's name, with a number if others have the same."""
    counters: ps.types.Counters
    rate: float
    busy: float
    """The busy share of the last seconds, from 0 to 1."""


class _Shown(str):
    """A formatted time, which messages show without quotes."""

    __slots__ = ()

    @override
    def __repr__(self) -> str:
        return str(self)


class History:
    """Samples a run, and keeps the last few seconds."""

    def __init__(self, running: ps.types.Running[Any], times: int | None, shown: Callable[[Hashable], str]) -> None:
        self.running = running
        # After earlier runs, the number of remaining times is unknown.
        self.times = None if running.resumed_at else times
        self.shown = shown
        self._began = trio.current_time()
        self._wall = perf_counter()
        self._samples: deque[Sample] = deque()
        self._moved_at = self._began

    def look(self) -> None:
        """Sample the run."""
        progress = self.running.progress
        frontier = _least([time for _, frontier in progress.frontiers() for time in frontier])
        sample = Sample(trio.current_time(), perf_counter(), self.running.counters(), frontier, progress.times_done())
        samples = self._samples
        if not samples or sample.moved != samples[-1].moved:
            self._moved_at = sample.at
        samples.append(sample)
        while len(samples) > 2 and samples[1].at <= sample.at - SPAN:
            samples.popleft()

    @property
    def now(self) -> Sample:
        """The latest sample."""
        return self._samples[-1]

    @property
    def seconds(self) -> float:
        """The duration of the run in seconds."""
        return self.now.at - self._began

    @property
    def state(self) -> str:
        """The run's state in one word."""
        if not self.running.finished:
            return "running"
        match self.running.failure:
            case None:
                return "finished"
            case ps.errors.Abandoned():
                return "stopped"
            case ps.StalledError():
                return "stalled"
            case _:
                return "failed"

    @property
    def frontier(self) -> str:
        """The earliest incomplete times at the sinks; empty if there are none to show."""
        times = self.now.frontier
        if not times or (self.now.done == 0 and all(time is BEGINNING or time == 0 for time in times)):
            return ""
        return of_frontier(times, self.shown)

    @property
    def nothing_to_do(self) -> bool:
        """Whether earlier runs completed everything."""
        return self.running.resumed_at is not None and not self.running.resumed_at

    @property
    def resumed(self) -> str:
        """The times at which the run resumed, as text; empty if it did not."""
        times = self.running.resumed_at
        if times is None:
            return ""
        if self.nothing_to_do:
            return "an earlier run finished: its result is returned, and nothing runs again"
        least = [time for time in _least(list(times)) if time is not BEGINNING]
        return f"resumed at {of_frontier(least, self.shown)}" if least else "resumed"

    @property
    def rate(self) -> float:
        """The recent number of values per second from all sources; after the end, the average over the run."""
        return self._per_second(self.now.read, None if self.running.finished else self._samples[0].read)

    @property
    def rows(self) -> list[Row]:
        """One row per module."""
        now, before = self.now, self._samples[0]
        wall = now.wall - before.wall
        if self.running.finished:
            wall = now.wall - self._wall
        rows: list[Row] = []
        names = numbered([row.module for row in now.rows])
        for name, row, old in zip(names, now.rows, before.rows, strict=False):
            # A sink emits nothing, so show the rate of its input.
            does, did = (row.values_out, old.values_out) if row.values_out else (row.values_in, old.values_in)
            busy = row.busy - (0 if self.running.finished else old.busy)
            rate = self._per_second(does, None if self.running.finished else did)
            rows.append(Row(name, row, rate, min(busy / wall, 1.0) if wall > 0 else 0.0))
        return rows

    @property
    def quiet(self) -> float:
        """The seconds without progress; 0 if not worth mentioning."""
        seconds = self.now.at - self._moved_at
        return 0.0 if self.running.finished or seconds < QUIET else seconds

    def waits_for(self) -> list[str]:
        """The reasons for the lack of progress: busy modules, and the blockers of the run's earliest time."""
        working = [(row.name, row.counters.status) for row in self.rows if row.busy > 0.5]
        names = ", ".join(f"{name} ({status})" if status else name for name, status in working)
        reasons = [names or "something outside the run"]
        for time in self.now.frontier[:1]:
            blocking: list[Blocking] = []
            # Another sink may have times that cannot be compared with this one.
            with suppress(TimelyError):
                blocking = self.running.progress.explain(time)
            reasons += [
                str(attrs.evolve(reason, time=_Shown(self.shown(reason.time)))) for reason in blocking[:REASONS]
            ]
            if len(blocking) > REASONS:
                reasons.append(f"and {len(blocking) - REASONS} more")
        return reasons

    def error(self) -> list[str]:
        """The run's failure as text: the full text of a stall, one line for other errors."""
        failure = self.running.failure
        if failure is None or isinstance(failure, ps.errors.Abandoned):
            return []
        lines = str(failure).splitlines()
        if isinstance(failure, ps.StalledError):
            return lines
        return [": ".join([type(failure).__name__, *lines[:1]])]

    def _per_second(self, count: int, before: int | None) -> float:
        """The rate per second since the oldest sample or, if `before` is None, since the beginning."""
        seconds = self.seconds if before is None else self.now.at - self._samples[0].at
        return (count - (before or 0)) / seconds if seconds > 0 else 0.0


def _least(times: list[Hashable]) -> list[Hashable]:
    """The earliest of some times; times that cannot be compared are all included, once."""
    try:
        return list(Antichain(times))
    except TimelyError:
        return list(dict.fromkeys(times))
