"""Rows to write, and what is in a table then."""

import pullstream as ps
from pullstream import tables


def sales(count, days=3):
    """Rows at days, of which each has several."""
    rows = [{"day": n // days, "item": f"item {n % 4}", "sold": n} for n in range(count)]
    return ps.values(rows, time=lambda row: row["day"])


def write(source, base, table="sales", *, journal=None, **options):
    return ps.run(ps.pipe(source, tables.write_rows(base.target, base.name(table), **options)), journal=journal)


def sold(base, table="sales"):
    return [row[0] for row in base.query(f"SELECT sold FROM {table} ORDER BY sold")]
