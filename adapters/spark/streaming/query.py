"""The Spark side of a streaming query: start and stop it, and provide the body that Spark calls per micro-batch.

The body runs in one of Spark's threads, and Spark commits a micro-batch when the body returns. It reads the rows in
order, one Arrow batch at a time, and hands each over before it takes the next. It returns when it is notified that all
results of the rows are complete. It never raises an exception of its own, which Spark would treat as a failure of the
query. Instead it hands over the exception, waits until the query is stopped, and then raises an exception that Spark
takes for the interruption of a thread. So `close` is the only way to end a query.
"""

import json
import logging
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

from typing_extensions import override

from ..errors import SparkJobError, SparkStreamError
from ..failures import stream_error, unlogged
from ..reading.jobs import STOPPED, ended, over
from ..types import DataFrame, SparkSession, StreamingQuery
from .checked import StreamingFrame, StreamStatus
from .messages import Message, Messenger, QueryStopped

COMMIT_SECONDS = 2.0
"""Seconds to wait for Spark to record that a micro-batch is committed."""


class StreamQuery(ABC):
    """A streaming query. `send` gets the messages about its micro-batches, and the `messenger` the replies."""

    seconds: ClassVar[float]
    """The seconds between checks, while a micro-batch waits, that its query still runs."""

    def __init__(self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus) -> None:
        self._spec = spec
        self._status = status
        self.messenger = Messenger(spec.as_, send, self._lives, self.seconds)
        self._begun = False
        self._over = threading.Event()
        self._query: StreamingQuery | None = None

    def run(self) -> None:
        """Start the query and wait for its end."""
        session = self._spec.frame.sparkSession
        self._begun = True
        try:
            with unlogged():
                if self.messenger.stopping.is_set():
                    return
                self._work()
        except Exception as exc:  # noqa: BLE001 - any error of Spark, py4j or the network ends the query
            if (end := ended(session)) is not None:
                raise end from None
            raise _session_stopped(str(exc)) if over(session) else stream_error(exc) from None
        finally:
            self._finish()
            self._over.set()
        if not (self.messenger.stopping.is_set() or self._whole()):
            raise stopped_elsewhere(session)

    @abstractmethod
    def close(self) -> None:
        """Stop the query and wait until it has ended; a micro-batch under way stays uncommitted. Idempotent."""

    def wait_for_commit(self, batch: int) -> None:
        """Wait, at most two seconds, until Spark has recorded a micro-batch as committed, or the query has ended."""
        end = time.monotonic() + COMMIT_SECONDS
        while not self._over.wait(0.01) and time.monotonic() < end and not self._status.has_committed(batch):
            self._look()

    @abstractmethod
    def _reports(self, query: "StreamingQuery") -> Iterator[dict[str, Any]]:
        """Spark's progress reports, newest first."""

    def _report(self, query: "StreamingQuery") -> None:
        self._status.update(self._reports(query))

    @abstractmethod
    def _work(self) -> None:
        """Run the query, in a thread, until it ends."""

    @abstractmethod
    def _finish(self) -> None:
        """Release the query's resources."""

    @abstractmethod
    def _whole(self) -> bool:
        """Whether the query ended by itself, and Spark committed everything that was handed over."""

    def _lives(self) -> bool:
        try:
            return self._query is None or self._query.isActive
        except Exception:  # noqa: BLE001 - Spark has ended
            return False

    def _look(self) -> None:  # noqa: B027 - only a classic query needs it
        """Update the status, unless the thread of `run` does so meanwhile."""


def stopped_elsewhere(session: "SparkSession") -> SparkJobError:
    """The error for a query that ended unexpectedly."""
    if (end := ended(session)) is not None:
        return end
    if over(session):
        return _session_stopped()
    return SparkStreamError(
        "the streaming query was stopped elsewhere: by query.stop(), or because another query was started with the "
        "same checkpoint",
        "",
    )


def _session_stopped(details: str = "") -> SparkStreamError:
    return SparkStreamError(f"the streaming query failed: {STOPPED}", details)


LOOK_SECONDS = 0.25
"""Seconds between checks, while a body waits, whether its query was stopped elsewhere."""


class Interrupted(Exception):
    """Ends the body of a query that was stopped."""

    def __init__(self) -> None:
        # By this text Spark recognizes its own interruption, passed back through Python (SPARK-39218): it neither logs
        # an error nor commits. The text is short because Spark searches it with a recursive pattern.
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling a body that was stopped: "
            "java.lang.InterruptedException"
        )


class Query(StreamQuery):
    """A streaming query of a classic session; messages are sent in the body's thread."""

    seconds = LOOK_SECONDS

    def __init__(self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus) -> None:
        super().__init__(spec, send, status)
        self._let_through = -1
        """The last micro-batch that Spark may commit."""
        self._started = threading.Event()
        self._body = _Body(self)
        self._connection: Any = None

    @override
    def _work(self) -> None:
        logging.getLogger("py4j.clientserver").addFilter(_is_not_interruption)
        self._query = query = self._spec.start(self._body)
        self._started.set()
        while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]  # fractions of a second work
            self._report(query)
        # A timeout also returns for a query that is being stopped, whose thread and body still run.
        query.awaitTermination()
        self._report(query)

    @override
    def _finish(self) -> None:
        self._started.set()
        # Java keeps the body until its next garbage collection. The query must not wait for that.
        self._body.query = None
        # End the body's thread: it listens to a thread in Java that has ended without closing the connection.
        connection, self._connection = self._connection, None
        # If Spark has ended, the connection is closed already.
        with suppress(OSError, AttributeError):
            connection.socket.shutdown(socket.SHUT_RDWR)

    @override
    def _whole(self) -> bool:
        # A query that is stopped after its body has returned but before the commit has ended unexpectedly, too.
        return self._spec.ends and (self._let_through < 0 or self._status.has_committed(self._let_through))

    @override
    def _look(self) -> None:
        with suppress(Exception), unlogged():
            if self._query is not None:
                self._report(self._query)

    @override
    def close(self) -> None:
        self.messenger.stop()
        if not self._begun:
            return
        self._started.wait()
        stopping = threading.Thread(target=self._stop, daemon=True)
        stopping.start()
        while not self._over.wait(LOOK_SECONDS / 5):
            self.messenger.cancel()
        stopping.join()

    # ---- in the thread of the body

    def hand_over(self, df: "DataFrame", batch: int) -> None:
        """Hand over a micro-batch; return when Spark may commit it."""
        self._connection = _connection(df)
        try:
            self.messenger.hand_over(batch, self._name, lambda: df)
        except QueryStopped:
            pass
        else:
            self._let_through = batch
            return
        # Spark takes an interruption for its own only while it stops the query.
        self._started.wait()
        while self._lives():
            time.sleep(0.003)
        raise Interrupted

    def _name(self) -> str:
        self._started.wait()
        # None only if the query started but `start` then failed.
        return "" if self._query is None else self._query.id

    # ----

    @override
    def _reports(self, query: "StreamingQuery") -> Iterator[dict[str, Any]]:
        # The public API takes dozens of calls to Java for each.
        java: Any = query._jsq  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        last: Any = java.lastProgress()
        if last is not None:
            yield json.loads(last.json())
            for report in reversed(list(java.recentProgress())):
                yield json.loads(report.json())

    def _stop(self) -> None:
        # It may raise that Spark has ended, or a timeout: `close` waits for the end anyway.
        with suppress(Exception), unlogged():
            if self._query is not None:
                self._query.stop()


def _is_not_interruption(record: logging.LogRecord) -> bool:
    """Whether a log record of py4j is not about an `Interrupted` body, which is not an error."""
    return record.exc_info is None or not isinstance(record.exc_info[1], Interrupted)


def _connection(df: "DataFrame") -> Any:
    """The connection between Java and the body's thread; PySpark has no public access to it."""
    gateway: Any = df.sparkSession.sparkContext._gateway  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    client = getattr(gateway, "_gateway_client", None)
    get = getattr(client, "get_thread_connection", None)
    return None if get is None else get()


class _Body:
    """The function that Spark calls for a micro-batch; Java keeps it after the query has ended."""

    def __init__(self, query: Query) -> None:
        self.query: Query | None = query

    def __call__(self, df: "DataFrame", batch: int) -> None:
        query = self.query
        if query is None:
            raise Interrupted
        query.hand_over(df, batch)
