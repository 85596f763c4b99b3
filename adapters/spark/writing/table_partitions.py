"""Partitions of a table: keep the rows of times until these are complete, then write them with one Spark job."""

import datetime as dt
import itertools
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, cast
from uuid import uuid4

import attrs
from typing_extensions import override

from pullstream import PullstreamError, values

from ...arrow import OpenTimes, RecordBatch, Spool, pa
from ...files.writing.refusals import FileBusyError
from ..columns import quoted
from ..errors import Refusal
from ..reading.jobs import Jobs
from ..schemas import arrow_schema, spark_schema, whole_arrays
from ..types import DataFrame, DataFrameWriter, SparkSession, StructField, StructType
from .served_source import ServedSource, row_packing
from .server import server_for

HIDDEN = ".pullstream"

INLINE_BYTES = 1 << 18
"""The maximum bytes that are sent with the query; Spark warns of tasks of a megabyte."""


_busy: "dict[str, TablePartitions]" = {}
"""The writers of this program, by the names of their tables."""


class TableTargetError(PullstreamError):
    """A table's folder cannot be written, or a time cannot be the name of one."""


class TableFolder:
    """A table's folder in any file system that Spark supports.

    Everything that is not in place yet is in its hidden folder `.pullstream`, which Spark and pyarrow skip: `new-…`
    contains new partitions, and `old-…` replaced ones, until the new ones are in place. `writer-…` marks the program
    that writes. The next program removes the mark, so that an earlier one notices if it is still running.
    """

    def __init__(self, session: "SparkSession", path: str) -> None:
        context: Any = session.sparkContext
        # Spark's file systems are accessible only through Java.
        self._path_of = context._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001
        self._root = self._path_of(path)
        self._files = self._root.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        self._root = self._files.makeQualified(self._root)
        self._hidden = self._path_of(self._root, HIDDEN)
        self._mark = self._path_of(self._hidden, f"writer-{uuid4().hex}")
        self.name: str = self._root.toString()

    def take_over(self) -> None:
        """Restore folders that a killed run had moved away, remove its leftovers, and set a mark."""
        for left in self._folders(self._hidden):
            if left.getName().startswith("old-"):
                for folder in self._folders(left):
                    place = self._path_of(self._root, folder.getName())
                    if not self._files.exists(place):
                        self._rename(folder, place)
        self._files.delete(self._hidden, True)  # noqa: FBT003 - Java's
        self._files.mkdirs(self._mark)
        self._columns = {_column(place) for place in self._folders(self._root)} - {""}

    def leave(self) -> None:
        """Remove the mark, and the hidden folder if no one else uses it."""
        self._files.delete(self._mark, True)  # noqa: FBT003
        if self._files.exists(self._hidden) and not len(self._files.listStatus(self._hidden)):
            self._files.delete(self._hidden, False)  # noqa: FBT003

    def new_folder(self) -> str:
        """The path of a new hidden folder for writing."""
        return str(self._path_of(self._hidden, f"new-{uuid4().hex}").toString())

    def publish(self, new: str) -> None:
        """Move every folder of `new` into place as a whole, or restore what it replaces and raise TableTargetError."""
        marks = [mark for folder in self._folders(self._hidden) if (mark := folder.getName()).startswith("writer-")]
        if marks != [self._mark.getName()] or not self._files.exists(self._path_of(new)):
            raise TableTargetError(
                f"write_table: another program has begun to write to {self.name}, or has removed {HIDDEN} there, so "
                f"this one stops. Let one program at a time write to the table, and run this one again"
            )
        old = self._path_of(self._hidden, f"old-{uuid4().hex}")
        folders = list(self._folders(self._path_of(new)))
        if others := sorted(self._columns.difference(map(_column, folders))):
            raise TableTargetError(
                f"write_table: {self.name} is partitioned by {others[0]!r}, and Spark cannot read it with partitions "
                f"by another column: give this name with time=, or write to another folder"
            )
        for folder in folders:
            place = self._path_of(self._root, folder.getName())
            before = self._path_of(old, folder.getName())
            replaced: bool = self._files.exists(place)
            if replaced:
                self._files.mkdirs(old)
                self._rename(place, before)
            try:
                self._rename(folder, place)
            except BaseException:
                # If a rename copies, a part may already be there.
                self._files.delete(place, True)  # noqa: FBT003
                if replaced:
                    self._rename(before, place)
                self._files.delete(old, True)  # noqa: FBT003
                raise
        self._files.delete(old, True)  # noqa: FBT003

    def discard(self, new: str) -> None:
        """Remove a written folder."""
        self._files.delete(self._path_of(new), True)  # noqa: FBT003

    def _rename(self, source: Any, target: Any) -> None:
        if not self._files.rename(source, target):
            raise TableTargetError(
                f"write_table: {source.toString()} could not be renamed to {target.toString()}. Check the rights in "
                f"the table's folder, and run this again: it restores what is in {HIDDEN}"
            )

    def _folders(self, path: Any) -> Iterator[Any]:
        if self._files.exists(path):
            for status in self._files.listStatus(path):
                if status.isDirectory():
                    yield status.getPath()


def _column(folder: Any) -> str:
    """The column in the name of a partition's folder; empty for other folders."""
    return folder.getName().rpartition("=")[0].partition("=")[0]


_KINDS: Mapping[type, str] = {int: "long", dt.date: "date", str: "string"}

_NULLS = ("", "__HIVE_DEFAULT_PARTITION__")
"""The names that Spark reads as a null."""

_jobs = itertools.count(1)


@attrs.frozen(eq=False)
class TablePlan:
    """The arguments of `write_table`; immutable."""

    target: str
    catalog: bool
    schema: Any
    format: str
    time: str
    options: Mapping[str, str]
    session: "SparkSession | None"
    refusal: Refusal


def check_time(refusal: Refusal, time: str, names: Sequence[str], same: Callable[[str], str] = str) -> None:
    """Refuse a name for the time's column that is already in the schema; `same` maps equal names to one string."""
    for name in names:
        if same(name) == same(time):
            raise refusal(
                f"got a schema that already has a column {name!r}, which is for the time: omit it from the schema, or "
                f"choose another name for the time with time="
            )


class Partition(Spool):
    """The rows of one time, which get an additional last column with the time."""

    def __init__(self, schema: Any, time: Hashable) -> None:
        super().__init__(schema, time)
        self._time = pa.scalar(time, schema[-1].type)

    @override
    def add(self, batch: RecordBatch) -> None:
        columns = [*batch.columns, pa.repeat(self._time, batch.num_rows)]
        super().add(pa.RecordBatch.from_arrays(columns, schema=self.schema))


class TablePartitions:
    """Provides spools for a table's times, and has Spark write them."""

    def __init__(self, session: "SparkSession", plan: TablePlan) -> None:
        self._session = session
        self._plan = plan
        self._schema = spark_schema(plan.refusal, plan.schema)
        self._jobs = Jobs(session)
        self._kind: type | None = None
        self._full: StructType
        self._arrow: Any
        self._folder: TableFolder | None = None
        self._claimed: str | None = None
        self._packing = row_packing("write_table", self._schema)
        cases_differ = session.conf.get("spark.sql.caseSensitive") == "true"
        check_time(plan.refusal, plan.time, self._schema.names, str if cases_differ else str.casefold)

    # ---- in the run's thread

    def open_times(self) -> OpenTimes:
        """Make the storage for times that are not complete."""
        return OpenTimes(
            self._packing, self._spool, lambda why: TableTargetError(f"write_table({self._plan.target!r}), {why}")
        )

    def _spool(self, time: Hashable) -> Spool:
        # Compare exact types: a bool is an int and a datetime is a date, but they would name other partitions.
        kind = type(time)
        if kind in _KINDS and (self._kind or kind) is kind and time not in _NULLS:
            if self._kind is None:
                self._kind = kind
                self._full = deepcopy(self._schema).add(self._plan.time, _KINDS[kind])
                self._arrow = arrow_schema(self._full)
            # The errors of a number of more than 64 bits, and of text that is not valid Unicode.
            with suppress(OverflowError, UnicodeEncodeError):
                return Partition(self._arrow, time)
        raise TableTargetError(
            f"write_table({self._plan.target!r}): the time {time!r} ({kind.__name__}) cannot name a partition: times "
            f"must be all whole numbers of 64 bits, all dates or all str (not empty, nor {_NULLS[1]}). Convert them "
            f"with ps.map_time"
        )

    def cancel(self) -> None:
        """Cancel `write`, from another thread."""
        self._jobs.cancel()

    def close(self) -> None:
        """Release the folder, so that others can write there."""
        if self._folder is not None:
            # If Spark has ended, the next run removes the mark.
            with suppress(Exception):
                self._folder.leave()
        if self._claimed is not None:
            del _busy[self._claimed]

    # ---- in a thread of its own

    def write(self, spools: Sequence[Spool]) -> None:
        """Write some times with one job; when it returns, they are in place."""
        self._jobs.submit(lambda: self._write(spools))

    def _write(self, spools: Sequence[Spool]) -> None:
        batches = itertools.chain.from_iterable(spool.batches() for spool in spools)
        if all(spool.in_memory for spool in spools) and sum(spool.held for spool in spools) <= INLINE_BYTES:
            # Sent with the query, because several Python processes take part in planning the read of a source.
            table: Any = pa.Table.from_batches(batches, schema=self._arrow)
            session: Any = self._session
            self._write_frame(session.createDataFrame(whole_arrays(table), self._full).coalesce(1), spools)
            return
        server = server_for(self._session)
        name = f"write_table-{next(_jobs)}"
        served = ServedSource(name, values(batches), self._full, shown="the rows for write_table")
        server.offer(served)
        try:
            self._write_frame(self._session.read.format("pullstream").load(name), spools)
        finally:
            server.call(served.withdraw)
            served.over.wait()
            del server.sources[name]

    def _write_frame(self, frame: DataFrame, spools: Sequence[Spool]) -> None:
        writer = frame.write.format(self._plan.format).options(**self._plan.options).partitionBy(self._plan.time)
        if self._plan.format == "delta":
            # One transaction replaces all these partitions.
            some = f"{quoted(self._plan.time)} IN ({', '.join(_literal(spool.time) for spool in spools)})"
            writer.mode("overwrite").option("replaceWhere", some).save(self._plan.target)
        else:
            self._publish(writer)

    def _publish(self, writer: "DataFrameWriter") -> None:
        if self._folder is None:
            folder = TableFolder(self._session, self._location())
            self._claim(folder.name)
            self._folder = folder
            folder.take_over()
        new = self._folder.new_folder()
        try:
            writer.save(new)
            if self._jobs.cancelled:
                return
            self._folder.publish(new)
        finally:
            self._folder.discard(new)
        self._refresh()

    def _claim(self, name: str) -> None:
        """Claim a table within this program, in one step."""
        if _busy.setdefault(name, self) is not self:
            raise FileBusyError(
                f"write_table: another run, or another sink of this run, is writing to {name!r}: wait until it ends, "
                f"or write somewhere else"
            )
        self._claimed = name

    def _refresh(self) -> None:
        """Make new partitions known to the catalog."""
        if self._plan.catalog:
            self._session.catalog.recoverPartitions(self._plan.target)
            self._session.catalog.refreshTable(self._plan.target)

    def _location(self) -> str:
        """The table's folder; a catalog's table is created if it does not exist, and one of another form is refused."""
        plan, session = self._plan, cast("Any", self._session)
        if not plan.catalog:
            return plan.target
        if not session.catalog.tableExists(plan.target):
            empty: DataFrame = session.createDataFrame([], self._full)
            empty.write.format(plan.format).partitionBy(plan.time).saveAsTable(plan.target)
        # As JSON, because a column may have the name of any of the other rows.
        (described,) = session.sql(f"DESCRIBE TABLE EXTENDED {plan.target} AS JSON").collect()
        table: dict[str, Any] = json.loads(described[0])
        kind = str(table.get("provider", table["type"])).lower()
        schema: StructType = session.table(plan.target).schema
        kinds = {field.name.casefold(): field.dataType.simpleString() for field in schema}
        partitioned = table.get("partition_columns", [])
        if (
            kind not in (plan.format, "hive")
            or list(map(str.casefold, partitioned)) != [plan.time.casefold()]
            or not all(_reads(kinds.get(field.name.casefold()), field, plan.time) for field in self._full)
        ):
            raise TableTargetError(
                f"write_table({plan.target!r}, catalog=True) needs a table in {plan.format} with the columns "
                f"{_shown(self._full)}, partitioned by {[plan.time]}, but this one is in {kind}, with the columns "
                f"{_shown(schema)}, partitioned by {partitioned}. Write to another name, or drop the table first"
            )
        return table["location"]


_WHOLE = ("tinyint", "smallint", "int", "bigint")


def _reads(kind: str | None, field: "StructField", time: str) -> bool:
    """Whether Spark can read a field, or the text in a partition's name, as the type of a table's column."""
    given = field.dataType.simpleString()
    if field.name == time and kind is not None:
        return "string" in (kind, given) or (kind == "date") == (given == "date")
    return kind == given or (kind in _WHOLE and given in _WHOLE[: _WHOLE.index(kind)])


def _shown(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def _literal(time: Hashable) -> str:
    if isinstance(time, dt.date):
        return f"DATE'{time}'"
    return str(time) if isinstance(time, int) else "'" + str(time).replace("\\", "\\\\").replace("'", "\\'") + "'"
