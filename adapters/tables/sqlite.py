"""SQLite, through Python's own driver.

ADBC's driver loads faster, but brings its own copy of SQLite. Two copies in one process break each other's locks when
the program opens the same file with `sqlite3`, and can damage the file.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

from typing_extensions import override

from ..arrow import Array, RecordBatch, Schema, exact_array, pyarrow, values
from .sql import FETCHED, SqlTable, columns_of
from .table import COMMON
from .target import quoted

PATIENCE: Final = 30.0
"""The seconds to wait for other writers of the database."""

_DECLARED: Final = {
    "BOOLEAN": "bool", "SMALLINT": "int64", "INTEGER": "int64", "INT": "int64", "BIGINT": "int64", "REAL": "float64",
    "DOUBLE PRECISION": "float64", "DOUBLE": "float64", "FLOAT": "float64", "TEXT": "string", "DATE": "date32",
    "BLOB": "binary",
}  # fmt: skip


class SqliteTable(SqlTable):
    """A file of SQLite."""

    begin = "BEGIN IMMEDIATE"
    failures = (sqlite3.Error, OverflowError, UnicodeEncodeError)

    @override
    def connect(self) -> None:
        path = self.target.location
        self._connection = sqlite3.connect(path, PATIENCE, isolation_level=None, check_same_thread=False)
        if not self.execute("SELECT 1 FROM sqlite_master"):
            # Readers of a new database do not wait for its writer, nor the writer for them.
            self.execute("PRAGMA journal_mode = WAL")

    @override
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, _bound(given)).fetchall()

    @override
    def stream(self, sql: str, *given: Any) -> Iterator[RecordBatch]:
        cursor = self._connection.execute(sql, _bound(given))
        names = [column[0] for column in cursor.description]
        while rows := cursor.fetchmany(FETCHED):
            yield pyarrow().RecordBatch.from_arrays(list(map(exact_array, zip(*rows, strict=True))), names)

    @override
    def schema(self) -> Schema | None:
        pa = pyarrow()
        fields: list[Any] = []
        for name, declared, required, default, key in self.execute(
            'SELECT name, upper(type), "notnull", dflt_value, pk FROM pragma_table_info($1)', self.name.table
        ):
            kind = self.found_type(declared)
            fields.append(pa.field(name, kind, nullable=not required or default is not None or bool(key)))
        return pa.schema(fields) if fields else None

    @override
    def found_type(self, kind: str) -> Any:
        alias = "timestamp[us]" if kind == "TIMESTAMP" else _DECLARED.get(kind)
        return pyarrow().null() if alias is None else pyarrow().type_for_alias(alias)

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
    def unkept(self, column: Any) -> tuple[Array, str] | None:
        if not pyarrow().types.is_floating(column.type):
            return None
        return pyarrow().compute.is_nan(column), "SQLite would store NaN as null"

    @override
    def cancel(self) -> None:
        self._connection.interrupt()


def _bound(given: Sequence[Any]) -> dict[str, Any]:
    """Return the values of $1, $2, ...; dates and timestamps are text."""
    return {str(at): _plain(pyarrow().array([value]))[0] for at, value in enumerate(given, 1)}


def _plain(column: Any) -> list[Any]:
    """Return the values that SQLite has: dates and timestamps are text."""
    types: Any = pyarrow().types
    return values(column.cast("string") if types.is_temporal(column.type) else column)
