"""Partitions of a table, kept until they are whole and then written by one Spark job."""

import datetime as dt
import itertools
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import attrs

from pullstream import values
from pullstream.authoring import Site

from ...arrow import Packing, RecordBatch, pyarrow
from ..reading.jobs import Jobs
from ..refusals import refused
from ..schemas import arrow_schema, spark_schema
from .served import ServedSource, row_packing
from .server import server_for
from .table_folder import TableFolder, TableTargetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

IN_MEMORY = 32 << 20
"""Bytes of a time that are kept in memory; what is more goes to a temporary file."""

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
    """The rows of one time, as Arrow has them."""

    def __init__(self, packing: Packing, schema: Any, time: Hashable) -> None:
        self._packing = packing
        self._schema = schema
        self._time = pyarrow().scalar(time, schema[-1].type)
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - open until it is written
        self._writer = pyarrow().ipc.new_stream(self._file, schema)
        self.time = time

    def add(self, rows: Sequence[Any]) -> None:
        """Keep some more."""
        pa = pyarrow()
        for batch in self._packing.batches([(rows, {})]):
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

    def spool(self, time: Hashable) -> Spool:
        """A place for the rows of a time."""
        # A bool is an int, and a datetime a date, but they name other partitions.
        kind = type(time)
        if kind not in _KINDS or (self._kind or kind) is not kind or time == "":
            raise TableTargetError(
                f"write_table({self._plan.target!r}): the time {time!r} ({kind.__name__}) cannot name a partition: "
                f"times are all whole numbers, all dates or all strings that are not empty; ps.restamp makes them so"
            )
        if self._kind is None:
            self._kind = kind
            self._full = deepcopy(self._schema).add(self._plan.time, _KINDS[kind])
            self._arrow = arrow_schema(self._full)
        return Spool(self._packing, self._arrow, time)

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
        rows = values(itertools.chain.from_iterable(spool.batches() for spool in spools))
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
