"""`to_dataframe` and `register_source`: a pull source read by Spark."""

import itertools
import os
from typing import TYPE_CHECKING, Any, Self

from pullstream import CompositionError, Source
from pullstream.authoring import READS, Call, Site

from ...arrow import Schema
from ..connect.local import local_dataframe
from ..reading.jobs import is_connect
from ..refusals import refused
from ..schemas import spark_schema
from ..session import active_session
from .filters import Prune
from .served import ServedSource, row_packing
from .server import SourceServer, server_for
from .source_log import Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""The setting by which a session pushes filters to Python data sources; off unless it is set."""

_numbers = itertools.count(1)


def to_dataframe(
    source: Source[Any],
    schema: "str | StructType | Schema",
    *,
    prune: Prune | None = None,
    replay: int | None = None,
    session: "SparkSession | None" = None,
) -> "DataFrame":
    """A DataFrame of what a source gives, lazily: nothing is asked of the source before an action reads it.

    `schema` is DDL, as "day DATE, delay DOUBLE", a StructType or a pyarrow.Schema. Values are dicts, tuples, named
    tuples, Arrow record batches, or, with one column, whatever fills it; an int in a TIMESTAMP column counts
    microseconds since 1970 in UTC, and a VARIANT takes pyspark's `VariantVal`. Of a StructType without columns a value
    is `()` or `{}`: Spark counts them. `session` is the session, else the active one, else a new local one.

    The DataFrame has one partition, in the source's order: `repartition` it for work in parallel. Spark asks for an
    Arrow batch (at most 10,000 rows) at a time, and the source is at most two of them ahead. It runs in a trio program
    in another thread of this process, which all such sources share: what blocks belongs into `map_thread`. A time is
    complete for the source when Spark's task has taken its last value. However the action ends (a limit, a
    cancellation, a task that dies), the source is aborted and released.

    Spark's own Python worker hands on what has filled its buffer (64 KB, `spark.buffer.size`), and the rest at the end:
    of a source that gives a row a second an action sees the first rows late. For such there is `readStream`, see
    `register_source`.

    What Spark filters by, it filters by itself. A source that can do with less work is told by `prune`, a function of
    the source and of a list of `RowFilter`, called when the reading begins, which gives the source to read instead: one
    that leaves out what it easily can. Where it is given, it has Spark push filters to Python data sources in this
    session (`spark.sql.python.filterPushdown.enabled`), for which Spark starts one more Python worker a query.

    **It can be read once**: a second action, or a task that Spark tries again, is refused. `persist()` it before the
    first action to use it several times. One action may be two readings: what Spark sorts or partitions by range
    (`orderBy`, `repartitionByRange`, `from_dataframe(..., time=...)`) it samples first, and a join or a union with
    itself reads both sides. With `replay`, a number of bytes, it can be read as often as Spark likes, also by tasks
    that it tries again: what was given is kept on this machine's disk (in a file without a name, where Python's
    `tempfile` has its folder) until the session is stopped, in at most so many bytes, and nothing is asked of the
    source twice. It is not aborted when an action has had enough of it, for the next may want more. Where Spark tries a
    task again, the action's error is what the first attempt failed with. When the source fails so does the action, with
    the source's exception in its message.

    **Through Spark Connect** Spark's processes cannot come here for rows. There the source is read to its end by this
    call, and what it gave is sent to the server, at most 256 MB as Arrow, which has it until the session is stopped;
    the DataFrame may be read any number of times, whatever `replay` says, and `prune` is not asked.

    Raises:
        CompositionError: `source` is none, `schema` cannot be read, `replay` is no number of bytes, or given with
            `prune`: what is kept is for all actions; or it is too much for Spark Connect.

    ```python
    frame = spark.to_dataframe(ps.values([(1, "tea"), (2, "rice")]), "n BIGINT, item STRING")
    frame.filter("n > 1").show()
    ```
    """
    READS(Call("to_dataframe"), source)
    if replay is not None and (type(replay) is not int or replay < 1):
        raise refused("to_dataframe", f"keeps as many bytes as its replay says, 1 or more, and got {replay!r}")
    if replay is not None and prune is not None:
        raise refused("to_dataframe", "keeps by replay what all actions read, and prunes for one: take one of them")
    session = active_session("to_dataframe", session, connect=True)
    struct = spark_schema("to_dataframe", schema, may_be_empty=True)
    shown = f"to_dataframe({source!r})"
    if is_connect(session):
        return local_dataframe(source, struct, row_packing(shown, struct), session, Site.here())
    name = f"to_dataframe-{next(_numbers)}"
    _serve(session, ServedSource(name, source, struct, prune=prune, replay=replay, shown=shown))
    return session.read.format("pullstream").load(name)


def register_source(
    name: str,
    source: Source[Any],
    schema: "str | StructType | Schema",
    *,
    offsets: Offsets = "values",
    journal: "str | os.PathLike[str] | None" = None,
    prune: Prune | None = None,
    session: "SparkSession | None" = None,
) -> "RegisteredSource":
    """Give a source a name under which Spark reads it: `session.read.format("pullstream").load(name)`.

    Read so it is as `to_dataframe` has it: lazy, bounded, once, and with `prune` told what Spark looks for.
    `readStream`, for which Spark pushes no filters, reads it in micro-batches:

    - An offset counts values. A micro-batch holds at most 100,000, or `.option("maxRowsPerBatch", n)`, of those that
      come within a fifth of a second. With `offsets="times"` it holds whole times: those that are complete, by the same
      limit, or one that is larger.
    - The source is asked for the micro-batch that Spark plans, and for nothing else: what is to be made ready
      meanwhile says so, by `ps.prefetch(n)`. With whole times that a time is complete may show in the next value only,
      and so a little more is asked for.
    - Values are kept until Spark has committed them; then their times are complete for the source. So a query that is
      stopped, or fails, and is started again in this program with its `checkpointLocation` goes on exactly where it
      was. The end of this program is the end of what it kept: a checkpoint of another program, or of an earlier
      registration, is refused.
    - With `journal`, a file, and `offsets="times"` another program goes on with the checkpoint, also where this one was
      killed. What Spark has committed is done, as in any run with a journal (`pullstream.journal`): the source is read
      again without it, and must give the rest as it did. A file beside it, of its name and `.log`, tells the checkpoint
      from others'.
    - `trigger(availableNow=True)` reads the source to its end. When the source fails, so does the query, after the
      micro-batches before it. One query reads at a time.

    Before PySpark 4.2 Spark knows no limits of a Python source: `maxRowsPerBatch` bounds a micro-batch all the same,
    but `availableNow` is one micro-batch, after which the query ends.

    The source goes on being there until it is read to its end, or `close`d, or the session is stopped. Registering
    another one by the same name replaces it, unless Spark is reading it.

    Spark Connect has no such names: its processes cannot come here for rows. There it is refused; `write_table` writes
    a table that Spark may read, and read as a stream.

    Raises:
        CompositionError: `source` is none, `schema` cannot be read, the name's present source is being read, a journal
            goes with offsets by values, which it cannot tell, or the session is one of Spark Connect.

    ```python
    with spark.register_source("sales", sales, "day DATE, item STRING, sold BIGINT"):
        session.read.format("pullstream").load("sales").groupBy("item").sum("sold").show()
    ```
    """
    READS(Call("register_source"), source)
    if not isinstance(name, str) or not name or "/" in name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"register_source() at {Site.here()} needs a name without a slash, and got {name!r}")
    if offsets not in ("values", "times"):
        raise CompositionError(f"register_source() at {Site.here()} has offsets 'values' or 'times', not {offsets!r}")
    if journal is not None and offsets != "times":
        raise CompositionError(
            f"register_source() at {Site.here()} has a journal, which knows times and not numbers of values: "
            f"offsets='times' goes with it"
        )
    session = active_session("register_source", session)
    struct = spark_schema("register_source", schema, may_be_empty=True)
    return _serve(
        session, ServedSource(name, source, struct, offsets, journal, prune=prune, shown=f"the pull source {name!r}")
    )


def _serve(session: "SparkSession", served: ServedSource) -> "RegisteredSource":
    server = server_for(session)
    before = server.sources.get(served.name)
    if before is not None and before.in_use:
        raise CompositionError(f"{before.shown} is being read by Spark; close() it first, or take another name")
    server.offer(served)
    if served.prunes:
        session.conf.set(PUSHDOWN, "true")
    if before is not None:
        # Nobody finds it any more: who waits for it would wait for ever.
        server.call(before.withdraw)
    return RegisteredSource(server, served)


class RegisteredSource:
    """A source that Spark may read by its name; leaving a `with` block withdraws it."""

    def __init__(self, server: SourceServer, served: ServedSource) -> None:
        self._server = server
        self._served = served

    @property
    def name(self) -> str:
        """The name that Spark loads it by."""
        return self._served.name

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until Spark has read it and everything is released; False if `timeout` seconds were not enough.

        A limit or a cancellation on Spark's side abandons it, which is an end like any other here.

        Raises:
            BaseException: the source's own failure.
        """
        if not self._served.over.wait(timeout):
            return False
        if self._served.failure is not None:
            raise self._served.failure
        return True

    def close(self) -> None:
        """Withdraw it: a reading is aborted, and waited for until everything is released. Twice is once."""
        self._server.call(self._served.withdraw)
        self._served.over.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RegisteredSource({self._served.name!r})"
