"""Columns beside polars and Arrow: aggregates of a day, windows, reading alone.

    python -m tests.benchmarks.columns [ROWS]    # ten million by default

Windows are out of order. Each figure is the least processor time of a row in microseconds of some interleaved repeats,
and its ratio to polars streaming and to Arrow, a batch at a time. Rows come from one Parquet file in order of the day.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import pullstream as ps
from pullstream import columns, files

REPEATS = 3


def write(path, rows):
    dice = np.random.default_rng(1)
    day = np.sort(dice.integers(0, 365, rows))
    table = {
        "day": pa.array(day.astype("int32")),
        "at": pa.array(np.arange(rows) // 1000 + dice.integers(-30, 30, rows)),
        "key": pa.array(dice.choice([f"c{number}" for number in range(16)], rows)),
        "n": pa.array(dice.integers(0, 1000, rows)),
        "x": pa.array(dice.random(rows)),
    }
    pq.write_table(pa.table(table), path, row_group_size=131_072)


READ = ["day", "key", "n", "x"]


def per_day(path):
    named = {"n": columns.count(), "sum": columns.sum("n"), "mean": columns.mean("x")}
    rows = files.read_parquet(path, time="day", columns=READ)
    return len(ps.run(ps.pipe(rows, columns.reduce_by_key("key", **named), columns.collect_table())))


def reading(path):
    ps.run(ps.pipe(files.read_parquet(path, time="day", columns=READ), ps.drain()))


def windows(path):
    named = {"n": columns.count(), "sum": columns.sum("n")}
    rows = files.read_parquet(path, columns=["at", "key", "n"])
    return len(
        ps.run(ps.pipe(rows, columns.tumbling(10, "key", at="at", lateness=60, **named), columns.collect_table()))
    )


def by_polars(path):
    query = pl.scan_parquet(path).group_by("day", "key")
    return len(query.agg(n=pl.len(), sum=pl.col("n").sum(), mean=pl.col("x").mean()).collect(engine="streaming"))


def by_arrow(path):
    wanted = [("n", "count"), ("n", "sum"), ("x", "sum")]
    batches = pq.ParquetFile(path).iter_batches(65_536, columns=READ)
    parts = [pa.Table.from_batches([batch]).group_by(["day", "key"]).aggregate(wanted) for batch in batches]
    merged = [("n_count", "sum"), ("n_sum", "sum"), ("x_sum", "sum")]
    return len(pa.concat_tables(parts).group_by(["day", "key"]).aggregate(merged))


def main(rows):
    ways = (per_day, reading, windows, by_polars, by_arrow)
    least = dict.fromkeys(ways, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, rows)
        assert per_day(path) == by_polars(path) == by_arrow(path)
        for _ in range(REPEATS):
            for way in ways:
                began = time.process_time()
                way(path)
                least[way] = min(least[way], (time.process_time() - began) / rows * 1e6)
    print(f"{'':10} {'µs a row':>9} {'polars':>7} {'Arrow':>7}")
    for way, cost in least.items():
        print(f"{way.__name__:10} {cost:9.4f} {cost / least[by_polars]:7.1f} {cost / least[by_arrow]:7.1f}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
