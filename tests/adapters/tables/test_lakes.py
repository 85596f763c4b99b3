"""Tables in Delta Lake and Iceberg, while others maintain them."""

import pytest

import pullstream as ps
from pullstream import tables
from pullstream.modules.sinks import committer
from tests.adapters.tables.conftest import PACKAGES
from tests.adapters.tables.helpers import sales, sold, write


@pytest.mark.parametrize("base", ["delta"], indirect=True)
def test_the_record_outlives_the_log(base):
    write(sales(6), base)
    base.table("sales").alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    base.table("sales").create_checkpoint()
    base.table("sales").cleanup_metadata()
    assert not any("pullstream.time" in commit for commit in base.table("sales").history())
    assert write(sales(9), base) == [2]
    assert sold(base) == list(range(9))


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
def test_records_of_another_journal(base, tmp_path):
    """What the message advises keeps the table whole."""
    write(sales(6), base, journal=tmp_path / "one.journal")
    with pytest.raises(tables.TableError) as refused:
        write(sales(9), base, journal=tmp_path / "other.journal")
    said = str(refused.value)
    if base.kind == "delta":
        assert "write to another table. The records cannot be removed without the rows" in said
        assert f"remove the folder {base.folder / 'sales'}, which deletes the table" in said
        base.clear("sales")
    else:
        assert "`catalog.drop_table(('default', 'sales'))`. Do not remove its folder" in said
        assert "`remove_properties('pullstream.times', 'pullstream.count', 'pullstream.journal')`" in said
        with base.table("sales").transaction() as transaction:
            transaction.remove_properties("pullstream.times", "pullstream.count", "pullstream.journal")
    kept = [] if base.kind == "delta" else list(range(6))
    assert write(sales(9), base, journal=tmp_path / "third.journal") == [0, 1, 2]
    assert sold(base) == sorted([*kept, *range(9)])


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
@pytest.mark.parametrize("change", ["delete", "add a column"])
def test_a_table_that_others_change(base, change, monkeypatch):
    write(sales(6), base)
    changed = []

    def alter(_, step, time):
        if step != "commit" or changed:
            return
        changed.append(time)
        table = base.table("sales")
        if change == "delete":
            table.delete()
        elif base.kind == "delta":
            from deltalake import Field

            table.alter.add_columns([Field("note", "string")])
        else:
            from pyiceberg.types import StringType

            with table.update_schema() as update:
                update.add_column("note", StringType())

    monkeypatch.setattr(committer, "STEPS", [alter])
    assert write(sales(12), base) == [2, 3]
    assert changed == [2]
    assert sold(base) == list(range(6 if change == "delete" else 0, 12))


MODES = {"append": {}, "upsert": {"key": "sold"}, "replace_time": {"time": "day"}}


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_a_table_that_others_compact(base, mode, monkeypatch):
    """They rewrite its files before every commit of a run, and after it has read the table's state."""
    sink = tables.write_rows(base.target, "sales", mode=mode, **MODES[mode])
    ps.run(ps.pipe(sales(9), sink))
    compacted = []

    def compact(_, step, time):
        if step == "commit":
            table = base.table("sales")
            if base.kind == "delta":
                table.optimize.compact()
                table.vacuum(0, dry_run=False, enforce_retention_duration=False)
            else:
                table.overwrite(table.scan().to_arrow())
            compacted.append(time)

    monkeypatch.setattr(committer, "STEPS", [compact])
    written = ps.run(ps.pipe(sales(18), sink), limit=1)

    assert sold(base) == list(range(18))
    assert written[-3:] == [3, 4, 5]
    assert compacted
    monkeypatch.setattr(committer, "STEPS", [])
    assert ps.run(ps.pipe(sales(18), sink)) == (list(range(6)) if mode == "replace_time" else [])
    assert sold(base) == list(range(18))
