"""Into a table, exactly once: from a folder of files to a table that is right however often the program is killed.

Read this chapter after `killed_and_resumed`: `python -m pullstream learn read 17`. Afterwards you can keep a table in a
database up to date from files, kill the program at any moment, and trust every query that other programs make
meanwhile. You can also write such a sink for a target of your own, and let the conformance kit kill it.

A file can be renamed into place, and a second time does no harm. Rows cannot: inserted twice, they are there twice. A
database has something better, *transactions*. When a day is complete, all of its rows are inserted in one transaction,
together with a row that says that this day was committed. If the program is killed before the commit, nothing is there.
If it is killed after it, the next run finds the row and skips the day. There is no moment in between.

Below, the tea house of chapter 14 has a database. We use SQLite, which comes with Python. With DuckDB, PostgreSQL,
Delta Lake or Iceberg, only the target's name differs.
"""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator, Hashable, Sequence
from contextlib import chdir, closing, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import trio

import pullstream as ps
from pullstream import files, tables
from pullstream.conformance import kills
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


def number_of(sale: Any) -> int:
    """Return the number sold."""
    return sale.count


def item_of(sale: Any) -> str:
    """Return the item sold."""
    return sale.item


def as_row(sum_: tuple[str, int]) -> dict[str, Any]:
    """Return a row of the table of sums."""
    return {"item": sum_[0], "sold": sum_[1]}


async def slowly(sale: Any) -> Any:
    """Return the sale, after a while."""
    await trio.sleep(0.03)
    return sale


def sales() -> ps.Source[Any]:
    """Return the source: the receipts, each at the day of its file."""
    return files.read_csv("receipts/*.csv", time=files.name_time(r"\d{4}-\d\d-\d\d"))


def job() -> ps.Pipeline[Any]:
    """Return the job: every sale in one table, and in another one the number sold of each item, day by day."""
    counts = ps.pipe(
        ps.accumulate(ps.agg.sum(number_of), key=item_of),
        ps.map(as_row),
        tables.write_rows("tea.db", "sold", mode="upsert", key="item", time="day"),  # a row for each item
    )
    return ps.pipe(
        sales(),
        ps.map_async(slowly, concurrency=1),
        ps.tee(tables.write_rows("tea.db", "sales", time="day"), counts),
    )


def query(sql: str) -> list[tuple[Any, ...]]:
    """Query the database, as any other program does."""
    with closing(sqlite3.connect("tea.db", timeout=30)) as database:
        return database.execute(sql).fetchall()


def results() -> list[tuple[Any, ...]]:
    """Return the rows of both tables."""
    return [*query("SELECT * FROM sales ORDER BY day, rowid"), *query("SELECT * FROM sold ORDER BY item")]


def undisturbed() -> list[tuple[Any, ...]]:
    """Return the rows after a run that is not killed."""
    with tea_house():
        ps.run(job())
        return results()


async def begun(_: object) -> None:
    """Say that the job has begun."""
    print("begun", flush=True)


def start() -> "subprocess.Popen[bytes]":
    """Start the job: `python -m tutorials.into_a_table job`."""
    command = [sys.executable, "-m", "tutorials.into_a_table", "job"]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE)  # noqa: S603 - itself


def a_transaction_a_day() -> None:
    """1. From a folder of files to a table.

    `write_rows` creates the table from the first time, or uses the one that is there. `time="day"` adds a column for
    the time. With `mode="upsert"`, a row replaces the one with the same key, so the second table always has the numbers
    as of the last complete day. Both sinks commit a day when it is complete, each in a transaction of its own.
    """
    with tea_house():
        ps.run(job())
        for row in query("SELECT day, count(*), sum(count) FROM sales GROUP BY day"):
            print(*row)
        for row in query("SELECT * FROM sold ORDER BY item"):
            print(*row)
    # | 2026-03-02 3 4
    # | 2026-03-03 3 8
    # | 2026-03-04 3 4
    # | 2026-03-05 3 8
    # | 2026-03-06 3 5
    # | rice 8 2026-03-06
    # | salt 4 2026-03-06
    # | tea 17 2026-03-06


def again_and_again() -> None:
    """2. Killed again and again, and watched.

    This is the same job in a process of its own. It is killed by SIGKILL at random moments and started again, until it
    ends by itself. Meanwhile another program asks the database for the sales of each day, as often as it can. It never
    sees one or two of a day's three: a day is there or not.

    There is no journal. Each run reads the files from the beginning, and the sinks skip what is committed. With a
    journal, as in chapter 14, a run also skips the work. The sinks are right either way, because what they rely on is
    in the database.
    """
    moments = Random()  # noqa: S311 - no secret
    seen: set[int] = set()
    with tea_house():
        ended, longest = False, 0.5
        while not ended:
            with start() as process:
                assert process.stdout is not None
                process.stdout.readline()  # it has begun
                deadline = time.monotonic() + moments.uniform(0, longest)
                while time.monotonic() < deadline and process.poll() is None:
                    if Path("tea.db").exists() and query("SELECT 1 FROM sqlite_master WHERE name = 'sales'"):
                        seen.update(number for (number,) in query("SELECT count(*) FROM sales GROUP BY day"))
                process.kill()
            ended, longest = process.returncode == 0, longest * 1.5
        print(f"sales of a day that were seen: {seen}")
        print(f"the same as undisturbed: {results() == undisturbed()}")
    # | sales of a day that were seen: {3}
    # | the same as undisturbed: True


def refused() -> None:
    """3. The record, and what is refused.

    The record of committed days is in the same database, so it is also in each of its backups. The record protects the
    table: a run with the journal of another job is refused, because its days may mean something else. Two sinks, or two
    runs, that write to one table at the same time are refused as well.
    """
    into, twice = (tables.write_rows("tea.db", name, time="day") for name in ("sales", "twice"))
    with tea_house() as folder:
        ps.run(ps.pipe(sales(), into), journal="night.journal")
        print(*(day for (day,) in query("SELECT time FROM pullstream_times ORDER BY number")))
        for sink, journal in ((into, "other.journal"), (ps.tee(twice, twice), None)):
            try:
                ps.run(ps.pipe(sales(), sink), journal=journal)
            except tables.TableError as error:
                say(str(error).replace(f"{folder}/", "").partition(". If that")[0])
    # | "2026-03-02" "2026-03-03" "2026-03-04" "2026-03-05" "2026-03-06"
    # | write_rows() cannot write to the table 'sales' in tea.db: it was written with the journal night.journal, and
    # |   this run has the journal other.journal: its times may differ
    # | write_rows(): another run, or another sink of this one, is writing to the table 'twice' in tea.db: wait
    # |   until it ends, or write to another table


class Totals(ps.authoring.Committer[None]):
    """Writes the sum of the values of each time to a file, a line per time: `4. A sink of your own`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sums: dict[Hashable, int] = {}
        self.lines: dict[str, str] = {}

    async def open(self, ctx: ps.Context) -> set[Hashable]:
        """Return the committed times."""
        if self.path.exists():
            self.lines = dict(line.split() for line in self.path.read_text().splitlines())
        return set(map(int, self.lines))

    def prepare(self, batch: ps.Batch[int]) -> None:
        """Add up the values of open times, in memory."""
        self.sums[batch.time] = self.sums.get(batch.time, 0) + sum(batch.values)

    async def commit(self, times: Sequence[Hashable]) -> None:
        """Replace the file by one with the lines of these times as well."""
        self.lines |= {str(time): str(self.sums.pop(time)) for time in times}
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{time} {total}\n" for time, total in self.lines.items()))
        new.replace(self.path)


@ps.sink
async def write_totals(upstream: ps.Reader[int], ctx: ps.Context, path: Path) -> None:
    """Write the sum of each time."""
    await Totals(path).run(upstream, ctx)


def your_own() -> None:
    """4. A sink of your own.

    All sinks that commit complete times are built on one class: `write_rows`, the writers of files, and Spark's
    `write_table`. `ps.authoring.Committer` asks for the completions, in order, holds each time until it is committed,
    and commits in the background while the next values arrive. You write what is particular to the target, mainly in
    five methods: `open` returns the times that earlier runs have committed, `prepare` stores values where nobody sees
    them, `commit` makes the values of complete times visible, `close` removes what was not committed, and `result` is
    the result of the run.

    `commit` has one duty: to be *idempotent by time*. The program may be killed after it and before anyone has noted
    that it returned, and then it is called again. `Totals`, above, keeps its record in the file itself, and replaces
    the file as a whole.
    """
    numbers = ps.values([10, 12, 21, 30], time=lambda n: n // 10)
    with TemporaryDirectory() as folder:
        path = Path(folder, "totals")
        ps.run(ps.pipe(numbers, ps.take(2), write_totals(path)))
        print(path.read_text().splitlines())
        ps.run(ps.pipe(numbers, write_totals(path)))
        print(path.read_text().splitlines())
    # | ['1 22']
    # | ['1 22', '2 21', '3 30']


def the_kit_kills_it() -> None:
    """5. The kit kills it.

    `kills` runs your sink in processes of its own. It kills each (by SIGKILL) before a step of the protocol or before a
    line of your file, reads what is visible, and starts it again. After each kill a time must be there as a whole or
    not at all, and what was there must stay. In the end everything must be as if nothing had happened.

    The second sink below is wrong. It appends its lines, so a time is there twice if the program is killed after the
    writing and before the return.
    """

    class Appending(Totals):
        async def open(self, ctx: ps.Context) -> set[Hashable]:
            return set()

        async def commit(self, times: Sequence[Hashable]) -> None:
            with self.path.open("a") as file:
                file.writelines(f"{time} {self.sums.pop(time)}\n" for time in times)

    @ps.sink
    async def append_totals(upstream: ps.Reader[int], ctx: ps.Context, path: Path) -> None:
        await Appending(path).run(upstream, ctx)

    def read(folder: Path) -> dict[Hashable, Any]:
        path, found = folder / "totals", dict[Hashable, Any]()
        for line in path.read_text().splitlines() if path.exists() else ():
            time, total = map(int, line.split())
            found.setdefault(time, []).append(total)
        return found

    for sink in (write_totals, append_totals):
        report = kills(lambda folder, sink=sink: sink(folder / "totals"), read, number=20)
        print("ok" if report.ok else "broken")
    # | ok
    # | broken


def main() -> None:
    """Print the chapter; with `job` as an argument, as the chapter itself calls it, run the job."""
    if sys.argv[1:2] == ["job"]:
        ps.run(job(), beside=begun)
    else:
        tell(__name__)


if __name__ == "__main__":
    main()
