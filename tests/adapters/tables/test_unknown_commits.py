"""Commits of which nobody knows whether they have happened."""

import select
import socket
import socketserver
import sqlite3
import threading
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

import pullstream as ps
from adapters.tables.sqlite import SqliteTable
from pullstream import tables
from tests.adapters.tables.helpers import UNKNOWN, sales, sold, write


@contextmanager
def proxy(port, struck):
    """Another port for a server, on which its answer to a COMMIT is lost once the fault has struck."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.create_connection(("127.0.0.1", port)) as server:
                other = {self.request: server, server: self.request}
                while True:
                    for ready in select.select(other, [], [])[0]:
                        data = ready.recv(65536)
                        if not data or (struck.is_set() and ready is server and b"COMMIT\0" in data):
                            return
                        other[ready].sendall(data)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield proxy.server_address[1]
        finally:
            proxy.shutdown()
            thread.join()


@pytest.mark.parametrize("base", ["postgresql", "sqlite", "delta"], indirect=True)
def test_a_commit_whose_outcome_is_unknown(base, monkeypatch):
    """It has committed, and says that it failed. The next run finds it."""
    struck = threading.Event()

    def fails(error, commit, *arguments, **options):
        found = commit(*arguments, **options)
        if struck.is_set():
            raise error
        return found

    with ExitStack() as stack:
        target = base.target
        if base.kind == "postgresql":
            target = target.replace(str(base.server.port), str(stack.enter_context(proxy(base.server.port, struck))))
        elif base.kind == "sqlite":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
            execute = SqliteTable.execute

            def executes(table, sql, *given):
                return fails(error, execute, table, sql) if sql == "COMMIT" else execute(table, sql, *given)

            monkeypatch.setattr(SqliteTable, "execute", executes)
        else:
            deltalake = pytest.importorskip("deltalake")
            failing = partial(fails, OSError("no checkpoint"), deltalake.write_deltalake)
            monkeypatch.setattr(deltalake, "write_deltalake", failing)
        strike = ps.tap(lambda row: struck.set() if row["sold"] == 6 else None)
        with pytest.raises(tables.TableError) as failed:
            ps.run(ps.pipe(sales(30), strike, tables.write_rows(target, base.name("sales"))), limit=1)
    assert str(failed.value).endswith(UNKNOWN)
    there = sold(base)
    assert len(there) // 3 == int(str(failed.value).partition(" at the time ")[2][0]) + 1
    monkeypatch.undo()
    assert write(sales(30), base) == list(range(len(there) // 3, 10))
    assert sold(base) == list(range(30))
