"""A database fails during a run: the error names table and time, no time is half written, the next run continues."""

import json
import re
import select
import socket
import socketserver
import sqlite3
import threading
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from urllib.parse import quote

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.tables.lake import LakeTable
from adapters.tables.sqlite import SqliteTable
from pullstream import files, tables
from tests.adapters.tables.conftest import PACKAGES
from tests.adapters.tables.helpers import UNKNOWN, modes, sales, sold, write


def run_with_fault(base, fault, mend=lambda: None):
    """Commit two times; in the next run the fault occurs in the middle of the stream."""
    struck = threading.Event()

    def strike(row):
        if row["sold"] == 15 and not struck.is_set():
            struck.set()
            fault()
        return row

    sink = tables.write_rows(base.target, base.name("sales"))
    ps.run(ps.pipe(sales(30), ps.take(6), sink))
    with pytest.raises(tables.TableError) as failed:
        ps.run(ps.pipe(sales(30), ps.map(strike), sink), limit=1)
    mend()
    there = sold(base)
    assert there == list(range(len(there) // 3 * 3))
    error = str(failed.value)
    assert error.startswith(f"write_rows() to the table {base.shown('sales')!r} in {base.target}, at the time ")
    # If the connection is lost during a commit, the time may have been committed.
    assert int(error.partition(" at the time ")[2][0]) in {len(there) // 3, len(there) // 3 - error.endswith(UNKNOWN)}
    ps.run(ps.pipe(sales(30), sink))
    assert sold(base) == list(range(30))
    return error


def restart(base):
    base.server.stop()
    base.server.start()
    base.connection.close()
    base.connect()


def cut(base):
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    base.query(f"SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE {others}")


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
@pytest.mark.parametrize("fault", [restart, cut])
def test_a_lost_connection(base, fault):
    message = run_with_fault(base, lambda: fault(base))

    assert message.endswith(("none of it was committed. The next run continues with this time", UNKNOWN))


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_connection_cut_while_a_query_is_read(base, monkeypatch, tmp_path):
    monkeypatch.setattr("adapters.tables.postgresql.FETCHED", 2)
    base.query("CREATE TABLE numbers AS SELECT n / 3 AS day, n FROM generate_series(0, 29) AS n")
    query = f'SELECT * FROM "{base.schema}".numbers'
    seen = []

    def look(row):
        seen.append(row.n)
        if seen == list(range(16)):
            cut(base)
        return row._asdict()

    source = ps.pipe(tables.read_rows(base.target, query, time="day"), ps.map(look))
    pipeline = ps.pipe(source, files.write_jsonl(f"{tmp_path}/{{time}}.jsonl"))
    with pytest.raises(tables.TableError) as failed:
        ps.run(pipeline, journal=tmp_path / "journal", limit=1)
    assert str(failed.value).startswith(f"read_rows() cannot read {query!r} in {base.target}: ")
    ps.run(pipeline, journal=tmp_path / "journal", limit=1)
    texts = [(tmp_path / f"{day}.jsonl").read_text() for day in range(10)]
    assert [json.loads(line)["n"] for text in texts for line in text.splitlines()] == list(range(30))
    assert len(seen) < 16 + 30


@pytest.mark.parametrize("base", ["sqlite", "postgresql"], indirect=True)
def test_a_lock_that_is_not_granted(base, monkeypatch):
    monkeypatch.setattr("adapters.tables.sqlite.PATIENCE", 0.1)
    if base.kind == "sqlite":
        connection = sqlite3.connect(base.target, isolation_level=None, check_same_thread=False)
        lock, why = "BEGIN IMMEDIATE", "database is locked"
    else:
        connection = pytest.importorskip("adbc_driver_postgresql.dbapi").connect(base.target)
        lock, why = f'LOCK TABLE "{base.schema}".sales IN SHARE MODE', "lock timeout"
        base.target += "?options=-c%20lock_timeout%3D100"
    with closing(connection), closing(connection.cursor()) as other:
        message = run_with_fault(base, lambda: other.execute(lock), connection.rollback)
    assert re.search(f"{why}.*none of it was committed. The next run continues with this time", message, re.DOTALL)


@pytest.mark.parametrize("base", ["duckdb"], indirect=True)
def test_a_conflict_with_another_writer(base):
    import duckdb

    source = ps.values([{"item": "a", "sold": day} for day in (1, 2)], time=lambda row: row["sold"])
    sink = tables.write_rows(base.target, "sales", mode="upsert", key="item")
    ps.run(ps.pipe(source, ps.take(1), sink))
    with duckdb.connect(base.target) as other:
        other.begin()
        other.execute("UPDATE sales SET sold = 7")
        with pytest.raises(tables.TableError, match=r"at the time 2: .*[Cc]onflict.*none of it was committed"):
            ps.run(ps.pipe(source, sink))
        other.commit()
    assert sold(base) == [7]
    assert ps.run(ps.pipe(source, sink)) == [2]
    assert sold(base) == [2]


@pytest.mark.parametrize("base", ["delta"], indirect=True)
def test_a_constraint_of_delta_lake(base):
    sink = tables.write_rows(base.target, "sales")
    ps.run(ps.pipe(sales(30), ps.take(6), sink))
    base.table("sales").alter.add_constraint({"small": "sold < 20"})
    with pytest.raises(tables.TableError, match=r"at the time 6: .*20.*none of it was committed"):
        ps.run(ps.pipe(sales(30), sink))
    assert sold(base) == list(range(18))


@pytest.mark.parametrize("base", PACKAGES, indirect=True)
def test_a_conflict_in_a_lake(base, monkeypatch):
    sink = tables.write_rows(base.target, "sales", mode="replace_time", time="day")
    source = ps.values([{"day": day, "sold": day} for day in range(3)], time=lambda row: row["day"])
    ps.run(ps.pipe(source, sink))
    found = LakeTable.rows

    def rows_while_others_write(self, schema, spool):
        if spool.time == 1:
            other = base.table("sales")
            rows = pa.table({"day": [0, 1, 2], "sold": [7, 7, 7]})
            if base.kind == "delta":
                pytest.importorskip("deltalake").write_deltalake(other, rows, mode="overwrite")
            else:
                other.overwrite(rows)
        return found(self, schema, spool)

    with monkeypatch.context() as patched:
        patched.setattr(LakeTable, "rows", rows_while_others_write)
        with pytest.raises(tables.TableError, match="to the table 'sales' in .*, at the time 1: .*none of it was"):
            ps.run(ps.pipe(source, sink))
    assert sold(base) == [7, 7, 7]
    assert ps.run(ps.pipe(source, sink)) == [0, 1, 2]
    assert sold(base) == [0, 1, 2]


RAISES = (
    "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'no connection_id'; END $$ LANGUAGE plpgsql",
    "CREATE TRIGGER five BEFORE INSERT ON sales FOR EACH ROW WHEN (NEW.connection_id = 5) EXECUTE FUNCTION refuse()",
)


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
@pytest.mark.parametrize("refuses", [["ALTER TABLE sales ADD CHECK (connection_id < 5)"], RAISES])
def test_a_constraint_is_no_lost_connection(base, refuses):
    base.query("CREATE TABLE sales (connection_id BIGINT)")
    for sql in refuses:
        base.query(sql)
    source = ps.values([{"connection_id": n} for n in range(6)])
    with pytest.raises(tables.TableError, match=r"in its row 6.*connection_id.*none of it was committed"):
        ps.run(ps.pipe(source, tables.write_rows(base.target, base.name("sales"))))


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("mode", "kind"), [("append", "timestamp"), ("upsert", "float8"), ("replace_time", "float8")])
def test_a_column_whose_type_is_changed_during_a_run(base, mode, kind):
    """The driver sends each value in the binary format of the type when the run began."""
    base.query("CREATE TABLE sales (day BIGINT, sold BIGINT UNIQUE)")
    rows = ps.values([{"day": day, "sold": day} for day in range(9)], time=lambda row: row["day"])

    def strike(row):
        if row["day"] == 5:
            base.query("ALTER TABLE sales DROP sold")
            base.query(f"ALTER TABLE sales ADD sold {kind} UNIQUE")
        return row

    sink = tables.write_rows(base.target, base.name("sales"), **modes("sold")[mode])
    with pytest.raises(tables.TableError, match="'sold' was changed during the run; none of it was committed"):
        ps.run(ps.pipe(rows, ps.map(strike), sink), limit=1)
    assert base.query("SELECT sold FROM sales WHERE sold IS NOT NULL") == []


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_role_that_may_create_no_tables(base):
    """It may write once another role has created the records; until then, the error says so."""
    role, schema = f"role {base.schema}", f'"{base.schema}"'
    target = base.target.replace("postgres@", f"{quote(role)}@")
    sink = tables.write_rows(target, base.name("sales"))
    base.query(f'CREATE ROLE "{role}" LOGIN')
    base.query(f'GRANT USAGE ON SCHEMA {schema} TO "{role}"')
    try:
        base.query("CREATE TABLE sales (day BIGINT, item TEXT, sold BIGINT)")
        with pytest.raises(
            tables.TableError, match="cannot open .*: UNAUTHORIZED.*pullstream_targets.* once as a role"
        ):
            ps.run(ps.pipe(sales(6), sink))
        write(sales(3), base)
        base.query(f'GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO "{role}"')
        with pytest.raises(tables.TableError, match="permission denied for table sales. SQLSTATE: 42501; none of it"):
            ps.run(ps.pipe(sales(6), sink))
        base.query(f'GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA {schema} TO "{role}"')
        assert ps.run(ps.pipe(sales(6), sink)) == [1]
        assert sold(base) == list(range(6))
    finally:
        base.query(f'DROP OWNED BY "{role}"')
        base.query(f'DROP ROLE "{role}"')


def test_a_path_with_lock_in_it_is_not_busy(tmp_path):
    pytest.importorskip("duckdb")
    target = tmp_path / "block.duckdb"
    target.mkdir()
    with pytest.raises(tables.TableError, match="cannot open the table 'sales'") as failed:
        ps.run(ps.pipe(sales(30), tables.write_rows(target, "sales")))
    assert not isinstance(failed.value, tables.TableBusyError)


@contextmanager
def proxy(port, struck):
    """Another port for a server, which loses the answer to a COMMIT once `struck` is set."""

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
    """The commit has succeeded but reports a failure. The next run finds the rows."""
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
