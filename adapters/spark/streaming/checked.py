"""A streaming DataFrame, the options of its query, checked when composing, and the status of the query."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn, cast

import attrs

from pullstream.authoring import Call, Instance, OneOf

from ...arrow import As, shape_argument
from ..columns import check_frame
from ..connect.gate import trouble
from ..errors import distinct
from ..reading.jobs import is_connect
from ..reading.timed import check_packages
from ..types import DataFrame, DataStreamWriter, StreamingQuery, pyspark


@attrs.define(eq=False)
class StreamStatus:
    """The status of a streaming query; given to `from_streaming(status=...)`, which keeps it up to date.

    `batch` is the current micro-batch, of which `rows` have been read so far. `committed` is the last micro-batch that
    Spark has committed. The other fields describe that one, as Spark reports it (checked four times a second): its
    number of rows, the rows per second that arrived and that were processed, Spark's watermark (ISO text) if the query
    has one, and `details`, the whole report as a StreamingQueryListener gets it.
    """

    batch: int | None = None
    rows: int = 0
    committed: int | None = None
    input_rows: int = 0
    input_rows_per_second: float = 0.0
    processed_rows_per_second: float = 0.0
    watermark: str | None = None
    details: dict[str, Any] = attrs.field(factory=dict[str, Any], repr=False)

    def __str__(self) -> str:
        parts: list[str] = []
        if self.batch is not None:
            parts.append(f"micro-batch {self.batch}, {self.rows:,} rows read")
        if self.committed is not None:
            parts.append(f"committed up to {self.committed}")
        if self.input_rows_per_second:
            parts.append(f"{self.input_rows_per_second:,.0f} rows/s arriving")
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark}")
        return "; ".join(parts)

    def update(self, reports: Iterable[dict[str, Any]]) -> None:
        """Process Spark's new reports, newest first, back to the last one about a micro-batch."""
        new: list[dict[str, Any]] = []
        for report in reports:
            if report == self.details:
                break
            new.append(report)
            if _is_of_batch(report):
                break
        for report in reversed(new):
            self._reported(report)

    def has_committed(self, batch: int) -> bool:
        """Whether Spark has reported a micro-batch as committed."""
        return self.committed is not None and self.committed >= batch

    def _reported(self, report: dict[str, Any]) -> None:
        if _is_of_batch(report):
            self.committed = report["batchId"]
            self.input_rows = report.get("numInputRows", 0)
        self.input_rows_per_second = _number(report.get("inputRowsPerSecond"))
        self.processed_rows_per_second = _number(report.get("processedRowsPerSecond"))
        self.watermark = report.get("eventTime", {}).get("watermark", self.watermark)
        self.details = report


def _is_of_batch(report: dict[str, Any]) -> bool:
    """Whether a report is about a finished micro-batch; Spark also reports when it is idle."""
    return "addBatch" in report.get("durationMs", {})


def _number(value: object) -> float:
    """Convert a number of Spark's report. For an unknown number Spark writes the text NaN, or nothing."""
    return float(value) if isinstance(value, (int, float)) else 0.0


_refusal = Call("from_streaming").refuse

AVAILABLE_NOW = "availableNow"

Body = Callable[["DataFrame", int], None]

_OUTPUT_MODE = OneOf("append", "update", "complete")


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
    _OUTPUT_MODE(Call("from_streaming", name="output_mode"), spec.output_mode)
    if spec.query_name is not None:
        Instance(str, "needs query_name= to be a str")(Call("from_streaming"), spec.query_name)
    if spec.status is not None:
        Instance(StreamStatus, "needs status= to be a StreamStatus()")(Call("from_streaming"), spec.status)
    if spec.trigger is not None:
        _check_trigger(spec.frame, spec.trigger)
    return attrs.evolve(spec, checkpoint=os.fspath(cast("Any", place)))


def _check_frame(df: Any) -> None:
    check_frame(_refusal, df, "a streaming Spark DataFrame")
    if not df.isStreaming:
        raise _refusal("needs a streaming DataFrame, but got one that is not a stream: use from_dataframe")
    distinct(_refusal, df.columns)
    if is_connect(df) and (why := trouble(df.sparkSession)) is not None:
        raise _refusal(
            f"got a DataFrame of Spark Connect, whose micro-batches are passed through global temporary views, but its "
            f"server has none ({why}): let the query write a table (df.writeStream.toTable) and read that, or use a "
            f"classic session"
        )


def _check_trigger(df: "DataFrame", trigger: object) -> None:
    if isinstance(trigger, str):
        with suppress(pyspark.errors.PySparkException, ValueError):
            triggered(df.writeStream, trigger)
            return
    raise _refusal(
        f"got trigger={trigger!r}: use None (a micro-batch begins when there is input), "
        f"'{AVAILABLE_NOW}' (the input so far, and then the stream ends), or an interval as Spark writes it, such as "
        f"'10 seconds'"
    )
