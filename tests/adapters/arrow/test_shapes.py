"""Arrow batches to rows, and to runs of equal time."""

import datetime as dt
import gc
import pickle
import threading
from decimal import Decimal
from itertools import groupby

import pytest
from hypothesis import given, settings, strategies as st

from adapters.arrow import (
    ArrowRows,
    NullTimeError,
    Shape,
    arrow_rows,
    by_column,
    in_utc,
    values,
)

pa = pytest.importorskip("pyarrow")


STRICT = pa.struct([pa.field("t", pa.timestamp("us"), nullable=False)])


def batch(**columns):
    return pa.record_batch({name: pa.array(column) for name, column in columns.items()})


@pytest.mark.parametrize(
    ("names", "attributes"),
    [
        (["unit price", "class", "_x", "Arrival (min)"], ("unit_price", "class_", "x", "Arrival_min")),
        (["unit price", "unit_price", "class", "class_"], ("_0", "unit_price", "_2", "class_")),
        (["a b", "a-b", "a", "%"], ("a_b", "_1", "a", "_3")),
        (["", "2nd", "_1", "naïve né"], ("_0", "_1", "_2", "naïve_né")),
    ],
)
def test_invalid_python_names(names, attributes):
    """An attribute is a cleaned form of the name, or the position; the row still has the original names."""
    (row,) = Shape("rows", names).of(batch(a=[1], b=[2], c=[3], d=[4]))
    assert [getattr(row, name) for name in attributes] == [1, 2, 3, 4]
    assert row._columns == tuple(names)
    assert row._asdict() == dict(zip(names, [1, 2, 3, 4], strict=True))
    assert row._replace(**{attributes[1]: 5})._asdict()[names[1]] == 5


def test_columns_with_the_same_name_are_kept():
    (row,) = Shape("rows", ["ok", "ok"]).of(batch(a=[1], b=[2]))
    assert (row.ok, row._1, row._asdict()) == (1, 2, {"ok": 1, "_1": 2})


def test_batches_are_renamed():
    """As batches, nothing is converted; the given names replace the original ones."""
    given = batch(c0=[1, 2])
    assert Shape("batches").of(given) == [given]
    assert Shape("batches", ["n"]).of(given) == [batch(n=[1, 2])]
    assert Shape("batches").of(given.slice(0, 0)) == []


@pytest.mark.parametrize(("as_", "expected"), [("rows", [(), ()]), ("tuples", [(), ()]), ("dicts", [{}, {}])])
def test_rows_without_columns_are_still_rows(as_, expected):
    assert Shape(as_).of(batch(n=[1, 2]).select([])) == expected


def test_names_may_change_from_batch_to_batch():
    shape = Shape("rows")
    assert [shape.of(batch(a=[1]))[0]._fields, shape.of(batch(b=[1]))[0]._fields] == [("a",), ("b",)]


def test_a_null_time_is_refused_by_name():
    with pytest.raises(NullTimeError, match=r"no time in 1 of the next 2 rows: 'day' is null\. Give every row"):
        list(Shape("rows").timed(batch(day=[None, 1]), pa.array([None, 1]), "'day'"))


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), max_size=30), st.booleans())
def test_runs_are_the_groups_of_equal_time(times, in_order):
    times = sorted(times) if in_order else times
    table = pa.record_batch({"n": pa.array(range(len(times)), pa.int64())})
    column = pa.array(times, pa.int64())
    expected = [
        (time, [(n,) for _, n in group])
        for time, group in groupby(zip(times, range(len(times)), strict=True), lambda p: p[0])
    ]
    rows, batches = (list(Shape(as_).timed(table, column)) for as_ in ("tuples", "batches"))
    assert [(run.time, run.values) for batch in rows for run in batch.runs()] == expected
    parts = [(time, part.to_pylist()) for each in batches for time, part in zip(each.times, each.values, strict=True)]
    assert parts == [(time, [{"n": n} for (n,) in rows]) for time, rows in expected]
    whole = times == sorted(times)
    assert len(rows) == len(batches) == (min(1, len(times)) if whole else len(expected))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2], pa.int16()), [1, 2]),
        (pa.array([2**62, None], pa.int64()), [2**62, None]),
        (pa.array([0.5, None, float("inf")]), [0.5, None, float("inf")]),
        (pa.array([True, False]), [True, False]),
        (pa.array([True, None]), [True, None]),
        (pa.array(["é", None, ""]), ["é", None, ""]),
        (pa.array([b"\0", None]), [b"\0", None]),
        (
            pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
            [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
        ),
        (pa.array([Decimal("1.10"), None]), [Decimal("1.10"), None]),
        (pa.array([[1, None], None]), [[1, None], None]),
        (pa.array([{"x": 1}, None]), [{"x": 1}, None]),
        (pa.array([dt.timedelta(seconds=1), None], pa.duration("us")), [dt.timedelta(seconds=1), None]),
        (pa.array([dt.timedelta(seconds=1)], pa.duration("us")), [dt.timedelta(seconds=1)]),
        (pa.array([1_000_000, None], pa.timestamp("us")), [1_000_000, None]),
        (pa.array([1_000_000], pa.timestamp("us", "Europe/Vienna")), [1_000_000]),
        (pa.array([1], pa.timestamp("s", "UTC")), [1_000_000]),
        (pa.array([1_999], pa.timestamp("ns")), [1]),
        (pa.array([1_999], pa.duration("ns")), [dt.timedelta(microseconds=1)]),
        (pa.array([[1_999], None], pa.list_(pa.duration("ns"))), [[dt.timedelta(microseconds=1)], None]),
        (pa.array([dt.time(1, 2), None]), [dt.time(1, 2), None]),
        (pa.array([dt.time(1, 2)]), [dt.time(1, 2)]),
        (pa.array([[1], None], pa.list_(pa.timestamp("s", "UTC"))), [[1_000_000], None]),
        (pa.array([{"a": 1_000}], pa.struct([("a", pa.timestamp("ns"))])), [{"a": 1}]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.timestamp("us"))), [[("k", 1)]]),
        (pa.array([None, {"t": 1}], STRICT), [None, {"t": 1}]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([1, None], pa.timestamp("us")).dictionary_encode(), [1, None]),
        (pa.array([dt.date(2020, 1, 1)], pa.date64()), [dt.date(2020, 1, 1)]),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), [pa.MonthDayNano([1, 2, 3])]),
        (pa.array([None, None]), [None, None]),
        (pa.array([], pa.int64()), []),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_type_becomes_a_plain_python_value(column, expected):
    """Nulls are None, a timestamp is microseconds in UTC in any zone, and other values are as in Arrow."""
    got = values(column)
    assert got == expected
    assert [type(value) for value in got] == [type(value) for value in expected]


@pytest.mark.parametrize("days", [3_000_000, -1_000_000])
def test_dates_that_python_lacks_are_refused(days):
    """The reader raises an error instead of delivering numbers."""
    dates = pa.array([days, None, 0], pa.date32())
    for refused in (lambda: values(dates), lambda: Shape().of(batch(day=dates))):
        with pytest.raises(ValueError, match=r"a date is not in the years 1 to 9999: cast the column"):
            refused()


def test_instants_stay_and_the_zone_becomes_utc():
    """A batch has the same instants in UTC, also inside lists and structs; times without a zone are unchanged."""
    zoned = pa.timestamp("us", "Europe/Vienna")
    given = pa.record_batch(
        {
            "t": pa.array([0, None], zoned),
            "plain": pa.array([0, 1], pa.timestamp("us")),
            "deep": pa.array([[{"t": 0}], None], pa.list_(pa.struct([("t", zoned)]))),
            "n": pa.array([1, 2]),
        }
    )
    utc = in_utc(given)
    assert [str(kind) for kind in utc.schema.types] == [
        "timestamp[us, tz=UTC]",
        "timestamp[us]",
        "list<item: struct<t: timestamp[us, tz=UTC]>>",
        "int64",
    ]
    assert utc.to_pylist() == given.to_pylist()


def test_columns_as_numpy_arrays():
    """Numbers share the batch's memory; instants are microseconds; nulls and lists give objects."""
    columns = by_column(
        pa.record_batch(
            {
                "n": [1, 2],
                # With a byte after the last value, as other libraries may store it.
                "short": pa.Array.from_buffers(pa.int16(), 2, [None, pa.py_buffer(b"\0\0\7\0\0")]),
                "real": [0.5, 1.5],
                "flag": [True, False],
                "at": pa.array([1, 2], pa.timestamp("ms", "UTC")),
                "sparse": [None, 2**60 + 1],
                "gone": pa.array([None, 3], pa.timestamp("s")),
                "day": pa.array([dt.date(2020, 1, 1), None]),
                "list": [[1, 2], [3, 4]],
            }
        )
    )
    kinds = ["int64", "int16", "float64", "bool", "int64", *["object"] * 4]
    assert [str(array.dtype) for array in columns.values()] == kinds
    assert columns["short"].tolist() == [0, 7]
    with pytest.raises(ValueError, match="read-only"):
        columns["n"] += 1
    assert columns["at"].tolist() == [1000, 2000]
    assert columns["sparse"].tolist() == [None, 2**60 + 1]
    assert columns["gone"].tolist() == [None, 3_000_000]
    assert columns["day"].tolist() == [dt.date(2020, 1, 1), None]
    assert columns["list"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_restored(on):
    batch = pa.record_batch({"n": [1, 2], "far": pa.array([2**62, 1], pa.timestamp("s"))})
    (gc.enable if on else gc.disable)()
    try:
        assert list(Shape().of(batch.select([0]))) == [(1,), (2,)]
        assert gc.isenabled() is on
        with pytest.raises(pa.ArrowInvalid):
            Shape().of(batch)
        with pytest.raises(pa.ArrowInvalid):
            ArrowRows(batch).list_values()
        assert gc.isenabled() is on
    finally:
        gc.enable()


def test_the_garbage_collector_is_restored_with_two_threads(monkeypatch):
    """One thread may end just after the other has found the collector paused."""
    begun, goes_on, ask = threading.Event(), threading.Event(), gc.isenabled

    def slow(column):
        if threading.current_thread() is first:
            begun.set()
            goes_on.wait(20)
        return values(column)

    def asked():
        found = ask()
        goes_on.set()
        first.join(20)
        return found

    monkeypatch.setattr(arrow_rows, "values", slow)
    first = threading.Thread(target=Shape().of(batch(n=[1])).list_values)
    first.start()
    assert begun.wait(20)
    monkeypatch.setattr(gc, "isenabled", asked)
    try:
        Shape().of(batch(n=[2])).list_values()
        assert not goes_on.is_set() or ask()
        goes_on.set()
        first.join()
        assert ask()
    finally:
        gc.enable()


def test_a_row_can_be_pickled():
    one = pa.record_batch({"day": [1], "Item Name": ["tea"], "_x": [2]})
    (row,) = Shape("rows").of(one)
    back = pickle.loads(pickle.dumps(row))
    assert (back, back._columns, back.Item_Name) == (row, ("day", "Item Name", "_x"), "tea")
    assert type(back) is type(row)
