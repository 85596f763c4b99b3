"""The types of columns, and times as text and as values, unchanged or refused."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.tables.entries import encoded
from pullstream import tables
from pullstream.timely import Lexicographic, Product
from tests.adapters.tables.helpers import modes, write

MOMENT = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
VALUES = {
    "bool": True, "int8": 1, "int16": 1, "int32": 1, "int64": 1, "uint8": 1, "float": 0.1, "double": 0.1, "string": "a",
    "large_string": "a", "string_view": "a", "binary": b"a", "large_binary": b"a", "date32": dt.date(2020, 1, 1),
    "timestamp[us]": MOMENT.replace(tzinfo=None), "timestamp[ns]": MOMENT.replace(tzinfo=None),
    "timestamp[us, tz=UTC]": MOMENT, "timestamp[us, tz=Europe/Berlin]": MOMENT,
    "decimal128(5, 2)": Decimal("1.25"), "decimal256(50, 2)": Decimal("1.25"),
}  # fmt: skip
TYPES = {
    "string_view": pa.string_view(),
    "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC"),
    "timestamp[us, tz=Europe/Berlin]": pa.timestamp("us", "Europe/Berlin"),
    "decimal128(5, 2)": pa.decimal128(5, 2),
    "decimal256(50, 2)": pa.decimal256(50, 2),
}
FEW = ["uint8", "string_view", "timestamp[ns]", "timestamp[us, tz=Europe/Berlin]", "decimal256(50, 2)"]
LACKED = {
    "sqlite": [*FEW, "timestamp[us, tz=UTC]", "decimal128(5, 2)"],
    "duckdb": ["decimal256(50, 2)"],
    "postgresql": FEW,
    "delta": FEW,
    "iceberg": [*FEW, "int8", "int16"],
}
"""The types that each database lacks."""


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


def test_reserved_column_names(base):
    for name in "pullstream_order", "PULLSTREAM_rank":
        source = ps.values([{"n": 1, name: 1}])
        with pytest.raises(tables.SchemaError, match=f"begin with pullstream_: rename the column '{name}'"):
            write(source, base, mode="upsert", key="n")
        assert write(source, base, "plain") in ([0], [])


@pytest.mark.parametrize("mode", modes("n"))
def test_columns_in_another_order_and_fewer(base, mode):
    """Matched by name, even if a driver matches by position; a replaced row keeps its other columns."""

    def put(day, row, schema):
        return write(
            ps.values([row], time=lambda _: day), base, schema=dict.fromkeys(schema, "int64"), **modes("n")[mode]
        )

    put(1, {"day": 1, "n": 5, "other": 7}, ["day", "n", "other"])
    put(2, (8, 6, 2), ["other", "n", "day"])
    if base.kind == "iceberg" and mode == "upsert":
        with pytest.raises(tables.SchemaError, match="upsert into Iceberg needs all columns of the table: add 'other'"):
            put(3, {"n": 5, "day": 3}, ["n", "day"])
        return
    put(3, {"n": 5, "day": 3}, ["n", "day"])
    expected = [(2, 6, 8), (3, 5, 7)] if mode == "upsert" else [(1, 5, 7), (2, 6, 8), (3, 5, None)]
    assert base.query("SELECT day, n, other FROM sales ORDER BY day") == expected


def test_a_rowless_time_that_its_column_cannot_hold(base):
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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("limit", [1, 2, 64])
@pytest.mark.parametrize("first", [3, 4, 6, 100])
@pytest.mark.parametrize("of", [dict, lambda row: pa.RecordBatch.from_pylist([row])], ids=["dicts", "batches"])
def test_only_the_first_rows_set_the_columns(base, of, first, limit, monkeypatch):
    monkeypatch.setattr("adapters.tables.writing.FIRST_ROWS", first)
    rows = [(5, {"n": 1, "late": 2}), (1, {"n": 1}), (1, {"n": 2}), (3, {"x": 0}), (1, {"n": 3, "more": 4})]
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row[0], lateness=100), ps.map(lambda row: of(row[1])))
    with pytest.raises(tables.SchemaError, match="no column 'late'; the columns are") as refused:
        ps.run(ps.pipe(source, tables.write_rows(base.target, "sales")), limit=limit)
    assert ("n int64, more int64;" if first > 4 else "are n int64;") in str(refused.value)


numpy = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")

HALF = (0.5, Decimal("0.50"), Fraction(1, 2), numpy.float64(0.5), numpy.float32(0.5))


class Pair(NamedTuple):
    """A named tuple, which equals a plain tuple."""

    a: Any
    b: Any


@pytest.mark.parametrize(
    "equal",
    [
        HALF,
        (3, 3.0, Decimal(3), Fraction(3), numpy.int64(3), numpy.float64(3)),
        (Decimal("0.1"), Decimal("0.10"), Fraction(1, 10)),
        (2**53 + 1, Decimal(2**53 + 1)),
        (Pair(1, 0.5), (1, Fraction(1, 2))),
        tuple(Product(half, 1) for half in HALF),
        (frozenset({1, 2}), frozenset({Decimal(2), 1.0})),
        (float("inf"), Decimal("inf")),
    ],
)
def test_equal_times_have_one_text(equal):
    assert len(set(equal)) == len(set(map(encoded, equal))) == 1


def test_different_times_have_different_texts():
    numbers = [0.1, Decimal("0.1"), 1, Fraction(10**400 + 1, 3), Fraction(10**400 + 2, 3)]
    parts = [(1,), frozenset({1}), Product(1), Lexicographic(1), (1, (2, 3)), ((1, 2), 3), frozenset({frozenset({1})})]
    several = [*numbers, *parts, "1", b"1", None, dt.timedelta(1)]
    assert len(set(map(encoded, several))) == len(several)


def test_the_text_of_a_set_does_not_depend_on_the_hashes_of_a_process():
    assert encoded(frozenset("hgfedcba")) == '{"a", "b", "c", "d", "e", "f", "g", "h"}'


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("time", [(1, object()), frozenset({1j})])
def test_times_without_a_text_are_refused(base, time):
    write(ps.values([(1,)], time=lambda _: 7), base)
    with pytest.raises(tables.SchemaError, match="no text that is the same in all processes: convert the times"):
        write(ps.values([(1,)], time=lambda _: time), base)
    assert base.query("SELECT count(*) FROM sales") == [(1,)]


@pytest.mark.sampled
@pytest.mark.parametrize(("mode", "day"), [("append", None), ("replace_time", None), ("replace_time", 5)])
def test_rows_with_another_time_are_refused(base, mode, day):
    source = ps.values([{"day": 1, "n": 1}, {"day": day, "n": 2}], time=lambda _: 1)
    with pytest.raises(tables.SchemaError, match=f"row 2 of the time 1 has {day} in the column 'day': the time of the"):
        write(source, base, mode=mode, time="day")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("date32", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12)]),  # noqa: DTZ001 - without a zone
        ("float32", [0.5, 0.1]),
        ("int64", [1, 1.5]),
    ],
)
def test_times_that_a_column_would_change_are_refused(base, kind, times):
    schema = {"day": kind, "n": "int64"}
    if (kind, base.kind) == ("float32", "sqlite"):
        pytest.skip("SQLite stores all floats with 64 bits")
    write(ps.values([(7,)], time=lambda _: times[0]), base, mode="replace_time", time="day", schema=schema)
    with pytest.raises(tables.SchemaError, match="column.* is (date32|float|double|int64|string)"):
        write(ps.values([(8,)], time=lambda _: times[1]), base, mode="replace_time", time="day")
    assert base.query("SELECT n FROM sales") == [(7,)]


@pytest.mark.sampled
@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_timestamps_in_seconds_keep_their_instants(base, unit, zone):
    """CSV times such as 2026-03-02T08:00:00 are in seconds."""
    if zone is not None and base.kind == "sqlite":
        pytest.skip("SQLite has no timestamps with a time zone")
    for time in 0, 1:
        batch = pa.record_batch({"at": pa.array([MOMENT], pa.timestamp(unit, zone))})
        write(ps.values([batch], time=lambda _, time=time: time), base)
    (first,), (second,) = base.query('SELECT "at" FROM sales')
    assert first == second
    assert str(first).startswith("2020-01-02 03:00:00")


def test_datetimes_of_two_zones_keep_their_instants(base):
    winter = dt.datetime(2026, 1, 31, 23, 30, tzinfo=dt.UTC)
    moments = [winter.astimezone(ZoneInfo(zone)) for zone in ("Europe/Berlin", "America/New_York")]
    if base.kind == "sqlite":
        with pytest.raises(tables.SchemaError, match="or give another type"):
            write(ps.values([{"at": moments[0]}]), base)
        return
    for time, moment in enumerate(moments):
        write(ps.values([{"at": moment}], time=lambda _, time=time: time), base)
    assert base.query('SELECT "at" FROM sales') == [(winter,)] * 2
    if base.kind != "duckdb":
        schema = {"at": pyarrow.timestamp("us", "Europe/Berlin")}
        with pytest.raises(tables.SchemaError, match=r"or give timestamp\[us, tz=UTC\], which keeps the instants"):
            write(ps.values([{"at": winter}]), base, "others", schema=schema)
