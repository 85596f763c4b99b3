"""A program that is killed: collections that are maintained while a graph and prices change, to a file a day.

Run as `python killable.py DATA OUT [JOURNAL]`; it says `begun` when it is under way, and each day that is done.
"""

import sys
from pathlib import Path

import pullstream as ps
from adapters import files
from pullstream.incremental import Collection, maintain


def day_of(row):
    """A row's time."""
    return int(row["day"])


def change(row):
    """What a row changes."""
    return row["name"], tuple(row["record"]), row["diff"]


def watched(edges: Collection, prices: Collection):
    """A search in a loop, the first of large groups, a join, and what is not there."""
    start = edges.map(lambda edge: (edge[0] * 0, 0)).distinct()
    reached = start.iterate(lambda found: found.join(edges, lambda _, steps, to: (to, steps + 1)).concat(start).min())
    degrees = edges.map(lambda edge: edge[0]).count()
    return {
        "reached": reached,
        "busiest": degrees.map(lambda counted: ("all", (counted[1], counted[0]))).top(3),
        "cheapest": prices.min(),
        "spent": prices.sum(),
        "met": reached.join(degrees),
        "lost": edges.antijoin(reached.map(lambda found: found[0])),
    }


async def told(running, days):
    """Say each day that is done."""
    print("begun", flush=True)
    for day in range(days):
        await running.progress.completed(day)
        print(day, flush=True)


def main(data, out, journal=None):
    rows = files.read_jsonl(data, time=day_of)
    days = 1 + max(day_of(row) for row in ps.run(ps.pipe(rows, ps.collect())))
    pipeline = ps.pipe(
        rows, ps.map(change), maintain(watched), ps.map(list), files.write_jsonl(f"{out}/{{time}}.jsonl")
    )
    ps.run(pipeline, journal=journal, beside=lambda running: told(running, days))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
