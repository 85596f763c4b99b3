"""Errors between the toolkit and Spark, each with a name of its own."""

from pullstream import PullstreamError


class SparkMissing(PullstreamError, ImportError):
    """A Python package that Spark needs is not installed."""

    @classmethod
    def of(cls, package: str) -> "SparkMissing":
        """The error of a machine without some package."""
        return cls(f"{package} is not installed: `pip install 'pullstream[spark]'`", name=package)


class JavaNotFound(PullstreamError):
    """No Java is there that Spark could run on."""


class SessionMismatch(PullstreamError):
    """The active session is not the one that was asked for, and cannot become it."""


class JobCancelled(PullstreamError):
    """A batch was asked for after the job had been cancelled."""


class SparkJobError(PullstreamError):
    """Spark gave up on the job: an executor, a Python worker or the user's function failed; or it could not start.

    The message is the innermost cause, as Spark tells it, without the Java frames. `details` is everything Spark had
    to say. Spark's own exception is the `__context__`; it is not shown with this one, because printing it calls into
    the Java process, and shows some hundred Java frames. `raised` is the type's name, as Python prints it, if what
    failed is Python on an executor: "ValueError", "mine.BadRow".
    """

    def __init__(self, message: str, details: str, raised: str | None = None) -> None:
        super().__init__(message)
        self.details = details
        self.raised = raised


class SparkStreamError(SparkJobError):
    """A streaming query failed, or was stopped by somebody else; `details` is as in `SparkJobError`."""


class JavaEnded(SparkJobError):
    """Spark's Java process has ended, though nobody stopped its session: killed, out of memory, or crashed.

    `spark.session()` begins another; sessions and DataFrames of the one that ended are gone with it.
    """


class ShuffleRerunError(PullstreamError):
    """Spark computed a shuffle again in the midst of a read, and rows may be in other partitions than before."""


class CannotListen(PullstreamError, OSError):
    """The driver cannot listen at the host and port where executors are to reach it."""
