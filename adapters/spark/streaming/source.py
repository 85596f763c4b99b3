"""`from_streaming`: the micro-batches of a streaming query as a source, each at its own time."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, cast

import trio
from typing_extensions import override

from pullstream import DONE, Batch, CompositionError, Source
from pullstream.authoring import Backlog, Done, Finishing, Module, Outside, TaskKernel, bound
from pullstream.errors import JournalError

from ...arrow import As
from ...stopping import in_thread
from ..connect.query import ConnectQuery
from ..reading.jobs import is_connect
from ..types import DataFrame
from .checked import StreamingFrame, StreamStatus, checked
from .messages import Began, Broken, Message, Over, Read, Reply
from .query import Query, stopped_elsewhere


@bound
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
    """Read a streaming DataFrame: the rows of a micro-batch have its number as their time: 0, 1, 2, ...

    Spark commits a micro-batch only when all its results are complete at the outputs of all sinks: a day's file is in
    place, a call has been answered. If the run ends earlier (a failure, an abort, Ctrl-C, a kill), the next run with
    the same `checkpoint` begins with the same micro-batch, with the same number and rows. So nothing is lost, and a
    sink that does something again at the same time must give the same result, like a file that is named after its time.
    The `checkpoint` is a folder for this query alone.

    With a journal, `ps.run(..., journal=PATH)`, completed times are recorded before Spark commits them, together with
    the state that modules keep between micro-batches. Journal and checkpoint belong together and must begin together:
    one without the other, or with an old copy of the other, is refused.

    `trigger` is None (the next micro-batch begins when there is input), `"availableNow"` (the input so far, and then
    the stream ends), or an interval as Spark writes it, `"10 seconds"`. For `as_`, the form of a row, see
    `pullstream.arrow.Shape`. `output_mode` and `query_name` are Spark's. `status` is kept up to date: see
    `StreamStatus`.

    With Spark Connect, Spark calls a process beside its server for each micro-batch. The process waits until this
    program has read the micro-batch and reports it complete; both exchange data through global temporary views. A
    killed program counts as dead after a minute, or when it is started again. The process costs some tenths of a second
    per micro-batch.

    The query starts at the first ask. Within a micro-batch, rows are read on demand as in `from_dataframe`, a window of
    partitions ahead. The next micro-batch begins when the last one is committed. Times within a micro-batch must nest:
    `stamp(..., nest=True)`. `running.finish()` ends the stream when the current micro-batch is committed. With a
    journal, which records nothing of a run that is being finished, it ends uncommitted after its rows were delivered,
    and the next run repeats it. If a `take` downstream has enough, the stream ends at once, uncommitted.

    Raises:
        CompositionError: when composing; `df` is not a stream, or another argument is invalid. At an ask; a module
            downstream keeps state between micro-batches, and nothing saves it.
        JournalError: at an ask; the journal and the checkpoint do not belong together.
        JavaEnded: at an ask; Spark's Java was killed, ran out of memory, or crashed.
        SparkStreamError: at an ask; the query failed, with Spark's message, or was stopped from elsewhere. (With
            "availableNow", stopping it between two micro-batches ends the stream: Spark reports it as a normal end.)
        StalledError: results of a micro-batch cannot complete before the next one begins (sliding windows).

    ```python
    flights = session.readStream.schema(schema).json("flights/")
    source = spark.from_streaming(flights, checkpoint="checkpoint", trigger="availableNow")
    ps.run(ps.pipe(source, ps.count_by_key(lambda row: row.carrier), files.write_jsonl("counts/{time}.jsonl")))
    ```
    """
    spec = checked(StreamingFrame(df, cast("str", checkpoint), trigger, as_, output_mode, query_name, status))
    return Source((Module("from_streaming", StreamSource, (spec,)),))


class StreamSource(TaskKernel[Any], Finishing, Outside):
    """Takes the batches of a query's body, and lets the body return when the micro-batch is complete everywhere.

    The query runs in threads and in Spark. While these work, the task that waits for the query's end counts as waiting
    for the outside world, so that the run is not considered stalled; while the body waits for a reply, it does not.
    """

    def __init__(self, spec: StreamingFrame) -> None:
        self._spec = spec
        self._first = True
        self._status = spec.status or StreamStatus()
        self._rest = Backlog()
        self._ahead: Sequence[Any] | None = None
        self._waits_to_begin = False
        self._over = False
        self._batch: int | None = None
        """The current micro-batch, which is not fully delivered or not complete."""
        self._committing: int | None = None
        self._ending: Done | BaseException | None = None
        self._finishing = False
        self._running = False
        self._replied = False
        self._task: trio.lowlevel.Task | None = None

    @override
    async def acquire(self) -> None:
        self._check_downstream()
        self._token = trio.lowlevel.current_trio_token()
        await super().acquire()
        query = ConnectQuery if is_connect(self._spec.frame) else Query
        self._query = query(self._spec, self._send, self._status)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._rest:
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
                self._let_spark_continue()
                await self.change()

    @override
    async def release(self) -> None:
        await in_thread(self._query.close)
        await super().release()

    @override
    def identity(self) -> object:
        # Spark's own checkpoint records what has been read.
        return None

    @override
    def for_now(self) -> bool:
        return True

    @override
    def finish(self) -> None:
        # The current micro-batch is not cut short: it would seem complete with only a part of its rows.
        self._finishing = True
        if self._running:
            self.changed()

    @override
    def status(self) -> str:
        return str(self._status)

    def _check_downstream(self) -> None:
        if self.scope.sidecar.inner:
            raise CompositionError(
                f"{self.location} is opened inside another module, where it cannot track the results of its "
                f"micro-batches, for which Spark's commits wait: make it a source of the pipeline itself, for example "
                f"of a merge"
            )
        self._check_times()
        for module in self.edge.carrying():
            if module.traits.later:
                raise CompositionError(
                    f"{module}, downstream of {self.location}, emits results of a micro-batch only after a later one "
                    f"has begun, but Spark begins that only when the first one is complete: keep results within a "
                    f"micro-batch, or put the windows into the query itself"
                )
            if not self.scope.keeping.saves:
                raise CompositionError(
                    f"{module}, downstream of {self.location}, keeps state between micro-batches, which would be "
                    f"lost with the process although Spark had committed them: run with a journal, journal=PATH, which "
                    f"saves the state"
                )

    def _check_times(self) -> None:
        for module in self.scope.keeping.strangers(self.location, 0):
            raise CompositionError(
                f"{module} sets its own times downstream of {self.location}, so nothing could tell when all results of "
                f"a micro-batch are complete, for which Spark's commits wait. Set times within the micro-batch's time, "
                f"with nest=True"
            )

    def _check_inside(self) -> None:
        """Refuse, before Spark commits, what streams that were opened since the beginning may not do."""
        self._check_times()
        for module in self.scope.keeping.carrying_inside(self.location):
            raise CompositionError(
                f"{module}, inside another module downstream of {self.location}, keeps state or values from one "
                f"micro-batch for a later one, which would be lost with the process although Spark had committed them. "
                f"Put it into the pipeline itself and run with a journal: accumulate(fold, key=f) replaces group_by(f, "
                f"accumulate(fold)). Or compute each micro-batch alone, with reduce_by_key"
            )

    # ---- delivery downstream

    def _part(self, limit: int) -> Batch[Any]:
        batch = self._rest.take(limit)
        if self._over and not self._rest:
            # Only once this batch is acknowledged: until then its time must be held.
            self._moving()
            self._token.run_sync_soon(self._answered)
        return batch

    def _let_spark_continue(self) -> None:
        if not self._running:
            self._running = True
            self.start(self._run)
        elif self._waits_to_begin:
            self._waits_to_begin = False
            self._reply(Reply.GO_ON)

    # ---- messages from Spark

    def _send(self, message: Message) -> None:
        try:
            self._token.run_sync_soon(self._receive, message)
        except trio.RunFinishedError:
            self._query.messenger.reply(Reply.STOP)

    def _receive(self, message: Message) -> None:
        if self.ended:
            # The query is being stopped, and its body was notified.
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
                self._release_time()
            case Broken(failure):
                self._ending = failure
                self.changed()
        self._waiting()

    def _begin(self, batch: int, query: str) -> None:
        self._batch, self._over, self._committing = batch, False, None
        self._status.batch, self._status.rows = batch, 0
        # Spark begins a micro-batch when the last one is committed.
        self._status.committed = batch - 1 if batch else None
        first, self._first = self._first, False
        if first and (trouble := self._mismatch(batch, query)) is not None:
            self._ending = JournalError(
                f"{self.location}: {trouble}. They belong together: restore the missing or old one, or "
                f"delete both and start over"
            )
        elif self.location.done(batch):
            # Killed after the journal recorded it, and before Spark committed it.
            self._batch = None
            self.location.advance(batch + 1)
            self._reply(Reply.COMMIT)
        else:
            self.location.advance(batch)
            self._waits_to_begin = True
        self.changed()

    def _mismatch(self, batch: int, query: str) -> str | None:
        """The mismatch between the journal and the checkpoint, which begins with this micro-batch; else None.

        A micro-batch is committed after it is in the journal and before the next one begins. So the journal contains
        all earlier ones, perhaps this one, and no later one.
        """
        done = self.location.done
        if not self.scope.keeping.saves:
            return None
        journal, checkpoint = f"the journal {self.run.journal}", f"the checkpoint {self._spec.checkpoint}"
        if self.memory.ledger.setdefault("query", query) != query:
            return (
                f"{checkpoint} is a different or new one since {journal} was written: its micro-batches differ, "
                f"although they have the same numbers"
            )
        if batch and not done(batch - 1):
            return (
                f"{checkpoint} has committed micro-batch {batch - 1}, which {journal} does not contain: its effects "
                f"would be missing in states and results"
            )
        if done(batch + 1):
            return (
                f"{checkpoint} begins with micro-batch {batch}, but {journal} contains later ones: the rows that "
                f"Spark puts into those now would be dropped"
            )
        return None

    def _answered(self) -> None:
        self._release_time()
        self._waiting()

    def _release_time(self) -> None:
        """Release the micro-batch's time if all its rows were delivered."""
        if self._over and not self._rest and self._ahead is None and not self.ended:
            assert self._batch is not None, "a micro-batch that has ended has begun"
            self._over = False
            self.location.advance(self._batch + 1)
            self.start(self._complete, self._batch)

    async def _complete(self, batch: int) -> None:
        """Let Spark commit a micro-batch when all its results are complete."""
        try:
            # A window inside another module would wait for a later micro-batch, and that for this one.
            await self.location.until_fulfilled(batch, self._check_inside)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - ends the stream, unless it has already ended
            if self._finishing and isinstance(exc, JournalError):
                # A run that is being finished records nothing: Spark repeats this micro-batch.
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
        self._query.messenger.reply(reply)

    def _moving(self) -> None:
        """Note that work outside of the run is under way."""
        if self._task is not None:
            self.run.detector.leave(self._task)

    def _waiting(self) -> None:
        """Note that no outside work is under way, if the body waits for a reply."""
        if self._task is not None and not self._replied:
            self.run.detector.enter(self._task)

    async def _run(self) -> None:
        self._task = trio.lowlevel.current_task()
        try:
            await in_thread(self._query.run)
            ending: Done | BaseException = DONE
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised at an ask of the stream
            ending = exc
        finally:
            self.run.detector.leave(self._task)
            self._task = None
        if ending is DONE and self._batch is not None:
            ending = await in_thread(stopped_elsewhere, self._spec.frame.sparkSession)
        if self._ending is None:
            self._ending = ending
        self.changed()
