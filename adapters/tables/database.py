"""Databases: a connection that loads Arrow batches, with transactions and a lock for the only writer of a table."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..arrow import RecordBatch, Schema
from .errors import TableBusyError
from .target import Address, Name, quoted

COMMON: Final = {
    "bool": "BOOLEAN", "int8": "SMALLINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "float": "REAL",
    "double": "DOUBLE PRECISION", "string": "TEXT", "large_string": "TEXT", "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}  # fmt: skip
"""The SQL types that the three databases share, by the names of Arrow's."""


class Database(ABC):
    """A connection to a database; its methods block, and one thread at a time may call them."""

    failures: tuple[type[Exception], ...] = ()
    """The driver's exceptions."""

    def __init__(self, target: Address, name: Name) -> None:
        self.target = target
        self.name = name

    @property
    def record_name(self) -> str:
        """The table's name in the records: the same for all spellings that mean the same table."""
        return self.name.table.lower()

    @abstractmethod
    def connect(self) -> None:
        """Connect."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect, and release the lock."""

    @abstractmethod
    def lock(self) -> None:
        """Become the only writer of the table, for as long as the process and the connection last.

        Raises:
            TableBusyError: somebody else is.
        """

    @abstractmethod
    def execute(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        """Execute a statement with the values of $1, $2, ..., and return the rows."""

    @abstractmethod
    def transaction(self) -> "Any":
        """Return a block that is a transaction, which is committed if the block does not raise."""

    @abstractmethod
    def schema(self) -> Schema | None:
        """Return the schema of the table; None if there is no such table."""

    @abstractmethod
    def kind(self, type: Any) -> str | None:
        """Return the SQL type for a type of Arrow; None if there is none that keeps all of its values."""

    @abstractmethod
    def load(self, table: str | None, schema: Schema, batches: Iterator[RecordBatch]) -> None:
        """Append rows with the driver's bulk load to the table, or to a temporary table."""

    def refusal(self, batch: RecordBatch) -> tuple[str, int, str] | None:  # noqa: ARG002 - for subclasses
        """Return a column, a row and a reason if the database would change or refuse a value; None otherwise."""
        return None

    def wait_for_turn(self) -> None:  # noqa: B027 - for subclasses
        """Wait, in a transaction, until no other run creates the tables of the records."""

    def is_about_rows(self, exc: Exception) -> bool:
        """Whether a failure is about the rows, and not about the connection or the disk."""
        text = str(exc).lower()
        return any(word in text for word in ("constraint", "conversion", "out of range", "mismatch", "invalid input"))

    def is_lost(self, exc: Exception) -> bool:  # noqa: ARG002 - for subclasses
        """Whether a failure is that of the connection, so that nobody knows what the last commit has done."""
        return False

    @abstractmethod
    def cancel(self) -> None:
        """Stop the statement that another thread executes."""

    def text(self, exc: BaseException) -> str:
        """Return the driver's message, on one line and without the password."""
        message = str(exc).partition("\nquery was:")[0]
        return self.target.hidden(" ".join(message.split()))

    def busy(self, holder: str = "another run, or another sink of this one,") -> TableBusyError:
        """Return the refusal of a second writer."""
        return TableBusyError(
            f"write_rows(): {holder} is writing to the table {str(self.name)!r} in {self.target.shown}: wait until it "
            f"ends, or write to another table"
        )


class FileLock:
    """A lock on a table of a database that is a file; the system releases it when the process ends for any reason."""

    def __init__(self, path: str, name: Name) -> None:
        real = Path(path).resolve()
        digest = hashlib.sha256(str(name).lower().encode(errors="surrogatepass")).hexdigest()[:12]
        self._path = real.with_name(f".{real.name}-{digest}.lock")
        self._file: int | None = None

    def take(self) -> bool:
        """Take the lock; return False if somebody else has it."""
        if os.name != "posix":
            return True
        fcntl: Any = import_module("fcntl")
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Its last holder may have removed it in between.
                if self._path.exists() and os.fstat(file).st_ino == self._path.stat().st_ino:
                    self._file, file = file, -1
                    return True
            except BlockingIOError:
                return False
            finally:
                if file >= 0:
                    os.close(file)

    def release(self) -> None:
        """Release the lock, if it was taken."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


def columns_of(names: Sequence[str]) -> str:
    """Return the names of columns for SQL."""
    return ", ".join(map(quoted, names))
