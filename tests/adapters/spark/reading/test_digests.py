"""Digests of Arrow batches depend on their rows, but not on the order or the division into batches."""

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from adapters.spark.reading.reruns import digest

ROWS = 300
COLUMNS = {
    "whole": pa.array(range(ROWS)),
    "small": pa.array([n % 100 for n in range(ROWS)], pa.int8()),
    "real": pa.array([n / 7 if n % 7 else None for n in range(ROWS)]),
    "text": pa.array([f"row{n}" if n % 5 else None for n in range(ROWS)]),
    "long": pa.array([f"{n}" * 90 for n in range(ROWS)]),
    "large": pa.array([f"{n}" for n in range(ROWS)], pa.large_string()),
    "bytes": pa.array([str(n).encode() for n in range(ROWS)]),
    "flag": pa.array([n % 2 == 0 if n % 3 else None for n in range(ROWS)]),
    "price": pa.array([Decimal(n) for n in range(ROWS)], pa.decimal128(20, 2)),
    "day": pa.array([dt.date(2020, 1, 1 + n % 28) for n in range(ROWS)]),
    "at": pa.array(range(ROWS), pa.timestamp("us", "UTC")),
    "list": pa.array([[str(i) for i in range(n % 4)] if n % 3 else None for n in range(ROWS)]),
    "map": pa.array([[(str(n), n)] for n in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"x": n, "y": [n]} if n % 9 else None for n in range(ROWS)]),
    "nothing": pa.nulls(ROWS),
}
BATCH = pa.record_batch(COLUMNS)


def test_order_and_division_do_not_matter():
    """The digest is the same for rows in any order, in batches of any size, and for slices."""
    places = list(range(ROWS))
    random.Random(1).shuffle(places)
    whole = digest([BATCH])
    assert whole[0] == ROWS
    assert digest([BATCH.take(pa.array(places))]) == whole
    assert digest([BATCH.slice(0, 133), BATCH.slice(133, 0), BATCH.slice(133)]) == whole
    assert digest([]) == (0, 0)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "nothing"])
def test_every_column_counts(name):
    """Rows that exchange one value are different rows, and so is a row in which only one value changes."""
    swapped = COLUMNS[name].take(pa.array([1, 0, *range(2, ROWS)]))
    changed = {**COLUMNS, name: swapped}
    assert digest([pa.record_batch(changed)]) != digest([BATCH])
    assert digest([pa.record_batch({name: COLUMNS[name]})]) != digest([pa.record_batch({name: COLUMNS[name]}).slice(1)])


def test_rows_without_columns_are_counted():
    assert digest([pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))])[0] == 3
