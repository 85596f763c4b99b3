"""Read tables of databases, and write them exactly once: one transaction per completed time."""

from pullstream.authoring import publish

from ..arrow import ArrowMissing as ArrowMissing, NullTimeError as NullTimeError, SchemaError as SchemaError
from .reading import read_changes as read_changes, read_rows as read_rows
from .target import TableBusyError as TableBusyError, TableError as TableError
from .writing import write_rows as write_rows

publish(__name__)
