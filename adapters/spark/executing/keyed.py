"""The streams of a streaming DataFrame's keys, on an executor, continued from micro-batch to micro-batch.

Rows are stored in Spark's state. When the watermark has advanced far enough for something to be complete, a Spark timer
fires. Then the rows before the watermark go through the transformers, in order of time, starting from the saved state.
Complete results go to Spark. Rows that must be replayed, and the new state, go back into Spark's state, with a timer
for the next time at which something may be complete. So a stream is entirely in Spark's state: it survives with Spark's
checkpoint, and the key's next micro-batch may run on any executor.
"""

import pickle
import threading
import weakref
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from itertools import compress, groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

import attrs
import trio
import trio.from_thread

from pullstream import Batch, PullstreamError
from pullstream.authoring import Carryover, Instalment, InstalmentPlan, Instalments, blame, instalments

from ...arrow import NullTimeError, Packing, Shape, pa, values as python_values
from ..types import Row, StatefulProcessorHandle, pyspark
from .input import KeyBatch, RowError
from .partition import NAME, PartitionPlan, shown


class InstalmentThread:
    """Makes instalments in a thread, which starts with the first one."""

    def __init__(self, plan: InstalmentPlan) -> None:
        self._plan = plan
        self.ahead = plan.ahead()
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._over: trio.Event
        self._instalments: Instalments
        self._failure: BaseException | None = None

    def make(self, times: Sequence[int], values: Sequence[Any], tick: int, kept: Carryover | None) -> Instalment:
        """Make an instalment; blocks."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pullstream keys", daemon=True)
            self._thread.start()
            self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return trio.from_thread.run(self._instalments.make, times, values, tick, kept, trio_token=self._token)

    def close(self) -> None:
        """End the thread, and wait for it. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            if self._token is not None:
                with suppress(trio.RunFinishedError):
                    self._token.run_sync_soon(self._over.set)
            thread.join()

    def _work(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001 - raised in Spark's thread
            self._failure = exc
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._over = trio.Event()
        async with instalments(self._plan, self.ahead) as self._instalments:
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set()
            await self._over.wait()


FORMAT = 1
"""The version of the stored form."""

Cells: TypeAlias = tuple[Any, ...]
"""A row: its time in microseconds, then its columns. For a key: its columns."""


class StateMismatch(PullstreamError):
    """The state in Spark's checkpoint belongs to other transformers."""


@attrs.define
class KeyState:
    """The whole state of a key."""

    key: Cells
    rows: list[Cells]
    """The rows in the order of their times; rows with the same time keep their order of arrival."""
    kept: Carryover | None


class KeyStates:
    """The state of Spark's current key.

    New rows are added in one piece, which is read only when the stream continues. So a micro-batch that completes
    nothing costs only its own rows, however many wait. The key is stored with the rows, in the form in which it came
    with them, because Spark's timers have it in another form.
    """

    def __init__(self, handle: "StatefulProcessorHandle", program: Sequence[str]) -> None:
        self._rows: Any = handle.getListState("rows", "rows BINARY")
        self._kept: Any = handle.getValueState("kept", "kept BINARY")
        self._program = (FORMAT, tuple(program))

    def add(self, key: Cells, rows: Sequence[Cells]) -> None:
        """Add new rows to those that wait."""
        self._rows.appendValue((_packed(key, rows),))

    def get(self, key: Cells) -> KeyState:
        """Return the whole state of the key."""
        parts = [pickle.loads(part) for (part,) in self._rows.get()]  # noqa: S301 - written by this
        rows = sorted((row for _, some in parts for row in some), key=itemgetter(0))
        state = self._kept.get()
        if state is None:
            return KeyState(parts[0][0] if parts else key, rows, None)
        program, key, kept = pickle.loads(state[0])  # noqa: S301 - written by this
        if program != self._program:
            raise StateMismatch(
                f"the checkpoint contains the state of {' -> '.join(program[1])} (format {program[0]}), but this is "
                f"{' -> '.join(self._program[1])} (format {FORMAT}): use a new checkpoint, or run the "
                f"transformers that it belongs to"
            )
        return KeyState(key, rows, kept)

    def put(self, before: KeyState, rows: Sequence[Cells], kept: Carryover | None) -> None:
        """Replace the state `before` with these rows and this carryover."""
        if len(rows) < len(before.rows):
            if rows:
                self._rows.put([(_packed(before.key, rows),)])
            else:
                self._rows.clear()
        if kept is not None:
            self._kept.update((pickle.dumps((self._program, before.key, kept), protocol=5),))
        elif before.kept is not None:
            self._kept.clear()


def _packed(key: Cells, rows: Sequence[Cells]) -> bytes:
    return pickle.dumps((key, list(rows)), protocol=5)


@attrs.frozen
class Watermark:
    """Event time by Spark's watermark, in whole milliseconds: no more rows at or before it arrive.

    >>> Watermark().time(2), Watermark().tick(2000), Watermark().tick(2001)
    (2001, 2, 3)
    """

    last: int = 253_402_300_799_999

    def time(self, tick: int) -> int:
        """The earliest time, in microseconds, that may still arrive."""
        return tick * 1000 + 1

    def tick(self, time: object) -> int | None:
        """The first watermark at which a time is complete; None for a time of another type."""
        return -(-time // 1000) if type(time) is int else None


@attrs.frozen
class KeyedPlan(PartitionPlan):
    """The plan for streams of keys; `columns` are the Arrow fields of the rows and of the keys."""

    columns: Any = attrs.field(kw_only=True)

    @property
    def instalments(self) -> InstalmentPlan:
        """The plan for running the modules in instalments."""
        return InstalmentPlan(self.modules, Watermark(), NAME, self.site)


KeyResult: TypeAlias = "tuple[Sequence[Row], BaseException | None]"
"""A key's complete rows, or the exception to raise; raised here, it would show our frames to the user."""

NOTHING: Final[KeyResult] = ((), None)


class KeyedStreams:
    """The streams of the keys of one partition, in one micro-batch."""

    def __init__(self, pickled: bytes, handle: "StatefulProcessorHandle") -> None:
        self._plan = plan = cast("KeyedPlan", pickle.loads(pickled))  # noqa: S301 - from the driver
        self._handle = handle
        self._states = KeyStates(handle, [module.name for module in plan.modules])
        self._shape = Shape(plan.as_, plan.names)
        self._packing = Packing(plan.schema, RowError, plan.given)
        width = len(plan.names)
        kinds = [field.type for field in plan.columns]
        self._kinds, self._key_kinds = kinds[:width], kinds[width:]
        self._woken: set[Hashable] = set()
        """The keys whose streams have been advanced to the watermark."""
        self._thread: InstalmentThread | None = None

    # ---- called by Spark, for its current key

    def take(self, key: Sequence[Any], rows: Iterable[Sequence[Any]], watermark: int) -> KeyResult:
        """Store a key's new rows, and set a timer for the time at which something may be complete."""
        width = len(self._plan.names)
        new = [(row[-1], *row[:width]) for row in rows]
        if missing := sum(row[0] is None for row in new):
            return self._failed(NullTimeError.of(missing, len(new), str(self._plan.time)), tuple(key))
        try:
            new.sort(key=itemgetter(0))
            self._states.add(tuple(key), new)
            due = self._running().ahead.from_row(new[0][0], watermark - 1)
        except Exception as exc:  # noqa: BLE001 - shown with its key
            return self._failed(exc, tuple(key))
        if due > watermark:
            self._handle.registerTimer(due)
            return NOTHING
        # The rows are behind this watermark, but not behind the last micro-batch's, by which Spark drops late rows.
        return self.wake(key, watermark)

    def wake(self, key: Sequence[Any], watermark: int) -> KeyResult:
        """Advance a key's stream to the watermark; return its complete rows."""
        name = tuple(bytes(part) if isinstance(part, bytearray) else part for part in key)
        if name in self._woken:
            return NOTHING
        self._woken.add(name)
        state = KeyState(name, [], None)
        try:
            state = self._states.get(name)
            return self._advanced(state, watermark), None
        except BaseException as exc:  # noqa: BLE001 - shown with its key
            return self._failed(exc, state.key)

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.close()

    # ----

    def _advanced(self, state: KeyState, watermark: int) -> list["Row"]:
        past = Watermark().time(watermark)
        count = sum(row[0] < past for row in state.rows)
        now, later = state.rows[:count], state.rows[count:]
        times, values, spans = self._values(now)
        thread = self._running()
        made = thread.make(times, values, watermark, state.kept)
        again = [row for span in compress(spans, made.again) for row in now[span]]
        self._states.put(state, [*again, *later], made.kept)
        # `take` sets a timer only for the earliest of its rows, so the later ones need one now.
        dues = [thread.ahead.from_row(later[0][0], watermark)] if later else []
        dues += [] if made.due is None else [made.due]
        if dues:
            self._handle.registerTimer(min(dues))
        return self._results(made.answers, state.key)

    def _values(self, rows: Sequence[Cells]) -> tuple[list[int], Sequence[Any], list[slice]]:
        """The times and values of rows, in order, and the rows that each value consists of."""
        if not rows:
            return [], [], []
        times, *columns = zip(*rows, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, self._kinds, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(self._plan.names))
        if self._plan.as_ != "batches":
            return list(times), self._shape.of(batch), [slice(place, place + 1) for place in range(len(rows))]
        places = [list(run) for _, run in groupby(range(len(rows)), key=times.__getitem__)]
        spans = [slice(run[0], run[-1] + 1) for run in places]
        return [times[span.start] for span in spans], [batch[span] for span in spans], spans

    def _results(self, answers: Sequence[Batch[Any]], marks: Cells) -> list["Row"]:
        plan = self._plan
        key = tuple(python_values(pa.array([mark], kind))[0] for mark, kind in zip(marks, self._key_kinds, strict=True))
        portions = (portion for batch in answers for portion in KeyBatch(batch, key).filled(plan.given))
        try:
            return [pyspark.sql.Row(**row) for table in self._packing.batches(portions) for row in table.to_pylist()]
        except RowError as exc:
            blame(exc, f"{NAME}, composed at {plan.site}")
            raise

    def _failed(self, failure: BaseException, key: Cells) -> KeyResult:
        # Spark does not call `close` after a failure.
        self.close()
        return (), shown(failure, self._plan.keys, key)

    def _running(self) -> InstalmentThread:
        if self._thread is None:
            self._thread = InstalmentThread(self._plan.instalments)
            # A cancelled task drops this object without closing it.
            weakref.finalize(self, self._thread.close)
        return self._thread
