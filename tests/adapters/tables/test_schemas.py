"""`write_rows` with `schema=`: the types that a column gets, and what an upsert's columns are called."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.helpers import write

MOMENT = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
VALUES = {
    "bool": True, "int8": 1, "int16": 1, "int32": 1, "int64": 1, "uint8": 1, "float": 0.5, "double": 0.5, "string": "a",
    "large_string": "a", "string_view": "a", "binary": b"a", "large_binary": b"a", "date32": dt.date(2020, 1, 1),
    "timestamp[us]": MOMENT.replace(tzinfo=None), "timestamp[ns]": MOMENT.replace(tzinfo=None),
    "timestamp[us, tz=UTC]": MOMENT, "timestamp[us, tz=Europe/Berlin]": MOMENT,
    "decimal128(5, 2)": Decimal("1.25"),
}  # fmt: skip
TYPES = {
    "string_view": pa.string_view(),
    "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC"),
    "timestamp[us, tz=Europe/Berlin]": pa.timestamp("us", "Europe/Berlin"),
    "decimal128(5, 2)": pa.decimal128(5, 2),
}
FEW = ["uint8", "string_view", "timestamp[ns]", "timestamp[us, tz=Europe/Berlin]"]
LACKED = {
    "sqlite": [*FEW, "timestamp[us, tz=UTC]", "decimal128(5, 2)"],
    "duckdb": [],
    "postgresql": FEW,
    "delta": FEW,
    "iceberg": [*FEW, "int8", "int16"],
}
"""The types that a database does not have."""


def test_a_second_run_with_the_same_schema(base):
    def put(time, table, *kinds):
        schema = pa.schema([(f"c{n}", TYPES.get(kind) or pa.type_for_alias(kind)) for n, kind in enumerate(kinds)])
        rows = [tuple(VALUES[kind] for kind in kinds)] * 2
        return write(ps.values(rows, time=lambda _: time), base, table, schema=schema)

    for time in (1, 2):
        assert put(time, "sales", *(kind for kind in VALUES if kind not in LACKED[base.kind])) == [time]
    assert base.query("SELECT count(*) FROM sales") == [(4,)]
    assert base.query("SELECT count(*) FROM (SELECT DISTINCT * FROM sales) AS once") == [(1,)]
    for kind in LACKED[base.kind]:
        with pytest.raises(tables.SchemaError, match=f"{base.kind} has no type for the column 'c0', "):
            put(1, "refused", kind)


def test_columns_that_an_upsert_has(base):
    for name in "pullstream_order", "PULLSTREAM_rank":
        source = ps.values([{"n": 1, name: 1}])
        with pytest.raises(tables.SchemaError, match=f"own with pullstream_: rename the column '{name}'"):
            write(source, base, mode="upsert", key="n")
        assert write(source, base, "plain") in ([0], [])


@pytest.mark.parametrize("mode", ["append", "upsert", "replace_time"])
def test_columns_in_another_order_and_fewer(base, mode):
    """By name, also where a driver matches them by position; in a row that is replaced, the others stay."""
    options = {"mode": mode, **{"upsert": {"key": "n"}, "replace_time": {"time": "day"}}.get(mode, {})}

    def put(day, row, schema):
        return write(ps.values([row], time=lambda _: day), base, schema=dict.fromkeys(schema, "int64"), **options)

    put(1, {"day": 1, "n": 5, "other": 7}, ["day", "n", "other"])
    put(2, (8, 6, 2), ["other", "n", "day"])
    if base.kind == "iceberg" and mode == "upsert":
        with pytest.raises(
            tables.SchemaError, match="an upsert into Iceberg needs all columns of the table: add 'other'"
        ):
            put(3, {"n": 5, "day": 3}, ["n", "day"])
        return
    put(3, {"n": 5, "day": 3}, ["n", "day"])
    expected = [(2, 6, 8), (3, 5, 7)] if mode == "upsert" else [(1, 5, 7), (2, 6, 8), (3, 5, None)]
    assert base.query("SELECT day, n, other FROM sales ORDER BY day") == expected


def test_a_time_without_rows_that_its_column_cannot_hold(base):
    source = ps.values([pa.record_batch({"day": pa.array([], "int64")})], time=lambda _: "Monday")
    with pytest.raises(tables.SchemaError, match="the time of the row is 'Monday' .str., and the column is int64"):
        write(source, base, mode="replace_time", time="day")


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("limit", [1, 2, 64])
@pytest.mark.parametrize("lateness", [0, 100])
@pytest.mark.parametrize("later", [{"n": 2, "note": "new"}, {"n": 2.5}])
def test_columns_are_derived_from_the_first_complete_time(base, later, lateness, limit):
    rows = [{"day": 1, "n": 1}, {"day": 1, "n": 7}, {"day": 2, "n": 2}, {"day": 3, **later}]
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row["day"], lateness=lateness))
    with pytest.raises(tables.SchemaError, match="row 1 of the time 3"):
        ps.run(ps.pipe(source, tables.write_rows(base.target, "sales")), limit=limit)
    assert base.query("SELECT * FROM sales") == [(1, 1), (1, 7), (2, 2)]


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("limit", [1, 2, 64])
@pytest.mark.parametrize("first", [3, 4, 6, 100])
@pytest.mark.parametrize("of", [dict, lambda row: pa.RecordBatch.from_pylist([row])], ids=["dicts", "batches"])
def test_only_the_first_rows_give_the_columns(base, of, first, limit, monkeypatch):
    from adapters.tables import writing

    monkeypatch.setattr(writing, "FIRST_ROWS", first)
    rows = [(5, {"n": 1, "late": 2}), (1, {"n": 1}), (1, {"n": 2}), (3, {"x": 0}), (1, {"n": 3, "more": 4})]
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row[0], lateness=100), ps.map(lambda row: of(row[1])))
    with pytest.raises(tables.SchemaError, match="no column 'late'; the columns are") as refused:
        ps.run(ps.pipe(source, tables.write_rows(base.target, "sales")), limit=limit)
    assert ("n int64, more int64;" if first > 4 else "are n int64;") in str(refused.value)
