"""The status of a streaming query, as Spark tells it while it runs."""

from collections.abc import Iterable
from typing import Any

import attrs


@attrs.define(eq=False)
class StreamStatus:
    """The status of a streaming query; given to `from_streaming(status=...)`, which keeps it up to date.

    `batch` is the micro-batch under way, of which `rows` have been read so far. `committed` is the last one that Spark
    has committed. The rest is of that one, as Spark reports it (looked at four times a second): how many rows it had,
    how many came and were dealt with in a second, Spark's watermark (ISO text) where the query has one, and `details`,
    the whole report, which is what a StreamingQueryListener is given.
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

    def told(self, reports: Iterable[dict[str, Any]]) -> None:
        """Take what is new of Spark's reports, the newest first, as far back as the last one on a micro-batch."""
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
        """Whether Spark has said that a micro-batch is committed."""
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
    """Whether a report is on a micro-batch that is over; when there is nothing for one, Spark reports that, too."""
    return "addBatch" in report.get("durationMs", {})


def _number(value: object) -> float:
    """Spark writes what it does not know as the text NaN, or leaves it out."""
    return float(value) if isinstance(value, (int, float)) else 0.0
