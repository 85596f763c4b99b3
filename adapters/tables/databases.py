"""The table classes of all databases, each of which needs a driver of its own."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from .table import Mode, TargetTable
from .target import Address, Name

_CLASSES: Final = {
    "sqlite": "SqliteTable",
    "duckdb": "DuckdbTable",
    "postgresql": "PostgresqlTable",
    "delta": "DeltaLakeTable",
    "iceberg": "IcebergTable",
}
"""The class of each kind of database, in the file of that name."""


def table_of(
    target: Address, name: Name, mode: Mode = "append", keys: Sequence[str] = (), time: str | None = None
) -> TargetTable:
    """Return a table, not connected."""
    make: Any = getattr(import_module(f"{__package__}.{target.kind}"), _CLASSES[target.kind])
    return make(target, name, mode, keys, time)
