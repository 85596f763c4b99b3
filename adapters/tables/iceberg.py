"""Iceberg, in a folder with a catalog in SQLite: a commit changes the rows and the table's properties, which record it.

Each snapshot also records its time, but snapshots may expire, and properties do not. All times are in one property,
because the driver copies the properties one by one, some twenty times per commit.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from typing_extensions import override

from pullstream.authoring import of_extra

from ..arrow import Array, ArrowMissing, Schema, Spool, pa
from .entries import Entry, Recorded
from .lake import MARK, LakeTable, plain
from .sqlite import PATIENCE

_TIMES = f"{MARK}.times"
_JOURNAL = f"{MARK}.journal"
_COUNT = f"{MARK}.count"


class IcebergTable(LakeTable):
    """An Iceberg table in a folder, in the namespace that the schema names or "default"."""

    _catalog: Any = None
    _iceberg: Any = None
    """The driver's table; None if it does not exist."""
    _times: Sequence[str] = ()

    @override
    def connect(self) -> None:
        driver, errors = _driver("catalog.sql"), _driver("exceptions")
        sql = of_extra("iceberg", "sqlalchemy.exc", ArrowMissing, named="SQLAlchemy")
        own: list[type[Exception]] = [error for name in dir(errors) if isinstance(error := getattr(errors, name), type)]
        self.failures = (*own, sql.SQLAlchemyError, OSError, pa.ArrowException, ValueError)
        folder = Path(self.plan.target.location).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._identifier = (self.name.schema or "default", self.name.table)
        # The tables of a folder share the catalog, and its driver waits for only five seconds: too few for 80 sinks.
        uri = f"sqlite:///{folder}/catalog.db?timeout={PATIENCE}"
        for left in reversed(range(5)):
            try:
                self._catalog = driver.SqlCatalog(MARK, uri=uri, warehouse=str(folder))
                self._catalog.create_namespace_if_not_exists(self._identifier[:1])
                break
            except self.failures:
                # Another run, or another sink, has just created the same catalog or namespace.
                if not left:
                    raise

    @override
    def load(self) -> None:
        with suppress(_driver("exceptions").NoSuchTableError):
            self._iceberg = self._catalog.load_table(self._identifier)

    @override
    def disconnect(self) -> None:
        if self._catalog is not None:
            self._catalog.engine.dispose()

    @override
    def identity(self) -> tuple[Path, str]:
        return Path(self.plan.target.location, "lake"), repr(self._identifier)

    @override
    def schema(self) -> Schema | None:
        return None if self._iceberg is None else plain(self._iceberg.schema().as_arrow())

    @override
    def kind(self, type: Any) -> str | None:
        # Iceberg has no integers of 8 or 16 bits.
        return None if str(type) in {"int8", "int16"} else super().kind(type)

    @override
    def columns(self, found: Schema | None, derived: Schema | None = None) -> Schema:
        schema = super().columns(found, derived)
        for name in found.names if found is not None and self.plan.mode == "upsert" else ():
            if name not in schema.names:
                raise self.plan.refused(
                    f"an upsert into Iceberg needs all columns of the table: add {name!r} to schema="
                )
        return schema

    @override
    def unkept(self, name: str, column: Any) -> tuple[Array, str] | None:
        if name not in self.plan.keys or not pa.types.is_floating(column.type):
            return None
        return pa.compute.is_nan(column), "the driver finds no row with the key NaN"

    @override
    def recorded(self, journal: str | None) -> Recorded:
        if self._iceberg is None or _COUNT not in self._iceberg.properties:
            return Recorded()
        found: dict[str, str] = self._iceberg.properties
        self._times = json.loads(found[_TIMES])
        journal, count = found.get(_JOURNAL), int(found[_COUNT])
        metadata = self._iceberg.metadata
        return Recorded(str(metadata.table_uuid), journal, set(self._times), count, restored=_restored(metadata))

    @override
    def forgetting(self) -> str:
        keys = ", ".join(repr(key) for key in (_TIMES, _COUNT, _JOURNAL) if key in self._iceberg.properties)
        schema, table = self._identifier
        return (
            f"remove {self.records} first, with `table.transaction()` as a context manager and its "
            f"`remove_properties({keys})`; or delete the table with its rows: "
            f"`catalog.drop_table(({schema!r}, {table!r}))`. Do not remove its folder, which the catalog refers to"
        )

    @override
    def commit(self, entry: Entry, schema: Schema, spool: Spool) -> str:
        details, replaced = self.details(entry), None
        iceberg: Any = self._iceberg
        if iceberg is not None and self.plan.mode != "append":
            # Others may have compacted the table meanwhile. An append does not depend on that: the driver retries it.
            iceberg.refresh()
        if self.plan.mode == "replace_time" and iceberg is not None:
            column, time = self.of_time(schema, spool)
            same = _driver("expressions").EqualTo(column, time.as_py())
            # The driver warns if there is nothing to replace.
            replaced = same if iceberg.scan(same, limit=1).count() else None
        # A replaced time is already recorded.
        times = list(dict.fromkeys([*self._times, entry.text]))
        record = {_TIMES: json.dumps(times), _COUNT: str(entry.number)}
        if entry.first and entry.journal is not None:
            record[_JOURNAL] = entry.journal
        if iceberg is None:
            begun = self._catalog.create_table_transaction(self._identifier, schema)
        else:
            begun = iceberg.transaction()
        rows = self.rows(schema, spool)
        with begun as transaction:
            if self.plan.mode == "upsert" and iceberg is not None:
                transaction.upsert(rows, list(self.plan.keys), snapshot_properties=details)
            elif replaced is not None:
                transaction.overwrite(rows, replaced, details)
            else:
                transaction.append(rows, details)
            # Last, because each later step of the driver would apply it again.
            transaction.set_properties(record)
        self._times = times
        if iceberg is None:
            iceberg = self._iceberg = self._catalog.load_table(self._identifier)
        return str(iceberg.metadata.table_uuid)


def _restored(metadata: Any) -> bool:
    """Whether the last recorded time is in a snapshot that the table was rolled back from, and that has not expired."""
    snapshots = {each.snapshot_id: each for each in metadata.snapshots}
    recorded = [id for id, each in snapshots.items() if each.summary and each.summary.get(f"{MARK}.number")]
    id = metadata.current_snapshot_id
    while id in snapshots and id not in recorded:
        id = snapshots[id].parent_snapshot_id
    # A snapshot has no parent also if that has expired. The numbers begin again if a user has removed the records.
    return id in snapshots and id != recorded[-1]


def _driver(name: str) -> Any:
    return of_extra("iceberg", f"pyiceberg.{name}", ArrowMissing, named="pyiceberg")
