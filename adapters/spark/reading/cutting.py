"""Stretches of values at one time, cut from Arrow batches, read and not yet handed on."""

from collections.abc import Hashable
from typing import Any, Self, TypeAlias

import attrs

from adapters.arrow import As, RecordBatch, Shape, in_utc, pyarrow
from adapters.spark.reading.timed import TimedFrame

Stretch: TypeAlias = tuple[Hashable, list[Any]]


@attrs.frozen(eq=False)
class Run:
    """Values of one time, together a value on their way to the module that gives it this time."""

    time: Hashable
    values: list[Any]

    def __repr__(self) -> str:
        return f"{self.values[0]!r}" + (f" (and {len(self.values) - 1} more)" if len(self.values) > 1 else "")


@attrs.frozen(eq=False)
class Cutting:
    """A way to cut Arrow batches into stretches; a time is in their last column, and `time` is how it is shown.

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

    def cut(self, batch: RecordBatch) -> list[Stretch]:
        """The stretches of a batch, in order.

        Raises:
            NullTimeError: a row has no time.
        """
        batch = in_utc(batch)
        # A frame without any column travels with one, or it would have no rows.
        visible = batch.select(range(self.width))
        if self.time is None:
            values = self.shape.of(visible)
            return [(0, values)] if values else []
        time = batch.column(self.width)
        if not self.jumbled:
            return list(self.shape.runs(visible, time, self.time))
        order = pyarrow().compute.sort_indices(time)
        runs = self.shape.runs(visible.take(order), time.take(order), self.time)
        values = [Run(at, values) for at, values in runs]
        return [(0, values)] if values else []
