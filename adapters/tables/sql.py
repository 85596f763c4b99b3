"""Tables of SQL databases: one transaction holds the rows of a time and the row that records it."""

import re
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from ..arrow import RecordBatch, Schema, Spool, first_failure, pa
from .entries import Entry, Recorded
from .table import TargetTable
from .target import folded, quoted

TARGETS: Final = "pullstream_targets"
TIMES: Final = "pullstream_times"

FETCHED: Final = 8192
"""The number of rows to fetch at once."""

_RECORDS: Final = {
    TARGETS: "name TEXT PRIMARY KEY, id TEXT NOT NULL, journal TEXT",
    TIMES: "name TEXT, time TEXT, number BIGINT NOT NULL, count BIGINT NOT NULL, PRIMARY KEY (name, time)",
}
_NO_KEY: Final = re.compile("ON CONFLICT (clause|specification)|conflict target")
"""The databases' error messages about a missing constraint on the key columns of an upsert."""
_STAGE: Final = "pullstream_stage"
_ORDER: Final = "pullstream_order"


class SqlTable(TargetTable):
    """A table of a database with transactions, and a bulk load of Arrow batches."""

    _connection: Any = None

    begin = "BEGIN"
    """The statement that begins a transaction."""
    _committing = False
    """Whether the last statement was a COMMIT."""
    turn: AbstractContextManager[Any] = nullcontext()
    """A lock that each transaction holds."""

    @override
    def cancel(self) -> None:
        super().cancel()
        if self._connection is not None:
            self.interrupt()

    def interrupt(self) -> None:
        """Stop the statement that another thread executes."""
        self._connection.interrupt()

    @override
    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()

    @property
    def record_name(self) -> str:
        """The table's name in the records: the same for all spellings that mean the same table."""
        return folded(self.name.table) if self.ignores_case else self.name.table

    @override
    def identity(self) -> tuple[Path, str]:
        return Path(self.plan.target.location), self.record_name

    @abstractmethod
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        """Execute a statement with the values of $1, $2, ..., and return the rows."""

    @override
    def stored(self, type: Any) -> Any:
        kind = self.kind(type)
        return None if kind is None else self.found_type(kind)

    @abstractmethod
    def found_type(self, kind: str) -> Any:
        """Return the Arrow type for a column's declared type; null if the type is not supported."""

    def found(self, name: str, declared: str, *, required: bool) -> Any:
        """Return the field of an existing column."""
        kind = self.found_type(declared)
        # Arrow has no null type without nulls.
        return pa.field(name, kind, not required or pa.types.is_null(kind), {"type": declared or "no declared type"})

    @abstractmethod
    def stream(self, sql: str, *given: Any) -> Iterator[RecordBatch]:
        """Execute a query, and yield its rows as the database's cursor delivers them."""

    @abstractmethod
    def load(self, table: str | None, schema: Schema, batches: Iterator[RecordBatch]) -> None:
        """Append rows with the driver's bulk load to the table, or to a temporary table."""

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run a block in a transaction, which is committed if the block does not raise."""
        with self.turn:
            self._committing = False
            self.execute(self.begin)
            try:
                yield
                self._committing = True
                self.execute("COMMIT")
            except BaseException:
                # Some failures, such as a full disk or a failed commit, have ended the transaction already.
                with suppress(*self.failures):
                    self.execute("ROLLBACK")
                raise

    @override
    def text(self, exc: BaseException) -> str:
        text = super().text(exc)
        if self.plan.mode == "upsert" and _NO_KEY.search(text):
            text += f". The table needs a PRIMARY KEY or a UNIQUE constraint on {columns_of(self.plan.keys)}: add one"
        return text

    def create(self, table: str, columns: str) -> None:
        """Create a table of the records in a transaction, if it does not exist."""
        self.execute(f"CREATE TABLE IF NOT EXISTS {self.name.beside(table)} ({columns})")

    def is_about_rows(self, exc: Exception) -> bool:
        """Whether a failure is about the rows, and not about the connection or the disk."""
        text = str(exc).lower()
        return any(word in text for word in ("constraint", "conversion", "out of range", "mismatch", "invalid input"))

    # ---- the records

    @override
    def recorded(self, journal: str | None) -> Recorded:
        beside = self.name.beside
        with self.transaction():
            for table, columns in _RECORDS.items():
                self.create(table, columns)
        found = self.execute(f"SELECT id, journal FROM {beside(TARGETS)} WHERE name = $1", self.record_name)
        times = self.execute(
            f"SELECT time, count, number FROM {beside(TIMES)} WHERE name = $1 ORDER BY number", self.record_name
        )
        if not found:
            return Recorded()
        ((id, journal),) = found
        rows = {time: count for time, count, _ in times}
        return Recorded(id, journal, rows, times[-1][2] if times else 0, rows)

    @override
    def forgetting(self) -> str:
        name = self.record_name.replace("'", "''")
        tables = map(self.name.beside, (TIMES, TARGETS))
        sql = " ".join(f"DELETE FROM {table} WHERE name = '{name}';" for table in tables)
        return f"remove {self.records} first: {sql}"

    def _record(self, entry: Entry) -> None:
        targets, times, name = self.name.beside(TARGETS), self.name.beside(TIMES), self.record_name
        if entry.first:
            self.execute(f"DELETE FROM {targets} WHERE name = $1", name)
            journal = "NULL" if entry.journal is None else "$3"
            given = filter(None, (name, entry.id, entry.journal))
            self.execute(f"INSERT INTO {targets} (name, id, journal) VALUES ($1, $2, {journal})", *given)
        if self.plan.mode == "replace_time":
            self.execute(f"DELETE FROM {times} WHERE name = $1 AND time = $2", name, entry.text)
        row = name, entry.text, entry.number, entry.rows
        self.execute(f"INSERT INTO {times} (name, time, number, count) VALUES ($1, $2, $3, $4)", *row)

    # ---- rows

    @override
    def commit(self, entry: Entry, schema: Schema, spool: Spool) -> str:
        with self.transaction():
            self.write(schema, spool, spool.batches())
            self._record(entry)
        return entry.id

    def write(self, schema: Schema, spool: Spool, batches: Iterator[RecordBatch]) -> None:
        """Write rows in a transaction."""
        table = self.name.sql
        if not self.exists:
            self.execute(f"CREATE TABLE {table} ({self._definition(schema)})")
        if self.plan.mode == "replace_time":
            column, time = self.of_time(schema, spool)
            self.execute(f"DELETE FROM {table} WHERE {quoted(column)} = $1", time.as_py())
        if self.plan.mode != "upsert":
            self.load(None, schema, batches)
            return
        staged = schema.append(pa.field(_ORDER, pa.int64()))
        columns, keys = columns_of(schema.names), columns_of(self.plan.keys)
        changed = ", ".join(
            f"{quoted(name)} = excluded.{quoted(name)}" for name in schema.names if name not in self.plan.keys
        )
        # The copy has the collations of the table, which say what keys are equal; in SQLite, only the order helps.
        empty = f"SELECT {columns}, CAST(0 AS BIGINT) AS {_ORDER} FROM {table} LIMIT 0"
        self.execute(f"CREATE TEMPORARY TABLE {_STAGE} AS {empty}")
        self.load(_STAGE, staged, _numbered(batches, staged))
        self.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM (SELECT *, row_number() OVER "
            f"(PARTITION BY {keys} ORDER BY {_ORDER} DESC) AS pullstream_rank FROM {_STAGE}) AS staged "
            f"WHERE pullstream_rank = 1 ORDER BY {_ORDER} "
            f"ON CONFLICT ({keys}) DO {f'UPDATE SET {changed}' if changed else 'NOTHING'}"
        )
        self.execute(f"DROP TABLE {_STAGE}")

    def _definition(self, schema: Schema) -> str:
        keys = self.plan.keys
        columns = [
            f"{quoted(field.name)} {self.kind(field.type)}{'' if field.nullable else ' NOT NULL'}" for field in schema
        ]
        return ", ".join([*columns, *([f"PRIMARY KEY ({columns_of(keys)})"] if keys else [])])

    @override
    def refused_row(self, exc: Exception, schema: Schema, spool: Spool) -> str:
        """Find the row by bisection, loading the first rows again and again."""

        def attempt(count: int) -> None:
            try:
                self.execute(self.begin)
                self.write(schema, spool, _head(spool.batches(), count))
            finally:
                with suppress(*self.failures):
                    self.execute("ROLLBACK")

        if not self.is_about_rows(exc):
            return ""
        # If this fails, too, the first failure is the one that matters.
        with suppress(Exception):
            row, failure = first_failure(attempt, range(spool.rows + 1), self.failures)
            if failure is not None and row:
                *_, last = _head(spool.batches(), row)
                return f", in its row {row}, {last.slice(last.num_rows - 1).to_pylist()[0]!r}"
        return ""


def columns_of(names: Sequence[str]) -> str:
    """Return the names of columns for SQL."""
    return ", ".join(map(quoted, names))


def _head(batches: Iterator[RecordBatch], count: int) -> Iterator[RecordBatch]:
    for batch in batches:
        if count <= 0:
            return
        yield batch.slice(0, count)
        count -= batch.num_rows


def _numbered(batches: Iterator[RecordBatch], schema: Schema) -> Iterator[RecordBatch]:
    begin = 0
    for batch in batches:
        numbers = pa.array(range(begin, begin + batch.num_rows), pa.int64())
        begin += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)
