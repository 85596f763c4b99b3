"""Databases for tests: files of SQLite and DuckDB, and a PostgreSQL server on loopback, if one is installed."""

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import uuid
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class FileBase:
    """A database that is a file; each query has its own connection."""

    def __init__(self, kind, path):
        self.kind, self.target = kind, str(path)

    def query(self, sql):
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.target)) as connection:
                rows = connection.execute(sql).fetchall()
                connection.commit()
                return rows
        import duckdb

        with duckdb.connect(self.target) as connection:
            return connection.execute(sql).fetchall()

    def has(self, table):
        listed = "sqlite_master" if self.kind == "sqlite" else "(SELECT table_name AS name FROM duckdb_tables())"
        return bool(self.query(f"SELECT 1 FROM {listed} WHERE name = '{table}'"))

    def name(self, table):
        return ("main", table) if "." in table and self.kind in SQL else table

    def shown(self, table):
        return ".".join(self.name(table)) if isinstance(self.name(table), tuple) else table

    def rows(self, schema, table):
        return self.query(f"SELECT * FROM {quoted(schema)}.{quoted(table)} ORDER BY 1")

    def times(self):
        return self.query("SELECT time, number FROM pullstream_times ORDER BY number")

    def clear(self, *tables):
        for table in (*tables, "pullstream_targets", "pullstream_times"):
            self.query(f"DROP TABLE {table}")

    def drop(self):
        pass


class LakeBase(FileBase):
    """A folder of Delta Lake or Iceberg, which DuckDB queries."""

    def __init__(self, kind, path):
        self.kind, self.folder, self.target = kind, path, f"{kind}:///{path}"

    def catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("pullstream", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=str(self.folder))
        catalog.create_namespace_if_not_exists("default")
        return catalog

    def tables(self):
        if not self.folder.exists():
            return []
        if self.kind == "delta":
            return [path.name for path in self.folder.iterdir() if path.is_dir()]
        with closing(self.catalog()) as catalog:
            return [table for _, table in catalog.list_tables("default")]

    def table(self, name, schema=None):
        if self.kind == "delta":
            from deltalake import DeltaTable

            return DeltaTable(self.folder / (schema or "") / name)
        with closing(self.catalog()) as catalog:
            return catalog.load_table((schema or "default", name))

    def arrow(self, name, schema=None):
        table = self.table(name, schema)
        return table.to_pyarrow_dataset().to_table() if self.kind == "delta" else table.scan().to_arrow()

    def rows(self, schema, table):
        return sorted(tuple(row.values()) for row in self.arrow(table, schema).to_pylist())

    def query(self, sql):
        import duckdb

        with duckdb.connect() as connection:
            for name in self.tables():
                connection.register(f"rows of {name}", self.arrow(name))
                connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT * FROM {quoted(f'rows of {name}')}")
            return connection.execute(sql).fetchall()

    def has(self, table):
        return table in self.tables()

    def times(self, table="sales"):
        """The times and numbers of the commits, from their metadata."""
        found = self.table(table)
        if self.kind == "delta":
            commits = found.history()[::-1]
        else:
            commits = [snapshot.summary.additional_properties for snapshot in found.snapshots()]
        return [(commit["pullstream.time"], int(commit["pullstream.number"])) for commit in commits]

    def clear(self, *tables):
        if self.kind == "delta":
            for table in tables:
                shutil.rmtree(self.folder / table)
        else:
            with closing(self.catalog()) as catalog:
                for table in tables:
                    catalog.drop_table(("default", table))
                    shutil.rmtree(self.folder / "default" / table)


class ServerBase(FileBase):
    """A separate schema on a PostgreSQL server."""

    kind = "postgresql"

    def __init__(self, server):
        self.server = server
        self.schema = f"test {uuid.uuid4().hex[:12]}"
        self.target = server.url
        self.connect()
        self.query(f'CREATE SCHEMA "{self.schema}"')

    def connect(self):
        import adbc_driver_postgresql.dbapi as driver

        self.connection = driver.connect(self.target, autocommit=True)
        self.query(f'SET search_path TO "{self.schema}"')

    def __getstate__(self):
        # Functions in a program refer to their database, and a journal compares programs.
        return {name: value for name, value in vars(self).items() if name != "connection"}

    def query(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def has(self, table):
        return bool(self.query(f"SELECT 1 FROM pg_tables WHERE tablename = '{table}'"))

    def name(self, table):
        return (self.schema, table)

    def drop(self):
        self.query(f'DROP SCHEMA "{self.schema}" CASCADE')
        self.connection.close()


class Server:
    """A PostgreSQL server in its own folder, run by a user without privileges."""

    def __init__(self, programs):
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="pullstream-postgresql-"))
        self.user = None
        if os.geteuid() == 0:
            self.user = "postgres"
            shutil.chown(self.folder, self.user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    def call(self, program, *arguments):
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        own = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, timeout=120, **own)

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        self.call("pg_ctl", "start", "-w", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode="immediate"):
        self.call("pg_ctl", "stop", "-m", mode)


def programs():
    """The folder of the server's programs, which is not on Debian's path."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if path := shutil.which("initdb"):
        found.append(Path(path).parent)
    return found[-1] if found else None


@pytest.fixture(scope="session")
def server():
    """The server of this process's tests."""
    if programs() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
    pytest.importorskip("adbc_driver_postgresql")
    running = Server(programs())
    yield running
    running.stop()
    shutil.rmtree(running.folder, ignore_errors=True)


SQL = ["sqlite", "duckdb", "postgresql"]
PACKAGES = {"delta": "deltalake", "iceberg": "pyiceberg"}


def base_of(kind, folder):
    """A database of a kind in a folder, if its packages are installed."""
    for package in {PACKAGES.get(kind, "duckdb"), "duckdb"} if kind != "sqlite" else ():
        pytest.importorskip(package)
    return LakeBase(kind, folder / "lake") if kind in PACKAGES else FileBase(kind, folder / f"base.{kind}")


@pytest.fixture(params=[*SQL, *PACKAGES])
def base(request, tmp_path, monkeypatch):
    """An empty database; a wait for another program's lock on a server fails after a second."""
    monkeypatch.setattr("adapters.tables.postgresql.PATIENCE", 1.0)
    if request.param == "postgresql":
        found = ServerBase(request.getfixturevalue("server"))
    else:
        found = base_of(request.param, tmp_path)
    yield found
    found.drop()
