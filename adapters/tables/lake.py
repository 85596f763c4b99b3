"""Tables as folders of Parquet files with a commit log: one commit contains the rows of a time and their record."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Final

from typing_extensions import override

from ..arrow import Schema, Spool, pa
from ..arrow.columns import without_views
from .entries import Entry
from .table import COMMON, TargetTable

_ORDER: Final = "pullstream_order"

MARK: Final = "pullstream"
"""The prefix of the names of records."""


class LakeTable(TargetTable):
    """A table in a folder."""

    merges = False
    """Whether the driver can upsert a subset of the columns."""

    @abstractmethod
    def load(self) -> None:
        """Read the state of the table, which `connect` does not."""

    @override
    def lock(self) -> None:
        super().lock()
        # Not before: the run that had the lock may have committed meanwhile.
        self.load()

    @override
    def kind(self, type: Any) -> str | None:
        types = pa.types
        if types.is_decimal128(type) or str(type) in {"binary", "large_binary", "timestamp[us, tz=UTC]"}:
            return str(type)
        return COMMON.get(str(type))

    @override
    def stored(self, type: Any) -> Any:
        return plain([pa.field("c", type)]).field(0).type

    def rows(self, schema: Schema, spool: Spool) -> Any:
        """Return the rows in batches; for an upsert, the last row of each key, in memory.

        They have the table's columns in the table's order, because the drivers match some by position.
        """
        found = schema if self.plan.mode == "upsert" and self.merges else self.schema() or schema
        batches = spool.batches()
        if found.names != schema.names:
            schema = pa.schema([schema.field(each.name) if each.name in schema.names else each for each in found])
            batches = (_arranged(batch, schema) for batch in batches)
        if self.plan.mode != "upsert":
            return pa.RecordBatchReader.from_batches(schema, batches)
        rows = pa.Table.from_batches(batches, schema)
        for at, field in enumerate(schema):
            if field.name in self.plan.keys and pa.types.is_floating(field.type):
                # 0.0 and -0.0 are one key, but not to the drivers, which would keep both rows or lose the later one.
                rows = rows.set_column(at, field, pa.compute.add(rows.column(at), pa.scalar(0.0, field.type)))
        numbered = rows.select(self.plan.keys).append_column(_ORDER, pa.array(range(rows.num_rows), pa.int64()))
        last = numbered.group_by(list(self.plan.keys)).aggregate([(_ORDER, "max")])
        return rows.take(last.column(f"{_ORDER}_max").combine_chunks().sort())

    def details(self, entry: Entry) -> dict[str, str]:
        """Return the metadata of a commit."""
        journal = {} if entry.journal is None else {f"{MARK}.journal": entry.journal}
        return {f"{MARK}.time": entry.text, f"{MARK}.number": str(entry.number), **journal}


def _arranged(batch: Any, schema: Schema) -> Any:
    """Return rows with these columns; missing columns are null."""
    columns = [
        batch.column(each.name) if each.name in batch.schema.names else pa.nulls(batch.num_rows, each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def plain(schema: Iterable[Any]) -> Schema:
    """Return a schema with the Arrow types that rows have, without views, large offsets and metadata."""
    same = {"large_string": pa.string(), "large_binary": pa.binary()}
    types = [same.get(str(each.type)) or without_views(each.type) for each in schema]
    return pa.schema([pa.field(each.name, kind, each.nullable) for each, kind in zip(schema, types, strict=True)])
