"""From Arrow batches to what is answered: values with their times, as few times as may be for each batch."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Self

import attrs

from pullstream import Batch

from ...arrow import As, RecordBatch, Shape, in_utc, pyarrow
from .timed import TimedFrame


@attrs.frozen(eq=False)
class Cutting:
    """A way to make answers of Arrow batches; a time is in their last column, and `time` is how it is shown.

    `jumbled` batches are not in order of time, and each is put in order.
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
        """The values of batches with their times: at once if these are in order, or else in runs of equal time.

        Raises:
            NullTimeError: a row has no time.
        """
        if self.time is not None:
            return [answer for batch in batches for answer in self._timed(in_utc(batch), self.time)]
        parts = [self.shape.of(self._visible(in_utc(batch))) for batch in batches]
        values = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        return [Batch(0, values)] if values else []

    def _visible(self, batch: RecordBatch) -> RecordBatch:
        # A frame without any column travels with one, or it would have no rows.
        return batch.select(range(self.width))

    def _timed(self, batch: RecordBatch, shown: str) -> Iterator[Batch[Any]]:
        visible, time = self._visible(batch), batch.column(self.width)
        if self.jumbled:
            order = pyarrow().compute.sort_indices(time)
            visible, time = visible.take(order), time.take(order)
        return self.shape.timed(visible, time, shown)
