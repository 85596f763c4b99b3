"""Spark's messages about failed jobs, reduced to the useful part."""

import logging
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from .errors import SparkJobError, SparkStreamError
from .types import pyspark

_LONGEST_CHAIN = 20

_HERE = __name__.rpartition(".")[0].replace(".", "/")

_NOT_THEIRS = (
    "/pyspark.zip/pyspark/",
    "/site-packages/pyspark/",
    f"/{_HERE}/executing/shipping.py",
    f"/{_HERE}/writing/remote.py",
)
"""Files whose frames say nothing about the user's program."""

_RAISED = re.compile(r"Traceback \(most recent call last\):(?:\n  .*)*\n(\w[\w.]*)")
"""The type of the exception at the end of a traceback."""

_PLAN = re.compile(r"\n=== Streaming Query ===\n.*?(?=\ncaused by |\Z)", re.DOTALL)
"""The part that a streaming query adds to a message: its offsets and its whole logical plan."""


_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"

MORE_MEMORY = (
    "Give Java more memory, spark.session(config={'spark.driver.memory': '4g'}), or split the data: use more "
    "partitions, or fewer rows at one time"
)
"""Advice if Java runs out of memory; on one machine the driver's heap is also the executors'."""


def job_error(exc: BaseException) -> SparkJobError:
    """Convert Spark's error of a failed job, without Java frames and without frames of Spark's Python worker."""
    message, details, out_of_memory = _sense(exc)
    raised = _RAISED.findall(message)
    hint = f"\n{MORE_MEMORY}" if out_of_memory else ""
    return SparkJobError(f"Spark could not do the job: {message}{hint}", details, raised[-1] if raised else None)


def stream_error(exc: BaseException) -> SparkStreamError:
    """Convert Spark's error of a streaming query."""
    message, details, _ = _sense(exc)
    return SparkStreamError(f"the streaming query failed: {message}", details)


def start_error(exc: BaseException, master: str) -> SparkJobError:
    """Convert Spark's error of a session that could not be started."""
    message, details, _ = _sense(exc)
    return SparkJobError(
        f"session() could not start Spark with the master {master!r}: {message}\n"
        f"Check master= and config=, and restart the program: its Java keeps the settings it was started with",
        details,
    )


@contextmanager
def unlogged() -> Generator[None, None, None]:
    """Keep pyspark from logging errors that it raises in this thread: they are caught and converted here."""
    thread = threading.get_ident()

    def elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    names = "DataFrameQueryContextLogger", "SQLQueryContextLogger"
    loggers = [*map(pyspark.logger.PySparkLogger.getLogger, names)]
    for logger in loggers:
        logger.addFilter(elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(elsewhere)


def essence(text: str) -> str:
    """The lines of a Spark message that are about the user's program."""
    lines: list[str] = []
    skipping = False
    for line in text.strip().splitlines():
        if line == "JVM stacktrace:":
            # Through Spark Connect, Java's frames follow the message.
            break
        if line.startswith(("\tat ", "\t...", "Driver stacktrace:")):
            continue
        if line.startswith('  File "'):
            skipping = any(part in line for part in _NOT_THEIRS)
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            lines.append(line)
    return "\n".join(lines).strip()


def _sense(exc: BaseException) -> tuple[str, str, bool]:
    """The message of a Spark exception, its details, and whether Java ran out of memory."""
    links = [(str(java.getClass().getName()), str(java.getMessage() or "")) for java in _chain(exc)]
    text = str(exc)
    details = [text, *(_cause(*link) for link in links if link[1] not in text)]
    out_of_memory = any(_OUT_OF_MEMORY in part for link in links for part in link)
    return essence(_PLAN.sub("", _message(links) or text)), "\n".join(details), out_of_memory


def _message(links: list[tuple[str, str]]) -> str:
    """The last Spark exception in a chain, with earlier ones that add something (such as a file), and the cause."""
    spark = [position for position, (kind, _) in enumerate(links) if kind.startswith("org.apache.spark.")]
    if not links:
        return ""
    last = spark[-1] if spark else 0
    # Earlier exceptions that have an error class, and do not only repeat the next one.
    pairs = pairwise(links[: last + 1])
    before = [link for link, (_, inner) in pairs if link[1].startswith("[") and not (inner and inner in link[1])]
    first, *others = [*before, *links[last:]]
    kind, message = first
    opening = message if message and kind.startswith("org.apache.spark.") else f"{kind}: {message}".removesuffix(": ")
    return "\n".join([opening, *(_cause(*link) for link in others)])


def _cause(kind: str, message: str) -> str:
    return f"caused by {kind}: {message}" if message else f"caused by {kind}"


def _chain(exc: BaseException) -> Iterator[Any]:
    java: Any = getattr(exc, "java_exception", None) or getattr(exc, "_origin", None)
    for _ in range(_LONGEST_CHAIN):
        if java is None:
            return
        yield java
        java = java.getCause()
