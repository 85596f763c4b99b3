"""SQLite, through Python's own driver.

ADBC's driver loads faster, but brings its own copy of SQLite. Two copies in one process break each other's locks when
the program opens the same file with `sqlite3`, and can damage the file.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from typing_extensions import override

from ..arrow import TROUBLE, Array, RecordBatch, Schema, exact_array, pa, values
from .sql import FETCHED, SqlTable, columns_of
from .table import COMMON
from .target import quoted

PATIENCE: Final = 30.0
"""The seconds to wait for other users of the database."""

_TRY: Final = 0.1
"""The seconds that SQLite itself waits for other users; this wait cannot be cancelled."""

_COPY: Final = "temp.pullstream_rows"

_STORED: Final = frozenset({str, int, float, bytes, bool, type(None)})
"""The types that the driver stores as they are."""

_AFFINITIES: Final = {
    "INT": "int64", "CHAR|CLOB|TEXT": "string", "BLOB": "binary", "REAL|FLOA|DOUB": "float64",
    "^BOOL(EAN)?$": "bool", "^DATE$": "date32", "^(DATETIME|TIMESTAMP)$": "timestamp[us]",
    "^(NUMERIC|DECIMAL)\\b": "float64",
}  # fmt: skip
"""The Arrow types that a declared type can store, by its text; SQLite looks for the first four in this order."""


class SqliteTable(SqlTable):
    """A table in a SQLite file."""

    ignores_case = True
    # Without WAL, a transaction waits for readers here, where it can be cancelled, and not in a later statement.
    begin = "BEGIN EXCLUSIVE"
    failures = (sqlite3.Error, OSError, OverflowError, UnicodeEncodeError)

    @override
    def connect(self) -> None:
        path = self.plan.target.location
        self._connection = sqlite3.connect(path, timeout=_TRY, isolation_level=None, check_same_thread=False)
        if not self.execute("SELECT 1 FROM sqlite_master"):
            # In a new database, readers do not wait for the writer, nor the writer for readers.
            self.execute("PRAGMA journal_mode = WAL")

    @override
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        return self._begun(sql, given).fetchall()

    def _begun(self, sql: str, given: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement up to its first row, once no other user blocks it."""
        until = monotonic() + PATIENCE
        while True:
            try:
                return self._connection.execute(sql, _bound(given))
            except sqlite3.OperationalError as exc:
                busy = getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or self.cancelled or monotonic() > until:
                    raise
                # SQLite itself does not wait where that could be a deadlock.
                sleep(0.01)

    @override
    def stream(self, sql: str, *given: Any) -> Iterator[RecordBatch]:
        if self.execute("PRAGMA journal_mode") != [("wal",)]:
            # Nobody, not even this run, could write while a query is read. The copy is in a temporary file.
            self.execute(f"DROP TABLE IF EXISTS {_COPY}")
            self.execute(f"CREATE TABLE {_COPY} AS {sql}", *given)
            # Without ORDER BY, rows come in the order of their insertion.
            sql, given = f"SELECT * FROM {_COPY}", ()
        cursor = self._begun(sql, given)
        names = [column[0] for column in cursor.description]
        while rows := cursor.fetchmany(FETCHED):
            arrays: list[Array] = []
            for name, column in zip(names, zip(*rows, strict=True), strict=True):
                try:
                    arrays.append(exact_array(column))
                except TROUBLE as exc:
                    why = f"the column {name!r} has values of several types: {exc}. Use CAST in the query"
                    raise sqlite3.DataError(why) from None
            yield pa.RecordBatch.from_arrays(arrays, names)

    @override
    def schema(self) -> Schema | None:
        sql = 'SELECT name, upper(type), "notnull" AND NOT pk FROM pragma_table_info($1)'
        found = self.execute(sql, self.name.table)
        fields = [self.found(name, declared, required=required) for name, declared, required in found]
        return pa.schema(fields) if fields else None

    @override
    def found_type(self, kind: str) -> Any:
        # A column of numbers keeps each float, although SQLite stores 3.0 as 3.
        alias = next((alias for pattern, alias in _AFFINITIES.items() if re.search(pattern, kind)), None)
        return pa.null() if alias is None else pa.type_for_alias(alias)

    @override
    def kind(self, type: Any) -> str | None:
        return "BLOB" if str(type) in {"binary", "large_binary"} else COMMON.get(str(type))

    @override
    def load(self, table: str | None, schema: Schema, batches: Iterator[RecordBatch]) -> None:
        into = self.name.sql if table is None else quoted(table)
        marks = ", ".join("?" for _ in schema)
        sql = f"INSERT INTO {into} ({columns_of(schema.names)}) VALUES ({marks})"
        for batch in batches:
            self._connection.executemany(sql, zip(*map(_plain, batch.columns), strict=True))

    @override
    def text(self, exc: BaseException) -> str:
        if "inding" in str(exc) and isinstance(exc, sqlite3.ProgrammingError):
            # The driver's message is about the dictionary that binds $1, which the user did not write.
            return "a placeholder of the query has no value: write $1, $2 and so on, for the values in parameters="
        folder = Path(self.plan.target.location).parent
        if "unable to open" not in str(exc) or folder.exists():
            return super().text(exc)
        return f"{super().text(exc)}: there is no folder {folder}. Create it first"

    @override
    def unkept(self, name: str, column: Any) -> tuple[Array, str] | None:
        pc, types = pa.compute, pa.types
        if types.is_floating(column.type):
            return pc.is_nan(column), "SQLite would store NaN as null"
        if not (types.is_timestamp(column.type) or types.is_date(column.type)):
            return None
        year = pc.year(column)
        return pc.or_(pc.less(year, 1), pc.greater(year, 9999)), "SQLite's dates have the years 1 to 9999"

    @override
    def is_unknown(self, exc: Exception) -> bool:
        # The commit may be in the log, but not yet on the disk.
        return self._committing and getattr(exc, "sqlite_errorname", "").startswith("SQLITE_IOERR")


def _bound(given: Sequence[Any]) -> dict[str, Any]:
    """Return the values of $1, $2, ..., with dates and timestamps as text."""
    bound: dict[str, Any] = {}
    for at, value in enumerate(given, 1):
        stored = value if type(value) in _STORED else _plain(pa.array([value]))[0]
        if type(stored) not in _STORED or isinstance(value, timedelta):
            raise sqlite3.DataError(f"SQLite has no type for ${at}, {value!r}: give a number or text in parameters=")
        bound[str(at)] = stored
    return bound


def _plain(column: Any) -> list[Any]:
    """Return the values as SQLite stores them, with dates and timestamps as text."""
    types: Any = pa.types
    return values(column.cast("string") if types.is_temporal(column.type) else column)
