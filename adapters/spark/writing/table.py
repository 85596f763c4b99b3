"""`write_table`: a partition of a table for every time, written by Spark when the time is complete."""

import importlib.util
import os
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from pullstream import Context, Sink
from pullstream.authoring import Call, Module, OneOf, Site, bound

from ...arrow import Schema
from ...sinks import SinkBody, SpoolCommitter
from ...stopping import in_thread, stoppably
from ..connect.local import ConnectTable
from ..reading.jobs import is_connect
from ..session import active_session
from ..types import SparkSession, StructType
from .table_partitions import TablePartitions, TablePlan, check_time

_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")


@bound
def write_table(
    target: str | os.PathLike[str],
    schema: "str | StructType | Schema",
    *,
    format: str = "parquet",
    time: str = "time",
    catalog: bool = False,
    options: Mapping[str, str] | None = None,
    session: "SparkSession | None" = None,
) -> Sink[Any, list[Hashable]]:
    """Write a table through Spark, one partition per time, which appears when the time is complete.

    `target` is a folder: a path or URI in any file system that Spark supports; a relative path begins where Spark was
    started. With `catalog=True` it is the name of a table in Spark's catalog, such as "flights.delays". It is created
    if it does not exist; an existing one must have this format, partition and columns. `schema` and values are those of
    `to_dataframe`: a column that a value lacks is null, and a column that is not in the schema is refused. `time` is
    the name of an additional column for the time (a whole number, a date or a string), by which the table is
    partitioned: `delays/time=2013-01-01/`. (Without a catalog or a schema, Spark reads strings that look like numbers
    or dates as such.) The result is the list of times in the order in which they appeared.

    Spark writes to the hidden folder `.pullstream` in the target, and each finished folder is renamed into place. After
    an error, an abort or a kill there are only whole partitions. An existing time is replaced, so writing it again
    changes nothing. Between removing the old partition and adding the new one there is a short gap; if the program is
    killed in it, the next run restores the old one. The next run also removes leftovers of a killed run. Only one
    program at a time may write to a table, with one sink; a second sink in the same program is refused, and a program
    stops with an error at its next time if another one has begun to write. On an object store a rename is a copy and
    not atomic: use `format="delta"` there, which writes a transaction, and needs the package delta-spark.

    **With Spark Connect**, Spark itself replaces the partitions (by dynamic overwrite), which also appear as a whole.
    The rows of a time travel with the query, at most 256 MB as Arrow, and the server keeps those of a job of more than
    32 MB until the session is stopped. If the server dies while it replaces a time, that time is missing until it is
    written again. A second program that writes there is not detected.

    Values wait for their time's completion on this machine, in memory and, above 64 MB in all, in temporary files.
    Times that complete while Spark writes are written together by the next job; at most 64 wait. `options` are those of
    Spark's writer for the format, such as `{"compression": "zstd"}`.

    Raises:
        CompositionError: the target, the schema, the format or the time's column is invalid; when composing, or at the
            first ask for DDL, which is parsed then.
        FileBusyError: another run, or another sink of this run, is writing there.
        TableTargetError: a time cannot name a partition, an existing table has another format, partition or columns, a
            folder cannot be renamed, or another program has begun to write.
        SchemaError: a value does not match the schema.
        SparkJobError: Spark could not write.

    ```python
    ps.run(ps.pipe(delays, spark.write_table("delays/", "carrier STRING, minutes DOUBLE", time="day")))
    ```
    """
    refusal = Call("write_table", site=Site.here()).refuse
    OneOf("parquet", "orc", "delta")(Call("write_table", name="format"), format)
    if format == "delta" and importlib.util.find_spec("delta") is None:
        raise refusal("needs the package delta-spark for format='delta'")
    text = os.fspath(target) if isinstance(target, (str, os.PathLike)) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    if not text:
        raise refusal(f"needs a folder, but got {target!r}")
    if "{" in text:
        raise refusal(
            f"makes the partitions itself, one folder per time such as {time}=2013-01-01, so its target must be the "
            f"folder of the table, without braces, but got {text!r}"
        )
    if catalog and _TABLE.fullmatch(text) is None:
        raise refusal(f"needs, with catalog=True, the name of a table, such as 'flights.delays', but got {text!r}")
    if format == "delta" and catalog:
        raise refusal("writes Delta only to a folder, not to a catalog table")
    if not isinstance(time, str) or not time:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refusal(f"needs time= to be a column name, but got {time!r}")
    if not isinstance(schema, str):
        check_time(refusal, time, getattr(schema, "names", ()))
    if session is not None:
        active_session(refusal, session, connect=True)
    plan = TablePlan(text, catalog, schema, format, time, dict(options or {}), session, refusal)
    shown = (("format", format), ("time", time), *((("catalog", True),) if catalog else ()))
    return Sink((Module("write_table", SinkBody(TableCommitter, plan), (text,), shown),))


class TableCommitter(SpoolCommitter):
    """A run of the sink: times that wait for completion, and times that wait for Spark."""

    def __init__(self, plan: TablePlan) -> None:
        super().__init__()
        self._plan = plan
        self._partitions: TablePartitions | None = None

    @override
    async def open(self, ctx: Context) -> tuple[()]:
        # Only for the first value: starting Spark may take seconds.
        self._partitions = await in_thread(self._begin)
        self.spools = self._partitions.open_times()
        return ()

    @override
    async def commit(self, times: Sequence[Hashable]) -> None:
        assert self._partitions is not None
        assert self.spools is not None
        with self.spools.complete(times) as spools:
            await stoppably(self._partitions.write, self._partitions.cancel, spools)
        self.written += times

    @override
    def release(self) -> None:
        if self._partitions is not None:
            self._partitions.close()

    def _begin(self) -> TablePartitions:
        session = active_session(self._plan.refusal, self._plan.session, connect=True)
        return (ConnectTable if is_connect(session) else TablePartitions)(session, self._plan)
