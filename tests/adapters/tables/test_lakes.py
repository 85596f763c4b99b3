"""Tables in Delta Lake and Iceberg, while others maintain them."""

import datetime as dt
import os
import sqlite3

import pytest

import pullstream as ps
from adapters.tables.sqlite import PATIENCE
from adapters.tables.table import TargetTable
from pullstream import tables
from pullstream.modules.sinks import committer
from tests.adapters.tables.conftest import PACKAGES
from tests.adapters.tables.helpers import modes, sales, sold, write


@pytest.mark.parametrize("base", ["delta"], indirect=True)
def test_the_record_outlives_the_log(base):
    write(sales(6), base)
    base.table("sales").alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    base.table("sales").create_checkpoint()
    base.table("sales").cleanup_metadata()
    assert not any("pullstream.time" in commit for commit in base.table("sales").history())
    assert write(sales(9), base) == [2]
    assert sold(base) == list(range(9))


@pytest.mark.parametrize("base", ["iceberg"], indirect=True)
def test_sinks_of_many_tables_wait_for_each_other(base, monkeypatch):
    """Some of eighty sinks in one run would wait longer than the five seconds of Python's driver."""
    waits, connect = set(), sqlite3.dbapi2.connect
    monkeypatch.setattr(
        sqlite3.dbapi2, "connect", lambda *given, **named: waits.add(named.get("timeout")) or connect(*given, **named)
    )
    write(sales(3), base)
    assert waits == {PATIENCE}


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
def test_records_of_another_journal(base, tmp_path):
    """The advice in the message keeps the table intact."""
    write(sales(6), base, journal=tmp_path / "one.journal")
    with pytest.raises(tables.TableError) as refused:
        write(sales(9), base, journal=tmp_path / "other.journal")
    message = str(refused.value)
    if base.kind == "delta":
        assert "write to another table. The records cannot be removed without the rows" in message
        assert f"remove the folder {base.folder / 'sales'}, which deletes the table" in message
        base.clear("sales")
    else:
        assert "`catalog.drop_table(('default', 'sales'))`. Do not remove its folder" in message
        assert "`remove_properties('pullstream.times', 'pullstream.count', 'pullstream.journal')`" in message
        with base.table("sales").transaction() as transaction:
            transaction.remove_properties("pullstream.times", "pullstream.count", "pullstream.journal")
    kept = [] if base.kind == "delta" else list(range(6))
    assert write(sales(9), base, journal=tmp_path / "third.journal") == [0, 1, 2]
    assert sold(base) == sorted([*kept, *range(9)])


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
def test_a_restored_table(base):
    """Its records contain the times that it has lost, which only "replace_time" writes again."""
    write(sales(9), base)
    table = base.table("sales")
    if base.kind == "delta":
        table.restore(0)
    else:
        with table.manage_snapshots() as snapshots:
            snapshots.rollback_to_snapshot(table.snapshots()[0].snapshot_id)
    base.table("sales").delete("sold = 0")
    with pytest.raises(tables.TableError, match="it was restored to a state without some of the times"):
        write(sales(12), base)
    assert sold(base) == [1, 2]
    assert write(sales(9), base, mode="replace_time", time="day") == [0, 1, 2]
    assert write(sales(12), base) == [3]
    if base.kind == "delta":
        before = dt.datetime.now(dt.UTC)
        base.table("sales").delete()
        # The file system's clock may lag behind.
        later = (before + dt.timedelta(seconds=10)).timestamp()
        os.utime(max((base.folder / "sales/_delta_log").glob("*.json")), (later, later))
        base.table("sales").restore(before)
        assert write(sales(12), base) == []
    assert sold(base) == list(range(12))


@pytest.mark.parametrize("base", ["iceberg"], indirect=True)
def test_a_restored_table_begins_again_once_its_records_are_removed(base):
    """Its snapshots still have the numbers of the times that it has lost."""
    write(sales(9), base)
    table = base.table("sales")
    with table.manage_snapshots() as snapshots:
        snapshots.rollback_to_snapshot(table.snapshots()[0].snapshot_id)
    with pytest.raises(tables.TableError, match=r"`remove_properties\('pullstream.times', 'pullstream.count'\)`"):
        write(sales(9), base)
    with base.table("sales").transaction() as transaction:
        transaction.remove_properties("pullstream.times", "pullstream.count")
    for count, times in (3, [0]), (6, [1]):
        assert write(sales(count), base) == times


@pytest.mark.parametrize("base", ["iceberg"], indirect=True)
def test_a_table_with_expired_snapshots_was_not_restored(base):
    write(sales(6), base)
    base.table("sales").delete("sold = 0")
    table = base.table("sales")
    first, *expired, _ = (each.snapshot_id for each in table.snapshots())
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(first, "kept")
    base.table("sales").maintenance.expire_snapshots().by_ids(expired).commit()
    assert write(sales(9), base) == [2]


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
@pytest.mark.parametrize("before", [0, 3])
def test_a_run_that_ends_before_another_has_the_lock(base, before, monkeypatch):
    lock = TargetTable.lock

    def late(table):
        monkeypatch.setattr(TargetTable, "lock", lock)
        write(sales(6), base)
        lock(table)

    write(sales(before), base)
    monkeypatch.setattr(TargetTable, "lock", late)
    assert write(sales(9), base) == [2]
    assert sold(base) == list(range(9))


MODES = modes("sold")


def add_a_column(base, table):
    if base.kind == "delta":
        from deltalake import Field

        table.alter.add_columns([Field("note", "string")])
    else:
        from pyiceberg.types import StringType

        with table.update_schema() as update:
            update.add_column("note", StringType())


def compact(base, table):
    if base.kind == "delta":
        table.optimize.compact()
        table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    else:
        table.overwrite(table.scan().to_arrow())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("base", PACKAGES, indirect=True)
@pytest.mark.parametrize(
    ("change", "always", "mode", "kept"),
    [
        (lambda base, table: table.delete(), False, "append", 0),
        (add_a_column, False, "append", 9),
        *((compact, True, mode, 9) for mode in MODES),
    ],
)
def test_changes_by_other_programs(base, change, always, mode, kept, monkeypatch):  # noqa: PLR0917
    """The change comes after the run reads the table's state, before its first commit or before each commit."""
    sink = tables.write_rows(base.target, "sales", **MODES[mode])
    ps.run(ps.pipe(sales(9), sink))
    changed = []

    def alter(_, step, time):
        if step == "commit" and (always or not changed):
            changed.append(time)
            change(base, base.table("sales"))

    monkeypatch.setattr(committer, "STEPS", [alter])
    assert ps.run(ps.pipe(sales(18), sink), limit=1)[-3:] == [3, 4, 5]
    assert changed
    monkeypatch.setattr(committer, "STEPS", [])
    for _ in "once", "more":
        assert sold(base) == [*range(kept), *range(9, 18)]
        assert ps.run(ps.pipe(sales(18), sink)) == (list(range(6)) if mode == "replace_time" else [])
