"""The arguments of `write_rows`, and the columns that follow from them."""

from typing import Any

import attrs

from ..arrow import Schema, SchemaError, pyarrow
from .errors import TableError
from .table import Mode, TargetTable
from .target import OWN, Address, Name, folded


@attrs.frozen
class RowsPlan:
    """The arguments of the sink."""

    target: Address
    name: Name
    mode: Mode
    keys: tuple[str, ...]
    time: str | None
    schema: Any

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

    def chosen(self, table: TargetTable, found: Schema | None, derived: Schema | None = None) -> Schema:
        """Return the columns to write, of an existing table with its types."""
        pa = pyarrow()
        schema: Any = self.schema or derived or found
        if not schema:
            raise self.refused("the rows have no columns: give them one, or leave out empty rows with ps.filter")
        if table.ignores_case and len(set(map(folded, schema.names))) < len(schema):
            raise self.refused(
                f"{self.target.kind} takes names that differ only in case for one column, and the columns are "
                f"{', '.join(schema.names)}: rename some, with ps.map for example"
            )
        if self.schema is not None and self.time is not None and self.time not in self.schema.names:
            raise self.refused(f"the schema has no column {self.time!r}, which is to have the time: add it")
        for field in schema:
            if found is not None and field.name not in found.names:
                raise self.refused(f"it has no column {field.name!r}; its columns are {', '.join(found.names)}")
            there = field if found is None else found.field(field.name)
            if pa.types.is_null(there.type):
                metadata: Any = there.metadata or {}
                declared = metadata.get(b"type", b"null").decode()
                raise self.refused(
                    f"the type of its column {field.name!r}, {declared}, is not supported: give a schema= without that "
                    f"column, which then gets its default, or declare another type in the table"
                )
            if self.target.kind == "postgresql" and len(field.name.encode(errors="replace")) > 63:
                raise self.refused(f"PostgreSQL cuts names off after 63 bytes: rename the column {field.name!r}")
            if self.keys and folded(field.name).startswith(OWN):
                raise self.refused(f"an upsert has columns of its own with {OWN}: rename the column {field.name!r}")
            if found is not None and there.type not in {field.type, table.stored(field.type)}:
                raise self.refused(f"its column {field.name!r} is {there.type}, and not {field.type}: change schema=")
            if found is None and table.kind(field.type) is None:
                raise self.refused(
                    f"{self.target.kind} has no type for the column {field.name!r}, {field.type}: convert the values "
                    f"with ps.map, or give another type with schema="
                )
        if self.mode == "upsert" and self.target.kind == "iceberg" and found is not None:
            for name in found.names:
                if name not in schema.names:
                    raise self.refused(
                        f"an upsert into Iceberg needs all columns of the table: add {name!r} to schema="
                    )
        for name in (*self.keys, *filter(None, (self.time,))):
            if name not in schema.names:
                raise self.refused(f"there is no column {name!r}; the columns are {', '.join(schema.names)}")
        fields = ((field if found is None else found.field(field.name)) for field in schema)
        return pa.schema([(each.name, each.type, each.nullable and each.name not in self.keys) for each in fields])
