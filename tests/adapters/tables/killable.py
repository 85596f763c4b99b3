"""A program to kill: rows out of order, some of them late, go to three tables and to files.

Run it as `python killable.py TARGET SCHEMA FOLDER DAYS [JOURNAL]`. It prints `begun` once it runs, and `done` at the
end.
"""

import random
import sys

import pullstream as ps
from pullstream import agg, files, tables


def events(days):
    """Return sales in jumbled order, up to two days late, and some too late to be counted."""
    dice = random.Random(7)
    found = []
    for number in range(days * 12):
        day = max(0, number // 12 - dice.choice([0, 0, 0, 1, 2, 6]))
        found.append({"day": day, "item": dice.choice("abcde"), "sold": dice.randint(1, 9), "number": number})
    return found


def pipeline(target, schema, folder, days):
    def name(table):
        return (schema, table) if schema else table

    late = ps.pipe(ps.map(lambda row: row["number"]), ps.collect())
    totals = ps.pipe(
        ps.reduce_by_key(agg.sum(lambda row: row["sold"]), key=lambda row: row["item"]),
        ps.map(lambda pair: {"item": pair[0], "sold": pair[1]}),
    )
    return ps.pipe(
        ps.values(events(days)),
        ps.rate_limit(1500),
        ps.stamp(lambda row: row["day"], lateness=3, late=late),
        ps.tee(
            ps.pipe(ps.sort_by_time(lambda row: row["number"]), tables.write_rows(target, name("sales"))),
            ps.pipe(totals, tables.write_rows(target, name("latest"), mode="upsert", key="item", time="day")),
            ps.pipe(
                ps.count_by_key(lambda row: row["item"]),
                ps.map(lambda pair: {"item": pair[0], "n": pair[1]}),
                tables.write_rows(target, name("counts"), mode="replace_time", time="day"),
            ),
            ps.pipe(ps.sort_by_time(lambda row: row["number"]), files.write_jsonl(f"{folder}/{{time}}.jsonl")),
        ),
    )


async def say(running):
    print("begun", flush=True)


if __name__ == "__main__":
    _, target, schema, folder, days, *journal = sys.argv
    ps.run(pipeline(target, schema, folder, int(days)), journal=journal[0] if journal else None, beside=say)
    print("done", flush=True)
