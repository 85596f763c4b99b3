"""The job around the pipeline: Spark's session, the run with its progress, Ctrl-C, the page at the end."""

from collections.abc import Generator
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
from adapters import spark
from adapters.spark.failures import job_error, unlogged
from tutorials.flights import data, page, query
from tutorials.flights.meter import YEAR_DAYS, Meter, frontier_day
from tutorials.flights.pipeline import daily_delays, day_by_day


@attrs.frozen
class Job:
    """What was asked for on the command line."""

    out: Path
    days: int | None = None
    master: str | None = None
    data: str | None = None


@attrs.frozen
class Interrupted(Exception):
    """Ctrl-C stopped the run at `day`; None if no day was under way yet."""

    day: date | None


def perform(job: Job, console: Console) -> None:
    """Do the whole job, and say on the console what came of it.

    Raises:
        Interrupted: Ctrl-C; Spark's job is cancelled, and every day's file that is there is whole.
        DataNotFoundError: the flights' data are not installed.
        PullstreamError: what the pipeline or Spark failed with.
        OSError: the folder cannot be written to.

    """
    files = data.installed() if job.data is None else data.shared(job.data)
    job.out.mkdir(parents=True, exist_ok=True)
    console.print("Starting Spark ...", style="dim")
    with _in_short():
        session = spark.session("flights", master=job.master)
    try:
        meter = Meter(console, min(job.days or YEAR_DAYS, YEAR_DAYS))
        with _in_short():
            flights = meter.counted(day_by_day(query.flights(session, files), job.days))
        started = monotonic()
        paths = trio.run(_run, daily_delays(flights, job.out), meter)
        seconds = monotonic() - started
    finally:
        session.stop()
    console.print(
        f"{len(paths)} {'day' if len(paths) == 1 else 'days'}, {meter.flights:,} flights in {seconds:.1f} s: "
        f"{job.out}/",
        highlight=False,
        soft_wrap=True,
    )
    if job.days is not None and len(paths) == job.days < YEAR_DAYS:
        console.print(f"That was all you asked for, so Spark's job was stopped after {paths[-1].stem}.", soft_wrap=True)
    if paths:
        look = page.write(paths, job.out / "index.html")
        console.print(f"Look at it: {look.absolute().as_uri()}", highlight=False, soft_wrap=True)


@contextmanager
def _in_short() -> Generator[None]:
    """Have Spark's refusals (a master it cannot reach, a file that is not there) in a line instead of a page."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as exc:
        raise job_error(exc) from exc


async def _run(pipeline: ps.Pipeline[list[Path]], meter: Meter) -> list[Path]:
    running = pipeline.open()
    try:
        async with running:
            running.abort_on_interrupt()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(meter.show, running.progress)
                await running.wait()
                nursery.cancel_scope.cancel()
            return await running.result()
    except ps.Abandoned:
        raise Interrupted(frontier_day(running.progress)) from None
