"""Partitions of a table, kept until they are whole and then written by one Spark job."""

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
from .served import ServedSource, row_packing
from .server import server_for
from .table_folder import TableFolder, TableTargetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

IN_MEMORY = 32 << 20
"""Bytes of a time that are kept in memory; what is more goes to a temporary file."""

SORTED_BYTES = 8 << 20
"""Bytes of rows that are sorted by time together, and joined for Spark."""

_KINDS: Mapping[type, str] = {int: "long", dt.date: "date", str: "string"}

_jobs = itertools.count(1)


@attrs.frozen(eq=False)
class TablePlan:
    """The arguments of a table's sink; immutable."""

    target: str
    catalog: bool
    schema: Any
    format: str
    time: str
    options: Mapping[str, str]
    session: "SparkSession | None"
    site: Site


def check_time(time: str, names: Sequence[str], site: Site) -> None:
    """Refuse a time that is to have the name of another column."""
    if time in names:
        raise refused(
            "write_table",
            f"got a schema that has a column {time!r} already, where the time goes; leave it out of the schema, or "
            f"give the time another name with time=",
            site,
        )


class Spool:
    """The rows of one time, as Arrow batches, in memory or in a temporary file."""

    def __init__(self, schema: Any, time: Hashable) -> None:
        self._schema = schema
        self._time = pyarrow().scalar(time, schema[-1].type)
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - open until it is written
        self._writer = pyarrow().ipc.new_stream(self._file, schema)
        self.time = time

    def add(self, batch: RecordBatch) -> None:
        """Keep some more rows, and add the column of the time."""
        pa = pyarrow()
        columns = [*batch.columns, pa.repeat(self._time, batch.num_rows)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def batches(self) -> Iterator[RecordBatch]:
        """The batches that were kept."""
        self._writer.close()
        self._file.seek(0)
        with pyarrow().ipc.open_stream(self._file) as reader:
            yield from reader

    def close(self) -> None:
        """Keep it no longer."""
        self._file.close()


class OpenTimes:
    """The rows of the times that are not complete.

    Rows become Arrow in the order in which they arrive, so that an error counts them as they came. Arrow sorts many of
    them by time at once: the cost of a row does not depend on how many times a batch has.
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
        """Take the rows of a batch; the result is the times that had none before."""
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
    """The number of rows: an Arrow batch among the values has many."""
    if not any(issubclass(kind, tables) for kind in set(map(type, values))):
        return len(values)
    return sum(value.num_rows if isinstance(value, tables) else 1 for value in values)


def large(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Join small neighbours: each batch that Spark is sent costs a round trip."""
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
    """The table's end: gives spools, and has Spark write them."""

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
        """A place for the rows of all times that are not complete."""
        return OpenTimes(self._packing, self._spool)

    def _spool(self, time: Hashable) -> Spool:
        # A bool is an int, and a datetime a date, but they name other partitions.
        kind = type(time)
        if kind not in _KINDS or (self._kind or kind) is not kind or time == "":
            raise TableTargetError(
                f"write_table({self._plan.target!r}): the time {time!r} ({kind.__name__}) cannot name a partition: "
                f"times are all whole numbers, all dates or all strings that are not empty; ps.map_time makes them so"
            )
        if self._kind is None:
            self._kind = kind
            self._full = deepcopy(self._schema).add(self._plan.time, _KINDS[kind])
            self._arrow = arrow_schema(self._full)
        return Spool(self._arrow, time)

    def cancel(self) -> None:
        """Stop what `write` does; for another thread."""
        self._jobs.cancel()

    def close(self) -> None:
        """Let others write there."""
        if self._folder is not None:
            self._folder.release()

    # ---- in a thread of its own

    def write(self, spools: Sequence[Spool]) -> None:
        """Write some times with one job; when it returns, they are in their places.

        Raises:
            FileBusyError: somebody else writes there.
            SparkJobError: Spark could not.
            JobCancelled: `cancel` was called.
        """
        self._jobs.submit(lambda: self._write(spools))

    def _write(self, spools: Sequence[Spool]) -> None:
        server = server_for(self._session)
        name = f"write_table-{next(_jobs)}"
        rows = values(large(itertools.chain.from_iterable(spool.batches() for spool in spools)))
        served = ServedSource(name, rows, self._full, shown="what write_table has kept")
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
        beside = self._folder.beside()
        try:
            writer.save(beside)
            if self._jobs.cancelled:
                return
            self._folder.publish(beside)
        finally:
            self._folder.discard(beside)
        if self._plan.catalog:
            self._session.catalog.recoverPartitions(self._plan.target)
            self._session.catalog.refreshTable(self._plan.target)

    def _replace(self, writer: "DataFrameWriter", spools: Sequence[Spool]) -> None:
        """Replace a partition, in one transaction of Delta's."""
        times = ", ".join(_literal(spool.time) for spool in spools)
        writer.mode("overwrite").option("replaceWhere", f"`{self._plan.time}` IN ({times})").save(self._plan.target)

    def _location(self) -> str:
        """The location of the table, which is made if it is not there."""
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
