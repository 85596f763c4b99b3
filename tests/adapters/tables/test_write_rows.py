"""`write_rows`: what is in the table, and who may write to it."""

import datetime as dt
import logging
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import pullstream as ps
from pullstream import files, tables
from tests.adapters.tables.conftest import PACKAGES, SQL
from tests.adapters.tables.helpers import sales, sold, write

DAY = dt.date(2020, 1, 1)
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 678)  # noqa: DTZ001 - one without a zone


def test_each_time_is_written_once(base):
    """A second run writes what is new, and nothing again."""
    assert write(sales(6), base) == [0, 1]
    assert write(sales(6), base) == []
    assert write(sales(9), base) == [2]
    assert sold(base) == list(range(9))
    assert base.times() == [("0", 1), ("1", 2), ("2", 3)]


def test_what_is_skipped_is_logged(base, caplog):
    write(sales(6), base)
    with caplog.at_level(logging.INFO, "pullstream"):
        write(sales(6), base)
    assert "has 2 times of earlier runs, which are not written again" in caplog.text


def test_a_second_run_without_times_is_remarked(base, caplog):
    """Its values are at the time 0, which the first one has written."""
    for sold_now in (1, 2):
        write(ps.values([{"item": "tea", "sold": sold_now}]), base)
    (message,) = caplog.messages
    assert "times of its own, or use mode='replace_time'" in message
    assert sold(base) == [1]


@pytest.mark.parametrize("base", SQL, indirect=True)
@pytest.mark.parametrize("options", [{}, {"mode": "upsert", "key": "sold"}])
def test_a_time_with_other_rows_than_before_is_remarked(base, options, caplog):
    """Once; if the number of rows is the same, it is not."""
    write(sales(5), base, **options)
    assert write(sales(5), base, **options) == []
    assert not caplog.messages
    assert write(sales(8), base, **options) == [2]
    (message,) = caplog.messages
    place = base.target.removeprefix(f"{base.kind}:///")
    assert message.startswith(f"the table {base.shown('sales')!r} in {place}: an earlier run has written 2 rows at ")
    assert "at the time 1, which has 3 rows in this run" in message
    assert "use mode='replace_time'; if rows arrive late, give their source or stamp() more lateness" in message


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_batches_of_a_time_with_other_rows_are_counted_by_row(base, caplog):
    batch = pa.record_batch({"sold": [3, 4]})
    write(ps.values([batch, batch], time=lambda _: 1), base)
    write(ps.values([batch, batch], time=lambda _: 1), base)
    assert not caplog.messages
    write(ps.values([batch], time=lambda _: 1), base)
    assert "has written 4 rows at the time 1, which has 2 rows in this run" in caplog.text


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_the_last_day_computed_again(base, caplog, tmp_path):
    """With `available=True`, a file that arrives for the last day is remarked, or written with "replace_time"."""
    folder = tmp_path / "inbox"
    folder.mkdir()

    def run(mode, table):
        days = files.read_csv(folder / "*.csv", time=files.name_time(r"\d{4}-\d\d-\d\d"), available=True)
        return write(days, base, table, journal=tmp_path / f"{mode}.journal", mode=mode, time="day")

    (folder / "2026-03-02-a.csv").write_text("sold\n1\n")
    assert [run("append", "appended"), run("replace_time", "replaced")] == [["2026-03-02"]] * 2
    (folder / "2026-03-02-b.csv").write_text("sold\n2\n3\n")
    assert [run("append", "appended"), run("replace_time", "replaced")] == [[], ["2026-03-02"]]
    (message,) = caplog.messages
    assert "has written 1 rows at the time '2026-03-02', which has 3 rows in this run" in message
    assert sold(base, "replaced") == [1, 2, 3]


def test_upsert_keeps_the_last_row_of_a_key(base):
    """Within a time as between times."""
    write(sales(10), base, mode="upsert", key="item")
    assert base.query("SELECT item, sold FROM sales ORDER BY item") == [
        ("item 0", 8),
        ("item 1", 9),
        ("item 2", 6),
        ("item 3", 7),
    ]


def test_upsert_with_a_key_of_all_columns(base):
    write(sales(10), base, mode="upsert", key=["item", "day", "sold"])
    write(
        ps.values([{"day": 0, "item": "item 0", "sold": 0}], time=lambda _: 99),
        base,
        mode="upsert",
        key=["item", "day", "sold"],
    )
    assert sold(base) == list(range(10))


def test_replaced_times(base):
    """Written again, a time has the rows of the last run; the others stay."""
    write(sales(9), base, mode="replace_time", time="day")
    other = ps.values([{"day": 1, "item": "new", "sold": 100}], time=lambda row: row["day"])
    assert write(other, base, mode="replace_time", time="day") == [1]
    assert sold(base) == [0, 1, 2, 6, 7, 8, 100]


@pytest.mark.parametrize("time", [3, "mon'day", DAY, MOMENT])
def test_a_column_for_the_time(base, time):
    """It is added if rows lack it, and a time of any kind is found again."""
    for sold_now in (1, 2):
        write(ps.values([(sold_now,)], time=lambda _: time), base, mode="replace_time", time="moment")
    (row,) = base.query("SELECT f0, moment FROM sales")
    assert row[0] == 2
    assert str(row[1]) == str(time)


def test_values_of_all_kinds_come_back(base):
    """SQLite has dates and timestamps as text."""
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


def test_decimals(base):
    source = ps.values([(Decimal("1.25"),)])
    if base.kind == "sqlite":
        with pytest.raises(tables.SchemaError, match="sqlite has no type for the column 'f0', decimal128"):
            write(source, base)
    else:
        write(source, base)
        assert base.query("SELECT f0 = 1.25 FROM sales") == [(True,)]


def test_record_batches_are_rows(base):
    batch = pa.record_batch({"sold": [3, 4], "item": ["a", "b"]})
    write(ps.values([batch, batch.slice(1)]), base)
    assert sold(base) == [3, 4, 4]


def test_two_sinks_of_one_run(base):
    """Two tables of a database are fine, a table twice is refused."""
    one, two = (tables.write_rows(base.target, base.name(name)) for name in ("one", "two"))
    assert ps.run(ps.pipe(sales(90), ps.tee(one, two))) == (list(range(30)), list(range(30)))
    with pytest.raises(tables.TableBusyError, match="another run, or another sink of this one, is writing"):
        ps.run(ps.pipe(sales(90), ps.tee(one, one)))
    assert sold(base, "one") == sold(base, "two") == list(range(90))


def test_a_journal_and_its_table(base, tmp_path):
    """They know each other: neither goes with another."""
    first, other = tmp_path / "first.journal", tmp_path / "other.journal"
    write(sales(6), base, journal=first)
    with pytest.raises(tables.TableError, match="was written with the journal .*first.journal, and this run is with"):
        write(sales(9), base, journal=other)
    with pytest.raises(tables.TableError, match="and this run is without one: its times may be others"):
        write(sales(9), base)
    first.unlink()
    assert write(sales(9), base, journal=first) == [2]
    assert sold(base) == list(range(9))


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_a_table_that_is_gone(base):
    write(sales(6), base)
    base.query("DROP TABLE sales")
    with pytest.raises(
        tables.TableError, match="and the table is gone. If that is meant, remove its records first: DEL"
    ):
        write(sales(12), base)


def test_a_table_that_was_restored(base, tmp_path):
    """The journal says that times are done which the database does not have."""
    journal = tmp_path / "journal"

    async def stopped(running):
        await running.progress.completed(0)
        await running.abort()

    pipeline = ps.pipe(sales(900), ps.rate_limit(300), tables.write_rows(base.target, base.name("sales")))
    with pytest.raises(ps.errors.Abandoned):
        ps.run(pipeline, journal=journal, beside=stopped)
    base.clear("sales")
    with pytest.raises(tables.TableError, match="the database has no record of them.*Start over with a new journal"):
        ps.run(pipeline, journal=journal)


@pytest.mark.parametrize("base", ["sqlite", "delta"], indirect=True)
def test_a_table_that_was_restored_as_of_an_earlier_time(base, tmp_path):
    """The journal would skip the times that the table has lost."""
    journal, place = tmp_path / "journal", base.target.removeprefix(f"{base.kind}:///")
    stop = {0: 0, 1: 25}

    async def stopped(running):
        await running.progress.completed(stop[run])
        await running.abort()

    pipeline = ps.pipe(sales(900), ps.rate_limit(300), tables.write_rows(base.target, base.name("sales")))
    copied = shutil.copytree if base.kind in PACKAGES else shutil.copy
    for run in stop:
        with pytest.raises(ps.errors.Abandoned):
            ps.run(pipeline, journal=journal, beside=stopped)
        if run == 0:
            copied(place, tmp_path / "copy")
    if base.kind in PACKAGES:
        shutil.rmtree(place)
    copied(tmp_path / "copy", place)
    with pytest.raises(tables.TableError, match=r"says that \d+ times were committed there, and the database has \d+"):
        ps.run(pipeline, journal=journal)


def test_another_process_is_refused(base):
    """As long as it has the table; afterwards the next one may write."""
    program = (
        "import sys, trio, pullstream as ps; from pullstream import tables\n"
        "async def first(running):\n"
        "    await running.progress.completed(0)\n"
        "    print('writes', flush=True)\n"
        "rows = ps.pipe(ps.integers(), ps.map(lambda n: {'day': n // 3, 'item': 'x', 'sold': n}), ps.rate_limit(100),"
        " ps.stamp(lambda row: row['day']))\n"
        "table = (sys.argv[2], 'sales') if sys.argv[2] else 'sales'\n"
        "ps.run(ps.pipe(rows, tables.write_rows(sys.argv[1], table)), beside=first)"
    )
    command = [sys.executable, "-c", program, base.target, getattr(base, "schema", "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path.cwd())}) as other:
        assert other.stdout.readline() == b"writes\n"
        with pytest.raises(tables.TableBusyError, match="is writing"):
            write(sales(3), base)
        other.kill()
    assert write(sales(3), base) == []


def test_a_stream_that_fails(base):
    """What was complete is there, and nothing of the rest."""

    def fails(row):
        if row["sold"] == 7:
            raise ValueError("no")
        return row

    with pytest.raises(ValueError, match="no"):
        write(ps.pipe(sales(9), ps.map(fails)), base)
    assert sold(base) == list(range(6))
    assert write(sales(9), base) == [2]


def test_large_times_are_in_files(base, monkeypatch):
    """Rows of a time beyond the memory's limit, in several batches."""
    from adapters.arrow import spools

    monkeypatch.setattr(spools, "IN_MEMORY", 100)
    monkeypatch.setattr(spools, "SORTED_BYTES", 100)
    numbers = list(range(2000))
    rows = ps.values([{"day": n % 2, "sold": n} for n in numbers])
    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=5))
    write(source, base, mode="upsert", key="sold")
    assert sold(base) == numbers


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("lateness", [0, 1000])
def test_all_times_together_have_a_limit_in_memory(base, lateness, monkeypatch):
    """Complete times are committed before more is taken; the largest of the open ones go to files."""
    from adapters import sinks
    from adapters.arrow import spools
    from adapters.tables import writing

    monkeypatch.setattr(spools, "SORTED_BYTES", 100)
    monkeypatch.setattr(spools, "IN_MEMORY", 5_000)
    monkeypatch.setattr(sinks, "FIRST_ROWS", 50)
    held, spilled = [], []
    relieve, spill = writing.RowsCommitter._relieve, spools.Spool.spill

    async def relieved(self, opened):
        await relieve(self, opened)
        held.append(opened.held)

    monkeypatch.setattr(writing.RowsCommitter, "_relieve", relieved)
    monkeypatch.setattr(spools.Spool, "spill", lambda self: (spilled.append(self.time), spill(self)))
    rows = ps.values([{"day": n // 20, "sold": n} for n in range(4000)])

    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=lateness))
    ps.run(ps.pipe(source, tables.write_rows(base.target, "sales")), limit=16)

    assert sold(base) == list(range(4000))
    assert bool(spilled) == bool(lateness)
    assert held
    assert max(held) <= 5_000


def test_no_rows(base):
    assert write(ps.empty(), base) == []
    assert not base.has("sales")


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_few_large_rows_have_the_same_limit_in_memory(base, monkeypatch):
    """It is looked at with every batch."""
    from adapters.arrow import spools

    monkeypatch.setattr(spools, "IN_MEMORY", 50_000)
    spilled = []
    spill = spools.Spool.spill
    monkeypatch.setattr(spools.Spool, "spill", lambda self: (spilled.append(self.rows), spill(self)))
    monkeypatch.setattr(spools, "SORTED_BYTES", 1_000)
    rows = ps.values([{"day": n % 10, "sold": n, "text": "x" * 4_000} for n in range(40)])
    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=10))
    schema = {"day": "int64", "sold": "int64", "text": "string"}
    ps.run(ps.pipe(source, tables.write_rows(base.target, "sales", schema=schema)), limit=1)
    assert sold(base) == list(range(40))
    # No time alone has as much.
    assert spilled


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_table_is_released_although_its_rows_cannot_be(base, monkeypatch):
    from adapters.arrow import OpenTimes

    def fails(_):
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(OpenTimes, "close", fails)
        with pytest.raises(OSError, match="no"):
            write(sales(3), base)
    assert write(sales(6), base) == [1]
