"""Programs that no workload measures, beside plain Python: what README and the guides show, scaled up."""

import atexit
import csv
import json
import re
from collections import defaultdict
from importlib import import_module
from itertools import groupby
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pullstream as ps
from pullstream import files
from tests.benchmarks.whole.program import BY_HAND, HERE, Program

PROGRAMS = []
DATE = r"\d{4}-\d\d-\d\d"


def program(says, full, quick, *, parts=(), why=""):
    """Add a program; the decorated function prepares its ways."""

    def add(prepare):
        PROGRAMS.append(Program(prepare.__name__, says, full, quick, prepare, parts, why))

    return add


def day(number):
    """The name of a day."""
    return f"{2000 + number // 336}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"


def write_lines(path, values):
    """Write a line of JSON for each value, as a user does who needs no atomic files."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


@ps.transformer
async def total(upstream, ctx):
    """README's own module: a sum per time."""
    totals = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                totals[time] = totals.get(time, 0) + sum(values)
            case ps.Completed(time):
                yield ps.Batch(time, [totals.pop(time)])


@program(
    "numbers, ten to a time: README's own module, a sum per time",
    200_000,
    10_000,
    why="each time costs a batch, a notification, a look at the frontier, a completion and an answer; by hand, an item",
)
def readme_module(size):
    def here(_):
        return ps.run(ps.pipe(ps.values(range(size), time=lambda n: n // 10), total(), ps.collect()))

    def by_hand(_):
        return [sum(own) for _, own in groupby(range(size), key=lambda n: n // 10)]

    return {HERE: here, BY_HAND: by_hand}


@program(
    "texts: failures.md, numbers of text; one in a thousand is none, and goes to a file",
    200_000,
    10_000,
    why="each failure has its own time, which a thread appends to the file when it is complete; by hand, a line",
)
def failures(size):
    texts = ["tea" if n % 1000 == 5 else str(n) for n in range(size)]

    def told(failed):
        return f"{failed.value!r}: {failed.error}"

    def here(folder):
        bad = ps.pipe(ps.map(told), ps.stamp_epochs(1), files.write_text(folder / "bad.txt"))
        return ps.run(ps.pipe(ps.values(texts), ps.map(int, on_error=bad), ps.collect()))

    def by_hand(folder):
        found = []
        with (folder / "bad.txt").open("w") as bad:
            for text in texts:
                try:
                    found.append(int(text))
                except ValueError as error:
                    bad.write(f"{text!r}: {error}\n")
        return found

    return {HERE: here, BY_HAND: by_hand}


@program(
    "files: resuming.md, a nightly run with a journal; by hand without one",
    10_000,
    500,
    why="threads read each file, and write and sync the file of its day and a record of the journal; by hand, no syncs",
)
def nightly(size):
    def receipts(folder):
        for number in range(size):
            path = folder / "receipts" / f"{day(number)}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("item,price\ntea,3\nrice,5\n")
        return folder / "receipts"

    def here(folder):
        takings = ps.pipe(
            files.read_csv(f"{receipts(folder)}/*.csv", time=files.name_time(DATE), available=True),
            ps.accumulate(ps.agg.sum(lambda sale: sale.price), key=lambda sale: sale.item),
            files.write_jsonl(f"{folder}/days/{{time}}.jsonl"),
        )
        ps.run(takings, journal=folder / "night.journal")
        (folder / "night.journal").unlink()

    def by_hand(folder):
        sums = defaultdict(int)
        for path in sorted(receipts(folder).glob("*.csv")):
            met = re.search(DATE, path.name)
            with path.open() as file:
                sales = [(sale["item"], int(sale["price"])) for sale in csv.DictReader(file)]
            for item, price in sales:
                sums[item] += price
            if met:
                write_lines(folder / "days" / f"{met[0]}.jsonl", ((item, sums[item]) for item in dict(sales)))

    return {HERE: here, BY_HAND: by_hand}


@program(
    "rows in columns: count, sum and mean per day and key of a Parquet file; and windows of it, out of order",
    10_000_000,
    200_000,
    parts=("reading alone", "windows"),
)
def in_columns(size):
    columns, np, pl, pa, pq = map(
        import_module, ("pullstream.columns", "numpy", "polars", "pyarrow", "pyarrow.parquet")
    )
    path = Path(mkdtemp()) / "rows.parquet"
    atexit.register(rmtree, path.parent, ignore_errors=True)
    dice = np.random.default_rng(1)
    table = {
        "day": np.sort(dice.integers(0, 365, size)).astype("int32"),
        "at": np.arange(size) // 1000 + dice.integers(-30, 30, size),
        "key": dice.choice([f"c{number}" for number in range(16)], size),
        "n": dice.integers(0, 1000, size),
        "x": dice.random(size),
    }
    pq.write_table(pa.table(table), path, row_group_size=131_072)
    read = ["day", "key", "n", "x"]
    rows = files.read_parquet(path, time="day", columns=read)
    named = {"n": columns.count(), "sum": columns.sum("n")}
    counts = columns.reduce_by_key("key", **named, mean=columns.mean("x"))
    windows = columns.tumbling(10, "key", at="at", lateness=60, **named)

    def collected(source, module):
        return len(ps.run(ps.pipe(source, module, columns.collect_table())))

    def by_polars(_):
        query = pl.scan_parquet(path).group_by("day", "key")
        return len(query.agg(n=pl.len(), sum=pl.col("n").sum(), mean=pl.col("x").mean()).collect(engine="streaming"))

    def by_arrow(_):
        wanted = [("n", "count"), ("n", "sum"), ("x", "sum")]
        batches = pq.ParquetFile(path).iter_batches(65_536, columns=read)
        parts = [pa.Table.from_batches([batch]).group_by(["day", "key"]).aggregate(wanted) for batch in batches]
        merged = [("n_count", "sum"), ("n_sum", "sum"), ("x_sum", "sum")]
        return len(pa.concat_tables(parts).group_by(["day", "key"]).aggregate(merged))

    return {
        HERE: lambda _: collected(rows, counts),
        "reading alone": lambda _: ps.run(ps.pipe(rows, ps.drain())),
        "windows": lambda _: collected(files.read_parquet(path, columns=["at", "key", "n"]), windows),
        "Arrow, batch by batch": by_arrow,
        "polars, streaming": by_polars,
    }
