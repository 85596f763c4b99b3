"""`to_dataframe` and `register_source`: a pull source that Spark reads."""

import itertools
import os
from typing import Any, Self, get_args

from pullstream import CompositionError, Source
from pullstream.authoring import READS, Call, OneOf, Site, bound

from ...arrow import Schema
from ..connect.local import local_dataframe
from ..reading.jobs import is_connect
from ..schemas import spark_schema
from ..session import active_session
from ..types import DataFrame, SparkSession, StructType
from .filters import Prune
from .served_source import ServedSource, row_packing
from .server import SourceServer, server_for
from .source_log import Offsets

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""The setting by which a session pushes filters to Python data sources; off by default."""

_numbers = itertools.count(1)


@bound
def to_dataframe(
    source: Source[Any],
    schema: "str | StructType | Schema",
    *,
    prune: Prune | None = None,
    replay: int | None = None,
    session: "SparkSession | None" = None,
) -> "DataFrame":
    """Make a DataFrame of a source's values, lazily: the source is asked only when an action reads it.

    `schema` is DDL, such as "day DATE, delay DOUBLE", a StructType or a pyarrow.Schema. Values are dicts, tuples, named
    tuples (also PySpark's `Row`) or Arrow record batches; with a single column, any other value fills it. An int in a
    TIMESTAMP column counts microseconds since 1970, UTC, and a VARIANT takes pyspark's `VariantVal`. For a StructType
    without columns, values are `()` or `{}`, which Spark counts. `session` is by default the active session, or else a
    new local one.

    The DataFrame has one partition, in the source's order: `repartition` it for parallel work. Spark's Python worker
    asks for one Arrow batch (at most 10,000 rows) at a time, and the source is at most two batches ahead of the worker.
    The worker reads ahead of the action until Spark ends its task: after a `limit(10)` a fast source may have emitted
    some hundred thousand values. Put `ps.take(n)` after the source for an exact number.

    The source runs in a trio program in another thread of this process, which all such sources share, so blocking calls
    belong in `map_thread`. A time is complete for the source when Spark's task has taken its last value. However the
    action ends (a limit, a cancellation, a dead task), the source is aborted and released.

    Spark's Python worker passes data on whenever its buffer is full (64 KB, `spark.buffer.size`) and at the end. So an
    action on a source with one row per second sees the first rows late; use `readStream` for such sources, see
    `register_source`.

    Spark applies its filters itself. A source that can save work gets them through `prune`, a function of the source
    and a list of `RowFilter`, which is called when the reading begins. It returns the source to read instead: one that
    omits what it easily can. With `prune`, the session pushes filters to Python data sources
    (`spark.sql.python.filterPushdown.enabled`), for which Spark starts one more Python worker per query.

    **It can be read once**: a second action, or a retried task, is refused. To use it several times, `persist()` it
    before the first action. One action may read twice: before a sort or a range partitioning (`orderBy`,
    `repartitionByRange`, `from_dataframe(..., time=...)`) Spark samples the input, and a join or union with itself
    reads both sides. With `replay`, a number of bytes, it can be read any number of times, also by retried tasks: up to
    that many bytes of values are kept on this machine's disk (in an unnamed file in the folder of Python's `tempfile`)
    until the session is stopped, and each value is asked for once. The source is then not aborted when an action has
    enough, because the next one may need more. If Spark retries a task, the action's error is that of the first
    attempt. If the source fails, so does the action, with the source's exception in its message.

    **With Spark Connect**, Spark's processes cannot reach this program. This call then reads the source to its end and
    sends the values to the server, at most 256 MB as Arrow, which keeps them until the session is stopped. The
    DataFrame may be read any number of times, regardless of `replay`, and `prune` is not called.

    Raises:
        CompositionError: `source` is not a source, `schema` cannot be parsed, `replay` is not a number of bytes, or is
            given with `prune` (kept values are for all actions); or there is too much data for Spark Connect.

    ```python
    frame = spark.to_dataframe(ps.values([(1, "tea"), (2, "rice")]), "n BIGINT, item STRING")
    frame.filter("n > 1").show()
    ```
    """
    READS(Call("to_dataframe"), source)
    refusal = Call("to_dataframe", site=Site.here()).refuse
    if replay is not None and (type(replay) is not int or replay < 1):
        raise refusal(f"needs replay= to be a number of bytes, at least 1, but got {replay!r}")
    if replay is not None and prune is not None:
        raise refusal("got replay=, for all actions, and prune=, for one: use only one")
    session = active_session(refusal, session, connect=True)
    struct = spark_schema(refusal, schema, may_be_empty=True)
    shown = f"to_dataframe({source!r})"
    if is_connect(session):
        return local_dataframe(source, struct, row_packing(shown, struct), session, refusal)
    name = f"to_dataframe-{next(_numbers)}"
    _serve(session, ServedSource(name, source, struct, prune=prune, replay=replay, shown=shown))
    return session.read.format("pullstream").load(name)


@bound
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

    Read this way, it behaves as with `to_dataframe`: lazy, bounded, once, and with `prune` for filters. `readStream`,
    for which Spark pushes no filters, reads it in micro-batches:

    - An offset is a number of values. A micro-batch has at most 100,000 values, or `.option("maxRowsPerBatch", n)`,
      which arrived within a fifth of a second. With `offsets="times"` it consists of whole times: the complete ones up
      to the same limit, or a single larger one.
    - The source is asked only for the micro-batch that Spark plans. To prepare values meanwhile, add `ps.prefetch(n)`.
      With whole times, slightly more is asked for, because only the next value may show that a time is complete.
    - Values are kept until Spark has committed them; then their times are complete for the source. So if a query is
      stopped or fails, and is started again in this program with its `checkpointLocation`, it continues exactly where
      it was. Kept values do not survive this program: a checkpoint of another program, or of an earlier registration,
      is refused.
    - With `journal`, a file, and `offsets="times"`, another program can continue the checkpoint, even if this one was
      killed. Times that Spark has committed are done, as in any run with a journal (`pullstream.journal`): the source
      is read again without them, and must give the same values otherwise. A file beside the journal, with the suffix
      `.log`, identifies the checkpoint.
    - `trigger(availableNow=True)` reads the source to its end. If the source fails, so does the query, after the
      micro-batches before the failure. Only one query can read at a time.

    Before PySpark 4.2, Spark does not support limits for Python sources: `maxRowsPerBatch` still limits a micro-batch,
    but with `availableNow` the query ends after one micro-batch.

    The source stays available until it is read to its end, or `close`d, or the session is stopped. Registering another
    source under the same name replaces it, unless Spark is reading it.

    With Spark Connect this is refused, because Spark's processes cannot reach this program. Use `write_table`, which
    writes a table that Spark can read, also as a stream.

    Raises:
        CompositionError: `source` is not a source, `schema` cannot be parsed, the current source of the name is being
            read, a journal is combined with offsets by values, or the session is one of Spark Connect.

    ```python
    with spark.register_source("sales", sales, "day DATE, item STRING, sold BIGINT"):
        session.read.format("pullstream").load("sales").groupBy("item").sum("sold").show()
    ```
    """
    READS(Call("register_source"), source)
    refusal = Call("register_source").refuse
    if not isinstance(name, str) or not name or "/" in name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refusal(f"needs a name without a slash, but got {name!r}")
    OneOf(*get_args(Offsets))(Call("register_source", name="offsets"), offsets)
    if journal is not None and offsets != "times":
        raise refusal("got a journal, which records times, not numbers of values: add offsets='times'")
    session = active_session(refusal, session)
    struct = spark_schema(refusal, schema, may_be_empty=True)
    return _serve(
        session, ServedSource(name, source, struct, offsets, journal, prune=prune, shown=f"the pull source {name!r}")
    )


def _serve(session: "SparkSession", served: ServedSource) -> "RegisteredSource":
    server = server_for(session)
    before = server.sources.get(served.name)
    if before is not None and before.in_use:
        raise CompositionError(f"{before.shown} is being read by Spark: close() it first, or use another name")
    server.offer(served)
    if served.prune is not None:
        session.conf.set(PUSHDOWN, "true")
    if before is not None:
        # It can no longer be found, so a waiting reader would wait forever.
        server.call(before.withdraw)
    return RegisteredSource(server, served)


class RegisteredSource:
    """A source that Spark can read by name; leaving its `with` block withdraws it."""

    def __init__(self, server: SourceServer, served: ServedSource) -> None:
        self._server = server
        self._served = served

    @property
    def name(self) -> str:
        """The name under which Spark loads it."""
        return self._served.name

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until Spark has read it and everything is released; False after `timeout` seconds.

        A limit or cancellation on Spark's side also ends the wait.

        Raises:
            BaseException: the source's own failure.
        """
        if not self._served.over.wait(timeout):
            return False
        if self._served.failure is not None:
            raise self._served.failure
        return True

    def close(self) -> None:
        """Withdraw it: abort a read, and wait until everything is released. A second call has no effect."""
        self._server.call(self._served.withdraw)
        self._served.over.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RegisteredSource({self._served.name!r})"
