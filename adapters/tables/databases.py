"""The table classes of all databases, each of which needs a driver of its own."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .table import Mode, TargetTable
from .target import Address, Name


def table_of(
    target: Address, name: Name, mode: Mode = "append", keys: Sequence[str] = (), time: str | None = None
) -> TargetTable:
    """Return a table, not connected: "sqlite" has the class `SqliteTable` in the file sqlite.py."""
    make: Any = getattr(import_module(f"{__package__}.{target.kind}"), f"{target.kind.title()}Table")
    return make(target, name, mode, keys, time)
