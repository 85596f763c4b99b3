"""Errors between the toolkit and Spark, each with its own name, and refusals of DataFrames and their options."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from more_itertools import duplicates_everseen

from pullstream import CompositionError, PullstreamError


class SparkMissing(PullstreamError, ImportError):
    """A Python package that Spark needs is not installed."""


class JavaNotFound(PullstreamError):
    """No Java that Spark can run on was found."""


class SessionMismatch(PullstreamError):
    """The active session is not the requested one, and cannot be changed into it."""


class JobCancelled(PullstreamError):
    """A batch was asked for after the job was cancelled."""


class SparkJobError(PullstreamError):
    """Spark gave up on the job: an executor, a Python worker or the user's function failed; or it could not start.

    The message is the innermost cause as Spark reports it, without Java frames. `details` is Spark's full message.
    Spark's own exception is the `__context__`; it is not printed with this one, because that would call the Java
    process and show about a hundred Java frames. If Python code on an executor failed, `raised` is the name of the
    exception's type as Python prints it: "ValueError", "mine.BadRow".
    """

    def __init__(self, message: str, details: str, raised: str | None = None) -> None:
        super().__init__(message)
        self.details = details
        self.raised = raised


class SparkStreamError(SparkJobError):
    """A streaming query failed, or was stopped from elsewhere; `details` is as in `SparkJobError`."""


class JavaEnded(SparkJobError):
    """Spark's Java process ended before its session was stopped: it was killed, ran out of memory, or crashed.

    `spark.session()` starts another; sessions and DataFrames of the ended one are lost.
    """


class ShuffleRerunError(PullstreamError):
    """Spark recomputed a shuffle during a read, and rows may be in other partitions than before."""


class CannotListen(PullstreamError, OSError):
    """The driver cannot listen at the host and port where executors must reach it."""


Refusal: TypeAlias = Callable[[str], CompositionError]
"""The `refuse` of a call, by which it refuses its arguments."""


def distinct(refusal: Refusal, names: Sequence[str]) -> None:
    """Refuse columns that share a name."""
    doubled = sorted({*duplicates_everseen(names)})
    if doubled:
        raise refusal(f"needs distinct column names, and has several columns named {', '.join(doubled)}")
