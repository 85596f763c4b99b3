"""The streams of the keys of a streaming DataFrame, on an executor: from micro-batch to micro-batch.

A row goes into Spark's state and waits there. When the watermark has come so far that something may be complete, a
timer of Spark's says so: then the rows that the watermark has left behind go through the transformers, in the order of
their times, beginning with what was kept. What is complete is given to Spark. What must come again, and what is to be
kept, goes back into Spark's state, with a timer for the next time that something may be complete. So all there is of a
stream is in Spark's state: it survives with Spark's checkpoint, wherever the key's next micro-batch is computed.
"""

import pickle
import weakref
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import attrs

from pullstream import Batch
from pullstream.authoring import InstalmentPlan, TimedBatch, blame, users_frames

from ...arrow import NullTimeError, Packing, Shape, pyarrow
from ...arrow import values as python_values
from .answers import Answer, RowError
from .beside import InstalmentsBeside
from .key_state import Cells, KeyState, KeyStates
from .partition import PartitionPlan, place

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


@attrs.frozen
class Watermark:
    """Event time as Spark's watermark tells it: whole milliseconds, up to and with which no row comes any more.

    >>> Watermark().time(2), Watermark().tick(2000), Watermark().tick(2001)
    (2001, 2, 3)
    """

    last: int = 253_402_300_799_999

    def time(self, tick: int) -> int:
        """The least time, in microseconds, that may still come."""
        return tick * 1000 + 1

    def tick(self, time: object) -> int | None:
        """The first watermark that leaves a time behind; None for one of another kind."""
        return -(-time // 1000) if type(time) is int else None


@attrs.frozen
class KeyedPlan(PartitionPlan):
    """The same for keys' streams: `columns` are the rows' own and the keys', as Arrow has them."""

    columns: Any = attrs.field(kw_only=True)

    @property
    def instalments(self) -> InstalmentPlan:
        """The modules that are run, as instalments are."""
        return InstalmentPlan(self.modules, Watermark(), self.module, self.site)


Made: TypeAlias = "tuple[Sequence[Row], BaseException | None]"
"""The complete rows of a key, or what to raise; to raise it here would show more of our frames to whom it concerns."""

NOTHING: Final[Made] = ((), None)


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
        """The keys whose streams have come as far as the watermark."""
        self._beside: InstalmentsBeside | None = None

    # ---- called by Spark, for the key that it is at

    def take(self, key: Sequence[Any], rows: Iterable[Sequence[Any]], watermark: int) -> Made:
        """Let a key's new rows wait, and have Spark say when there is something to do."""
        width = len(self._plan.names)
        came = [(row[-1], *row[:width]) for row in rows]
        try:
            self._check_times(came)
            came.sort(key=itemgetter(0))
            self._states.add(tuple(key), came)
            due = self._running().ahead.from_row(came[0][0], watermark - 1)
        except Exception as exc:  # noqa: BLE001 - shown with its key
            return self._failed(exc, tuple(key))
        if due > watermark:
            self._handle.registerTimer(due)
            return NOTHING
        # Late, but not too late: the watermark of the micro-batch before let them in.
        return self.wake(key, watermark)

    def wake(self, key: Sequence[Any], watermark: int) -> Made:
        """Bring a key's stream as far as the watermark; the rows of what is complete."""
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
        """End what runs beside."""
        if self._beside is not None:
            self._beside.close()

    # ----

    def _advanced(self, state: KeyState, watermark: int) -> list["Row"]:
        past = Watermark().time(watermark)
        count = sum(row[0] < past for row in state.rows)
        now, later = state.rows[:count], state.rows[count:]
        times, values, spans = self._values(now)
        beside = self._running()
        made = beside.make(times, values, watermark, state.kept)
        again = [row for span in compress(spans, made.again) for row in now[span]]
        self._states.put(state, [*again, *later], made.kept)
        # Of rows that came together the least time has had a timer, which brought the stream here.
        dues = [beside.ahead.from_row(later[0][0], watermark)] if later else []
        dues += [] if made.due is None else [made.due]
        if dues:
            self._handle.registerTimer(min(dues))
        return self._results(made.answers, state.key)

    def _values(self, rows: Sequence[Cells]) -> tuple[list[int], list[Any], list[slice]]:
        """The times and values of rows in order, and the rows that each value is made of."""
        if not rows:
            return [], [], []
        pa = pyarrow()
        times, *columns = zip(*rows, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, self._kinds, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(self._plan.names))
        if self._plan.as_ != "batches":
            return list(times), self._shape.of(batch), [slice(place, place + 1) for place in range(len(rows))]
        places = [list(run) for _, run in groupby(range(len(rows)), key=times.__getitem__)]
        spans = [slice(run[0], run[-1] + 1) for run in places]
        return [times[span.start] for span in spans], [batch[span] for span in spans], spans

    def _results(self, answers: Sequence[Batch[Any]], marks: Cells) -> list["Row"]:
        from pyspark.sql import Row  # noqa: PLC0415 - there, wherever this runs

        pa, plan = pyarrow(), self._plan
        key = tuple(python_values(pa.array([mark], kind))[0] for mark, kind in zip(marks, self._key_kinds, strict=True))
        portions = (
            portion
            for batch in answers
            for portion in (
                Answer(batch.values, batch.times, key, timed=True)
                if isinstance(batch, TimedBatch)
                else Answer(batch.values, batch.time, key)
            ).filled(plan.given)
        )
        try:
            return [Row(**row) for table in self._packing.batches(portions) for row in table.to_pylist()]
        except RowError as exc:
            blame(exc, f"{plan.module}, composed at {plan.site}")
            raise

    def _check_times(self, rows: Iterable[Cells]) -> None:
        if any(row[0] is None for row in rows):
            raise NullTimeError(
                f"no time in a row: {self._plan.time} is null. Give every row one, or leave out those without, with a "
                f"filter in Spark"
            )

    def _failed(self, failure: BaseException, key: Cells) -> Made:
        # Spark closes nothing after a failure.
        self.close()
        failure.add_note(f"on an executor, {place(self._plan.keys, key)}")
        return (), failure.with_traceback(users_frames(failure.__traceback__))

    def _running(self) -> InstalmentsBeside:
        if self._beside is None:
            self._beside = InstalmentsBeside(self._plan.instalments)
            # A task that is cancelled drops this, and closes nothing.
            weakref.finalize(self, self._beside.close)
        return self._beside
