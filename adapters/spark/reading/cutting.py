"""Turn Arrow batches into values with their times, in as few batches as possible."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Self

import attrs

from pullstream import Batch

from ...arrow import As, RecordBatch, Shape, in_utc, pyarrow
from .timed import TimedFrame


@attrs.frozen(eq=False)
class Cutting:
    """Turns Arrow batches into pullstream batches.

    If rows have a time, it is in the last column, and `time` is its name in messages. `jumbled` batches are not in
    order of time: each is sorted.
    """

    shape: Shape
    width: int
    time: str | None
    jumbled: bool

    @classmethod
    def of(cls, frame: TimedFrame, as_: As) -> Self:
        """The cutting of a frame's batches."""
        return cls(Shape(as_, frame.names), len(frame.names), frame.time, frame.jumbled)

    def cut(self, batches: Iterable[RecordBatch]) -> list[Batch[Any]]:
        """Return the values with their times: in one batch if these are in order, else in runs of equal time.

        Raises:
            NullTimeError: a row has no time.
        """
        if self.time is not None:
            return [answer for batch in batches for answer in self._timed(in_utc(batch), self.time)]
        parts = [self.shape.of(self._visible(in_utc(batch))) for batch in batches]
        values = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        return [Batch(0, values)] if values else []

    def _visible(self, batch: RecordBatch) -> RecordBatch:
        # A frame without columns is sent with one, because otherwise it would have no rows.
        return batch.select(range(self.width))

    def _timed(self, batch: RecordBatch, shown: str) -> Iterator[Batch[Any]]:
        visible, time = self._visible(batch), batch.column(self.width)
        if self.jumbled:
            order = pyarrow().compute.sort_indices(time)
            visible, time = visible.take(order), time.take(order)
        return self.shape.timed(visible, time, shown)
