"""SQLite's locks: a file in use, a file read and written in one run, and cancellation."""

import sqlite3
import threading
from contextlib import closing
from functools import partial

import pytest
import trio

import pullstream as ps
from adapters.tables import sqlite
from pullstream import tables
from tests.adapters.tables.helpers import sales


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "base.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE numbers (day, n)")
        connection.executemany("INSERT INTO numbers VALUES (?, ?)", [(n // 3, n) for n in range(300)])
        connection.commit()
    return path


@pytest.fixture
def other(base):
    with closing(sqlite3.connect(base, isolation_level=None, check_same_thread=False)) as connection:
        yield connection


@pytest.mark.parametrize("waits", ["opening", "committing", "reading"])
def test_a_cancellation_does_not_wait_for_a_lock(base, other, waits, monkeypatch):
    """The run ends while the other program holds its lock, for at most a minute."""
    begin, late = "BEGIN EXCLUSIVE", threading.Timer(60, other.rollback)
    source, sink = sales(30), tables.write_rows(base, "sales")
    if waits == "committing":
        source = ps.pipe(source, ps.tap(lambda row: other.execute(begin) if row["sold"] == 9 else None))
    else:
        other.execute(begin)
    if waits == "reading":
        source, sink = tables.read_rows(str(base), "SELECT * FROM numbers", time="day"), ps.drain()
    monkeypatch.setattr(sqlite, "PATIENCE", 60)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ps.arun, ps.pipe(source, sink), limit=1))
            while not other.in_transaction:  # noqa: ASYNC110 - a lock of SQLite sets no event
                await trio.sleep(0.01)
            await trio.sleep(0.3)
            nursery.cancel_scope.cancel()
        return nursery.cancel_scope.cancelled_caught

    late.start()
    try:
        assert trio.run(main)
        assert other.in_transaction
    finally:
        late.cancel()


@pytest.mark.parametrize("wal", [False, True])
def test_one_file_is_read_and_written_in_one_run(base, other, wal, monkeypatch):
    """Without WAL, an open query would keep the writer from committing."""
    if wal:
        other.execute("PRAGMA journal_mode = WAL")
    monkeypatch.setattr(sqlite, "PATIENCE", 1)
    monkeypatch.setattr(sqlite, "FETCHED", 10)
    source = tables.read_rows(str(base), "SELECT * FROM numbers WHERE n >= $1", time="day", parameters=[30])
    pipeline = ps.pipe(source, ps.map(lambda row: row._asdict()), tables.write_rows(base, "copies"))

    assert ps.run(pipeline, limit=1) == list(range(10, 100))

    assert other.execute("SELECT day, n FROM copies ORDER BY n").fetchall() == [(n // 3, n) for n in range(30, 300)]
    assert other.execute("PRAGMA journal_mode").fetchall() == [("wal" if wal else "delete",)]


def test_two_sinks_begin_a_file(tmp_path, monkeypatch):
    """Switching to WAL needs exclusive use of the file, so the sink waits for the other connection."""
    path, waited = tmp_path / "new.db", []
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as first:
        first.execute("BEGIN IMMEDIATE")

        def sleep(_):
            waited.append(first.in_transaction)
            if first.in_transaction:
                first.rollback()

        monkeypatch.setattr(sqlite, "sleep", sleep)
        assert ps.run(ps.pipe(sales(30), tables.write_rows(path, "sales"))) == list(range(10))
        assert waited[0]
        assert first.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
