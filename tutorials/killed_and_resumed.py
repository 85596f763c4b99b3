"""Killed and resumed: from a folder of files to a file a day, with nothing lost or duplicated.

Read this chapter after `when_is_it_done`: `python -m pullstream learn read 14`. Afterwards you can write a job that
reads and writes files, kill it at any moment, start it again, and get the same results as without the kill.

If a job that processes a month of files dies at four in the morning, you want three things: the existing results are
correct, they need not be computed again, and the missing ones are added. The first follows from completion: a day's
file appears, whole, when its day is complete, and not before. The other two need a *journal*: a file in which the run
records the times that have completed at its sinks, and the state of its modules as of those times.

Below, a tea house keeps its receipts, a file a day, and wants its takings since Monday. A slow service has the
prices, so the job runs long enough to be killed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import trio
from rich.console import Console

import pullstream as ps
from pullstream import files
from pullstream.display import display
from tutorials.lesson import say, tell

RECEIPTS = {
    "2026-03-02": ["tea,2", "rice,1", "tea,1"],
    "2026-03-03": ["rice,3", "tea,4", "salt,1"],
    "2026-03-04": ["tea,1", "tea,1", "rice,2"],
    "2026-03-05": ["salt,2", "rice,1", "tea,5"],
    "2026-03-06": ["tea,3", "salt,1", "rice,1"],
}


@contextmanager
def tea_house() -> Generator[Path]:
    """Provide a temporary working folder with the receipts of five days."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("receipts").mkdir()
        for day, lines in RECEIPTS.items():
            Path(f"receipts/{day}.csv").write_text("\n".join(["item,count", *lines, ""]))
        yield Path(folder)


async def price(sale: Any) -> tuple[str, int]:
    """Return the item sold, and the price of the sale."""
    return sale.item, sale.count * {"tea": 3, "rice": 5, "salt": 1}[sale.item]


async def slow_price(sale: Any) -> tuple[str, int]:
    """Return the same, from a slow service."""
    await trio.sleep(0.1)
    return await price(sale)


def takings(pricing: Callable[[Any], Awaitable[tuple[str, int]]] = price) -> ps.Pipeline[list[Any]]:
    """Return the job: for every day, and every item sold on it, the takings since Monday."""
    return ps.pipe(
        files.read_csv("receipts/*.csv", time=files.name_time(r"\d{4}-\d\d-\d\d")),  # each file at the day of its name
        ps.map_async(pricing, concurrency=1),
        ps.accumulate(ps.agg.sum(lambda sold: sold[1]), key=lambda sold: sold[0]),  # continues from day to day
        ps.map(lambda sum_: {"item": sum_[0], "total": sum_[1]}),
        files.write_jsonl("days/{time}.jsonl"),  # appears when its day is complete
    )


def results() -> dict[str, bytes]:
    """Return the contents of the results' folder."""
    return {path.name: path.read_bytes() for path in sorted(Path("days").glob("*.jsonl"))}


def undisturbed() -> dict[str, bytes]:
    """Return the results of a run that is not killed."""
    with tea_house():
        ps.run(takings())
        return results()


def job(killed_after: str = "") -> None:
    """Run the job with a journal; with `killed_after`, kill -9 this process on the day after it."""

    async def looks_on(running: ps.types.Running[Any]) -> None:
        if running.resumed_at:
            print("  resumes at", *running.resumed_at, flush=True)
        if killed_after:
            await running.progress.completed(killed_after)
            await trio.sleep(0.25)  # the next day is under way
            os.kill(os.getpid(), signal.SIGKILL)
        await running.wait()
        (prices,) = [row.values_in for row in running.counters() if row.module == "map_async"]
        print(f"  requested {prices} prices")

    ps.run(takings(slow_price), journal="night.journal", beside=looks_on)


def start(killed_after: str = "") -> "subprocess.Popen[bytes]":
    """Start the job: `python -m tutorials.killed_and_resumed job [DAY]`."""
    command = [sys.executable, "-m", "tutorials.killed_and_resumed", "job", killed_after]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE)  # noqa: S603 - itself


def finish(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process, and print its output and how it ended."""
    printed, _ = process.communicate()
    print(printed.decode(), end="")
    how = signal.Signals(-process.returncode).name if process.returncode < 0 else f"code {process.returncode}"
    print(f"  ends by {how}")


def a_file_a_day() -> None:
    """1. From a folder of files to a file a day.

    `read_csv` reads the files that match a pattern, in threads, one block at a time. `name_time` extracts the day from
    each file name, and the files are read in the order of their days. The same works for text, JSON Lines, Parquet and
    Arrow, compressed or not, in a bucket or on a disk. `accumulate` sums up from day to day. `write_jsonl` writes each
    day's file under a temporary name and renames it when the day is complete, so every file you see is whole, whatever
    happens.
    """
    with tea_house():
        ps.run(takings())
        for name, lines in results().items():
            print(name, *lines.decode().splitlines())
    # | 2026-03-02.jsonl {"item": "tea", "total": 9} {"item": "rice", "total": 5}
    # | 2026-03-03.jsonl {"item": "rice", "total": 20} {"item": "tea", "total": 21} {"item": "salt", "total": 1}
    # | 2026-03-04.jsonl {"item": "tea", "total": 27} {"item": "rice", "total": 30}
    # | 2026-03-05.jsonl {"item": "salt", "total": 3} {"item": "rice", "total": 35} {"item": "tea", "total": 42}
    # | 2026-03-06.jsonl {"item": "tea", "total": 51} {"item": "salt", "total": 4} {"item": "rice", "total": 40}


def killed() -> None:
    """2. Killed, and started again.

    This is the same job in its own process, with a journal: `run(..., journal="night.journal")`, see `job`. On
    Wednesday it is killed by SIGKILL, which no program can catch. The files of two days exist, and no trace of a third.
    Then we run the same command again. It resumes at Wednesday, and the results are identical to those of an
    undisturbed run, byte for byte. Yet it does not request the prices of Monday and Tuesday again: the sums up to then
    are in the journal.
    """
    with tea_house():
        for killed_after in ("2026-03-03", ""):
            print("start")
            finish(start(killed_after))
            print(" ", *results())
        print(f"the same as undisturbed: {results() == undisturbed()}")
    # | start
    # |   ends by SIGKILL
    # |   2026-03-02.jsonl 2026-03-03.jsonl
    # | start
    # |   resumes at 2026-03-04
    # |   requested 9 prices
    # |   ends by code 0
    # |   2026-03-02.jsonl 2026-03-03.jsonl 2026-03-04.jsonl 2026-03-05.jsonl 2026-03-06.jsonl
    # | the same as undisturbed: True


def again_and_again() -> None:
    """3. Again and again, at any moment.

    Here the job is killed at random moments: while Python starts, while it reads, while a file is renamed, while the
    journal is written. This is safe because of one rule: a source drops the values of a time if everything that follows
    from them is complete in the journal; all others are processed again. A day may be written twice, if the run is
    killed after the renaming and before the journal entry. But both times it is the same day, with the same name and
    the same bytes. Effects that are *idempotent by time* turn at-least-once into exactly-once.
    """
    moments = Random()  # noqa: S311 - no secret
    with tea_house():
        for _ in range(3):
            process = start()
            time.sleep(moments.uniform(0.3, 1.5))
            process.kill()
            process.communicate()
        with start() as process:
            process.communicate()
        print(f"the same as undisturbed: {results() == undisturbed()}")
    # | the same as undisturbed: True


def state() -> None:
    """4. Your own state.

    State that lasts beyond a time is what makes resuming hard: a sum, a session, the visitors seen before. The modules
    of the toolkit save theirs. Your own module does too if it keeps its state in `ctx.memory`, a dict whose changes
    carry the time that caused them. The journal saves the dict as of the complete times, whatever has come in the
    meantime.

    Below, `records` reports each day that beats all days before; a failure stands in for the kill. The second run knows
    only from the journal that the third day's 26 is no record: it never saw the 28.
    """

    @ps.transformer
    async def records(upstream: ps.Reader[int], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
        async for batch in ctx.batches(upstream):
            for taken in batch.values:
                if taken > ctx.memory.get("most", 0):
                    ctx.memory.at(batch.time)["most"] = taken
                    yield ps.Batch(batch.time, [f"{taken} is a record"])

    trouble = ["the till is stuck"]

    def counted(taken: int) -> int:
        if taken == 26 and trouble:
            raise RuntimeError(trouble.pop())
        return taken

    days = ps.values([(1, 12), (2, 28), (3, 26), (4, 27), (5, 31)], time=lambda day: day[0])
    job = ps.pipe(days, ps.map(lambda day: day[1]), ps.map(counted), records(), ps.at_completion(print))
    with tea_house():
        for _ in range(2):
            try:
                ps.run(job, journal="night.journal")
            except RuntimeError as error:
                print(f"failed: {error}")
    # | 1 ['12 is a record']
    # | 2 ['28 is a record']
    # | failed: the till is stuck
    # | 5 ['31 is a record']


def refused() -> None:
    """5. What is refused.

    A journal belongs to one program, including its functions, and to the input that was read when it was written.
    Resuming with another program or changed input would give results that no undisturbed run could give, so it is
    refused, and the error says what has changed. A second run with a journal that is in use is refused as well. Below,
    the first run is stopped cleanly this time, after Tuesday.
    """

    async def until_tuesday(running: ps.types.Running[Any]) -> None:
        await running.progress.completed("2026-03-03")
        await running.abort()

    async def two_at_once() -> None:
        async with takings().open(journal="night.journal"), takings().open(journal="night.journal"):
            pass

    def amended() -> None:
        Path("receipts/2026-03-02.csv").write_text("item,count\ntea,99\n")
        ps.run(takings(slow_price), journal="night.journal")

    with tea_house() as folder:
        with suppress(ps.errors.Abandoned):
            ps.run(takings(slow_price), journal="night.journal", beside=until_tuesday)
        for attempt in (lambda: ps.run(takings(), journal="night.journal"), amended):
            try:
                attempt()
            except ps.errors.JournalError as error:
                say(str(error).replace(f"{folder}/", ""))
    with tea_house():
        try:
            trio.run(two_at_once)
        except ps.errors.JournalError as error:
            say(error)
    # | the journal night.journal belongs to another pipeline: module 2 was map_async(slow_price, 1) and is now
    # |   map_async(price, 1). Run the one it belongs to, or start over with another journal. If the completed
    # |   results are still right, give the program a version: journal=ps.Journal('night.journal', version=...)
    # | receipts/2026-03-02.csv has changed since it was read. New results would not be consistent with those that
    # |   an earlier run with this journal has completed. Put it back as it was (a file is identified by its size,
    # |   its modification time and its ends), or start over with another journal
    # | the journal night.journal is in use by another run. Two runs with one journal would do everything twice:
    # |   wait for the other run to end, or give each run its own journal


def shown() -> None:
    """6. Watch the progress.

    A job that takes a night should show its progress. `beside=` takes an async function that runs beside the pipeline,
    as `looks_on` did above. `display()` creates one that shows the frontier, the values processed, values per second,
    and the busiest module; if nothing moves, it shows why. On a terminal it is live; in a log, as here, it prints a
    summary at the end. We omit everything that differs between runs.
    """
    with tea_house(), Path("log").open("w+") as log:
        ps.run(takings(), journal="night.journal", beside=display(console=Console(file=log, width=100)))
        log.seek(0)
        for line in log:
            print(line.partition(" in 0:")[0] if "finished" in line else line[:36].rstrip())
    # | finished
    # | module                in       out
    # | read_csv                        15
    # |   5 of 5 files read
    # | map_async             15        15
    # | accumulate            15        13
    # | map                   13        13
    # | write_jsonl           13
    # |   5 files written, 0 under way


def main() -> None:
    """Print the chapter; with `job` as an argument, as the chapter itself calls it, run the job."""
    if sys.argv[1:2] == ["job"]:
        job(*sys.argv[2:])
    else:
        tell(__name__)


if __name__ == "__main__":
    main()
