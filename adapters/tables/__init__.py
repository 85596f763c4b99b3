"""Read tables of databases, and write them exactly once: one transaction per completed time."""

from pullstream.authoring import publish

from ..arrow import ArrowMissing, NullTimeError, SchemaError
from .reading import read_changes, read_rows
from .target import TableBusyError, TableError
from .writing import write_rows

__all__ = [
    "ArrowMissing",
    "NullTimeError",
    "SchemaError",
    "TableBusyError",
    "TableError",
    "read_changes",
    "read_rows",
    "write_rows",
]
publish(__name__)
