"""A program to kill: it joins files of several formats, and writes daily files, growing totals, and sessions.

In columns it writes aggregates of days; a second run writes windows, and the rows that are too late for them.

Run it as `python killable.py DATA OUT [JOURNAL]`. It prints `begun` when it starts, and `done` at its end.
"""

import gzip
import json
import sys
from pathlib import Path

import polars as pl

import pullstream as ps
from adapters import columns, files
from adapters.files.writing import raw, sink
from pullstream import agg
from tests.sampling import amount

DAYS = amount(25, 60)
ITEMS = ["tea", "rice", "salt", "figs", "oats"]


def write_data(folder, dice, days=DAYS):
    folder.mkdir()
    rows = {"a": [], "b": [], "prices": []}
    for day in range(days):
        for item in ITEMS:
            if dice.random() < 0.9:
                rows["prices"].append({"day": day, "item": item, "price": dice.randint(1, 9)})
            if dice.random() < 0.6:
                for _ in range(dice.randint(1, 12)):
                    rows[dice.choice("ab")].append({"day": day, "item": item, "n": dice.randint(1, 99)})
    lines = {name: [json.dumps(row) for row in some] for name, some in rows.items()}
    (folder / "orders-a.jsonl").write_text("\n".join(lines["a"]))
    table = [",".join(map(str, row.values())) for row in rows["b"]]
    (folder / "orders-b.csv").write_text("\n".join(["day,item,n", *table]))
    (folder / "prices.jsonl.gz").write_bytes(gzip.compress("\n".join(lines["prices"]).encode()))


def priced(pair):
    order, price = pair
    return {"day": order["day"], "item": order["item"], "sum": order["n"] * (price["price"] if price else 0)}


def total(found):
    item, (count, amount) = found
    return {"item": item, "count": count, "sum": amount}


def quiet(window):
    """An item's orders between days without orders."""
    return {"first": window.start, "end": window.end, "item": window.value[0], "orders": window.value[1]}


def by_item(row):
    return row["item"]


def by_all(row):
    return (row["item"], row["sum"])


def everything(states, row):
    return (states[0] + 1, states[1] + row["sum"])


def joined(data, **options):
    orders = ps.merge(
        files.read_jsonl(data / "orders-a.jsonl", time="day", **options),
        files.read_csv(f"{data}/orders-b*.csv", time="day", as_="dicts", **options),
    )
    prices = files.read_jsonl(data / "prices.jsonl.gz", time="day", **options)
    return ps.pipe(ps.join(orders, prices, on=by_item, how="left", capacity=10_000), ps.map(priced))


def totals():
    return ps.pipe(ps.accumulate(ps.Fold(lambda: (0, 0), everything), key=by_item), ps.map(total))


def pipeline(data, out):
    rows = ps.pipe(joined(data), ps.rate_limit(2000), ps.sort_by_time(by_all))
    breaks = ps.pipe(ps.sessions(2, agg.count(), key=by_item), ps.map(quiet), ps.sort_by_time(by_item))
    numbered = ps.pipe(ps.scan(lambda n, _: n + 1, 0), ps.map(lambda n: {"n": n, "key": n % 3}))
    keyed = {"key": "key", "row_group": 7, "open_files": 2}
    sold = columns.reduce_by_key("item", n=columns.count(), sum=columns.sum("sum"), last=columns.last("sum"))
    return ps.pipe(
        rows,
        ps.tee(
            files.write_jsonl(f"{out}/days/{{time}}.jsonl.gz"),
            ps.pipe(totals(), files.write_csv(f"{out}/totals.csv", manifest=f"{out}/totals.manifest")),
            ps.pipe(breaks, files.write_jsonl(f"{out}/breaks/{{time}}.jsonl")),
            ps.pipe(sold, files.write_parquet(f"{out}/sold/{{time}}.parquet")),
            ps.pipe(numbered, files.write_parquet(f"{out}/numbers/{{time}}/{{key}}.parquet", **keyed)),
            capacity=64,
        ),
    )


def in_columns(data, out):
    late = files.write_jsonl(f"{out}/late/{{time}}.jsonl")
    return ps.pipe(
        files.read_jsonl(data / "orders-a.jsonl"),
        ps.rate_limit(3000),
        columns.with_columns(at=pl.col("day") - pl.col("n") % 25),
        columns.tumbling(5, "item", at="at", lateness=20, late=late, n=columns.count(), most=columns.max("n")),
        files.write_parquet(f"{out}/windows/{{time}}.parquet"),
    )


async def say(running):
    print("begun", flush=True)


def main(data, out, journal=None, *, beside=None):
    for make, with_it in ((pipeline, beside), (in_columns, None)):
        ps.run(make(data, out), journal=journal and f"{journal}.{make.__name__}", beside=with_it)


if __name__ == "__main__":
    _, data, out, *journal = sys.argv
    sink.LOOSE = raw.LOOSE = 10
    sink.MEMORY = 10_000
    main(Path(data), Path(out), *journal, beside=say)
    print("done", flush=True)
