"""`write_table`: a partition of a table for every time, written by Spark when the time is complete."""

import importlib.util
import os
import re
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import trio

from pullstream import Batch, Completed, CompositionError, Context, Reader, Sink
from pullstream.authoring import Module, Site, without_cancelled

from ...files.writing.columns import Schema
from ..connect.table import ConnectTable
from ..reading.jobs import is_connect
from ..session import active_session
from ..threads import in_thread
from .table_partitions import Spool, TablePartitions, TablePlan, check_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

AHEAD = 64
"""The most complete times that wait for Spark before the stream has to."""

_FORMATS = ("parquet", "orc", "delta")
_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")


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
    """Write a table through Spark, a partition per time, which appears when the time is complete.

    `target` is a folder, a path or a URI of any file system Spark knows. With `catalog=True` it is the name of a table
    in Spark's catalog, as "flights.delays", which is made if it does not exist. `schema` and values are those of
    `to_dataframe`: a column that a value lacks is null, and one that the schema lacks is refused. `time` is the name
    of the column that is added for the time (a whole number, a date or a string), which the table is partitioned by:
    `delays/time=2013-01-01/`. The result is the list of times, as they appeared.

    Spark writes beside (in the hidden folder `.pullstream` of the target), and each folder is renamed into its place
    when it is whole: after an error, an abort or a kill there are whole partitions only. A time that was there before
    is replaced, so writing it again changes nothing; between the old one's leaving and the new one's coming it is not
    there for a moment, and should the program be killed in that moment, the next run puts it back. What a killed run
    left is cleared by the next: one program at a time writes to a table, and one sink of it; a second sink in the
    program is refused. On an object store a rename copies, and is not one step; there take `format="delta"`, which
    writes a transaction, and needs the package delta-spark.

    **Through Spark Connect** Spark itself replaces the partitions (its dynamic overwrite), which appear whole there,
    too. The rows of a time travel with the query, 256 MB of Arrow at most, and the server keeps those of a job of more
    than 32 MB until the session is stopped. If its program dies in the moment of replacing, that time is not there
    until it is written again.

    Values wait for their time's completion on this machine, in memory or, above 32 MB a time, in a temporary file.
    Times that are complete while Spark writes are written together by the next job; at most 64 wait. `options` are
    those of Spark's writer for the format, as `{"compression": "zstd"}`.

    Raises:
        CompositionError: the target, the schema, the format or the time's column cannot be; when composing, or at the
            first ask if it is told by DDL, which is read then.
        FileBusyError: another run, or another sink of this one, is writing there.
        TableTargetError: a time cannot name a partition, or a folder cannot be renamed.
        SchemaError: a value does not fit the schema.
        SparkJobError: Spark could not write.

    ```python
    ps.run(ps.pipe(delays, spark.write_table("delays/", "carrier STRING, minutes DOUBLE", time="day")))
    ```
    """
    site = Site.here()
    if format not in _FORMATS:
        raise CompositionError(f"write_table() at {site} writes {', '.join(_FORMATS)}, and not {format!r}")
    if format == "delta" and importlib.util.find_spec("delta") is None:
        raise CompositionError(f"write_table() at {site} needs the package delta-spark for format='delta'")
    text = os.fspath(target) if isinstance(target, (str, os.PathLike)) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    if not text:
        raise CompositionError(f"write_table() at {site} needs a folder, and got {target!r}")
    if "{" in text:
        raise CompositionError(
            f"write_table() at {site} makes the partitions itself, a folder per time as {time}=2013-01-01, so its "
            f"target is the folder they are in, without braces, and got {text!r}"
        )
    if catalog and _TABLE.fullmatch(text) is None:
        raise CompositionError(
            f"write_table() at {site} needs, with catalog=True, the name of a table, as 'flights.delays', and got "
            f"{text!r}"
        )
    if format == "delta" and catalog:
        raise CompositionError(f"write_table() at {site} writes Delta to a folder, and not to a table of the catalog")
    if not isinstance(time, str) or not time:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"write_table() at {site} needs the name of a column as its time=, and got {time!r}")
    if not isinstance(schema, str):
        check_time(time, getattr(schema, "names", ()), site)
    if session is not None:
        active_session("write_table", session, connect=True)
    plan = TablePlan(text, catalog, schema, format, time, dict(options or {}), session, site)
    shown = (("format", format), ("time", time), *((("catalog", True),) if catalog else ()))
    return Sink((Module("write_table", partial(_sink, plan), (text,), shown),))


def _sink(plan: TablePlan, *_: object, **__: object) -> Callable[[Reader[Any], Context], Any]:
    return _Writing(plan).body


@attrs.define
class _Due:
    """A time that is complete, and the right to it."""

    time: Hashable
    spool: Spool
    held: ExitStack


class _Writing:
    """A run of the sink: what waits for its completion, and what waits for Spark."""

    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan
        self._open: dict[Hashable, Spool] = {}
        self._due: list[_Due] = []
        self._changed = trio.Event()
        self._ended = False
        self._failure: BaseException | None = None
        self._written: list[Hashable] = []

    async def body(self, upstream: Reader[Any], ctx: Context) -> list[Hashable]:
        partitions: TablePartitions | None = None
        try:
            async with trio.open_nursery() as nursery:
                try:
                    # Not before the first value is wanted; starting Spark may take seconds.
                    partitions = await in_thread(self._begin)
                    nursery.start_soon(self._write, partitions, nursery)
                    await self._take(upstream, ctx, partitions)
                except BaseException as exc:  # noqa: BLE001 - raised below, outside the nursery
                    self._fail(exc, nursery)
        finally:
            for spool in (*self._open.values(), *(due.spool for due in self._due)):
                spool.close()
            if partitions is not None:
                partitions.close()
        if self._failure is not None:
            raise self._failure
        return self._written

    def _begin(self) -> TablePartitions:
        session = active_session("write_table", self._plan.session, self._plan.site, connect=True)
        return (ConnectTable if is_connect(session) else TablePartitions)(session, self._plan)

    def _fail(self, exc: BaseException, nursery: trio.Nursery) -> None:
        if without_cancelled(exc) is None:
            raise exc
        self._failure = self._failure or exc
        nursery.cancel_scope.cancel()

    async def _take(self, upstream: Reader[Any], ctx: Context, partitions: TablePartitions) -> None:
        async for event in ctx.events(upstream):
            match event:
                case Batch(time, values):
                    if time not in self._open:
                        ctx.notify_at(time)
                        self._open[time] = partitions.spool(time)
                    self._open[time].add(values)
                case Completed(time):
                    held = ExitStack()
                    held.enter_context(ctx.hold(time))
                    self._due.append(_Due(time, self._open.pop(time), held))
                    self._change()
                    while len(self._due) >= AHEAD:
                        await self._changed.wait()
        self._ended = True
        self._change()

    async def _write(self, partitions: TablePartitions, nursery: trio.Nursery) -> None:
        try:
            while self._due or not self._ended:
                if not self._due:
                    await self._changed.wait()
                    continue
                due = list(self._due)
                await _stoppably(partitions.write, partitions.cancel, [one.spool for one in due])
                del self._due[: len(due)]
                for one in due:
                    self._written.append(one.time)
                    one.spool.close()
                    one.held.close()
                self._change()
        except BaseException as exc:  # noqa: BLE001 - handed to the sink, and raised there
            self._fail(exc, nursery)

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


async def _stoppably(work: Callable[[Any], None], cancel: Callable[[], None], argument: Any) -> None:
    """Do something in a thread; a cancellation stops it there, and waits until it has stopped."""
    # One that comes before the thread has begun would wait for its end for ever.
    await trio.lowlevel.checkpoint_if_cancelled()
    finished = threading.Event()

    def working() -> None:
        try:
            work(argument)
        finally:
            finished.set()

    def stopping() -> None:
        while not finished.wait(0.05):
            cancel()

    try:
        await in_thread(working)
    except trio.Cancelled:
        with trio.CancelScope(shield=True):
            await in_thread(stopping)
        raise
