"""Showing how far the run has come: the day the frontier has reached, and the flights read in a second."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from time import monotonic

import attrs
import trio
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import pullstream as ps
from tutorials.flights.summary import Flight

REFRESH_SECONDS = 0.1
YEAR_DAYS = 365


@attrs.define
class Meter:
    """Counts the flights that pass, and draws the bar; on anything but a terminal it draws nothing."""

    console: Console
    days: int = YEAR_DAYS
    flights: int = 0

    def counted(self, flights: ps.Source[Flight]) -> ps.Source[Flight]:
        """Count every flight of a source on its way."""
        return ps.pipe(flights, ps.map_batches(self._count))

    def _count(self, batch: list[Flight]) -> list[Flight]:
        self.flights += len(batch)
        return batch

    async def show(self, progress: ps.Progress) -> None:
        """Draw until cancelled."""
        started, self.flights = monotonic(), 0
        with self._bar() as bar:
            task = bar.add_task("", total=self.days, speed="Spark reads, joins and sorts", day="")
            while True:
                if not self.flights:
                    started = monotonic()  # the speed is that of the stream, without Spark's sorting before it
                else:
                    day = frontier_day(progress)
                    bar.update(
                        task,
                        completed=self.days if day is None else min(day.timetuple().tm_yday - 1, self.days),
                        day="" if day is None else f"{day:%d %B}",
                        speed=f"{self.flights / (monotonic() - started):,.0f} flights/s",
                    )
                await trio.sleep(REFRESH_SECONDS)

    @contextmanager
    def _bar(self) -> Generator[Progress]:
        bar = Progress(
            BarColumn(bar_width=40),
            TextColumn("{task.fields[day]:>12}"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        with bar:
            yield bar


def frontier_day(progress: ps.Progress) -> date | None:
    """Give the first day whose file may still come; None before the first day is known, and after the last."""
    days = [time for time in progress.frontier() if isinstance(time, date)]
    return min(days, default=None)
