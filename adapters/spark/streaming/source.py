"""`from_streaming`: the micro-batches of a streaming query as a source, each at a time of its own."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import trio
from typing_extensions import override

from pullstream import DONE, Batch, CompositionError, Done, JournalError, Source
from pullstream.authoring import Finishing, Module, Outside, Remainder, TaskKernel

from ...arrow import As
from ..connect.query import ConnectQuery
from ..reading.jobs import is_connect
from ..threads import in_thread
from .checked import StreamingFrame, streaming
from .messages import Began, Broken, Message, Over, Read, Reply
from .query import Query, stopped_elsewhere
from .status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def from_streaming(
    df: "DataFrame",
    *,
    checkpoint: str | PathLike[str],
    trigger: str | None = None,
    as_: As = "rows",
    output_mode: Literal["append", "update", "complete"] = "append",
    query_name: str | None = None,
    status: StreamStatus | None = None,
) -> Source[Any]:
    """Read a streaming DataFrame: the rows of a micro-batch at the time that is its number, 0, 1, 2 and so on.

    Spark commits a micro-batch when everything that it leads to is complete at the outputs of all sinks, and not
    before: a day's file is in its place, a call has been answered. Whatever ends the run earlier (a failure, an abort,
    Ctrl-C, a kill), the next run with the same `checkpoint`, a folder that belongs to this query alone, begins with
    the same micro-batch, of the same number and the same rows. So nothing is lost, and what a sink does at a time
    again must come to the same, as a file does that is named after its time.

    With a journal, `ps.run(..., journal=PATH)`, what is complete is recorded before Spark commits it, and so is what
    modules keep from one micro-batch to the next. Journal and checkpoint belong together, and begin together: one
    without the other, or with an old copy of it, is refused.

    `trigger` is None (the next micro-batch begins when there is something for it), `"availableNow"` (what is there
    now, and then the stream ends), or an interval in Spark's words, `"10 seconds"`. `as_`, what a row is: see
    `pullstream.arrow.Shape`. `output_mode` and `query_name` are Spark's. `status` is kept up to date: see
    `StreamStatus`.

    Through Spark Connect Spark calls a process beside its server for a micro-batch, which waits there until this
    program has read it and says that it is complete; they meet in global temporary views. A program that is killed is
    given up after a minute, or when it is started again. A body beside the server costs some tenths of a second a
    micro-batch.

    A query is started at the first ask, and a micro-batch read when it is asked for, as `from_dataframe` reads in
    order: a window of partitions ahead. The next one begins when it has been committed. What gives times within
    a micro-batch nests: `stamp(..., nest=True)`. `running.finish()` ends the stream when the micro-batch under way is
    committed; with a journal, which records nothing of a run that is being finished, when it has been handed on, and
    uncommitted: the next run has it again. A `take` that has enough ends the stream at once, and uncommitted.

    Raises:
        CompositionError: when composing; `df` is no stream, or something else cannot be run.
        JournalError: at an ask; the journal and the checkpoint do not belong together.
        JavaEnded: at an ask; Spark's Java has ended, killed or without memory.
        SparkStreamError: at an ask; the query failed, with Spark's message, or somebody else has stopped it. (With
            "availableNow" that is the end if it falls between two micro-batches: Spark tells it like its own end.)
        StalledError: what a micro-batch leads to cannot complete before the next one has come (sliding windows).

    ```python
    flights = session.readStream.schema(schema).json("flights/")
    source = spark.from_streaming(flights, checkpoint="checkpoint", trigger="availableNow")
    ps.run(ps.pipe(source, ps.count_by_key(lambda row: row.carrier), files.write_jsonl("counts/{time}.jsonl")))
    ```
    """
    checked = streaming(
        df,
        checkpoint=checkpoint,
        trigger=trigger,
        as_=as_,
        output_mode=output_mode,
        query_name=query_name,
        status=status,
    )
    return Source((Module("from_streaming", StreamSource, (checked,)),))


class StreamSource(TaskKernel[Any], Finishing, Outside):
    """Takes what the body of a query hands over, and lets it return when its micro-batch is complete everywhere.

    The query runs in threads, and in Spark. While that works on something, the task that waits for its end counts as
    one that waits outside, so that the run is not taken for stalled; while the body waits for a reply, as one inside.
    """

    def __init__(self, spec: StreamingFrame) -> None:
        self._spec = spec
        self._first = True
        self._status = spec.status or StreamStatus()
        self._rest = Remainder()
        self._ahead: Sequence[Any] | None = None
        self._waits_to_begin = False
        self._over = False
        self._batch: int | None = None
        """The micro-batch under way, of which something is not handed on yet, or not complete."""
        self._committing: int | None = None
        self._ending: Done | BaseException | None = None
        self._finishing = False
        self._running = False
        self._replied = False
        self._task: trio.lowlevel.Task | None = None

    @override
    async def acquire(self) -> None:
        self._check_what_is_below()
        self._token = trio.lowlevel.current_trio_token()
        await super().acquire()
        query = ConnectQuery if is_connect(self._spec.frame) else Query
        self._query = query(self._spec, self._send, self._status)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._rest.left:
                return self._part(limit)
            if self._ahead is not None:
                self._rest.put(Batch(self._batch, self._ahead))
                self._ahead = None
                self._reply(Reply.GO_ON)
            elif (self._batch is None or self._waits_to_begin) and (self._finishing or self._ending is DONE):
                if self._finishing and self._committing is not None:
                    await in_thread(self._query.wait_for_commit, self._committing)
                return DONE
            elif isinstance(self._ending, BaseException):
                raise self._ending
            else:
                self._have_spark_go_on()
                await self.change()

    @override
    async def release(self) -> None:
        await in_thread(self._query.close)
        await super().release()

    @override
    def identity(self) -> object:
        # Spark's own checkpoint says what has been read.
        return None

    @override
    def for_now(self) -> bool:
        return True

    @override
    def finish(self) -> None:
        # The micro-batch under way is not cut short: it would look complete with a part of its rows.
        self._finishing = True
        if self._running:
            self.changed()

    @override
    def status(self) -> str:
        return str(self._status)

    def _check_what_is_below(self) -> None:
        sidecar = self.scope.sidecar
        if sidecar.inner:
            raise CompositionError(
                f"{self.location}, is opened inside another module, and cannot know of all that its micro-batches lead "
                f"to, which Spark's commits wait for: make it a source of the pipeline itself, of a merge, say"
            )
        for below in sidecar.consequences.strangers(self.location, 0):
            raise CompositionError(
                f"{below}, gives times of its own below {self.location}: nothing could tell when all that a "
                f"micro-batch leads to is complete, which Spark's commits wait for. Give times within its time, "
                f"nest=True"
            )
        for below in sidecar.consequences.carrying(self.location):
            if below.traits.later:
                raise CompositionError(
                    f"{below}, below {self.location}, gives what comes in a micro-batch when later ones have come, and "
                    f"Spark begins these when the first one is complete: keep results within a micro-batch, or have "
                    f"windows in the query itself"
                )
            if sidecar.keeper is None:
                raise CompositionError(
                    f"{below}, below {self.location}, keeps something from micro-batch to micro-batch, which would be "
                    f"lost with the process, though Spark had committed them: run with a journal, journal=PATH, which "
                    f"saves it"
                )

    # ---- what goes down

    def _part(self, limit: int) -> Batch[Any]:
        values = self._rest.take(limit)
        if self._over and not self._rest.left:
            # When this has been answered: until then the right to its time is needed.
            self._moving()
            self._token.run_sync_soon(self._answered)
        return Batch(self._rest.time, values)

    def _have_spark_go_on(self) -> None:
        if not self._running:
            self._running = True
            self.start(self._run)
        elif self._waits_to_begin:
            self._waits_to_begin = False
            self._reply(Reply.GO_ON)

    # ---- what comes from Spark

    def _send(self, message: Message) -> None:
        """Send from the body's thread."""
        try:
            self._token.run_sync_soon(self._receive, message)
        except trio.RunFinishedError:
            self._query.reply(Reply.STOP)

    def _receive(self, message: Message) -> None:
        if self.ended:
            # The query is being stopped, and the body told so.
            return
        self._replied = False
        match message:
            case Began(batch, query):
                self._begin(batch, query)
            case Read(values):
                self._ahead = values
                self._status.rows += len(values)
                self.changed()
            case Over():
                self._over = True
                self._handed_on()
            case Broken(failure):
                self._ending = failure
                self.changed()
        self._waiting()

    def _begin(self, batch: int, query: str) -> None:
        self._batch, self._over, self._committing = batch, False, None
        self._status.batch, self._status.rows = batch, 0
        # Spark begins a micro-batch when the one before is committed.
        self._status.committed = batch - 1 if batch else None
        first, self._first = self._first, False
        if first and (trouble := self._mismatch(batch, query)) is not None:
            self._ending = JournalError(
                f"{self.location}: {trouble}. They belong together: bring back the one that is missing or old, or "
                f"delete both and begin anew"
            )
        elif self.location.done(batch):
            # Killed after it was in the journal, and before Spark had committed it.
            self._batch = None
            self.location.advance(batch + 1)
            self._reply(Reply.COMMIT)
        else:
            self.location.advance(batch)
            self._waits_to_begin = True
        self.changed()

    def _mismatch(self, batch: int, query: str) -> str | None:
        """The mismatch between a journal and the checkpoint, whose first micro-batch this is; None if there is none.

        Each is committed when it is in the journal, and before the next one begins: so the journal knows all that come
        before, perhaps this one, and none after it.
        """
        keeper, done = self.scope.sidecar.keeper, self.location.done
        if keeper is None:
            return None
        journal, checkpoint = f"the journal {keeper.path}", f"the checkpoint {self._spec.checkpoint}"
        if self.memory.ledger.setdefault("query", query) != query:
            return (
                f"{checkpoint} is another one, or was begun anew, since {journal} was written: its micro-batches are "
                f"others, though they have the same numbers"
            )
        if batch and not done(batch - 1):
            return (
                f"{checkpoint} has committed micro-batch {batch - 1}, which {journal} does not know: what it led to "
                f"would be missing in states and results"
            )
        if done(batch + 1):
            return (
                f"{checkpoint} begins with micro-batch {batch}, and {journal} knows later ones: what Spark puts into "
                f"those now would be dropped"
            )
        return None

    def _answered(self) -> None:
        self._handed_on()
        self._waiting()

    def _handed_on(self) -> None:
        """Say that all rows of the micro-batch have been answered, if they have: no more will come at its time."""
        if self._over and not self._rest.left and self._ahead is None and not self.ended:
            assert self._batch is not None, "what is over has begun"
            self._over = False
            self.location.advance(self._batch + 1)
            self.start(self._complete, self._batch)

    async def _complete(self, batch: int) -> None:
        """Let Spark commit a micro-batch when everything that it leads to is complete."""
        try:
            await self.location.until_fulfilled(batch)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - the stream ends of it, if it has not ended already
            if self._finishing and isinstance(exc, JournalError):
                # A run that is being finished records nothing: Spark begins with this one again.
                self._batch = None
            else:
                self._ending = exc
        else:
            self._batch, self._committing = None, batch
            self._reply(Reply.COMMIT)
        self.changed()

    def _reply(self, reply: Reply) -> None:
        self._replied = True
        self._moving()
        self._query.reply(reply)

    def _moving(self) -> None:
        """Note that something is under way that the run does not see."""
        if self._task is not None:
            self.run.detector.leave(self._task)

    def _waiting(self) -> None:
        """Note that nothing is under way, if the body waits for a reply."""
        if self._task is not None and not self._replied:
            self.run.detector.enter(self._task)

    async def _run(self) -> None:
        """Run the query, in a thread, to its end."""
        self._task = trio.lowlevel.current_task()
        try:
            await in_thread(self._query.run)
            ending: Done | BaseException = DONE
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised where the stream answers
            ending = exc
        finally:
            self.run.detector.leave(self._task)
            self._task = None
        if ending is DONE and self._batch is not None:
            ending = await in_thread(stopped_elsewhere, self._spec.frame.sparkSession)
        if self._ending is None:
            self._ending = ending
        self.changed()
