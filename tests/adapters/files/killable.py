"""A program for the tests to kill: it joins files of several kinds, and writes one file per day, and growing totals.

Run as `python killable.py DATA OUT`; it prints `begun` when it is running, and `done` at its end.
"""

import sys
from pathlib import Path

import pullstream as ps
from adapters import files
from pullstream import agg


def day_of(row):
    """The time of a row."""
    return int(row["day"])


def priced(pair):
    """The value of an order."""
    order, price = pair
    return {"day": order["day"], "item": order["item"], "sum": order["n"] * (price["price"] if price else 0)}


def total(found):
    """The total of an item so far."""
    item, (count, amount) = found
    return {"item": item, "count": count, "sum": amount}


def quiet(window):
    """A session of an item: its first and last day, and the number of its orders."""
    return {"first": window.start, "end": window.end, "item": window.value[0], "orders": window.value[1]}


def by_item(row):
    return row["item"]


def by_all(row):
    return (row["item"], row["sum"])


def everything(states, row):
    return (states[0] + 1, states[1] + row["sum"])


def pipeline(data, out):
    """Two files of orders and one of prices; three sinks."""
    orders = ps.merge(
        files.read_jsonl(data / "orders-a.jsonl", time=day_of),
        files.read_csv(data / "orders-b.csv", time="day", as_="dicts"),
    )
    prices = files.read_jsonl(data / "prices.jsonl.gz", time=day_of)
    rows = ps.pipe(
        ps.join(orders, prices, on=by_item, how="left", capacity=10_000),
        ps.map(priced),
        ps.rate_limit(2000),
        ps.sort_by_time(by_all),
    )
    totals = ps.pipe(ps.accumulate(ps.Fold(lambda: (0, 0), everything), key=by_item), ps.map(total))
    breaks = ps.pipe(ps.sessions(2, agg.count(), key=by_item), ps.map(quiet), ps.sort_by_time(by_item))
    numbered = ps.pipe(ps.scan(lambda n, _: n + 1, 0), ps.map(lambda n: {"n": n}))
    return ps.pipe(
        rows,
        ps.tee(
            files.write_jsonl(f"{out}/days/{{time}}.jsonl"),
            ps.pipe(totals, files.write_csv(f"{out}/totals.csv", manifest=f"{out}/totals.manifest")),
            ps.pipe(
                breaks, ps.sort_by_time(lambda row: row["item"]), files.write_jsonl(f"{out}/breaks/{{time}}.jsonl")
            ),
            ps.pipe(numbered, files.write_parquet(f"{out}/numbers/{{time}}.parquet")),
            capacity=64,
        ),
    )


async def say(running):
    """Print that it is running."""
    print("begun", flush=True)


if __name__ == "__main__":
    _, data, out, *journal = sys.argv
    ps.run(pipeline(Path(data), Path(out)), journal=journal[0] if journal else None, beside=say)
    print("done", flush=True)
