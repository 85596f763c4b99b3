"""A DataFrame with the column or expression for its rows' time, and its Arrow batches as values with their times."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NoReturn

import attrs

from pullstream import Batch
from pullstream.authoring import of_extra

from ...arrow import As, RecordBatch, Shape, in_utc, pa
from ..columns import check_frame, functions, typed_column
from ..errors import Refusal, SparkMissing, distinct
from ..types import Column, DataFrame

TIME = "__pullstream_time__"
"""The name of the last column, which carries a row's time to the driver."""


@attrs.frozen(eq=False, repr=False)
class TimedFrame:
    """A handle: a DataFrame whose last column is the time of every row, if rows have times."""

    frame: "DataFrame"
    names: tuple[str, ...]
    time: str | None = None
    """The time argument, for messages."""
    kind: str | None = None
    """The time's type in Spark."""
    jumbled: bool = False
    """Whether its batches are not in the order of time."""

    def __repr__(self) -> str:
        # A journal identifies pipelines by their repr, and with another time the rows differ.
        return f"DataFrame[{', '.join(self.names)}]{'' if self.time is None else f', time={self.time}'}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"from_dataframe({self!r}) cannot be pickled: a DataFrame lives in its driver")

    def sorted(self) -> "TimedFrame":
        """Sort the frame by time."""
        # Nulls first, so that a row without a time is found at the first ask.
        return attrs.evolve(self, frame=self.frame.sort(functions(self.frame).col(TIME).asc_nulls_first()))


def timed(df: "DataFrame", time: "str | Column | None", refusal: Refusal) -> TimedFrame:
    """Check a DataFrame and its time; no job is started."""
    check_packages()
    check_frame(refusal, df)
    if df.isStreaming:
        raise refusal("reads a DataFrame that is not a stream, but got a streaming one: use from_streaming")
    distinct(refusal, df.columns)
    # Spark resolves column names again, and fails for names with dots, so the columns are renamed by position.
    plain = [f"c{position}" for position in range(len(df.columns))]
    if time is None:
        # Rows without columns would be lost.
        frame = df.toDF(*plain) if plain else df.select(functions(df).lit(0).alias(TIME))
        return TimedFrame(frame, tuple(df.columns))
    chosen, field = typed_column(refusal, df, "time", time)
    frame = df.select("*", chosen).toDF(*plain, TIME)
    return TimedFrame(frame, tuple(df.columns), repr(time), field.dataType.simpleString())


def check_packages() -> None:
    """Refuse to continue if Python packages that Spark needs are missing."""
    for name in ("pyspark", "pyarrow", "pandas"):
        of_extra("spark", name, SparkMissing)


@attrs.frozen(eq=False)
class Cutting:
    """Turns Arrow batches into pullstream batches.

    If rows have a time, it is in the last column, and `time` is its name in messages. `jumbled` batches are not in
    order of time: each is sorted.
    """

    as_: As
    names: Sequence[str]
    time: str | None
    jumbled: bool

    def cut(self, batches: Iterable[RecordBatch]) -> list[Batch[Any]]:
        """Return the values with their times: in one batch if these are in order, else in runs of equal time."""
        if self.time is not None:
            return [answer for batch in batches for answer in self._timed(in_utc(batch), self.time)]
        parts = [Shape(self.as_, self.names).of(self._visible(in_utc(batch))) for batch in batches]
        values = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        return [Batch(0, values)] if values else []

    def _visible(self, batch: RecordBatch) -> RecordBatch:
        # A frame without columns is sent with one, because otherwise it would have no rows.
        return batch.select(range(len(self.names)))

    def _timed(self, batch: RecordBatch, shown: str) -> Iterator[Batch[Any]]:
        visible, time = self._visible(batch), batch.column(len(self.names))
        if self.jumbled:
            order = pa.compute.sort_indices(time)
            visible, time = visible.take(order), time.take(order)
        return Shape(self.as_, self.names).timed(visible, time, shown)
