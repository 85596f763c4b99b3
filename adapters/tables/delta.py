"""Delta Lake: a commit's log entry contains its time, also as an application transaction.

Transactions stay in the table's checkpoints when old log entries are cleaned up. Two commits of the same transaction
conflict, even from different machines.
"""

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import attrs
from typing_extensions import override

from pullstream.authoring import of_extra

from ..arrow import ArrowMissing, Schema, Spool, pa
from .entries import Entry, Recorded
from .lake import MARK, LakeTable, plain
from .target import quoted

JOURNALED = f"{MARK} journal"


@attrs.frozen
class _Transactions:
    table: Any

    def __contains__(self, text: object) -> bool:
        return self.table.transaction_version(f"{MARK} time {text}") is not None


class DeltaTable(LakeTable):
    """A Delta Lake table in a folder."""

    delta: Any = None
    """The driver's table; None if it does not exist."""
    ignores_case = True
    merges = True

    @override
    def connect(self) -> None:
        self._deltalake = of_extra("delta", "deltalake", ArrowMissing)
        self.failures = (self._deltalake.exceptions.DeltaError, OSError, pa.ArrowException, ValueError)
        self.path = self.name.folder(self.plan.target.location)

    @override
    def load(self) -> None:
        with suppress(self._deltalake.exceptions.TableNotFoundError):
            self.delta = self._deltalake.DeltaTable(self.path)

    @override
    def identity(self) -> tuple[Path, str]:
        return self.path, "delta"

    @override
    def schema(self) -> Schema | None:
        return None if self.delta is None else plain(pa.schema(self.delta.schema().to_arrow()))

    @override
    def recorded(self, journal: str | None) -> Recorded:
        delta: Any = self.delta
        if delta is None or (count := delta.transaction_version(MARK)) is None:
            return Recorded()
        known = None
        if delta.transaction_version(JOURNALED) is not None:
            known = journal
            if delta.transaction_version(f"{JOURNALED} {journal}") is None:
                # The log contains the other journal's name until it is cleaned up.
                named: list[str] = [commit.get(f"{MARK}.journal", "") for commit in delta.history()]
                known = next(filter(None, named), "of another run")
        return Recorded(delta.metadata().id, known, _Transactions(delta), count, restored=self._restored(count))

    def _restored(self, count: int) -> bool:
        """Whether the table was restored to a version before the last recorded time, as far as the log goes back."""
        version, until = self.delta.version(), 1 << 63
        for commit in chain.from_iterable(map(self.delta.history, (1, 100, None))):
            if commit["version"] <= version and commit.get("timestamp", 0) <= until:
                if commit.get("operation") == "RESTORE":
                    # Spark logs a time without its zone: such a restore goes unnoticed.
                    to = commit["operationParameters"]
                    version, until = int(to.get("version") or version), int(to.get("datetime") or until)
                elif f"{MARK}.number" in commit:
                    return int(commit[f"{MARK}.number"]) < count
        return False

    @override
    def is_unknown(self, exc: Exception) -> bool:
        # A step after the commit, such as a checkpoint, may have failed.
        with suppress(*self.failures):
            return self._deltalake.DeltaTable(self.path).transaction_version(MARK) == self._number
        return False

    @override
    def forgetting(self) -> str:
        return (
            f"write to another table. The records cannot be removed without the rows: to start over, remove the folder "
            f"{self.path}, which deletes the table"
        )

    @override
    def commit(self, entry: Entry, schema: Schema, spool: Spool) -> str:
        delta: Any = self.delta
        self._number = entry.number
        if delta is not None and self.plan.mode != "append":
            # Others may have compacted and vacuumed the table meanwhile. An append seldom depends on that.
            delta.update_incremental()
        try:
            self._commit(entry, schema, spool)
        except self._deltalake.exceptions.CommitFailedError:
            if delta is None:
                raise
            delta.update_incremental()
            if (delta.transaction_version(MARK) or 0) != entry.number - 1:
                # Another run has committed a time, and conflicts with this one.
                raise
            self._commit(entry, schema, spool)
        if delta is None:
            self.delta = self._deltalake.DeltaTable(self.path)
        return self.delta.metadata().id

    def _commit(self, entry: Entry, schema: Schema, spool: Spool) -> None:
        delta: Any = self.delta
        journal = [] if entry.journal is None else [JOURNALED, f"{JOURNALED} {entry.journal}"]
        names = [MARK, f"{MARK} time {entry.text}", *(journal if entry.first else ())]
        properties = self._deltalake.CommitProperties(
            custom_metadata=self.details(entry),
            app_transactions=[self._deltalake.Transaction(name, entry.number) for name in names],
        )
        rows = self.rows(schema, spool)
        if self.plan.mode == "upsert" and delta is not None:
            same = " AND ".join(f"target.{quoted(key)} = source.{quoted(key)}" for key in self.plan.keys)
            merge = delta.merge(rows, same, "source", "target", commit_properties=properties)
            # The driver's own list of all columns does not quote their names correctly.
            columns = {quoted(name): f"source.{quoted(name)}" for name in schema.names}
            merge.when_matched_update(columns).when_not_matched_insert(columns).execute()
        else:
            replaced: dict[str, str] = {"mode": "append"}
            if self.plan.mode == "replace_time" and delta is not None:
                column, time = self.of_time(schema, spool)
                text = time.cast("string").as_py().replace("'", "''")
                replaced = {"mode": "overwrite", "predicate": f"{quoted(column)} = '{text}'"}
            feed = {} if delta is not None else {"configuration": {"delta.enableChangeDataFeed": "true"}}
            self._deltalake.write_deltalake(
                self.path if delta is None else delta, rows, commit_properties=properties, **replaced, **feed
            )
