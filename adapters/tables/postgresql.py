"""PostgreSQL, through ADBC: rows are loaded from Arrow with COPY."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from time import monotonic, sleep
from typing import Any, Final

from typing_extensions import override

from pullstream.authoring import of_extra

from ..arrow import Array, ArrowMissing, RecordBatch, Schema, Spool, pa
from .sql import FETCHED, TARGETS, TIMES, SqlTable
from .table import COMMON
from .target import Name, TableError, quoted

PATIENCE: Final = 5.0
"""The seconds that the server may take to release the lock of a killed program."""

_EPOCH: Final = {32: 10_957, 64: 946_684_800_000_000}
"""The start of 2000, in the days of 32-bit dates and in the microseconds of 64-bit timestamps."""

_FORMATS: Final = {
    "boolean": "bool", "smallint": "int16", "integer": "int32", "bigint": "int64", "real": "float32",
    "double precision": "float64", "text": "string", "character varying": "string", "bytea": "binary",
    "date": "date32",
}  # fmt: skip


class PostgresqlTable(SqlTable):
    """A table on a PostgreSQL server."""

    _limits: Mapping[str, int] = {}
    """The maximum number of characters in each column that has one."""

    @override
    def connect(self) -> None:
        driver = of_extra("postgresql", "adbc_driver_postgresql.dbapi", ArrowMissing, named="adbc-driver-postgresql")
        self.failures = (driver.Error,)
        self._connection = driver.connect(self.plan.target.location, autocommit=True)

    @override
    def lock(self) -> None:
        # A name without a schema may refer to a table in any schema of the search path.
        there = "SELECT nspname::text FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class WHERE oid = "
        schema = self.name.schema
        if schema is None:
            ((schema,),) = self.execute(f"SELECT coalesce(({there}to_regclass($1))), current_schema())", self.name.sql)
        # The records go into the schema of the table, even if the next run has another search path.
        self.name = Name(self.name.table, schema)
        key = _key(f"pullstream {schema}.{self.name.table}")
        until = monotonic() + PATIENCE
        while self.execute("SELECT pg_try_advisory_lock($1)", key) != [(True,)]:
            if self.cancelled or monotonic() > until:
                raise self.busy()
            sleep(0.1)

    @override
    def create(self, table: str, columns: str) -> None:
        # CREATE TABLE IF NOT EXISTS fails if two runs execute it at the same time, and needs the right to create.
        self.execute("SELECT pg_advisory_xact_lock($1)::text", _key("pullstream records"))
        if self.execute("SELECT to_regclass($1) IS NULL", self.name.beside(table)) == [(True,)]:
            super().create(table, columns)

    @override
    def schema(self) -> Schema | None:
        ((there,),) = self.execute("SELECT to_regclass($1) IS NOT NULL", self.name.sql)
        if not there:
            return None
        rows = self.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE "
            "attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            self.name.sql,
        )
        limited = {name: re.fullmatch(r"character varying\((\d+)\)", text) for name, text, _ in rows}
        self._limits = {name: int(found[1]) for name, found in limited.items() if found}
        return pa.schema([self.found(name, text, required=required) for name, text, required in rows])

    @override
    def found_type(self, kind: str) -> Any:
        text = kind.lower()
        if found := re.fullmatch(r"numeric\((\d+),(\d+)\)", text):
            precision, scale = map(int, found.groups())
            return pa.decimal128(precision, scale) if precision <= 38 else pa.null()
        if found := re.fullmatch(r"timestamp(?:\((\d)\))?( with time zone)?(?: without time zone)?", text):
            # The database would round to fewer digits.
            unit = {"0": "s", "3": "ms", "6": "us", None: "us"}.get(found[1])
            return pa.null() if unit is None else pa.timestamp(unit, found[2] and "UTC")
        alias = _FORMATS.get(re.sub(r"\(\d+\)", "", text))
        return pa.null() if alias is None else pa.type_for_alias(alias)

    @override
    def kind(self, type: Any) -> str | None:
        if str(type) in {"binary", "large_binary"}:
            return "BYTEA"
        if str(type) == "timestamp[us, tz=UTC]":
            return "TIMESTAMP WITH TIME ZONE"
        return f"NUMERIC({type.precision},{type.scale})" if pa.types.is_decimal128(type) else COMMON.get(str(type))

    @override
    def check_column(self, field: Any, found: Schema | None) -> None:
        if len(field.name.encode(errors="replace")) > 63:
            raise self.plan.refused(f"PostgreSQL cuts names off after 63 bytes: rename the column {field.name!r}")
        super().check_column(field, found)

    @override
    def unkept(self, name: str, column: Any) -> tuple[Array, str] | None:
        if str(column.type) not in {"string", "large_string"}:
            return None
        pc, why = pa.compute, "PostgreSQL cannot store a null character in text"
        marked = pc.match_substring(column, "\0")
        if (limit := self._limits.get(name)) is None:
            return marked, why
        # The database would cut off spaces.
        return pc.or_(marked, pc.greater(pc.utf8_length(column), limit)), f"{why}, or here more than {limit} characters"

    @override
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, given or None)
            return cursor.fetchall()

    @override
    def stream(self, sql: str, *given: Any) -> Iterator[RecordBatch]:
        # The driver would fetch the whole result of a statement with parameters at once.
        with self.transaction():
            self.execute(f"DECLARE pullstream_cursor NO SCROLL CURSOR FOR {sql}", *given)
            rows = True
            while rows:
                with self._connection.cursor() as cursor:
                    cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                    cursor.execute(f"FETCH {FETCHED} FROM pullstream_cursor")
                    rows = cursor.fetch_arrow_table().to_batches()
                for batch in rows:
                    _check(batch)
                    yield batch

    @override
    def load(self, table: str | None, schema: Schema, batches: Iterator[RecordBatch]) -> None:
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        place = {"temporary": True} if table else {"db_schema_name": self.name.schema} if self.name.schema else {}
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(table or self.name.table, reader, mode="append", **place)

    @override
    def write(self, schema: Schema, spool: Spool, batches: Iterator[RecordBatch]) -> None:
        super().write(schema, spool, batches)
        # COPY takes the bytes of another type for a value. Nobody can change the types until the transaction ends.
        found: Any = self.schema()
        for name, kind in zip(schema.names, schema.types, strict=True):
            if found.field(name).type not in {kind, self.stored(kind)}:
                raise self.plan.failed(
                    f"at the time {spool.time!r}: the type of the column {name!r} was changed during the run; none of "
                    f"it was committed. The next run continues with this time, and uses the new type"
                )

    @override
    def text(self, exc: BaseException) -> str:
        text = super().text(exc)
        if "permission denied for schema" in text:
            text += (
                f". Grant the role USAGE and CREATE on the schema. Or run the program once as a role that may create "
                f"tables, and then grant this one SELECT, INSERT and DELETE on {self.name.beside(TARGETS)} and "
                f"{self.name.beside(TIMES)}"
            )
        return text

    @override
    def is_about_rows(self, exc: Exception) -> bool:
        # A trigger that raises has the state P0001.
        return str(getattr(exc, "sqlstate", None) or "")[:2] in {"22", "23", "P0"}

    @override
    def is_unknown(self, exc: Exception) -> bool:
        # A failure without a state comes from the client: the connection is lost.
        state = str(getattr(exc, "sqlstate", None) or "08")
        return self._committing and (state[:2] == "08" or state[:3] == "57P" or state == "40003")

    @override
    def interrupt(self) -> None:
        self._connection.adbc_cancel()


def _check(batch: RecordBatch) -> None:
    """Refuse infinite dates and timestamps, which overflow when the driver makes them relative to 1970, and raw bytes.

    The driver delivers the protocol's bytes for types that it lacks, such as inet.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if raw := re.search(r"arrow\.opaque\[storage_type=binary, type_name=(.*?), vendor", str(field.type)):
            raise TableError(
                f"read_rows(): the column {field.name!r} has the type {raw[1]}, which Arrow lacks. Write "
                f"{quoted(field.name)}::text in the query"
            )
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            bits = field.type.bit_width
            least = pa.compute.min(column.view(f"int{bits}")).as_py()
            if least is not None and least <= _EPOCH[bits] - 2 ** (bits - 1):
                raise TableError(
                    f"read_rows(): the column {field.name!r} has an infinite date or time, which Arrow lacks. Leave "
                    f"such rows out in the query, or write nullif({quoted(field.name)}, 'infinity')"
                )


def _key(text: str) -> int:
    """Return the number of an advisory lock."""
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:8], "big", signed=True)
