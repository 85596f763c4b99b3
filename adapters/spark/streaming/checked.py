"""A streaming DataFrame and the options of its query, checked when composing."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

import attrs

from ...arrow import As, shape_argument
from ..columns import check_frame
from ..connect.gate import trouble
from ..reading.jobs import is_connect
from ..reading.timed import check_packages
from ..refusals import distinct, refused
from .status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from pullstream import CompositionError

AVAILABLE_NOW = "availableNow"

Body = Callable[["DataFrame", int], None]

_OUTPUT_MODES = ("append", "update", "complete")


@attrs.frozen(eq=False, repr=False)
class StreamingFrame:
    """A handle: a streaming DataFrame with the options of its query. It cannot be pickled."""

    frame: "DataFrame"
    checkpoint: str
    trigger: str | None
    as_: As
    output_mode: str
    query_name: str | None
    status: StreamStatus | None

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(self.frame.columns)}]"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"from_streaming({self!r}) cannot be pickled: a DataFrame lives in its driver")

    @property
    def ends(self) -> bool:
        """Whether the query ends by itself."""
        return self.trigger == AVAILABLE_NOW

    def start(self, body: Body) -> "StreamingQuery":
        """Start the query."""
        writer = triggered(self.frame.writeStream, self.trigger).foreachBatch(body).outputMode(self.output_mode)
        if self.query_name is not None:
            writer = writer.queryName(self.query_name)
        return writer.option("checkpointLocation", self.checkpoint).start()


def triggered(writer: "DataStreamWriter", trigger: str | None) -> "DataStreamWriter":
    """Set the trigger of a writer."""
    if trigger is None:
        return writer
    return writer.trigger(availableNow=True) if trigger == AVAILABLE_NOW else writer.trigger(processingTime=trigger)


def checked(spec: StreamingFrame) -> StreamingFrame:
    """Check the arguments of `from_streaming`; nothing is started."""
    check_packages()
    shape_argument("from_streaming", spec.as_)
    _check_frame(spec.frame)
    place: Any = spec.checkpoint
    if not isinstance(place, (str, os.PathLike)) or not os.fspath(cast("Any", place)):
        raise _refusal(
            f"needs a checkpoint, the path of a folder used for nothing else, but got {place!r}: Spark "
            f"records there which micro-batches are done, so that a killed run can be resumed"
        )
    if spec.output_mode not in _OUTPUT_MODES:
        raise _refusal(f"got output_mode={spec.output_mode!r}: use {', '.join(map(repr, _OUTPUT_MODES))}")
    if spec.query_name is not None and not isinstance(spec.query_name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refusal(f"got query_name={spec.query_name!r}: use a string")
    if spec.status is not None and not isinstance(spec.status, StreamStatus):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refusal(f"got status={spec.status!r}: use a StreamStatus()")
    if spec.trigger is not None:
        _check_trigger(spec.frame, spec.trigger)
    return attrs.evolve(spec, checkpoint=os.fspath(cast("Any", place)))


def _check_frame(df: Any) -> None:
    check_frame("from_streaming", df, "a streaming Spark DataFrame")
    if not df.isStreaming:
        raise _refusal("needs a streaming DataFrame, but got one that is not a stream: use from_dataframe")
    distinct("from_streaming", df.columns)
    if is_connect(df) and (why := trouble(df.sparkSession)) is not None:
        raise _refusal(
            f"got a DataFrame of Spark Connect, whose micro-batches are passed through global temporary views, but its "
            f"server has none ({why}): let the query write a table (df.writeStream.toTable) and read that, or use a "
            f"classic session"
        )


def _check_trigger(df: "DataFrame", trigger: object) -> None:
    if isinstance(trigger, str):
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional dependency

        try:
            triggered(df.writeStream, trigger)
        except (PySparkException, ValueError):
            pass
        else:
            return
    raise _refusal(
        f"got trigger={trigger!r}: use None (a micro-batch begins when there is input), "
        f"'{AVAILABLE_NOW}' (the input so far, and then the stream ends), or an interval as Spark writes it, such as "
        f"'10 seconds'"
    )


def _refusal(what: str) -> "CompositionError":
    return refused("from_streaming", what)
