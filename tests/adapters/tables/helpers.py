"""Rows to write, the content of tables, and rows to read."""

import pullstream as ps
from pullstream import tables

UNKNOWN = "it is unknown whether it was committed. The next run checks the table and continues from there"
"""The end of the error if the connection was lost during a commit."""


def modes(key):
    """The options of each mode, with the column `key` as the key, and `day` as the time."""
    return {
        "append": {},
        "upsert": {"mode": "upsert", "key": key},
        "replace_time": {"mode": "replace_time", "time": "day"},
    }


def sales(count, days=3):
    rows = [{"day": n // days, "item": f"item {n % 4}", "sold": n} for n in range(count)]
    return ps.values(rows, time=lambda row: row["day"])


def write(source, base, table="sales", *, journal=None, **options):
    return ps.run(ps.pipe(source, tables.write_rows(base.target, base.name(table), **options)), journal=journal)


def sold(base, table="sales"):
    return [row[0] for row in base.query(f"SELECT sold FROM {table} ORDER BY sold")]


def begun(base, rows=()):
    base.query("CREATE TABLE sales (day INTEGER, number INTEGER, item TEXT)")
    add(base, *rows)


def add(base, *rows):
    for day, number in rows:
        base.query(f"INSERT INTO sales VALUES ({day}, {number}, 'item {number}')")


def query(base, columns="*"):
    return (
        f'SELECT {columns} FROM "{base.schema}".sales' if base.kind == "postgresql" else f"SELECT {columns} FROM sales"
    )


def read(base, **options):
    return tables.read_rows(base.target, query(base), **{"time": "day", **options})


def numbers(source, **options):
    return ps.run(ps.pipe(source, ps.map(lambda row: row.number), ps.collect(timed=True)), **options)
