"""Run a partition's rows through the transformers on an executor, as fast as Spark takes the results.

Spark's own thread drives the generator from `run` and turns results into Arrow batches. A second thread runs the
stream, in trio. Others read Spark's input (`input`), one at a time. Results for about one Arrow batch may wait for
Spark, so the stream is asked no faster than Spark writes. When Spark drops the generator, the stream is aborted.
Trio's thread always ends before the generator.
"""

import pickle
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias, cast

import attrs
import trio

from pullstream import Context, Reader, Sink, Source, flatten, pipe
from pullstream.authoring import Module, Site, blame, users_frames

from ...arrow import As, Packing, RecordBatch
from ..types import pyspark
from .input import Answers, Cursor, KeyBatch, Keys, RowError, Rows, Splitting
from .key_rows import KeyRows, runs_in_a_row

NAME = "on_executors"
"""The name of the module in messages."""

ROWS = 10_000
"""The number of rows waiting for Spark, one Arrow batch, at which the stream waits. A larger number is no faster."""

LEAST_ROWS = 1_000
LINGER = 0.01
"""Seconds for which fewer than LEAST_ROWS rows wait for more, because small Arrow batches are expensive."""

PATIENCE = 1.0
"""Seconds to wait after a failure for the current read; the process ends anyway."""


@attrs.frozen
class PartitionPlan:
    """An executor's work: the transformers, and how rows are read and written."""

    modules: tuple[Module, ...]
    site: Site
    as_: As
    names: tuple[str, ...]
    keys: tuple[str, ...]
    time: str | None
    schema: Any
    given: dict[str, int]


Results: TypeAlias = Generator[RecordBatch, None, BaseException | None]
"""The results; returns the exception to raise, which would show our frames to the user if raised here."""


def run(pickled: bytes, batches: Iterator[RecordBatch]) -> Results:
    """Run a partition. Spark calls this; it is not a generator, so an unpickling error is raised at once."""
    plan = cast("PartitionPlan", pickle.loads(pickled))  # noqa: S301 - from the driver, as everything here is
    return PartitionRun(plan, batches).results()


class ResultQueue:
    """Hands results from trio's thread to Spark's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._portions: deque[KeyBatch] = deque()
        self._rows = 0
        self._ended = False
        self._room: trio.Event | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    async def put(self, portion: KeyBatch) -> None:
        """Hand over results; wait if a full Arrow batch is waiting for Spark."""
        with self._changed:
            before = self._rows
            self._portions.append(portion)
            self._rows += portion.rows
            # Wake Spark's thread only if it has something to do: a wake-up costs more than most portions.
            if before == 0 or before < LEAST_ROWS <= self._rows:
                self._changed.notify()
            full = self._rows >= ROWS
            if full:
                self._token = trio.lowlevel.current_trio_token()
                self._room = trio.Event()
        if full:
            assert self._room is not None
            await self._room.wait()

    def end(self) -> None:
        """Note that there are no more results."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def take(self) -> Sequence[KeyBatch]:
        """Wait for results; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._portions or self._ended)
            self._changed.wait_for(lambda: self._rows >= LEAST_ROWS or self._ended, LINGER)
            taken = list(self._portions)
            self._portions.clear()
            self._rows = 0
            if self._room is not None and self._token is not None:
                with suppress(trio.RunFinishedError):
                    self._token.run_sync_soon(self._room.set)
        return taken


class PartitionRun:
    """The run of one partition."""

    def __init__(self, plan: PartitionPlan, batches: Iterator[RecordBatch]) -> None:
        self._plan = plan
        self._cursor = Cursor(batches, Splitting(plan.as_, plan.names, len(plan.keys), plan.time))
        self._handover = ResultQueue()
        self._packing = Packing(plan.schema, RowError, plan.given, most=ROWS)
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._thread = threading.Thread(target=self._work, name="pullstream partition", daemon=True)

    # ---- in Spark's thread

    def results(self) -> Results:
        """Run the partition and yield its results; starts with the first `next`."""
        self._thread.start()
        orderly = False
        failure: BaseException | None = None
        try:
            while portions := self._handover.take():
                given = self._plan.given
                filled = chain.from_iterable(portion.filled(given) for portion in portions)
                yield from self._packing.batches(filled)
            self._thread.join()
            orderly = self._failure is None
        except RowError as exc:
            blame(exc, f"{NAME}, composed at {self._plan.site}")
            failure = exc
        finally:
            self._close(orderly=orderly)
        failure = failure or self._failure
        return None if failure is None else shown(failure, self._plan.keys, self._cursor.key)

    def _close(self, *, orderly: bool) -> None:
        self._started.wait()
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        self._thread.join()
        # Without a failure, Spark itself continues to read the input, so the thread must have stopped.
        self._cursor.close(None if orderly else PATIENCE)

    # ---- in trio's thread

    def _work(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001 - raised in Spark's thread
            self._failure = exc
        finally:
            self._started.set()
            self._handover.end()

    async def _main(self) -> None:
        plan = self._plan
        module = Module("answers", Answers, (), site=plan.site)
        # The reading module has the name of the user's function.
        if plan.keys and runs_in_a_row(plan.modules):
            rows = Module(NAME, KeyRows, (self._cursor, plan.modules), site=plan.site)
            source: Source[KeyBatch] = Source((rows,))
        elif plan.keys:
            keys = Module(NAME, Keys, (self._cursor, plan.modules, plan.site), site=plan.site)
            source = Source((keys, *flatten().modules))
        else:
            source = Source((Module(NAME, Rows, (self._cursor,), site=plan.site), *plan.modules, module))
        sink: Sink[KeyBatch, None] = Sink((Module(NAME, lambda: self._hand_over, site=plan.site),))
        self._scope = trio.CancelScope()
        self._token = trio.lowlevel.current_trio_token()
        self._started.set()
        with self._scope:
            async with pipe(source, sink).open() as running:
                await running.result()

    async def _hand_over(self, upstream: Reader[KeyBatch], ctx: Context) -> None:
        async for batch in ctx.batches(upstream):
            for portion in batch.values:
                await self._handover.put(portion)


def shown(failure: BaseException, names: Sequence[str] = (), key: tuple[Any, ...] | None = None) -> BaseException:
    """Add the failure's place, and keep only the user's frames, because Spark prints all of them.

    The place is the partition, and the key with the `names` of its columns.
    """
    task = pyspark.TaskContext.get()
    place = ["partition ?" if task is None else f"partition {task.partitionId()}"]
    place += [f"{name}={value!r}" for name, value in zip(names, () if key is None else key, strict=False)]
    failure.add_note(f"on an executor, {', '.join(place)}")
    return failure.with_traceback(users_frames(failure.__traceback__))
