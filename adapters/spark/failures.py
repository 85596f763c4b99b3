"""Spark's messages about failed jobs, cut down to what helps."""

import logging
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import attrs

from .errors import SparkJobError, SparkStreamError

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
"""The type of what a traceback ends with."""

_PLAN = re.compile(r"\n=== Streaming Query ===\n.*?(?=\ncaused by |\Z)", re.DOTALL)
"""The part that a streaming query adds to a message: its offsets, and all of its logical plan."""


_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"

MORE_MEMORY = (
    "Give Java more memory, spark.session(config={'spark.driver.memory': '4g'}), or cut what is too large for it: more "
    "partitions, fewer rows of one time"
)
"""Advice where Java has no memory left; on one machine the driver's is the executors', too."""


def job_error(exc: BaseException) -> SparkJobError:
    """The words of Spark on a failed job, without Java frames and without the Python frames of Spark's own worker."""
    told = _Sense.of(exc)
    raised = _RAISED.findall(told.message)
    hint = f"\n{MORE_MEMORY}" if told.out_of_memory else ""
    return SparkJobError(
        f"Spark could not do the job: {told.message}{hint}", told.details, raised[-1] if raised else None
    )


def stream_error(exc: BaseException) -> SparkStreamError:
    """The same of a streaming query."""
    told = _Sense.of(exc)
    return SparkStreamError(f"the streaming query failed: {told.message}", told.details)


def start_error(exc: BaseException, master: str) -> SparkJobError:
    """The same of a session that could not be started."""
    told = _Sense.of(exc)
    return SparkJobError(
        f"session() could not start Spark with the master {master!r}: {told.message}\n"
        f"Look at master= and config=, and begin the program anew: its Java keeps what it was started with",
        told.details,
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
        if line == "JVM stacktrace:":
            # What comes through Spark Connect has Java's frames behind its message.
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


@attrs.frozen
class _Sense:
    """The sense of an exception of Spark's."""

    message: str
    details: str
    out_of_memory: bool

    @classmethod
    def of(cls, exc: BaseException) -> "_Sense":
        links = [(str(java.getClass().getName()), str(java.getMessage() or "")) for java in _chain(exc)]
        text = str(exc)
        details = [text, *(_cause(*link) for link in links if link[1] not in text)]
        return cls(
            essence(_PLAN.sub("", _message(links) or text)),
            "\n".join(details),
            any(kind == _OUT_OF_MEMORY or _OUT_OF_MEMORY in message for kind, message in links),
        )


def _message(links: list[tuple[str, str]]) -> str:
    """The last of Spark's own exceptions in a chain, those before that say more (which file), and what was below."""
    spark = [position for position, (kind, _) in enumerate(links) if kind.startswith("org.apache.spark.")]
    if not links:
        return ""
    last = spark[-1] if spark else 0
    before = [link for link, (_, below) in pairwise(links[: last + 1]) if _says_more(link, below)]
    first, *others = [*before, *links[last:]]
    kind, message = first
    opening = message if message and kind.startswith("org.apache.spark.") else f"{kind}: {message}".removesuffix(": ")
    return "\n".join([opening, *(_cause(*link) for link in others)])


def _says_more(link: tuple[str, str], below: str) -> bool:
    """Whether one of Spark's exceptions says something of its own: one that has a name, and does not only repeat."""
    return link[1].startswith("[") and not (below and below in link[1])


def _cause(kind: str, message: str) -> str:
    return f"caused by {kind}: {message}" if message else f"caused by {kind}"


def _chain(exc: BaseException) -> Iterator[Any]:
    java: Any = getattr(exc, "java_exception", None) or getattr(exc, "_origin", None)
    for _ in range(_LONGEST_CHAIN):
        if java is None:
            return
        yield java
        java = java.getCause()
