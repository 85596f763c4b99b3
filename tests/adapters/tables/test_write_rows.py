"""`write_rows`: the content of tables, who may write, and rows of open times in memory and temporary files."""

import datetime as dt
import logging
from decimal import Decimal

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.arrow import OpenTimes, spools
from adapters.tables import sqlite, writing
from pullstream import tables
from tests.adapters.tables.conftest import SQL
from tests.adapters.tables.helpers import modes, sales, sold, write

DAY = dt.date(2020, 1, 1)
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 678)  # noqa: DTZ001 - one without a zone
ZONED = dt.datetime(2026, 3, 29, 2, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def test_each_time_is_written_once(base, caplog):
    assert write(sales(6), base) == [0, 1]
    with caplog.at_level(logging.INFO, "pullstream"):
        assert write(sales(6), base) == []
    assert "has 2 times from earlier runs, and no time is written again" in caplog.text
    assert write(sales(9), base) == [2]
    assert sold(base) == list(range(9))
    assert base.times() == [("0", 1), ("1", 2), ("2", 3)]


def test_a_second_run_without_times_logs_a_hint(base, caplog):
    for sold_now in (1, 2):
        write(ps.values([{"item": "tea", "sold": sold_now}]), base)
    (message,) = caplog.messages
    assert "times of its own, or use mode='replace_time'" in message
    assert sold(base) == [1]
    caplog.clear()
    write(ps.values([{"item": "tea", "sold": 3}], time=lambda _: 1), base)
    assert (sold(base), caplog.messages) == ([1, 3], [])


@pytest.mark.sampled
@pytest.mark.parametrize("base", SQL, indirect=True)
@pytest.mark.parametrize("options", [{}, {"mode": "upsert", "key": "sold"}])
def test_a_time_with_more_rows_than_before_logs_a_hint(base, options, caplog):
    """A warning is logged once, if the number of rows differs."""
    write(sales(4), base, **options)
    assert write(sales(4), base, **options) == []
    assert not caplog.messages
    assert write(sales(8), base, **options) == [2]
    (message,) = caplog.messages
    place = base.target.removeprefix(f"{base.kind}:///")
    assert message.startswith(f"the table {base.shown('sales')!r} in {place}: at the time 1, ")
    assert "an earlier run has written 1 row, and this run has 3 rows. They are not written: mode=" in message
    assert "use mode='replace_time'; if rows arrive late, give their source or stamp() more lateness" in message


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_the_hint_counts_the_rows_of_batches(base, caplog):
    batch = pa.record_batch({"sold": [3, 4]})
    write(ps.values([batch, batch], time=lambda _: 1), base)
    write(ps.values([batch, batch], time=lambda _: 1), base)
    assert not caplog.messages
    write(ps.values([batch], time=lambda _: 1), base)
    assert "at the time 1, an earlier run has written 4 rows, and this run has 2 rows" in caplog.text


def test_upsert_keeps_the_last_row_of_a_key(base):
    write(sales(10), base, mode="upsert", key="item")
    found = base.query("SELECT item, sold FROM sales ORDER BY item")
    assert found == [("item 0", 8), ("item 1", 9), ("item 2", 6), ("item 3", 7)]


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_upsert_by_a_key_that_ignores_case(base):
    """The last row of a key counts, whatever its spelling."""
    if base.kind == "postgresql":
        base.query("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    base.query("CREATE TABLE sales (item TEXT COLLATE NOCASE PRIMARY KEY, sold BIGINT)")
    rows = [{"item": item, "sold": n} for n, item in enumerate(["a", "A", "b", "B", "b", "B", "a"])]
    write(ps.values(rows), base, mode="upsert", key="item")
    assert base.query("SELECT lower(item), sold FROM sales ORDER BY sold") == [("b", 5), ("a", 6)]


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_upsert_by_a_float_has_one_zero(kind, base):
    rows = [(1, 0.0, 1), (2, -0.0, 2), (3, 0.0, 3), (3, -0.0, 4)]
    values = ps.pipe(ps.values(rows, time=lambda row: row[0]), ps.map(lambda row: {"item": row[1], "sold": row[2]}))
    write(values, base, mode="upsert", key="item", schema={"item": kind, "sold": "int64"})
    assert base.query("SELECT item, sold FROM sales") == [(0.0, 4)]


def test_upsert_with_a_key_of_all_columns(base):
    options = {"mode": "upsert", "key": ["item", "day", "sold"]}
    write(sales(10), base, **options)
    write(ps.values([{"day": 0, "item": "item 0", "sold": 0}], time=lambda _: 99), base, **options)
    assert sold(base) == list(range(10))


def test_replaced_times(base):
    write(sales(9), base, mode="replace_time", time="day")
    other = ps.values([{"day": 1, "item": "new", "sold": 100}], time=lambda row: row["day"])
    assert write(other, base, mode="replace_time", time="day") == [1]
    assert sold(base) == [0, 1, 2, 6, 7, 8, 100]


@pytest.mark.sampled
@pytest.mark.parametrize("time", [3, "mon'day", DAY, MOMENT, ZONED])
def test_a_column_for_the_time(base, time):
    for sold_now in (1, 2):
        source = ps.values([(sold_now,)], time=lambda _: time)
        if base.kind == "sqlite" and time is ZONED:
            with pytest.raises(tables.SchemaError, match="sqlite has no type for the column 'moment', timestamp"):
                write(source, base, time="moment")
            return
        assert write(source, base, mode="replace_time", time="moment") == [time]
    ((found, moment),) = base.query("SELECT f0, moment FROM sales")
    assert found == 2
    assert moment == time or str(moment) == str(time)


def test_values_of_all_kinds_are_kept(base):
    """SQLite stores dates and timestamps as text."""
    row = {"n": 2**62, "x": 0.1, "yes": True, "text": 'it\'s "x"; --', "day": DAY, "at": MOMENT, "raw": b"\0\xff"}
    empty = dict.fromkeys(row)
    write(ps.values([row, empty]), base)
    found = base.query("SELECT * FROM sales ORDER BY n")
    full = next(line for line in found if line[0] is not None)
    expected = tuple(row.values())
    if base.kind == "sqlite":
        assert full == (2**62, 0.1, 1, row["text"], "2020-01-01", "2020-01-02 03:04:05.000678", b"\0\xff")
    else:
        assert full == expected
    assert (None,) * 7 in found


def test_several_results_of_a_key(base):
    """Results of `aggregate` are not rows that a SQL database can store: the message shows how to make one."""
    results = ps.pipe(ps.values(["tea"]), ps.aggregate(key=str, n=ps.agg.count()))
    if base.kind in {"sqlite", "postgresql"}:
        with pytest.raises(
            tables.SchemaError, match=r"'f1', struct<n: int64>: .* such as \(key, {'n': 1}\) to {'item': key"
        ):
            write(results, base)
    write(ps.pipe(results, ps.map(lambda pair: {"item": pair[0], **pair[1]})), base)
    assert base.query("SELECT item, n FROM sales") == [("tea", 1)]


def test_later_decimals_may_have_more_digits(base):
    def balance(text):
        return ps.values([(Decimal(text),)], time=lambda _: text)

    if base.kind == "sqlite":
        with pytest.raises(tables.SchemaError, match="sqlite has no type for the column 'f0', decimal128"):
            write(balance("1.25"), base)
        return
    write(balance("1.25"), base)
    write(balance("-98765432101.50"), base)
    assert base.query("SELECT f0 = -98765432101.50, f0 = 1.25 FROM sales ORDER BY f0") == [(True, False), (False, True)]


@pytest.mark.sampled
@pytest.mark.parametrize("options", modes("item").values(), ids=modes("item"))
def test_batches_without_rows(base, options):
    """They are times without rows, in a new and in an existing table; "replace_time" then removes the old rows."""
    full = pa.record_batch({"day": [1], "item": ["a"], "sold": [3]})
    empty, replaces = full.slice(1), "time" in options
    for number, (batches, expected) in enumerate([([empty], []), ([empty, full, empty], [3]), ([empty], [3])]):
        time = 1 if replaces else number
        assert write(ps.values(batches, time=lambda _, time=time: time), base, **options) == [time]
        assert sold(base) == ([] if replaces and number == 2 else expected)


def test_two_sinks_of_one_run(base, monkeypatch):
    one, two = (tables.write_rows(base.target, base.name(name)) for name in ("one", "two"))
    assert ps.run(ps.pipe(sales(30), ps.tee(one, two))) == (list(range(10)), list(range(10)))
    monkeypatch.setattr("adapters.tables.postgresql.PATIENCE", 0.01)
    with pytest.raises(tables.TableBusyError, match="another run, or another sink of this one, is writing"):
        ps.run(ps.pipe(sales(30), ps.tee(one, one)))
    assert sold(base, "one") == sold(base, "two") == list(range(30))


def test_no_rows(base):
    assert write(ps.empty(), base) == []
    assert not base.has("sales")


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_only_a_time_s_columns_are_converted_from_arrow(base, monkeypatch):
    """The time's record is bound without conversion."""
    columns, plain = [], sqlite._plain
    monkeypatch.setattr(sqlite, "_plain", lambda column: columns.append(column) or plain(column))
    write(ps.values([{"day": n, "item": "tea"} for n in range(5)], time=lambda row: row["day"]), base)
    assert len(columns) == 5 * 2


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("count", "large", "lateness"), [(2000, 0, 0), (2000, 0, 1000), (40, 4_000, 1000)])
def test_all_times_share_a_memory_limit(base, count, large, lateness, monkeypatch):
    """For many rows or a few large ones, although no single time reaches the limit."""
    limit = 50_000 if large else 5_000
    monkeypatch.setattr(spools, "SORTED_BYTES", 100)
    monkeypatch.setattr(spools, "IN_MEMORY", limit)
    monkeypatch.setattr(writing, "FIRST_ROWS", 50)
    held, spilled = [], []
    relieve, spill = writing.RowsCommitter._relieve, spools.Spool.spill

    async def relieved(self, opened):
        await relieve(self, opened)
        held.append(opened.held)

    monkeypatch.setattr(writing.RowsCommitter, "_relieve", relieved)
    monkeypatch.setattr(spools.Spool, "spill", lambda self: (spilled.append(self.time), spill(self)))
    text = {"text": "x" * large} if large else {}
    rows = ps.values([{"day": n * 100 // count, "sold": n, **text} for n in range(count)])
    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=lateness))
    schema = {"day": "int64", "sold": "int64", "text": "string"} if large else None
    ps.run(ps.pipe(source, tables.write_rows(base.target, "sales", schema=schema)), limit=16)

    assert sold(base) == list(range(count))
    assert bool(spilled) == bool(lateness)
    assert held
    assert max(held) <= limit


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_table_is_released_even_if_its_rows_are_not(base, monkeypatch):
    def fails(_):
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(OpenTimes, "close", fails)
        with pytest.raises(OSError, match="no"):
            write(sales(3), base)
    assert write(sales(6), base) == [1]
