"""`write_rows`: a sink that commits the rows of each complete time to a table, in one transaction."""

import datetime as dt
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, get_args

from typing_extensions import override

from pullstream import Batch, Context, Sink
from pullstream.authoring import LOG, Call, Module, OneOf, bound, of_extra
from pullstream.timely import Antichain

from ..arrow import ArrowMissing, OpenTimes, Schema, Spool, derived_schema, pa, row_count, row_place, schema_argument
from ..sinks import SinkBody, SpoolCommitter
from ..stopping import stoppably
from .checking import CheckedPacking, CheckedTimes
from .entries import Recorded, encoded
from .records import Records
from .table import table_of
from .target import Address, Mode, Name, RowsPlan, TableError

FIRST_ROWS: Final = 8192
"""The maximum number of rows that wait for the columns to be derived."""

_TIMES: Final[Mapping[type, str]] = {int: "int64", str: "string", dt.date: "date32", dt.datetime: "timestamp[us]"}

_UNWRITABLE: Final = re.compile("Permission denied|Read-only file|readonly database|unable to open database file$")


@bound
def write_rows(
    target: str | os.PathLike[str],
    table: str | tuple[str, str],
    *,
    mode: Mode = "append",
    key: str | Sequence[str] | None = None,
    time: str | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
) -> Sink[Any, list[Hashable]]:
    """Write rows to a table of a database, one transaction per time, when the time is complete.

    >>> import sqlite3, tempfile, pullstream as ps
    >>> from pullstream import tables
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sales = ps.values([{"day": 1, "item": "tea"}, {"day": 2, "item": "figs"}], time=lambda row: row["day"])
    ...     for _ in range(2):
    ...         times = ps.run(ps.pipe(sales, tables.write_rows(f"{folder}/sales.db", "sales")))
    ...     list(sqlite3.connect(f"{folder}/sales.db").execute("select * from sales"))
    [(1, 'tea'), (2, 'figs')]

    `target` is a file whose name ends with .sqlite, .db or .duckdb, or a URL: sqlite:///sales.db, duckdb:///sales.duckdb,
    postgresql://user@host/database, or delta:///folder (Delta Lake) and iceberg:///folder (Iceberg) for a folder of
    tables. `table` is a name, or a pair (schema, name); a name with a dot, in a database, needs the pair. The table is
    created with the first time, if it does not exist. The result is the list of times that this run committed.

    A transaction contains all rows of a time, and the record that the time was committed. So other readers see a time
    as a whole or not at all. A program that was killed can be started again: it commits what is missing and repeats
    nothing, with a journal or without. With `mode`:

    - "append": the rows of a committed time are not written again, in any later run.
    - "upsert": likewise, and a row replaces the one with the same `key`, a column or several. Of the rows of one time
      with the same key, the last counts.
    - "replace_time": the rows of a time replace those in the table. `time` must name the time column.

    `time` names a column for times: if rows have it, its values must be their times; if not, it is added. Rows are as
    in `files.write_parquet`; Arrow record batches are the fastest. The columns are those of the `schema`, or of the
    existing table, or are derived from the first time to be complete: from those of its rows that are among the first
    8,192 of all. Each value is stored unchanged or refused, but a column of 32-bit floats rounds floats. Rows of open
    times wait in memory and, above 64 MB in all, in temporary files.

    Only one run at a time, with one sink, may write to a table. If it was written with a journal, others are refused.

    Raises:
        CompositionError: the target, the table's name, the mode or the schema is invalid; when composing.
        TableBusyError: another run or sink writes there, or another process has the DuckDB file open.
        SchemaError: a value does not match its column.
        TableError: the table belongs to another journal, or the database refused something.
        ArrowMissing: the driver is not installed.
    """
    module = "write_rows"
    OneOf(*get_args(Mode))(Call(module, name="mode"), mode)
    keys: tuple[str, ...] = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if bool(keys) != (mode == "upsert") or not all(isinstance(name, str) for name in keys):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call(module).refuse(
            f"got key={key!r} with mode={mode!r}: mode='upsert' needs the key's column, or a list of columns, and the "
            f"other modes take none"
        )
    if (time is None and mode == "replace_time") or time == "" or not isinstance(time, (str, type(None))):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call(module).refuse(f"got time={time!r} with mode={mode!r}: give the name of the column with the time")
    where = Address.of(module, target)
    if schema is not None:
        of_extra(where.kind, "pyarrow", ArrowMissing)
    plan = RowsPlan(where, Name.of(module, table, where.kind), mode, keys, time, schema_argument(module, schema))
    own = {"mode": mode if mode != "append" else None, "key": key, "time": time, "schema": plan.schema}
    shown = tuple((name, value) for name, value in own.items() if value is not None)
    return Sink((Module(module, SinkBody(RowsCommitter, plan), (where.shown, table), shown),))


class RowsCommitter(SpoolCommitter):
    """A run of the sink."""

    def __init__(self, plan: RowsPlan) -> None:
        super().__init__()
        self._plan = plan
        self._table = table_of(plan)
        self._records: Records
        self._schema: Schema
        self._first: list[Batch[Any]] = []
        """The rows before the schema is known."""
        self._rows = 0
        self._ctx: Context
        self._recorded = Recorded()
        self._skipped = Counter[Hashable]()
        """The number of rows at each open time that is not written again."""

    # ---- the protocol

    @override
    async def open(self, ctx: Context) -> Container[Hashable]:
        self._ctx = ctx
        journal = None if ctx.journal is None else str(ctx.journal.resolve())
        self._records = Records(self._table, journal)
        remembered = ctx.memory.ledger.get("state")
        committed, found = await stoppably(self._begin, self._table.cancel, remembered)
        ctx.status(lambda: f"{len(self.written)} times written to {self._plan.name}")
        if found is not None or self._plan.schema is not None:
            self._use(self._table.columns(found))
        if self._plan.mode == "replace_time" or not committed.count:
            return ()
        self._recorded = committed
        times = f"{committed.count} time{'s' * (committed.count != 1)}"
        LOG.info("%s has %s from earlier runs, and no time is written again", self._plan.shown, times)
        return committed

    def _begin(self, remembered: tuple[str, int] | None) -> tuple[Recorded, Schema | None]:
        table = self._table
        of_extra(self._plan.target.kind, "pyarrow", ArrowMissing)
        try:
            table.connect()
            table.lock()
            found = table.schema()
            table.exists = found is not None
            return self._records.open(remembered), found
        except table.failures as exc:
            why = table.text(exc)
            fix = ". Give the path of a writable file in a writable folder" if _UNWRITABLE.search(why) else ""
            raise TableError(f"write_rows() cannot open {self._plan.shown}: {why}{fix}") from None

    @override
    def prepare(self, batch: Batch[Any]) -> Awaitable[None] | None:
        if self.spools is not None:
            return super().prepare(batch)
        self._first.append(batch)
        self._rows += row_count(batch.values)
        return self.added(self._derive()) if self._rows >= FIRST_ROWS else None

    @override
    def skip(self, batch: Batch[Any]) -> None:
        self._skipped[batch.time] += row_count(batch.values)

    @override
    def skipped(self, time: Hashable) -> None:
        # A complete time receives no more rows.
        if time == 0 and self._recorded.count == 1 and self._ctx.journal is None:
            LOG.warning(
                "an earlier run has written values at the time 0 to %s, so values at the time 0 are not written again. "
                "Values without an assigned time are at 0: give each run times of its own, or use mode='replace_time'",
                self._plan.shown,
            )
        rows, recorded = self._skipped.pop(time), self._recorded.rows.pop(encoded(time), None)
        if recorded not in {None, rows}:
            LOG.warning(
                "%s: at the time %r, an earlier run has written %s, and this run has %s. They are not written: mode=%r "
                "never writes a time again. If times are computed again, use mode='replace_time'; if rows arrive late, "
                "give their source or stamp() more lateness",
                self._plan.shown,
                time,
                *(f"{count} row{'s' * (count != 1)}" for count in (recorded, rows)),
                self._plan.mode,
            )

    @override
    async def commit(self, times: Sequence[Hashable]) -> None:
        for time in times:
            with (self.spools or self._derive(time)).complete([time]) as [spool]:
                await stoppably(self._commit, self._table.cancel, time, spool)
            self.written.append(time)
            if self._ctx.memory.saves:
                # A later run checks that the journal and the table belong together.
                self._ctx.memory.ledger["state"] = self._records.state

    def _commit(self, time: Hashable, spool: Spool) -> None:
        table = self._table
        try:
            id = table.commit(self._records.entry(time, spool.rows), self._schema, spool)
        except table.failures as exc:
            state = "none of it was committed. The next run continues with this time"
            unknown = table.is_unknown(exc)
            if unknown:
                state = "it is unknown whether it was committed. The next run checks the table and continues from there"
            row = "" if unknown else table.refused_row(exc, self._schema, spool)
            raise self._plan.failed(f"at the time {time!r}{row}: {table.text(exc)}; {state}") from None
        self._records.committed(id)
        table.exists = True

    @override
    def release(self) -> None:
        self._table.close()

    # ---- columns

    def _derive(self, complete: Hashable = None) -> OpenTimes:
        """Derive the columns from the first complete time or, before there is one, from the one that will be first.

        Rows at other times do not count: how many of them have arrived depends on the limit of the run.
        """
        plan = self._plan
        head = list(_head(self._first, FIRST_ROWS))
        time: Any = next(iter(Antichain(time for time, _ in head))) if complete is None else complete
        some = [values for each, values in head if each == time]
        place = partial(row_place, runs=[(time, sum(map(row_count, some)))])
        schema = derived_schema(f"write_rows() to {plan.shown}", some, place)
        if plan.time is not None and plan.time not in schema.names:
            if type(time) not in _TIMES:
                raise plan.refused(
                    f"the time {time!r} cannot be the value of the column {plan.time!r}: convert the times with "
                    f"ps.map_time to whole numbers, dates or text"
                )
            aware = getattr(time, "tzinfo", None) is not None
            kind = pa.timestamp("us", "UTC") if aware else pa.type_for_alias(_TIMES[type(time)])
            schema = schema.append(pa.field(plan.time, kind))
        if empty := [field.name for field in schema if pa.types.is_null(field.type)]:
            raise plan.refused(
                f"the column {empty[0]!r} has only nulls at the first time, {time!r}, so it has no type: give a schema="
            )
        table = self._table
        schema = pa.schema([field.with_type(table.same_instants(field.type) or field.type) for field in schema])
        opened = self._use(table.columns(None, schema))
        for batch in self._first:
            opened.add(batch)
        self._first = []
        return opened

    def _use(self, schema: Schema) -> OpenTimes:
        plan = self._plan
        self._schema = schema
        optional = () if plan.time is None else (plan.time,)
        table = self._table
        packing = CheckedPacking(schema, plan.refused, optional, unkept=table.unkept, exists=table.exists)
        self.spools = CheckedTimes(packing, self._spool, plan.failed, plan.time, refused=plan.refused)
        return self.spools

    def _spool(self, time: Hashable) -> Spool:
        try:
            encoded(time)
        except ValueError as exc:
            why = f"the time {exc}: convert the times with ps.map_time to numbers, dates or text"
            raise self._plan.refused(why) from None
        return Spool(self._schema, time)


def _head(batches: Iterable[Batch[Any]], rows: int) -> Iterator[tuple[Hashable, Sequence[Any]]]:
    """The values with the first rows, and their times; a value that is an Arrow batch is not cut."""
    for run in chain.from_iterable(batch.runs() for batch in batches):
        values = run.values
        if row_count(values) > rows:
            values = values[: 1 + bisect_left(range(len(values)), rows, key=lambda at: row_count(run.values[: at + 1]))]
        yield run.time, values
        rows -= row_count(values)
        if rows <= 0:
            return
