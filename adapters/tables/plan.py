"""The arguments of `write_rows`."""

from typing import Any, Literal, TypeAlias

import attrs

from ..arrow import SchemaError
from .errors import TableError
from .target import Address, Name

Mode: TypeAlias = Literal["append", "upsert", "replace_time"]


@attrs.frozen
class RowsPlan:
    """The arguments of the sink."""

    target: Address
    name: Name
    mode: Mode = "append"
    keys: tuple[str, ...] = ()
    time: str | None = None
    schema: Any = None

    @property
    def shown(self) -> str:
        """The table, for messages."""
        return f"the table {str(self.name)!r} in {self.target.shown}"

    def refused(self, why: str) -> SchemaError:
        """Return the error about a value or a column."""
        return SchemaError(f"write_rows() to {self.shown}: {why}")

    def failed(self, why: str) -> TableError:
        """Return the error about a time."""
        return TableError(f"write_rows() to {self.shown}, {why}")
