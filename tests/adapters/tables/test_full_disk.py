"""A full disk for a database, a server, and temporary files."""

import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters.arrow import spools
from adapters.spark.writing.replay import ReplayFile
from pullstream import tables
from tests.adapters.tables.conftest import base_of
from tests.adapters.tables.helpers import sales, write


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta", "iceberg"])
def test_a_full_disk(kind, disk):
    base = base_of(kind, disk)
    days = [{"day": n // 10, "n": n} for n in range(60)]
    source = ps.pipe(ps.values(days, time=lambda row: row["day"]), ps.map(lambda row: row | {"text": dice(row["n"])}))
    sink = tables.write_rows(base.target, "sales")
    ballast = disk / "ballast"

    def numbers():
        return [n for (n,) in base.query("SELECT n FROM sales ORDER BY n")]

    if kind == "duckdb":
        (disk / ".base.duckdb.killed.part").touch()
    ballast.write_bytes(bytes(shutil.disk_usage(disk).free))
    with pytest.raises(tables.TableError):
        ps.run(ps.pipe(source, sink))
    ballast.unlink()

    ps.run(ps.pipe(source, ps.take(10), sink))
    ballast.write_bytes(bytes(shutil.disk_usage(disk).free - 500_000))

    message = r"to the table 'sales' in .*, at the time \d: .*none of it was committed. The next run cont"
    with pytest.raises(tables.TableError, match=message):
        ps.run(ps.pipe(source, sink), limit=1)

    ballast.unlink()
    there = numbers()
    assert there == list(range(len(there) // 10 * 10))
    assert len(there) < 60
    assert ps.run(ps.pipe(source, sink)) == list(range(len(there) // 10, 6))
    assert numbers() == list(range(60))
    assert not list(disk.glob(".*"))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta", "iceberg"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_disk_without_rights(kind, begun, disk):
    base = base_of(kind, disk)
    if begun:
        write(sales(3), base)
    if kind == "sqlite" and begun:
        # SQLite opens it then, and the lock is refused.
        base.query("PRAGMA journal_mode = DELETE")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    message = r"write_rows\(\) cannot open the table 'sales' in .*\. Give the path of a writable file in a writable f"
    with pytest.raises(tables.TableError, match=message):
        write(sales(6), base)


def test_a_duckdb_file_in_a_folder_without_rights(tmp_path):
    """A part that another user has left stays there, and an error names no such part."""
    (tmp_path / ".base.duckdb.killed.part").mkdir()
    assert write(sales(3), base_of("duckdb", tmp_path)) == [0]
    with pytest.raises(tables.TableError, match=r"no/base.duckdb\": No such file"):
        write(sales(3), base_of("duckdb", tmp_path / "no"))


def dice(seed):
    return random.Random(seed).randbytes(30_000).hex()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_unwritable_rows_are_discarded(monkeypatch):
    """Closing their file must not fail, too: it would hide the first error, and leave other times open."""
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Path("/dev/full").open("wb"))  # noqa: SIM115 - as there
    rows = pa.record_batch({"n": [1]})
    spool = spools.Spool(rows.schema, 1)
    spool.add(rows)
    with pytest.raises(OSError, match="No space left"):
        spool.spill()
    spool.close()

    async def kept():
        return ReplayFile("rows", 1 << 20)

    file = trio.run(kept)
    message = r"No space left on device, so rows cannot keep its rows for replay= in .*; free some space"
    with pytest.raises(OSError, match=message):
        file._append(memoryview(b"rows"))
    file.close()


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("limit", ["of a time", "of all times"])
def test_a_full_disk_of_temporary_files(base, disk, limit, monkeypatch):
    """The rows of open times do not fit on it, and none is committed; the next run writes all."""
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    monkeypatch.setattr(spools, "SORTED_BYTES", 100_000)
    monkeypatch.setattr(spools, "IN_MEMORY", 1_000_000)
    days = 1 if limit == "of a time" else 40
    rows = ps.values([{"day": n * days // 200, "n": n} for n in range(200)])
    large = ps.pipe(rows, ps.map(lambda row: row | {"text": dice(row["n"])}))
    source = ps.pipe(large, ps.stamp(lambda row: row["day"], lateness=days))
    sink = tables.write_rows(base.target, "sales", schema={"day": "int64", "n": "int64", "text": "string"})

    with pytest.raises(tables.TableError) as failed:
        ps.run(ps.pipe(source, sink), limit=8)

    message = str(failed.value)
    assert message.startswith(f"write_rows() to the table 'sales' in {base.target}, at the time ")
    assert f": its rows wait in a temporary file in {disk}, which cannot be written: " in message
    assert "No space left on device. Make room there, or set TMPDIR to another folder" in message
    assert not base.has("sales")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert ps.run(ps.pipe(source, sink)) == list(range(days))
