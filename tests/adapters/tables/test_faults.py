"""Faults of a database during a run: the error names table and time, nothing is half there, the next run goes on."""

import random
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.conftest import PACKAGES, base_of


def rows():
    return ps.values([{"n": n} for n in range(30)], time=lambda row: row["n"] // 3)


def numbers(base):
    return [n for (n,) in base.query("SELECT n FROM sales ORDER BY n")]


def run_with_fault(base, fault):
    """Commit two times; in the next run the fault strikes in the middle of the stream."""
    struck = threading.Event()

    def strike(row):
        if row["n"] == 15 and not struck.is_set():
            struck.set()
            fault()
        return row

    sink = tables.write_rows(base.target, base.name("sales"))
    ps.run(ps.pipe(rows(), ps.take(6), sink))
    with pytest.raises(tables.TableError) as failed:
        ps.run(ps.pipe(rows(), ps.map(strike), sink), limit=1)
    assert numbers(base) == list(range(len(numbers(base)) // 3 * 3))
    ps.run(ps.pipe(rows(), sink))
    assert numbers(base) == list(range(30))
    return str(failed.value)


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_server_that_is_restarted(base):
    def restart():
        base.server.stop()
        base.server.start()

    said = run_with_fault(base, restart)

    assert f"to the table '{base.schema}.sales' in {base.target}, at the time " in said
    assert "the connection is lost. The next run finds out whether it was committed, and goes on" in said


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_connection_that_is_cut(base):
    def cut():
        others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
        base.query(f"SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE {others}")

    assert "the connection is lost" in run_with_fault(base, cut)


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_lock_that_is_not_granted(base, monkeypatch):
    from adapters.tables import sqlite

    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    other = sqlite3.connect(base.target, isolation_level=None, check_same_thread=False)

    def lock():
        other.execute("BEGIN IMMEDIATE")

    sink = tables.write_rows(base.target, "sales")
    ps.run(ps.pipe(rows(), ps.take(3), sink))
    lock()
    with pytest.raises(tables.TableError, match="database is locked"):
        ps.run(ps.pipe(rows(), sink))
    other.close()
    ps.run(ps.pipe(rows(), sink))
    assert numbers(base) == list(range(30))


@contextmanager
def statement(base, *commands):
    """Another program's transaction, which is open in the block."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(base.target) as connection, connection.cursor() as cursor:
        cursor.execute(f'SET search_path TO "{base.schema}"')
        for command in commands:
            cursor.execute(command)
        yield lambda command: (cursor.execute(command), connection.commit())


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_lock_timeout(base):
    plain = tables.write_rows(base.target, base.name("sales"))
    ps.run(ps.pipe(rows(), ps.take(6), plain))
    impatient = tables.write_rows(f"{base.target}?options=-c%20lock_timeout%3D100", base.name("sales"))
    with (
        statement(base, "LOCK TABLE sales IN SHARE MODE"),
        pytest.raises(tables.TableError, match=r"at the time 2: .*lock timeout.*nothing of it was committed"),
    ):
        ps.run(ps.pipe(rows(), impatient))
    assert numbers(base) == list(range(6))
    assert ps.run(ps.pipe(rows(), plain)) == list(range(2, 10))


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_deadlock_with_another_writer(base):
    """The other one has b and then wants a, and this one the reverse."""
    source = ps.values([{"item": item, "n": day} for day in (1, 2) for item in "ab"], time=lambda row: row["n"])
    sink = tables.write_rows(base.target, base.name("sales"), mode="upsert", key="item")
    ps.run(ps.pipe(source, ps.take(2), sink))
    failed = []

    def upsert():
        with pytest.raises(tables.TableError) as caught:
            ps.run(ps.pipe(source, sink))
        failed.append(str(caught.value))

    # The server finds the deadlock for the one who waits first.
    with statement(base, "SET deadlock_timeout = '100s'", "UPDATE sales SET n = 7 WHERE item = 'b'") as go_on:
        run = threading.Thread(target=upsert)
        run.start()
        waits = "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while base.query(waits) == [(0,)]:
            time.sleep(0.01)
        go_on("UPDATE sales SET n = 7 WHERE item = 'a'")
        run.join(60)
    assert "at the time 2: " in failed[0]
    assert "deadlock detected" in failed[0]
    assert base.query("SELECT DISTINCT n FROM sales") == [(7,)]
    assert ps.run(ps.pipe(source, sink)) == [2]
    assert base.query("SELECT DISTINCT n FROM sales") == [(2,)]


@pytest.mark.parametrize("base", ["duckdb"], indirect=True)
def test_a_conflict_with_another_writer(base):
    """DuckDB refuses the later of two transactions that change a row."""
    import duckdb

    source = ps.values([{"item": "a", "n": day} for day in (1, 2)], time=lambda row: row["n"])
    sink = tables.write_rows(base.target, "sales", mode="upsert", key="item")
    ps.run(ps.pipe(source, ps.take(1), sink))
    with duckdb.connect(base.target) as other:
        other.begin()
        other.execute("UPDATE sales SET n = 7")
        with pytest.raises(tables.TableError, match=r"at the time 2: .*[Cc]onflict.*nothing of it was committed"):
            ps.run(ps.pipe(source, sink))
        other.commit()
    assert numbers(base) == [7]
    assert ps.run(ps.pipe(source, sink)) == [2]
    assert numbers(base) == [2]


@pytest.mark.parametrize("base", ["delta"], indirect=True)
def test_a_constraint_of_delta_lake(base):
    """Its message has the row."""
    sink = tables.write_rows(base.target, "sales")
    ps.run(ps.pipe(rows(), ps.take(6), sink))
    base.table("sales").alter.add_constraint({"small": "n < 20"})
    with pytest.raises(tables.TableError, match=r"at the time 6: .*20.*nothing of it was committed"):
        ps.run(ps.pipe(rows(), sink))
    assert numbers(base) == list(range(18))


@pytest.fixture
def disk(tmp_path):
    """A folder on a disk of eight megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=777", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta", "iceberg"])
def test_a_full_disk(kind, disk):
    """When there is room again, the next run goes on."""
    if kind != "sqlite":
        pytest.importorskip({"duckdb": "duckdb", "delta": "deltalake", "iceberg": "pyiceberg"}[kind])
    base = base_of(kind, disk / ("lake" if kind in PACKAGES else f"base.{kind}"))
    days = [{"day": n // 10, "n": n} for n in range(60)]
    source = ps.pipe(ps.values(days, time=lambda row: row["day"]), ps.map(lambda row: row | {"text": dice(row["n"])}))
    sink = tables.write_rows(base.target, "sales")
    ballast = disk / "ballast"
    ps.run(ps.pipe(source, ps.take(10), sink))
    ballast.write_bytes(bytes(shutil.disk_usage(disk).free - 500_000))

    with pytest.raises(tables.TableError, match=r"to the table 'sales' in .*, at the time \d") as failed:
        ps.run(ps.pipe(source, sink), limit=1)

    assert "nothing of it was committed. The next run goes on with this time" in str(failed.value)
    ballast.unlink()
    there = numbers(base)
    assert there == list(range(len(there) // 10 * 10))
    assert len(there) < 60
    assert ps.run(ps.pipe(source, sink)) == list(range(len(there) // 10, 6))
    assert numbers(base) == list(range(60))


def dice(seed):
    """Text that cannot be compressed."""
    return random.Random(seed).randbytes(30_000).hex()
