"""Partitions of a table: keep the rows of times until these are complete, then write them with one Spark job."""

import datetime as dt
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import attrs

from pullstream import Batch, values
from pullstream.authoring import Site

from ...arrow import Packing, RecordBatch, pyarrow
from ..reading.jobs import Jobs
from ..refusals import refused
from ..schemas import arrow_schema, spark_schema
from .feeding import ROWS
from .served_source import ServedSource, row_packing
from .server import server_for
from .table_folder import TableFolder, TableTargetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

IN_MEMORY = 32 << 20
"""The most bytes of a time to keep in memory; larger ones are in a temporary file."""

SORTED_BYTES = 8 << 20
"""The bytes of rows to sort by time at once, and to join for Spark."""

_KINDS: Mapping[type, str] = {int: "long", dt.date: "date", str: "string"}

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
    site: Site


def check_time(time: str, names: Sequence[str], site: Site) -> None:
    """Refuse a name for the time's column that is already in the schema."""
    if time in names:
        raise refused(
            "write_table",
            f"got a schema that already has a column {time!r}, which is for the time: omit it from the schema, or "
            f"choose another name for the time with time=",
            site,
        )


class Spool:
    """Keeps the rows of one time, as Arrow batches, in memory or in a temporary file."""

    def __init__(self, schema: Any, time: Hashable) -> None:
        self._schema = schema
        self._time = pyarrow().scalar(time, schema[-1].type)
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - open until it is written
        self._writer = pyarrow().ipc.new_stream(self._file, schema)
        self.time = time

    def add(self, batch: RecordBatch) -> None:
        """Add rows, with the column of the time."""
        pa = pyarrow()
        columns = [*batch.columns, pa.repeat(self._time, batch.num_rows)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def batches(self) -> Iterator[RecordBatch]:
        """Finish, and yield the batches."""
        self._writer.close()
        self._file.seek(0)
        with pyarrow().ipc.open_stream(self._file) as reader:
            yield from reader

    def close(self) -> None:
        """Delete the rows."""
        self._file.close()


class OpenTimes:
    """Keeps the rows of times that are not complete.

    Rows are converted to Arrow in the order in which they arrive, so that an error gives the right row number. Arrow
    sorts many rows by time at once, so the cost of a row does not depend on the number of times in a batch.
    """

    def __init__(self, packing: Packing, opened: Callable[[Hashable], Spool]) -> None:
        self._packing = packing
        self._opened = opened
        self._spools: dict[Hashable, Spool] = {}
        self._tables: tuple[type, ...] = (pyarrow().RecordBatch, pyarrow().Table)
        self._unsorted: list[RecordBatch] = []
        self._times: list[Hashable] = []
        """The time of each unsorted row."""
        self._size = 0

    def add(self, batch: Batch[Any]) -> list[Hashable]:
        """Add the rows of a batch; return the times that are new."""
        new: list[Hashable] = []
        for run in batch.runs():
            if run.time not in self._spools:
                self._spools[run.time] = self._opened(run.time)
                new.append(run.time)
            self._times += [run.time] * _rows(run.values, self._tables)
        for packed in self._packing.batches([(batch.values, {})]):
            self._unsorted.append(packed)
            self._size += packed.nbytes
        if self._size >= SORTED_BYTES:
            self._sort()
        return new

    def complete(self, time: Hashable) -> Spool:
        """Take the spool of a time that gets no more rows."""
        self._sort()
        return self._spools.pop(time)

    def close(self) -> None:
        """Release all spools."""
        for spool in self._spools.values():
            spool.close()

    def _sort(self) -> None:
        """Move the unsorted rows to the spools of their times; rows of one time stay in order."""
        if not self._unsorted:
            return
        rows = pyarrow().concat_batches(self._unsorted)
        counts = Counter(self._times)
        if len(counts) > 1:
            numbers = dict(zip(counts, itertools.count(), strict=False))
            rows = rows.take(pyarrow().compute.sort_indices(pyarrow().array(map(numbers.__getitem__, self._times))))
        begin = 0
        for time, count in counts.items():
            self._spools[time].add(rows.slice(begin, count))
            begin += count
        self._unsorted, self._times, self._size = [], [], 0


def _rows(values: Sequence[Any], tables: tuple[type, ...]) -> int:
    """The number of rows; a value may be an Arrow batch with many."""
    if not any(issubclass(kind, tables) for kind in set(map(type, values))):
        return len(values)
    return sum(value.num_rows if isinstance(value, tables) else 1 for value in values)


def large(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Join small neighbours, because each batch costs Spark a round trip."""
    joined: list[RecordBatch] = []
    rows = size = 0
    for batch in batches:
        joined.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= ROWS or size >= SORTED_BYTES:
            yield pyarrow().concat_batches(joined)
            joined, rows, size = [], 0, 0
    if joined:
        yield pyarrow().concat_batches(joined)


class TablePartitions:
    """Provides spools for a table's times, and has Spark write them."""

    def __init__(self, session: "SparkSession", plan: TablePlan) -> None:
        self._session = session
        self._plan = plan
        self._schema = spark_schema("write_table", plan.schema, plan.site)
        self._jobs = Jobs(session)
        self._kind: type | None = None
        self._full: StructType
        self._arrow: Any
        self._folder: TableFolder | None = None
        self._packing = row_packing("write_table", self._schema)
        check_time(plan.time, self._schema.names, plan.site)

    # ---- in the run's thread

    def open_times(self) -> OpenTimes:
        """Make the storage for times that are not complete."""
        return OpenTimes(self._packing, self._spool)

    def _spool(self, time: Hashable) -> Spool:
        # Compare exact types: a bool is an int and a datetime is a date, but they would name other partitions.
        kind = type(time)
        if kind not in _KINDS or (self._kind or kind) is not kind or time == "":
            raise TableTargetError(
                f"write_table({self._plan.target!r}): the time {time!r} ({kind.__name__}) cannot name a partition: "
                f"times must be all whole numbers, all dates or all non-empty strings. Convert them with ps.map_time"
            )
        if self._kind is None:
            self._kind = kind
            self._full = deepcopy(self._schema).add(self._plan.time, _KINDS[kind])
            self._arrow = arrow_schema(self._full)
        return Spool(self._arrow, time)

    def cancel(self) -> None:
        """Cancel `write`, from another thread."""
        self._jobs.cancel()

    def close(self) -> None:
        """Release the folder, so that others can write there."""
        if self._folder is not None:
            self._folder.release()

    # ---- in a thread of its own

    def write(self, spools: Sequence[Spool]) -> None:
        """Write some times with one job; when it returns, they are in place.

        Raises:
            FileBusyError: another program writes there.
            SparkJobError: the job failed.
            JobCancelled: `cancel` was called.
        """
        self._jobs.submit(lambda: self._write(spools))

    def _write(self, spools: Sequence[Spool]) -> None:
        server = server_for(self._session)
        name = f"write_table-{next(_jobs)}"
        rows = values(large(itertools.chain.from_iterable(spool.batches() for spool in spools)))
        served = ServedSource(name, rows, self._full, shown="the rows for write_table")
        server.offer(served)
        try:
            frame = self._session.read.format("pullstream").load(name)
            writer = frame.write.format(self._plan.format).options(**self._plan.options).partitionBy(self._plan.time)
            if self._plan.format == "delta":
                self._replace(writer, spools)
            else:
                self._publish(writer)
        finally:
            server.call(served.withdraw)
            served.over.wait()
            del server.sources[name]

    def _publish(self, writer: "DataFrameWriter") -> None:
        if self._folder is None:
            path = self._location() if self._plan.catalog else self._plan.target
            folder = TableFolder(self._session, path)
            folder.claim()
            self._folder = folder
            folder.mend()
        new = self._folder.new_folder()
        try:
            writer.save(new)
            if self._jobs.cancelled:
                return
            self._folder.publish(new)
        finally:
            self._folder.discard(new)
        if self._plan.catalog:
            self._session.catalog.recoverPartitions(self._plan.target)
            self._session.catalog.refreshTable(self._plan.target)

    def _replace(self, writer: "DataFrameWriter", spools: Sequence[Spool]) -> None:
        """Replace partitions in one Delta transaction."""
        times = ", ".join(_literal(spool.time) for spool in spools)
        writer.mode("overwrite").option("replaceWhere", f"`{self._plan.time}` IN ({times})").save(self._plan.target)

    def _location(self) -> str:
        """Get the location of the table, which is created if it does not exist."""
        if not self._session.catalog.tableExists(self._plan.target):
            columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in self._full)
            partitioned = f"USING {self._plan.format} PARTITIONED BY (`{self._plan.time}`)"
            self._session.sql(f"CREATE TABLE {self._plan.target} ({columns}) {partitioned}")
        described = self._session.sql(f"DESCRIBE TABLE EXTENDED {self._plan.target}").filter("col_name = 'Location'")
        return cast("Any", described.first()).data_type


def _literal(time: Hashable) -> str:
    if isinstance(time, dt.date):
        return f"DATE'{time}'"
    return str(time) if isinstance(time, int) else "'" + str(time).replace("\\", "\\\\").replace("'", "\\'") + "'"
