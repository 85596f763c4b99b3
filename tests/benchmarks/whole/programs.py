"""The programs of README and of the guides, scaled up and compared with plain Python; and a nightly run."""

import asyncio
import atexit
import csv
import json
import re
from collections import defaultdict
from importlib import import_module
from itertools import groupby, islice
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pullstream as ps
from pullstream import files
from tests.benchmarks.whole.program import BY_HAND, HERE, Program

PROGRAMS = []
DAYS = 400
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
    """Write a line of JSON for each value, as users do who need no atomic files."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


@program(
    "sales: README's first program, a fold per product and day",
    400_000,
    20_000,
    why="four functions are called for each value; by hand, three of them are expressions within the loop",
)
def readme(size):
    sales = [(n * DAYS // size, f"item{n % 7}", n % 5) for n in range(size)]

    def here(_):
        return ps.run(
            ps.pipe(
                ps.values(sales, time=lambda sale: sale[0]),
                ps.filter(lambda sale: sale[2] > 0),
                ps.reduce_by_key(ps.agg.sum(lambda sale: sale[2]), key=lambda sale: sale[1]),
                ps.collect(timed=True),
            )
        )

    def by_hand(_):
        found = []
        for time, own in groupby(sales, key=lambda sale: sale[0]):
            sums = {}
            for _day, item, number in own:
                if number > 0:
                    sums[item] = sums.get(item, 0) + number
            found += [(time, pair) for pair in sums.items()]
        return found

    return {HERE: here, BY_HAND: by_hand}


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

    def line(failed):
        return f"{failed.value!r}: {failed.error}"

    def here(folder):
        bad = ps.pipe(ps.map(line), ps.stamp_epochs(1), files.write_text(folder / "bad.txt"))
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


@program("lines, 500 to a file: files.md, sums per day and product, a file for each day", 200_000, 20_000)
def tills(size):
    given = Path(mkdtemp())
    atexit.register(rmtree, given)
    days = max(1, size // 500)
    for number in range(days):
        sales = [{"item": f"item{n % 7}", "n": n % 5} for n in range(size // days)]
        write_lines(given / f"{day(number)}.jsonl", sales)

    def here(folder):
        return len(
            ps.run(
                ps.pipe(
                    files.read_jsonl(f"{given}/*.jsonl", time=files.name_time(DATE)),
                    ps.reduce_by_key(ps.agg.sum(lambda sale: sale["n"]), key=lambda sale: sale["item"]),
                    files.write_jsonl(f"{folder}/sold/{{time}}.jsonl"),
                )
            )
        )

    def by_hand(folder):
        for path in sorted(given.glob("*.jsonl")):
            sums = {}
            for line in path.read_text().splitlines():
                sale = json.loads(line)
                sums[sale["item"]] = sums.get(sale["item"], 0) + sale["n"]
            write_lines(folder / "sold" / path.name, sums.items())
        return days

    return {HERE: here, BY_HAND: by_hand}


@program("calls of asyncio's, 8 at a time: other_programs.md, read in a loop", 4_000, 400)
def asyncio_calls(size):
    async def price(item):
        await asyncio.sleep(0.001)
        return item * 2

    def here(_):
        prices = ps.pipe(ps.values(range(size)), ps.map_async(ps.asyncio_call(price), concurrency=8))
        return list(ps.iterate(prices))

    def by_hand(_):
        async def main():
            gate = asyncio.Semaphore(8)

            async def one(item):
                async with gate:
                    return await price(item)

            return await asyncio.gather(*map(one, range(size)))

        return asyncio.run(main())

    return {HERE: here, BY_HAND: by_hand}


@ps.source
async def hours(ctx, days):
    for number in range(days):
        for hour in range(3):
            yield ps.Batch((number, hour), [f"{number} {hour}:00", f"{number} {hour}:30"])


@ps.sink
async def longest(upstream, ctx):
    best = ""
    async for batch in ctx.batches(upstream):
        best = max([best, *batch.values], key=len)
    return best


@program(
    "days: own_modules.md, a source of six texts a day and a sink that keeps the longest",
    20_000,
    2_000,
    why="each batch of two texts has its own time: it is yielded, counted, asked for and acknowledged by itself",
)
def own_modules(size):
    def by_hand(_):
        texts = (f"{n} {hour}:{half}" for n in range(size) for hour in range(3) for half in ("00", "30"))
        return max(texts, key=len)

    return {HERE: lambda _: ps.run(ps.pipe(hours(size), longest())), BY_HAND: by_hand}


class Lines(ps.authoring.Kernel[str]):
    def __init__(self, path):
        self.path = path

    async def acquire(self):
        self.file = self.path.open()

    async def produce(self, limit):
        lines = [line.strip() for line in islice(self.file, limit)]
        return ps.Batch(0, lines) if lines else ps.DONE

    async def release(self):
        self.file.close()


@program("lines: own_modules.md, a kernel that reads a file", 400_000, 20_000)
def own_kernel(size):
    lines = ps.source(Lines)

    def given(folder):
        path = folder / "items.txt"
        path.write_text("".join(f"item{n % 7}\n" for n in range(size)))
        return path

    def by_hand(folder):
        with given(folder).open() as file:
            return len([line.strip() for line in file])

    return {HERE: lambda folder: len(ps.run(ps.pipe(lines(given(folder)), ps.collect()))), BY_HAND: by_hand}


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
            day = re.search(DATE, path.name)
            with path.open() as file:
                sales = [(sale["item"], int(sale["price"])) for sale in csv.DictReader(file)]
            for item, price in sales:
                sums[item] += price
            if day:
                write_lines(folder / "days" / f"{day[0]}.jsonl", ((item, sums[item]) for item in dict(sales)))

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
