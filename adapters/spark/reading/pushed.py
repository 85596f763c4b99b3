"""The pushed route: the executors send the rows of all partitions at once, as they are computed.

The driver listens; a job runs in a thread, whose tasks connect (`wire`). A batch is read from a connection only when
one is asked for, so a consumer that is slow makes the tasks wait; the next header of each is read ahead, so that the
end of a partition is known as soon as it comes. `attempts` decides which attempt at a partition is read.
"""

import hmac
import logging
import secrets
from collections import deque
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs
import trio
from typing_extensions import override

from adapters.arrow import As, RecordBatch, pyarrow
from adapters.spark.errors import CannotListen
from adapters.spark.reading import wire
from adapters.spark.reading.attempts import Attempt, Partition, PushedPartitions, Retry, Verdict
from adapters.spark.reading.cutting import Cutting
from adapters.spark.reading.jobs import Jobs, failed
from adapters.spark.reading.timed import TimedFrame
from adapters.spark.threads import in_thread
from pullstream import DONE, Batch, CapabilityError, Done, ProtocolError, TimedBatch
from pullstream.authoring import Remainder, StreamEnd, TaskKernel
from pullstream.timely import BEGINNING, less_equal

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
HELLO_SECONDS = 10
"""Seconds that a connection may take to say whose it is."""
CONFIRM_SECONDS = 2
"""Seconds that Spark may take, with speculation, to count an attempt that has delivered, while another waits."""
COUNT_SECONDS = 0.05
"""Seconds until Spark is asked again how many partitions there are, while it does not know."""

_log = logging.getLogger("pullstream.spark")


def addresses(session: "SparkSession", told: str | None = None) -> tuple[str, str]:
    """The addresses at which the driver listens, and executors find it: the loopback, unless Spark is not local."""
    context = session.sparkContext
    if told is not None:
        return told, told
    master = context.master or ""
    if master == "local" or master.startswith("local["):
        return LOOPBACK, LOOPBACK
    settings = context.getConf()
    host = settings.get("spark.driver.host") or LOOPBACK
    return settings.get("spark.driver.bindAddress") or host, host


@attrs.define(eq=False)
class _Ready:
    """A batch that waits to be read."""

    line: wire.TaskLine
    attempt: Attempt
    size: int
    schema: Any
    read: trio.Event = attrs.field(factory=trio.Event)


class PushedSource(TaskKernel[Any]):
    """Listens, runs the job beside, and answers what the tasks send."""

    def __init__(
        self,
        timed: TimedFrame,
        *,
        as_: As = "rows",
        retry: Retry = "fail",
        clock: Literal["partition"] | None = None,
        since: Hashable = BEGINNING,
        host: str | None = None,
        port: int = 0,
    ) -> None:
        self._frame = timed.frame
        self._cutting = Cutting.of(timed, as_)
        self._retry: Retry = retry
        self._clocks = clock is not None
        self._since = since
        self._place = host, port
        self._partitions = PushedPartitions(retry, since)
        self._lines: dict[Attempt, wire.TaskLine] = {}
        self._admitted: dict[Attempt, trio.Event] = {}
        self._ready: deque[_Ready] = deque()
        self._queue: deque[tuple[Partition, RecordBatch]] = deque()
        self._answers: deque[Batch[Any]] = deque()
        self._rest = Remainder()
        self._current: Partition | None = None
        self._ending = StreamEnd()
        self._all_begun = False
        self._number: int | None = None

    # ---- the life of the stream

    @override
    async def acquire(self) -> None:
        address, port = self._place
        host, found_at = addresses(self._frame.sparkSession, address)
        self._jobs = Jobs(self._frame.sparkSession)
        self._counted = wire.Counted(self._hear)
        accumulator = self._accumulator()
        await super().acquire()
        try:
            listeners = await trio.open_tcp_listeners(port, host=host)
        except BaseException as exc:
            super().halt()
            if not isinstance(exc, OSError):
                raise
            raise CannotListen(
                f"{self.location}, cannot listen at {host}:{port} for what executors send ({exc}): name a "
                f"host= of this machine and a port= that is free"
            ) from exc
        if self._clocks:
            self.location.holders = self._holders
            self.location.hold(self._since)
            self.location.drop_capability()
        self._token = secrets.token_bytes(32)
        port = listeners[0].socket.getsockname()[1]
        self.start(trio.serve_listeners, self._serve, listeners)
        self.start(self._work, wire.pushing(found_at, port, self._token, accumulator))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._rest.left:
                return self._part(limit)
            if self._answers:
                self._rest.put(self._answers.popleft())
                continue
            self._let_go(self._current)
            self._current = None
            if self._queue:
                self._current, batch = self._queue.popleft()
                self._current.queued -= 1
                self._answers.extend(self._cutting.cut(batch))
            elif self._ending.reached() and not self._ready:
                return DONE
            elif self._ready:
                await self._read(self._ready.popleft())
            else:
                await self.change(outside=True)

    @override
    def halt(self) -> None:
        # The connections stay until the job is cancelled: its tasks would take their end for a failure.
        self.ended = True

    @override
    async def release(self) -> None:
        try:
            await in_thread(self._jobs.cancel)
        finally:
            super().halt()
            await super().release()
        # Spark keeps its accumulators for ever; this one keeps nothing more of the run.
        self._counted.hear = None
        await in_thread(self._jobs.close)

    def _accumulator(self) -> "Accumulator[list[Any]]":
        from pyspark.accumulators import AddingAccumulatorParam  # noqa: PLC0415 - an optional dependency

        context = self._frame.sparkSession.sparkContext
        patient = (context.getConf().get("spark.speculation") or "false").lower() == "true"
        self._patience = CONFIRM_SECONDS if patient else 0
        self._run = trio.lowlevel.current_trio_token()
        return context.accumulator(self._counted, cast("Any", AddingAccumulatorParam)([]))

    async def _work(self, push: wire.Push) -> None:
        """Run the job, in a thread, until everything has been delivered."""

        def collect() -> list[Any]:
            return cast("Any", self._frame).mapInArrow(push, "partition long, task long").collect()

        try:
            counted = await in_thread(self._jobs.submit, collect)
        except Exception as exc:  # noqa: BLE001 - raised where the stream is asked
            self._end(exc)
        else:
            self._jobs.ended()
            for partition, task in counted:
                self._confirm(partition, task)
            self._end(DONE)

    def _end(self, ending: Done | BaseException) -> None:
        self._ending.end(ending)
        self.changed()

    # ---- what is handed on

    def _part(self, limit: int) -> Batch[Any]:
        batch = self._rest.part(limit)
        partition = self._current
        if self._clocks and partition is not None:
            times = batch.times if isinstance(batch, TimedBatch) else (batch.time,)
            self._advance(partition, times[0])
            if times[-1] != times[0]:
                self.location.hold(times[-1])
                partition.time = times[-1]
                # When it has been answered: until then the right to its first time is needed.
                self._run.run_sync_soon(self.location.drop, times[0])
        return batch

    def _advance(self, partition: Partition, time: Hashable) -> None:
        before = partition.time
        if before == time:
            return
        if not less_equal(before, time):
            row = f"{self.location}, partition {partition.number} went back in time: a row is at {time!r}, and"
            if before == self._since:
                raise CapabilityError(
                    f"{row} since={before!r}, which is to be the least time: say an earlier one, or none"
                )
            raise CapabilityError(
                f"{row} it was at {before!r} before. Sort within partitions (df.sortWithinPartitions), or allow for "
                f"disorder with lateness= instead of clock="
            )
        self.location.hold(time)
        self.location.drop(before)
        partition.time = time

    def _let_go(self, partition: Partition | None) -> None:
        """Give up the clock of a partition of which everything has been handed on."""
        if self._clocks and partition is not None and partition.ended and partition.holds and not partition.queued:
            self.location.drop(partition.time)
            partition.holds = False

    async def _read(self, ready: _Ready) -> None:
        """Read a batch that has been announced, and allow its task one more."""
        partition = self._partitions[ready.attempt.partition]
        try:
            body = await ready.line.exactly(ready.size)
        except (EOFError, OSError):
            # The connection's own task finds the same, and deals with it.
            return
        finally:
            ready.read.set()
        if partition.live is not ready.attempt:
            return
        batch = pyarrow().ipc.read_record_batch(pyarrow().py_buffer(body), ready.schema)
        partition.rows += batch.num_rows
        if self._retry == "buffer":
            partition.kept.append(batch)
        else:
            self._put(partition, batch)

    def _put(self, partition: Partition, batch: RecordBatch) -> None:
        partition.queued += 1
        self._queue.append((partition, batch))

    # ---- connections

    async def _serve(self, stream: trio.SocketStream) -> None:
        """Speak with one task, in a task of its own."""
        line = wire.TaskLine(stream.socket)
        async with stream:
            attempt = await self._introduced(line)
            if attempt is None:
                _log.warning(
                    "%s, refused a connection from %s: it did not give this run's token", self.location, line.peer
                )
                return
            self._lines[attempt] = line
            try:
                if await self._admit(attempt, line):
                    await self._receive(attempt, line)
            except (EOFError, OSError):
                self._lose(attempt)
            except Exception as exc:  # noqa: BLE001 - raised where the stream is asked
                self._end(exc)
            finally:
                del self._lines[attempt]

    async def _introduced(self, line: wire.TaskLine) -> Attempt | None:
        """The announcement of a task that has the run's token; None for everybody else."""
        with trio.move_on_after(HELLO_SECONDS), suppress(EOFError, OSError):
            said = await line.hello()
            if said is not None and hmac.compare_digest(said[0], self._token):
                line.keep_alive()
                return said[1]
        return None

    async def _admit(self, attempt: Attempt, line: wire.TaskLine) -> bool:
        """Whether an attempt is to be read; comes back when that is known."""
        new = attempt.partition not in self._partitions
        if not new:
            self._lose_if_gone(self._partitions[attempt.partition])
        verdict = self._partitions.admit(attempt)
        if new:
            self._begun(attempt)
        if verdict is Verdict.WAIT:
            event = self._admitted[attempt] = trio.Event()
            self._doubt(attempt.partition)
            await event.wait()
            del self._admitted[attempt]
            verdict = Verdict.GO if self._partitions[attempt.partition].live is attempt else Verdict.SKIP
        await line.say(wire.MORE if verdict is Verdict.GO else wire.SKIP)
        return verdict is Verdict.GO

    async def _receive(self, attempt: Attempt, line: wire.TaskLine) -> None:
        """Read headers until the end; what they announce waits until it is asked for."""
        schema: Any = None
        while True:
            kind, size = await line.header()
            if kind == wire.SCHEMA:
                schema = pyarrow().ipc.read_schema(pyarrow().py_buffer(await line.exactly(size)))
            elif kind == wire.BATCH:
                ready = _Ready(line, attempt, size, schema)
                self._ready.append(ready)
                self.changed()
                await ready.read.wait()
                if self._partitions[attempt.partition].live is not attempt:
                    # Given up for lost, with the batch unread on the line.
                    return
                await line.say(wire.MORE)
            elif kind == wire.END:
                self._finish(attempt)
                await line.say(wire.DONE)
                return
            else:
                raise ProtocolError(f"{self.location}, got a message of the unknown kind {kind!r} from {line.peer}")

    def _finish(self, attempt: Attempt) -> None:
        self._partitions.delivered(attempt)
        if self._partitions[attempt.partition].waiting:
            self._doubt(attempt.partition)

    def _doubt(self, number: int) -> None:
        """Take an attempt that has delivered for failed if Spark does not count it, and has sent another one."""
        partition = self._partitions[number]
        if partition.delivered and partition.live is not None:
            self.start(self._lose_later, partition.live)

    async def _lose_later(self, attempt: Attempt) -> None:
        await trio.sleep(self._patience)
        self._lose(attempt)

    def _hear(self, partition: int, task: int) -> None:
        with suppress(trio.RunFinishedError):
            self._run.run_sync_soon(self._confirm, partition, task)

    def _confirm(self, number: int, task: int) -> None:
        """Spark counts an attempt: its partition is at its end."""
        if self.ended:
            return
        partition = self._partitions[number]
        try:
            spared = self._partitions.confirmed(number, task)
        except Exception as exc:  # noqa: BLE001 - raised where the stream is asked
            self._end(exc)
            return
        for attempt in spared:
            self._admitted[attempt].set()
        for batch in partition.kept:
            self._put(partition, batch)
        partition.kept.clear()
        if partition is not self._current or not (self._rest.left or self._answers):
            self._let_go(partition)
        self.changed()

    def _lose(self, attempt: Attempt) -> None:
        try:
            following = self._partitions.lost(attempt)
        except Exception as exc:  # noqa: BLE001 - raised where the stream is asked
            self._end(exc)
            return
        if following is not None:
            self._admitted[following].set()

    def _lose_if_gone(self, partition: Partition) -> None:
        """Notice that a task has gone whose batch nobody has asked for yet: then it has not been handed on, either."""
        attempt = partition.live
        if attempt is None or partition.delivered or not self._lines[attempt].gone():
            return
        for ready in [ready for ready in self._ready if ready.attempt is attempt]:
            self._ready.remove(ready)
            ready.read.set()
        self._lose(attempt)

    # ---- clocks

    def _begun(self, attempt: Attempt) -> None:
        """A partition says for the first time that it is there."""
        if not self._clocks:
            return
        self.location.hold(self._since)
        if len(self._partitions) == 1:
            self.start(self._count, attempt.stage)
        self._have_all_begun()

    async def _count(self, stage: int) -> None:
        """Ask Spark how many partitions there are; it may take a moment until it knows."""
        try:
            tracker = self._frame.sparkSession.sparkContext.statusTracker()
            while (info := await in_thread(tracker.getStageInfo, stage)) is None:  # noqa: ASYNC110 - Spark tells nobody
                await trio.sleep(COUNT_SECONDS)
        except Exception as exc:  # noqa: BLE001 - raised where the stream is asked
            self._end(failed(self._frame.sparkSession, exc))
            return
        self._number = info.numTasks
        self._have_all_begun()

    def _have_all_begun(self) -> None:
        if self._number == len(self._partitions):
            self._all_begun = True
            self.location.drop(self._since)

    def _holders(self, time: Hashable) -> Sequence[str]:
        names = [f"partition {part.number}" for part in self._partitions if part.holds and part.time == time]
        return [*names, "partitions to come"] if time == self._since and not self._all_begun else names
