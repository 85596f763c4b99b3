"""Spark jobs that any thread may cancel, in a classic session or through Spark Connect."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar, cast
from uuid import uuid4

from pullstream.authoring import chain

from ..ended import EXITING_SECONDS, again, java_ended
from ..errors import JavaEnded, JobCancelled, ShuffleRerunError, SparkJobError
from ..failures import job_error, unlogged
from ..types import DataFrame, SparkContext, SparkSession, pyspark
from .arrow_rdd import job_numbers
from .reruns import REFUSED, changed

T = TypeVar("T")

RETRY_SECONDS = 0.05
"""Seconds between cancellations during a call: Spark forgets one that falls between two jobs."""


STOPPED = "its session was stopped: use another, for example spark.session(), and make the DataFrame again with it"


def is_connect(used: "DataFrame | SparkSession") -> bool:
    """Whether a DataFrame or a session belongs to Spark Connect."""
    return type(used).__module__.startswith("pyspark.sql.connect")


def is_alive(session: "SparkSession") -> bool:
    """Whether a session has not been stopped."""
    if is_connect(session):
        return not cast("Any", session).is_stopped
    # A stopped context has no Java object.
    return bool(session.sparkContext._jsc)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def in_one_process(context: "SparkContext") -> bool:
    """Whether Spark's executors are threads of the driver's Java."""
    master = context.master or ""
    return master == "local" or master.startswith("local[")


def progress(stages: Iterable[int], done: int, of_all: int) -> str:
    """Describe the stages that Spark works on, and how many of their tasks are done."""
    return f"Spark: stage {', '.join(map(str, stages))}, {done} of {of_all} tasks done"


def over(session: "SparkSession") -> bool:
    """Whether a session was stopped or is being stopped, which then explains a failure."""
    if not is_connect(session) and is_alive(session):
        # It may be stopped during this call, or Java may have ended.
        with suppress(Exception):
            return bool(cast("Any", session.sparkContext)._jsc.sc().isStopped())  # noqa: SLF001
    return not is_alive(session)


def ended(session: "SparkSession") -> JavaEnded | None:
    """The error for a session whose Java has ended or is exiting; None if it runs, or is on another machine."""
    if is_connect(session):
        return None
    # If Java has stopped the context, and not the user, then the process is exiting.
    seconds = EXITING_SECONDS if is_alive(session) and over(session) else 0.0
    known = java_ended(session.sparkContext, seconds)
    return None if known is None else again(known)


def failed(session: "SparkSession", exc: BaseException) -> SparkJobError | ShuffleRerunError:
    """The error for a failed job: with Spark's message, unless its session was stopped or Java has ended."""
    if (end := ended(session)) is not None:
        return end
    if over(session):
        return SparkJobError(f"Spark could not do the job: {STOPPED}", str(exc))
    error = job_error(exc)
    return changed("has placed rows elsewhere, as Spark itself reports") if REFUSED.search(str(error)) else error


class Jobs:
    """The jobs of one run, which share a tag.

    Calls block, and may be made in any number of threads. Any thread may call `cancel` and `close`.
    """

    def __init__(self, session: "SparkSession") -> None:
        self.tag = f"pullstream-{uuid4().hex}"
        self._session = session
        self._calls = 0
        self._called = threading.Condition()
        self._submitted = False
        self.cancelled = False
        """Whether `cancel` or `close` was called."""
        self._ended = False

    def submit(self, step: Callable[[], T], *tags: str) -> T:
        """Make a call that starts jobs, with more `tags`; raises SparkJobError, ShuffleRerunError or JobCancelled."""
        return self.call(lambda: self._tagged(step, *tags))

    def call(self, step: Callable[[], T]) -> T:
        """Make a call that waits for jobs; errors are those of `submit`."""
        with self._called:
            self._calls += 1
        try:
            self.check()
            with unlogged():
                return step()
        except JobCancelled:
            raise
        except Exception as exc:
            # In a stopped session, any error may come from PySpark, whose attributes are gone.
            if not isinstance(exc, spark_errors()) and not over(self._session):
                raise
            # If this was the only call, there is nothing left to cancel.
            self._ended = self._ended or self._calls == 1
            _forget_frames(exc)
            if self.cancelled:
                raise JobCancelled("the Spark job was cancelled") from None
            raise failed(self._session, exc) from None
        finally:
            with self._called:
                self._calls -= 1
                self._called.notify_all()

    def doing(self) -> str:
        """Describe what Spark is doing for these jobs, in a few words; takes one or two calls to Java."""
        session = self._session
        # The server of Connect does not report the progress of an operation here.
        if not self._submitted or self._ended or is_connect(session) or not is_alive(session):
            return ""
        tracker: Any = session.sparkContext.statusTracker()
        jobs = [job for number in job_numbers(session, self.tag) if (job := tracker.getJobInfo(number)) is not None]
        stages: set[int] = {stage for job in jobs for stage in job.stageIds}
        infos = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
        at_work = [info for info in infos if info.numActiveTasks]
        if not at_work:
            return "Spark plans"
        done, of_all = sum(info.numCompletedTasks for info in at_work), sum(info.numTasks for info in at_work)
        return progress([info.stageId for info in at_work], done, of_all)

    def check(self) -> None:
        """Raise JobCancelled if `cancel` or `close` was called."""
        if self.cancelled:
            raise JobCancelled("the Spark job was cancelled")

    def ended(self) -> None:
        """Note that all jobs have ended, so there is nothing to cancel."""
        self._ended = True

    def cancel(self) -> None:
        """Cancel the jobs, so that a blocked call raises; does not wait for it. Idempotent."""
        self.cancelled = True
        session: Any = self._session
        # Stopping a session stops its jobs.
        if self._submitted and not self._ended and is_alive(session):
            cancel = session.interruptTag if is_connect(session) else session.sparkContext.cancelJobsWithTag
            cancel(self.tag)

    def close(self) -> None:
        """Cancel the jobs if they have not ended, and wait until no call is under way. Idempotent."""
        self.cancel()
        with self._called:
            while self._calls:
                if not self._called.wait(RETRY_SECONDS):
                    self.cancel()
            self._ended = True

    def _tagged(self, step: Callable[[], T], *tags: str) -> T:
        self._submitted = True
        session: Any = self._session
        if not is_alive(session):
            raise SparkJobError(f"Spark could not do the job: {STOPPED}", "")
        mine = (self.tag, *tags)
        # A tag belongs to the submitting thread, and threads that Spark starts from it inherit it. The thread then
        # returns to a pool, so the tag is removed before its next use.
        try:
            for tag in mine:
                (session.addTag if is_connect(session) else session.sparkContext.addJobTag)(tag)
            return step()
        finally:
            for tag in mine if is_alive(session) else ():
                (session.removeTag if is_connect(session) else session.sparkContext.removeJobTag)(tag)


def _forget_frames(exc: BaseException) -> None:
    """Release the frames of an error: they would keep its connection open as long as the error exists."""
    for each in chain(exc):
        each.__traceback__ = None
        # PySpark also keeps the cause in an attribute.
        kept = getattr(each, "_cause", None)
        if isinstance(kept, BaseException):
            for cause in chain(kept):
                cause.__traceback__ = None


def spark_errors() -> tuple[type[BaseException], ...]:
    """The exceptions that pyspark raises when something is wrong with a job, or with the session."""
    errors: list[type[BaseException]] = [pyspark.errors.PySparkException, OSError, EOFError]
    with suppress(ImportError):
        from py4j.protocol import Py4JError  # noqa: PLC0415 - part of pyspark, but not of pyspark-client

        errors.append(cast("Any", Py4JError))
    with suppress(ImportError):
        from grpc import RpcError  # noqa: PLC0415 - only Spark Connect needs it

        errors.append(RpcError)
    return tuple(errors)
