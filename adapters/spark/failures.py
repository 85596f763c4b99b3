"""Spark's messages about failed jobs, cut down to what helps."""

import logging
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from adapters.spark.errors import SparkJobError, SparkStreamError

_LONGEST_CHAIN = 20

_NOT_THEIRS = ("/pyspark.zip/pyspark/", "/site-packages/pyspark/", "/adapters/spark/executing/shipping.py")
"""Files whose frames say nothing about the user's program."""

_RAISED = re.compile(r"Traceback \(most recent call last\):(?:\n  .*)*\n(\w[\w.]*)")
"""The type of what a traceback ends with."""

_PLAN = re.compile(r"\n=== Streaming Query ===\n.*?(?=\ncaused by |\Z)", re.DOTALL)
"""The part that a streaming query adds to a message: its offsets, and all of its logical plan."""


def job_error(exc: BaseException) -> SparkJobError:
    """Spark's innermost cause, without Java frames and without the Python frames of Spark's own worker."""
    details = str(exc)
    message = essence(_cause(exc) or details)
    raised = _RAISED.findall(message)
    return SparkJobError(f"Spark could not do the job: {message}", details, raised[-1] if raised else None)


def stream_error(exc: BaseException) -> SparkStreamError:
    """The same of a streaming query."""
    details = str(exc)
    message = _PLAN.sub("", _cause(exc) or details)
    return SparkStreamError(f"the streaming query failed: {essence(message)}", details)


def start_error(exc: BaseException, master: str) -> SparkJobError:
    """The same of a session that could not be started."""
    details = str(exc)
    return SparkJobError(
        f"session() could not start Spark with the master {master!r}: {essence(_cause(exc) or details)}\n"
        f"Look at master= and config=, and begin the program anew: its Java keeps what it was started with",
        details,
    )


@contextmanager
def unlogged() -> Generator[None, None, None]:
    """Keep pyspark from logging, in this thread, the errors it raises: they are caught here, and told in our words."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an optional dependency

    thread = threading.get_ident()

    def elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    loggers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    for logger in loggers:
        logger.addFilter(elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(elsewhere)


def first_line(exc: BaseException) -> str:
    """The first line of an exception of Spark's: the parser's begin with an empty one."""
    return str(exc).strip().partition("\n")[0]


def essence(text: str) -> str:
    """The lines of a message of Spark's that are about the user's program."""
    lines: list[str] = []
    skipping = False
    for line in text.strip().splitlines():
        if line.startswith(("\tat ", "\t...", "Driver stacktrace:")):
            continue
        if line.startswith('  File "'):
            skipping = any(part in line for part in _NOT_THEIRS)
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            lines.append(line)
    return "\n".join(lines).strip()


def _cause(exc: BaseException) -> str | None:
    """The text of the last of Spark's own exceptions in the chain, and then what was below it."""
    messages: list[str] = []
    for java in _chain(exc):
        kind: str = java.getClass().getName()
        message: str | None = java.getMessage()
        if kind.startswith("org.apache.spark."):
            messages = [message or kind]
        else:
            messages.append(f"caused by {kind}: {message}" if message else f"caused by {kind}")
    return "\n".join(messages) or None


def _chain(exc: BaseException) -> Iterator[Any]:
    java: Any = getattr(exc, "java_exception", None) or getattr(exc, "_origin", None)
    for _ in range(_LONGEST_CHAIN):
        if java is None:
            return
        yield java
        java = java.getCause()
