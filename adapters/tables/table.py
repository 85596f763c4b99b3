"""Tables to write: a lock that permits one writer, and commits that contain the rows of a time and their record."""

import hashlib
import os
import re
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pullstream.authoring import close_locked, locked

from ..arrow import Array, Schema, Spool, pa
from .checking import exact_times
from .entries import Entry, Recorded
from .target import OWN, RowsPlan, TableBusyError, folded

COMMON: Final = {
    "bool": "BOOLEAN", "int8": "SMALLINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "float": "REAL",
    "double": "DOUBLE PRECISION", "string": "TEXT", "large_string": "TEXT", "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}  # fmt: skip
"""The SQL types that all databases share, by the names of Arrow types."""


class TargetTable(ABC):
    """A table and the connection to it; its methods block, and one thread at a time may call them."""

    failures: tuple[type[Exception], ...] = ()
    """The driver's exceptions."""
    exists = False
    ignores_case = False
    """Whether column names that differ only in case are the same."""
    cancelled = False
    """Whether the work was stopped."""
    _lock: "FileLock | None" = None

    def __init__(self, plan: RowsPlan) -> None:
        self.plan = plan
        self.name = plan.name

    @abstractmethod
    def connect(self) -> None:
        """Connect."""

    def disconnect(self) -> None:  # noqa: B027 - not every table has a connection
        """Disconnect, if it was connected."""

    def close(self) -> None:
        """Disconnect, and release the lock."""
        try:
            self.disconnect()
        finally:
            if self._lock is not None:
                self._lock.release()

    def lock(self) -> None:
        """Become the only writer while the process and the connection last, or raise `TableBusyError`."""
        try:
            self._lock = FileLock(*self.identity())
        except BlockingIOError:
            raise self.busy() from None

    @abstractmethod
    def identity(self) -> tuple[Path, str]:
        """Return a path, for a lock file beside it, and a name; all spellings of the same table give the same pair."""

    @abstractmethod
    def schema(self) -> Schema | None:
        """Return the schema of the table; None if there is no such table."""

    @abstractmethod
    def kind(self, type: Any) -> str | None:
        """Return the table's type for an Arrow type; None if no type stores all of its values."""

    def same_instants(self, type: Any) -> Any:
        """Return the type for the same instants in microseconds or in UTC, if the table supports only that."""
        if not pa.types.is_timestamp(type) or self.kind(type) is not None:
            return None
        units = [type.unit, *(["us"] if type.unit in {"s", "ms"} else [])]
        others = [pa.timestamp(unit, zone) for unit in units for zone in (type.tz, type.tz and "UTC")]
        return next((other for other in others if self.kind(other) is not None), None)

    @abstractmethod
    def stored(self, type: Any) -> Any:
        """Return the type that `schema` reports for a column created for `type`; None if none can be created."""

    def columns(self, found: Schema | None, derived: Schema | None = None) -> Schema:
        """Return the columns to write. They have the same types whether the table exists or is to be created."""
        plan = self.plan
        schema: Any = plan.schema or derived or found
        if not schema:
            raise plan.refused("the rows have no columns: give them one, or leave out empty rows with ps.filter")
        if self.ignores_case and len(set(map(folded, schema.names))) < len(schema):
            raise plan.refused(
                f"{plan.target.kind} does not distinguish names that differ only in case, and the columns are "
                f"{', '.join(schema.names)}: rename some, for example with ps.map"
            )
        if plan.schema is not None and plan.time is not None and plan.time not in plan.schema.names:
            raise plan.refused(f"the schema has no column {plan.time!r}, which holds the times: add it")
        for field in schema:
            self.check_column(field, found)
        for name in (*plan.keys, *filter(None, (plan.time,))):
            if name not in schema.names:
                raise plan.refused(f"there is no column {name!r}; the columns are {', '.join(schema.names)}")
        nullable = {each.name for each in found or schema if each.nullable}.difference(plan.keys)
        return pa.schema([(field.name, field.type, field.name in nullable) for field in schema])

    def check_column(self, field: Any, found: Schema | None) -> None:
        """Refuse a column that the table cannot have, or has with another type."""
        plan = self.plan
        if found is not None and field.name not in found.names:
            raise plan.refused(f"it has no column {field.name!r}; its columns are {', '.join(found.names)}")
        there = field if found is None else found.field(field.name)
        if pa.types.is_null(there.type):
            metadata: Any = there.metadata or {}
            declared = metadata.get(b"type", b"null").decode()
            raise plan.refused(
                f"the type of its column {field.name!r}, {declared}, is not supported: give a schema= without that "
                f"column, which then gets its default, or declare another type in the table"
            )
        if plan.keys and folded(field.name).startswith(OWN):
            raise plan.refused(f"an upsert reserves names that begin with {OWN}: rename the column {field.name!r}")
        if found is not None and there.type not in {field.type, self.stored(field.type)}:
            raise plan.refused(f"its column {field.name!r} is {there.type}, not {field.type}: change schema=")
        if found is None and self.kind(field.type) is None:
            other = self.same_instants(field.type)
            other = "another type" if other is None else f"{other}, which keeps the instants,"
            parts = ", such as (key, {'n': 1}) to {'item': key, 'n': 1}" if pa.types.is_struct(field.type) else ""
            raise plan.refused(
                f"{plan.target.kind} has no type for the column {field.name!r}, {field.type}: convert the values "
                f"with ps.map{parts}, or give {other} with schema="
            )

    @abstractmethod
    def recorded(self, journal: str | None) -> Recorded:
        """Return the record of earlier runs. `journal` is that of this run."""

    @abstractmethod
    def commit(self, entry: Entry, schema: Schema, spool: Spool) -> str:
        """Commit the rows of a time with their record, all or nothing, and return the table's id.

        It creates the table if it does not exist.
        """

    def unkept(self, name: str, column: Any) -> tuple[Array, str] | None:  # noqa: ARG002 - for subclasses
        """Mark values that the database would change or refuse, and say why; None if it stores all of this type."""
        return None

    def of_time(self, schema: Schema, spool: Spool) -> tuple[str, Any]:
        """Return the name of the time column, and the time of the rows as a value of that column."""
        assert self.plan.time is not None
        return self.plan.time, exact_times([spool.time], schema.field(self.plan.time).type)[0]

    def refused_row(self, exc: Exception, schema: Schema, spool: Spool) -> str:  # noqa: ARG002 - for subclasses
        """Describe the first row that made a commit fail, for the message; empty if no row did."""
        return ""

    def is_unknown(self, exc: Exception) -> bool:  # noqa: ARG002 - for subclasses
        """Whether the last commit may have succeeded despite a failure."""
        return False

    def cancel(self) -> None:
        """Stop the work in another thread, if the driver can."""
        self.cancelled = True

    @abstractmethod
    def forgetting(self) -> str:
        """Return the advice for records that are no longer true, for messages."""

    @property
    def records(self) -> str:
        """The things to remove to start over. Without its records, "append" would write rows twice."""
        again = ", and the rows of these times, which are written again," if self.plan.mode == "append" else ""
        return f"its records{again if self.exists else ''}"

    def text(self, exc: BaseException) -> str:
        """Return the driver's message, on one line and without the password."""
        message = re.sub(r"\s*Query was: .*?(?=\. SQLSTATE|$)", "", str(exc), flags=re.DOTALL)
        return self.plan.target.hidden(" ".join(message.split()))

    def busy(self) -> TableBusyError:
        """Return the refusal of a second writer."""
        return TableBusyError(
            f"write_rows(): another run, or another sink of this one, is writing to {self.plan.shown}: wait until it "
            f"ends, or write to another table"
        )


def table_of(plan: RowsPlan) -> TargetTable:
    """Return an unconnected table; the kind "sqlite" has the class `SqliteTable` in the file sqlite.py."""
    kind = plan.target.kind
    make: Any = getattr(import_module(f"{__package__}.{kind}"), f"{kind.title()}Table")
    return make(plan)


class FileLock:
    """A lock on a table in a database file; the system releases it when the process ends for any reason.

    Making it takes the lock, or raises BlockingIOError if another writer has it.
    """

    def __init__(self, path: Path, name: str) -> None:
        real = path.resolve()
        digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:12]
        self._path = real.with_name(f".{real.name}-{digest}.lock")
        self._file: int | None = None
        if os.name == "posix":
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            # The last holder may remove the file in between.
            self._file = locked(lambda: os.open(self._path, flags, 0o600), self._path.stat)

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            close_locked(self._file)
            self._file = None
