"""A program to kill: aggregates of days, windows and sessions over a column with late rows.

Run it as `python killable.py DATA OUT JOURNAL`. It prints `begun` once it runs.
"""

import sys

import polars as pl

import pullstream as ps
from adapters import columns, files


def pipeline(data, out):
    rows = ps.pipe(files.read_parquet(f"{data}/rows.parquet", time="day"), ps.rate_limit(20_000))
    sold = ps.pipe(
        columns.with_columns(double=2 * pl.col("n")),
        columns.reduce_by_key("item", n=columns.count(), sum=columns.sum("double"), last=columns.last("n")),
    )
    late = files.write_jsonl(f"{out}/late/{{time}}.jsonl")
    windows = columns.tumbling(50, "item", at="at", lateness=20, late=late, n=columns.count(), most=columns.max("n"))
    breaks = columns.sessions(3, "item", at="at", lateness=20, late="drop", n=columns.count())
    return ps.pipe(
        rows,
        ps.tee(
            ps.pipe(sold, files.write_parquet(f"{out}/sold/{{time}}.parquet")),
            ps.pipe(ps.map_time(lambda _: 0), windows, files.write_parquet(f"{out}/windows/{{time}}.parquet")),
            ps.pipe(ps.map_time(lambda _: 0), breaks, files.write_csv(f"{out}/breaks/{{time}}.csv")),
            capacity=64,
        ),
    )


async def say(running):
    print("begun", flush=True)


if __name__ == "__main__":
    _, data, out, journal = sys.argv
    ps.run(pipeline(data, out), journal=journal, beside=say)
