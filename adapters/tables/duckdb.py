"""DuckDB, which reads Arrow without copies."""

import os
from collections.abc import Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, Final

from typing_extensions import override

from pullstream.authoring import of_extra

from ..arrow import Array, ArrowMissing, RecordBatch, Schema, pa
from .sql import FETCHED, SqlTable, columns_of
from .table import COMMON
from .target import TableBusyError, folded, quoted

_ROWS: Final = "pullstream_rows"


class DuckdbTable(SqlTable):
    """A table in a DuckDB file, which only one process at a time can open."""

    ignores_case = True
    # DuckDB refuses two transactions of one process that create the records at the same time.
    turn = Lock()

    @override
    def connect(self) -> None:
        duckdb = of_extra("duckdb", "duckdb", ArrowMissing)
        self.failures = (duckdb.Error, OSError)
        path = Path(self.plan.target.location)
        for left in path.parent.glob(f".{escape(path.name)}.*.part"):
            # It may be in a folder from which this user may only read.
            with suppress(OSError):
                left.unlink()
        if path.parent.is_dir() and not path.exists():
            # DuckDB refuses a file that a kill or a full disk has left in part, so a new one appears when it is whole.
            new = path.with_name(f".{path.name}.{token_hex(8)}.part")
            try:
                duckdb.connect(new).close()
                # Not renamed, because another process may have created it meanwhile.
                with suppress(OSError):
                    os.link(new, path)
            finally:
                new.unlink(missing_ok=True)
        try:
            self._connection = duckdb.connect(self.plan.target.location)
        except duckdb.IOException as exc:
            if "Could not set lock" in str(exc):
                raise TableBusyError(
                    f"another process has {self.plan.target.shown} open, and DuckDB allows only one: wait until it ends"
                ) from None
            raise

    @override
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, list(given)).fetchall()

    @override
    def stream(self, sql: str, *given: Any) -> Iterator[RecordBatch]:
        yield from self._connection.sql(sql, params=list(given)).to_arrow_reader(FETCHED)

    def _names(self) -> tuple[str, str]:
        ((current,),) = self.execute("SELECT current_schema()")
        return folded(self.name.schema or current), self.record_name

    @override
    def identity(self) -> tuple[Path, str]:
        return Path(self.plan.target.location), repr(self._names())

    @override
    def schema(self) -> Schema | None:
        found = self.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()"
        )
        if self._names() not in {(folded(schema), folded(table)) for schema, table in found}:
            return None
        columns = self.execute(
            "SELECT column_name, table_schema, table_name FROM information_schema.columns "
            "WHERE is_generated = 'ALWAYS' AND table_catalog = current_database()"
        )
        generated = {name for name, *table in columns if tuple(map(folded, table)) == self._names()}
        read = self._connection.sql(f"SELECT * FROM {self.name.sql} LIMIT 0").to_arrow_table().schema
        required = {row[0] for row in self.execute(f"DESCRIBE {self.name.sql}") if row[2] == "NO"}
        return pa.schema(
            [(each.name, each.type, each.name not in required) for each in read if each.name not in generated]
        )

    @override
    def found_type(self, kind: str) -> Any:
        return self._connection.sql(f"SELECT CAST(NULL AS {kind})").to_arrow_table().schema.field(0).type

    @override
    def kind(self, type: Any) -> str | None:
        if (common := COMMON.get(str(type))) is not None:
            return common
        empty = pa.schema([("c", type)]).empty_table()
        try:
            self._connection.register(_ROWS, empty)
            return self.execute(f"DESCRIBE SELECT * FROM {_ROWS}")[0][1]
        except self.failures:
            return None
        finally:
            self._connection.unregister(_ROWS)

    @override
    def unkept(self, name: str, column: Any) -> tuple[Array, str] | None:
        if str(column.type) != "duration[ns]":
            return None
        whole = column.cast(pa.duration("us"), safe=False).cast(column.type)
        return pa.compute.not_equal(column, whole), "DuckDB would round an interval to microseconds"

    @override
    def load(self, table: str | None, schema: Schema, batches: Iterator[RecordBatch]) -> None:
        self._connection.register(_ROWS, pa.RecordBatchReader.from_batches(schema, batches))
        names = columns_of(schema.names)
        into = self.name.sql if table is None else quoted(table)
        self.execute(f"INSERT INTO {into} ({names}) SELECT {names} FROM {_ROWS}")
        self._connection.unregister(_ROWS)
