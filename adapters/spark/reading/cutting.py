"""From Arrow batches to what is answered: values with their times, as few times as may be for each batch."""

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Self

import attrs
from typing_extensions import override

from pullstream import Batch

from ...arrow import As, RecordBatch, Shape, in_utc, pyarrow
from .timed import TimedFrame


class Run(NamedTuple):
    """Values of one time, together a value on their way to the module that gives it this time."""

    time: Hashable
    values: list[Any]

    @override
    def __repr__(self) -> str:
        return f"{self.values[0]!r}" + (f" (and {len(self.values) - 1} more)" if len(self.values) > 1 else "")


@attrs.frozen(eq=False)
class Cutting:
    """A way to make answers of Arrow batches; a time is in their last column, and `time` is how it is shown.

    `jumbled` batches are not in order of time: every time in one becomes a `Run`, at time 0.
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
        if not self.jumbled:
            yield from self.shape.timed(visible, time, shown)
            return
        order = pyarrow().compute.sort_indices(time)
        sorted_batches = self.shape.timed(visible.take(order), time.take(order), shown)
        runs = [Run(run.time, list(run.values)) for each in sorted_batches for run in each.runs()]
        if runs:
            yield Batch(0, runs)
