"""Faults of the database during a run: the error names table and time, and the next run goes on."""

import sqlite3
import threading

import pytest

import pullstream as ps
from pullstream import tables


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
