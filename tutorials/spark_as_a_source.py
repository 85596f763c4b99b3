"""Spark as a source: pull what Spark computes, and stream with commits that follow completion.

Read this chapter after `when_is_it_done`: `python -m pullstream learn read 15`. It needs the extra `spark`:
`pip install '.[spark]'` in a checkout. Afterwards you can pull the results of Spark into a Python program, a row or a
day at a time; have Spark commit a micro-batch when your program has processed it, and not before; and kill that program
at the worst moment without losing or doubling anything.

Spark is good at large data: reading, joining, sorting, adding up. Where its rows meet Python, a clock and the outside
world (a file for every day, a call for every order), people write `collect()`, which fetches everything, or
`foreachBatch`, which does not track what happens to a row. As a source, a DataFrame yields only what is asked for, at
times whose completion is known. When nobody asks any more, Spark stops computing.

Below, the tea house has grown: its sales are in Spark. A session is started if there is none, which takes some seconds.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import trio

import pullstream as ps
from pullstream import files, spark
from tutorials.lesson import tell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SALE = "day int, item string, cups int"

WEEK = [(1, "tea", 4), (0, "rice", 2), (1, "tea", 1), (2, "rice", 3), (0, "tea", 5), (2, "tea", 2)]


def item(row: Any) -> str:
    """Return the item sold."""
    return row.item


def cups(row: Any) -> int:
    """Return the number of cups."""
    return row.cups


def sold(row: Any) -> str:
    """Return both as text."""
    return f"{row.cups} {row.item}"


def sales() -> "DataFrame":
    """Return the sales of a week as Spark has them: in no order."""
    session: Any = spark.session()
    return session.createDataFrame(WEEK, SALE)


def deliver(till: Path, *sales: tuple[int, str, int]) -> None:
    """Put a whole file of sales into the folder that Spark watches."""
    till.mkdir(exist_ok=True)
    number = len(list(till.glob("*.json")))
    lines = [json.dumps({"day": day, "item": item, "cups": cups}) for day, item, cups in sales]
    part = till / ".part"
    part.write_text("\n".join(lines))
    # Spark takes the oldest file first, and compares their times in milliseconds.
    time.sleep(0.002)
    part.rename(till / f"{number}.json")


def three_deliveries(folder: Path) -> Path:
    """Deliver three files of two sales each."""
    for at in (0, 2, 4):
        deliver(folder / "till", *WEEK[at : at + 2])
    return folder


def arriving(folder: Path, **options: Any) -> ps.Source[Any]:
    """Return the stream of arriving files, one per micro-batch; it ends after the files that are there."""
    reader = spark.session().readStream.schema(SALE).option("maxFilesPerTrigger", 1)
    stream = reader.json(str(folder / "till"))
    return spark.from_streaming(stream, checkpoint=folder / "checkpoint", trigger="availableNow", **options)


def committed(folder: Path) -> list[int]:
    """List the micro-batches that Spark has committed: its checkpoint has a file for each."""
    return sorted(int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*"))


def show_files(folder: Path) -> None:
    """Print the files of a folder, in order, with their contents."""
    for path in sorted(folder.glob("*.jsonl")):
        print(path.name, *sorted(path.read_text().splitlines()))


def in_a_folder(program: Callable[[Path], None]) -> None:
    """Call a function with a temporary folder."""
    with TemporaryDirectory() as folder:
        program(Path(folder))


def dataframe() -> None:
    """1. A DataFrame is a source.

    `from_dataframe` reads a DataFrame. Every row is a named tuple, at the time in the given column. Spark sorts by that
    column, so a day is complete when the next has begun, and per-time results come out as each day completes, not at
    the end. Spark runs nothing before the first ask.
    """
    totals = ps.reduce_by_key(ps.agg.sum(cups), key=item)
    ps.run(ps.pipe(spark.from_dataframe(sales(), time="day"), totals, ps.sort_by_time(), ps.drain(print)))
    # | ('rice', 2)
    # | ('tea', 5)
    # | ('tea', 5)
    # | ('rice', 3)
    # | ('tea', 2)


def enough() -> None:
    """2. Stop when you have enough.

    Heavy work stays in Spark, in the DataFrame's own language. Here it would compute a thousand million squares. The
    pipeline takes three, and its abort goes up through every module to the source, which cancels Spark's job. No job is
    left, and the session is still usable.
    """
    session = spark.session()
    squares = session.range(0, 10**9, 1, numPartitions=10_000).selectExpr("id * id AS square")
    rows = spark.from_dataframe(squares, as_="tuples")
    print(len(ps.run(ps.pipe(rows, ps.take(3), ps.collect()))))
    print(len(list(session.sparkContext.statusTracker().getActiveJobsIds())))
    print(session.range(5).count())
    # | 3
    # | 0
    # | 5


def micro_batches() -> None:
    """3. A micro-batch is a time.

    A Spark stream has no end. Its rows come in micro-batches, which Spark numbers: 0, 1, 2. `from_streaming` yields the
    rows of each at that number. It is a time like any other, so every per-time module works here: its results are
    computed per micro-batch, and come out when that is complete.

    Spark records in the checkpoint, a folder of its own, which files belong to which micro-batch, and which
    micro-batches are done. So the second run, with the same checkpoint, reads only the files that have arrived since.
    """

    def program(folder: Path) -> None:
        three_deliveries(folder)
        print(ps.run(ps.pipe(arriving(folder), ps.map(sold), ps.collect(timed=True))))
        deliver(folder / "till", (3, "tea", 9))
        print(ps.run(ps.pipe(arriving(folder), ps.map(sold), ps.collect(timed=True))))

    in_a_folder(program)
    # | [(0, '4 tea'), (0, '2 rice'), (1, '1 tea'), (1, '3 rice'), (2, '5 tea'), (2, '2 tea')]
    # | [(3, '9 tea')]


def commits() -> None:
    """4. Spark's commit follows.

    When is a micro-batch done? For Spark, when the function that received its rows has returned. For you, when
    everything that follows from its rows has had its effect: every call answered, every file in its place, at every
    sink of the pipeline. Progress tracking finds that moment. The source then lets the function return, and Spark
    commits.

    This sink is notified when a micro-batch is complete, and then takes some time. Meanwhile that micro-batch is not
    committed; the earlier ones are.
    """

    def program(folder: Path) -> None:
        @ps.sink
        async def slow(upstream: ps.Reader[Any], ctx: ps.Context) -> None:
            async for event in ctx.events(upstream):
                match event:
                    case ps.Batch(number):
                        ctx.notify_at(number)
                    case ps.Completed(number):
                        await trio.sleep(0.2)
                        print(f"done with {number}; committed are {committed(folder)}")

        ps.run(ps.pipe(arriving(three_deliveries(folder)), slow()))
        print(f"at the end {committed(folder)}")

    in_a_folder(program)
    # | done with 0; committed are []
    # | done with 1; committed are [0]
    # | done with 2; committed are [0, 1]
    # | at the end [0, 1, 2]


def failing() -> None:
    """5. A failed micro-batch is not committed.

    An exception in the pipeline ends it, and `run` raises it unchanged. The query ends as well, and its micro-batch
    stays uncommitted, as after an abort or Ctrl-C. The next run begins with that micro-batch: the same number, the same
    rows.
    """

    def program(folder: Path) -> None:
        def careful(row: Any) -> str:
            if row.cups == 5:
                raise ValueError("nobody drinks five cups")
            return sold(row)

        three_deliveries(folder)
        try:
            ps.run(ps.pipe(arriving(folder), ps.map(careful), ps.collect()))
        except ValueError as error:
            print(f"{error}; committed are {committed(folder)}")
        print(ps.run(ps.pipe(arriving(folder), ps.map(cups), ps.collect(timed=True))))

    in_a_folder(program)
    # | nobody drinks five cups; committed are [0, 1]
    # | [(2, 5), (2, 2)]


@ps.sink
async def hesitant(upstream: ps.Reader[Any], ctx: ps.Context, at: int) -> None:
    """Print each complete micro-batch, and wait forever at one of them."""
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(number):
                ctx.notify_at(number)
            case ps.Completed(number):
                print(number, flush=True)
                if number == at:
                    await trio.sleep_forever()


def till(folder: Path, stop_at: int = -1) -> None:
    """Write cups by item, a file for every micro-batch. With `stop_at`, stop and wait there."""
    totals = ps.reduce_by_key(ps.agg.sum(cups), key=item)
    sinks = ps.tee(files.write_jsonl(f"{folder}/{{time}}.jsonl"), hesitant(stop_at))
    ps.run(ps.pipe(arriving(folder), totals, sinks))


def until_killed(folder: Path, at: int) -> int:
    """Run the program in its own process, and kill it when micro-batch `at` is written but not committed."""
    command = [sys.executable, "-m", "tutorials.spark_as_a_source", str(folder), str(at)]
    with subprocess.Popen(  # noqa: S603 - it is this file
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            if line.strip() == str(at):
                while not (folder / f"{at}.jsonl").exists():
                    time.sleep(0.01)
                os.kill(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
    return process.returncode


def killed() -> None:
    """6. Killed at the worst moment.

    A killed process cannot clean up. The worst moment is between an effect and its commit: here the file of micro-batch
    1 is in its place, but Spark has not committed it. To be killed at exactly that moment, the program stops there and
    waits for `kill -9`.

    The next run receives micro-batch 1 again. It writes the file again, with the same rows and the same name, so the
    result is the same; then it continues. A sink needs only this property: it must be *idempotent by time*. A file that
    is named after its time, written under a temporary name and then renamed, is.
    """

    def program(folder: Path) -> None:
        three_deliveries(folder)
        print(f"it ended with {until_killed(folder, 1)}; committed are {committed(folder)}")
        show_files(folder)
        till(folder)
        print(f"now committed are {committed(folder)}")
        show_files(folder)

    in_a_folder(program)
    # | it ended with -9; committed are [0]
    # | 0.jsonl ["rice", 2] ["tea", 4]
    # | 1.jsonl ["rice", 3] ["tea", 1]
    # | 1
    # | 2
    # | now committed are [0, 1, 2]
    # | 0.jsonl ["rice", 2] ["tea", 4]
    # | 1.jsonl ["rice", 3] ["tea", 1]
    # | 2.jsonl ["tea", 7]


def add(total: int, row: Any) -> int:
    """Add the cups of a row."""
    return total + cups(row)


def running_total() -> None:
    """7. State across micro-batches.

    A total of all cups so far spans micro-batches: a run that begins with micro-batch 2 needs the total up to then.
    That is the purpose of a journal. It holds the state of modules as of the complete times, and it is written before
    Spark commits, so the two agree whenever the program is killed.
    """

    def program(folder: Path) -> None:
        so_far = ps.scan(add, 0)
        for _ in range(2):
            three_deliveries(folder)
            print(ps.run(ps.pipe(arriving(folder), so_far, ps.collect(timed=True)), journal=folder / "journal"))

    in_a_folder(program)
    # | [(0, 4), (0, 6), (1, 7), (1, 10), (2, 15), (2, 17)]
    # | [(0, 4), (0, 6), (1, 7), (1, 10), (2, 15), (2, 17), (3, 21), (3, 23), (4, 24), (4, 27), (5, 32), (5, 34)]


def main() -> None:
    """Print the chapter; given a folder and a micro-batch to stop at, run the program of section 6."""
    if sys.argv[1:]:
        till(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        tell(__name__)


if __name__ == "__main__":
    main()
