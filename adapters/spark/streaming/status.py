"""The status of a running streaming query, from Spark's reports."""

from collections.abc import Iterable
from typing import Any

import attrs


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
            parts.append(f"micro-batch {self.batch}, {self.rows:,} rows of it")
        if self.committed is not None:
            parts.append(f"committed up to {self.committed}")
        if self.input_rows_per_second:
            parts.append(f"{self.input_rows_per_second:,.0f} rows/s coming in")
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark}")
        return "; ".join(parts)

    def update(self, reports: Iterable[dict[str, Any]]) -> None:
        """Take Spark's new reports, newest first, back to the last one about a micro-batch."""
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
