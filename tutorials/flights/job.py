"""The job around the pipeline: Spark's session, the run with its progress, Ctrl-C, and the page at the end."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from time import monotonic

import attrs
import trio
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from rich.console import Console

import pullstream as ps
from pullstream import spark
from pullstream.display import display
from pullstream.spark.failures import job_error, unlogged
from tutorials.flights import data, page, query
from tutorials.flights.pipeline import daily_delays, day_by_day

YEAR_DAYS = 365


@attrs.frozen
class Job:
    """The options of the command line."""

    out: Path
    days: int | None = None
    master: str | None = None
    data: str | None = None


@attrs.frozen
class Interrupted(Exception):
    """Ctrl-C stopped the run at `day`; None if no day was under way yet."""

    day: date | None


def perform(job: Job, console: Console) -> None:
    """Run the whole job, and print its results on the console.

    Raises:
        Interrupted: Ctrl-C; Spark's job is cancelled, and every day's file that exists is whole.
        DataNotFoundError: the flights' data are not installed.
        PullstreamError: the pipeline or Spark failed.
        OSError: the folder cannot be written to.
    """
    files = data.installed() if job.data is None else data.shared(job.data)
    job.out.mkdir(parents=True, exist_ok=True)
    console.print("Starting Spark ...", style="dim")
    with _in_short():
        session = spark.session("flights", master=job.master)
    try:
        with _in_short():
            planned = query.flights(session, files)
            flights = day_by_day(planned if job.days is None else query.first_days(planned, job.days))
        shown = display(times=min(job.days or YEAR_DAYS, YEAR_DAYS), console=console)
        started = monotonic()
        paths, count = trio.run(_run, daily_delays(flights, job.out), shown)
        seconds = monotonic() - started
    finally:
        session.stop()
    console.print(
        f"{len(paths)} {'day' if len(paths) == 1 else 'days'}, {count:,} flights in {seconds:.1f} s: {job.out}/",
        highlight=False,
        soft_wrap=True,
    )
    if paths:
        look = page.write(paths, job.out / "index.html")
        console.print(f"Look at it: {look.absolute().as_uri()}", highlight=False, soft_wrap=True)
    if told := earlier(job.out, paths):
        console.print(told, highlight=False, soft_wrap=True)


def earlier(out: Path, paths: Sequence[Path]) -> str:
    """Say which days of an earlier run are still in the folder; return an empty string if there are none.

    They are kept: a run of a few days must not delete the year.
    """
    days = sorted(path.stem for path in out.glob("????-??-??.jsonl") if path not in set(paths))
    if not days:
        return ""
    first = "a day" if len(days) == 1 else f"{len(days)} days"
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{out}/ has {first} of an earlier run, too ({when}), which are not on the page; remove them if you like."


@contextmanager
def _in_short() -> Generator[None]:
    """Turn Spark's errors (a master it cannot reach, a missing file) into a line instead of a page."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as exc:
        raise job_error(exc) from exc


async def _run(pipeline: ps.Pipeline[list[Path]], shown: ps.types.Companion) -> tuple[list[Path], int]:
    """Run the pipeline; return its files and the number of flights in them."""
    running = pipeline.open(beside=shown)
    try:
        async with running:
            running.abort_on_interrupt()
            paths = await running.result()
    except ps.errors.Abandoned:
        raise Interrupted(_day_under_way(running.progress)) from None
    return paths, sum(row.values_in for row in running.counters() if row.module == "by airline")


def _day_under_way(progress: ps.types.Progress) -> date | None:
    """Return the first day whose file may still come; None if no day has begun."""
    days = [time for time in progress.frontier() if isinstance(time, date)]
    return min(days, default=None)
