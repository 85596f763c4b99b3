"""The journal's file: a SQLite database, written in whole transactions, by one run at a time."""

import pickle
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Final

import attrs

from pullstream.errors import CompositionError, JournalError
from pullstream.journal.memory import Changes

APPLICATION: Final = 0x70737472
"""What SQLite files of this kind say they are: `pstr`."""

FORMAT: Final = 1

_TABLES: Final = """
create table about (name text primary key, value blob not null) without rowid;
create table sinks (node integer primary key, frontiers blob not null, result blob);
create table memory (node integer, key blob, value blob not null, primary key (node, key));
create table ledger (node integer, key blob, value blob not null, primary key (node, key));
"""

_ANOTHER: Final = "Give a journal a path of its own"


@attrs.define
class Entry:
    """What is recorded of one sink."""

    frontiers: bytes
    result: bytes | None = None
    """How it ended, if it did."""


@attrs.frozen
class Record:
    """What is written at once."""

    sinks: Mapping[int, Entry]
    memory: Mapping[int, Changes]
    ledger: Mapping[int, Changes]
    about: Mapping[str, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self.sinks or self.memory or self.ledger or self.about)


class Store:
    """An open journal. It is used by one thread at a time, whichever; nobody else can open it meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise JournalError(f"the journal {self.path} is a folder: give the path of a file in it")
            # Some names that are not absolute (:memory:, file:) mean something else to SQLite.
            path = self.path.absolute()
            database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(database)
            except BaseException:
                database.close()
                raise
        except (sqlite3.Error, OSError, ValueError) as exc:
            raise self._trouble(exc) from None
        return database

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute("pragma locking_mode = exclusive")
        (kind,) = database.execute("pragma application_id").fetchone()
        (tables,) = database.execute("select count(*) from sqlite_master").fetchone()
        if kind != APPLICATION and (tables or kind):
            raise JournalError(f"{self.path} is no journal: it is a SQLite database of something else. {_ANOTHER}")
        (version,) = database.execute("pragma user_version").fetchone()
        if tables and version != FORMAT:
            raise JournalError(
                f"the journal {self.path} is written in format {version}, and this is format {FORMAT}: finish it with "
                f"the version of pullstream that began it, or begin anew with another journal"
            )
        # Written to at once, so that a lock is taken, and kept, before anything else happens.
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = full")
        database.execute("begin immediate")
        if not tables:
            database.execute(f"pragma application_id = {APPLICATION}")
            database.execute(f"pragma user_version = {FORMAT}")
            for table in _TABLES.split(";")[:-1]:
                database.execute(table)
        database.execute("insert or replace into about values ('opened', cast(julianday() as text))")
        database.execute("commit")

    def _trouble(self, exc: Exception) -> JournalError:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return JournalError(
                f"the journal {self.path} is in use: another run goes on with it. Two runs with one journal would do "
                f"everything twice; wait for it to end, or give each a journal of its own"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return JournalError(f"{self.path} is no journal: it is a file of another kind ({exc}). {_ANOTHER}")
        if code == sqlite3.SQLITE_CORRUPT:
            return JournalError(f"the journal {self.path} is damaged ({exc}): begin anew without it, or restore a copy")
        return JournalError(
            f"the journal {self.path} cannot be used ({exc}): give the path of a file that can be written to, in a "
            f"folder that can"
        )

    # ---- reading

    def about(self, name: str) -> bytes | None:
        """Something that holds for all of it."""
        row = self._rows("select value from about where name = ?", name)
        return row[0][0] if row else None

    def sinks(self) -> dict[int, Entry]:
        """What is recorded of the sinks."""
        rows = self._rows("select node, frontiers, result from sinks")
        return {node: Entry(frontiers, result) for node, frontiers, result in rows}

    def memory(self, table: str, node: int) -> dict[bytes, bytes]:
        """What is recorded of a module, in the order in which it came."""
        return dict(self._rows(f"select key, value from {table} where node = ? order by rowid", node))  # noqa: S608

    def _rows(self, query: str, *given: object) -> list[Any]:
        try:
            return self._database.execute(query, given).fetchall()
        except sqlite3.Error as exc:
            raise self._trouble(exc) from exc

    # ---- writing

    def write(self, record: Record) -> None:
        """Record all of it, or nothing; it is on the disk when this returns.

        Raises:
            JournalError: it could not be written.
        """
        database = self._database
        try:
            database.execute("begin immediate")
            for name, value in record.about.items():
                database.execute("insert or replace into about values (?, ?)", (name, value))
            for node, entry in record.sinks.items():
                database.execute("insert or replace into sinks values (?, ?, ?)", (node, entry.frontiers, entry.result))
            for table, changed in (("memory", record.memory), ("ledger", record.ledger)):
                for node, changes in changed.items():
                    self._change(table, node, changes)
            database.execute("commit")
        except sqlite3.Error as exc:
            with suppress(sqlite3.Error):
                database.execute("rollback")
            raise JournalError(
                f"the journal {self.path} could not be written ({exc}): what it holds is whole, and a run with it goes "
                f"on from there"
            ) from exc

    def _change(self, table: str, node: int, changes: Changes) -> None:
        gone = [(node, key) for key, value in changes.items() if value is None]
        kept = [(node, key, value) for key, value in changes.items() if value is not None]
        self._database.executemany(f"delete from {table} where node = ? and key = ?", gone)  # noqa: S608 - one of two
        self._database.executemany(
            f"insert into {table} values (?, ?, ?) on conflict (node, key) do update set value = excluded.value",  # noqa: S608
            kept,
        )

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._database.close()


def journal_path(given: "str | PathLike[str]") -> Path:
    """The path of a journal.

    Raises:
        CompositionError: it is none.
    """
    try:
        return Path(given)
    except TypeError:
        raise CompositionError(f"journal= is the path of a file, and got {given!r}") from None


def unpickled(data: bytes, path: Path) -> Any:
    """What was pickled into a journal.

    Raises:
        JournalError: it cannot be read any more.
    """
    try:
        return pickle.loads(data)  # noqa: S301 - the user's own file, which is trusted as the program is
    except Exception as exc:
        raise JournalError(
            f"the journal {path} holds something that cannot be read any more ({type(exc).__name__}: {exc}): has the "
            f"program that wrote it changed?"
        ) from exc
