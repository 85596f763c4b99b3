"""The Spark side of a streaming query: its life, and the body that Spark calls for every micro-batch.

The body runs in a thread of Spark's, and Spark commits a micro-batch when it returns. It reads the rows in
their order, one Arrow batch at a time, each handed over before the next is taken, and returns when it is told that all
they led to is complete. It never lets an exception of its own out, which Spark would take for the query's failure: what
goes wrong it hands over, and then waits to be stopped, and what it raises after that Spark takes for the interruption
of a thread. So there is one way to end a query: `close`.

This class knows nothing of the pull protocol; it blocks, and is meant for threads.
"""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import SparkJobError, SparkStreamError
from ..failures import stream_error, unlogged
from ..reading.jobs import STOPPED, ended, over
from .checked import StreamingFrame
from .messages import Message, Messenger, QueryStopped, Reply
from .status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_SECONDS = 0.25
"""Seconds between a waiting body's looks whether somebody else has stopped its query."""

COMMIT_SECONDS = 2.0
"""Seconds to wait for Spark to note that a micro-batch is committed."""


def stopped_elsewhere(session: "SparkSession") -> SparkJobError:
    """The error for a query that has ended before its time."""
    if (end := ended(session)) is not None:
        return end
    if over(session):
        return _session_stopped()
    return SparkStreamError(
        "the streaming query was stopped by somebody else: query.stop(), or another query that was started with the "
        "same checkpoint",
        "",
    )


def _session_stopped(details: str = "") -> SparkStreamError:
    return SparkStreamError(f"the streaming query failed: {STOPPED}", details)


class Interrupted(Exception):
    """The end of the body in a query that was stopped."""

    def __init__(self) -> None:
        # Spark knows by these words that its own interruption has come back to it through Python (SPARK-39218), and
        # neither logs an error nor commits. They are few, because Spark looks for them with a recursive pattern.
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling a body that was stopped: "
            "java.lang.InterruptedException"
        )


class Query:
    """A streaming query; `send` takes what its body has to say, in the body's thread, and `reply` answers it."""

    def __init__(self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus) -> None:
        self._spec = spec
        self._status = status
        self._messenger = Messenger(spec.as_, send, lambda: not self._inactive(), LOOK_SECONDS)
        self._begun = False
        self._let_through = -1
        """The last micro-batch that may be committed."""
        self._started = threading.Event()
        self._over = threading.Event()
        self._query: StreamingQuery | None = None
        self._connection: Any = None

    def run(self) -> None:
        """Start the query and wait for its end.

        Raises:
            SparkStreamError: it failed, with Spark's message, or somebody else has stopped it.
        """
        body = _Body(self)
        session = self._spec.frame.sparkSession
        self._begun = True
        logging.getLogger("py4j.clientserver").addFilter(_is_no_interruption)
        try:
            with unlogged():
                if self._messenger.stopping.is_set():
                    return
                self._query = query = self._spec.start(body)
                self._started.set()
                while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]  # it takes parts of a second
                    self._report(query)
                # Over is, for that, also one that is being stopped: its thread, and the body in it, go on for a moment.
                query.awaitTermination()
                self._report(query)
        except Exception as exc:  # noqa: BLE001 - Spark's and the bridge's are many, and all end the query
            if (end := ended(session)) is not None:
                raise end from None
            raise _session_stopped(str(exc)) if over(session) else stream_error(exc) from None
        finally:
            self._started.set()
            # Java keeps the body until it collects its garbage; what it leads to must not wait for that.
            body.query = None
            self._hang_up()
            self._over.set()
        # One that is stopped when its body has returned, and before the commit, has ended before its time, too.
        whole = self._spec.ends and (self._let_through < 0 or self._status.has_committed(self._let_through))
        if not (self._messenger.stopping.is_set() or whole):
            raise stopped_elsewhere(session)

    def reply(self, reply: Reply) -> None:
        """Answer the body, which waits for it."""
        self._messenger.reply(reply)

    def close(self) -> None:
        """Stop the query, uncommitted if a micro-batch is under way, and wait until nothing of it is left.

        Twice is once.
        """
        self._messenger.stop()
        if not self._begun:
            return
        self._started.wait()
        stopping = threading.Thread(target=self._stop, daemon=True)
        stopping.start()
        while not self._over.wait(LOOK_SECONDS / 5):
            self._messenger.cancel()
        stopping.join()

    def wait_for_commit(self, batch: int) -> None:
        """Wait until Spark has noted that a micro-batch is committed, or the query has ended, for two seconds."""
        end = time.monotonic() + COMMIT_SECONDS
        with suppress(Exception), unlogged():
            while (query := self._query) is not None and time.monotonic() < end and query.isActive:
                self._report(query)
                if self._status.has_committed(batch):
                    return
                time.sleep(0.01)

    # ---- in the thread of the body

    def hand_over(self, df: "DataFrame", batch: int) -> None:
        """Hand over a micro-batch; returns when it may be committed.

        Raises:
            Interrupted: it may not be, for the query was stopped.
        """
        self._connection = _connection(df)
        try:
            self._messenger.hand_over(batch, self._name, lambda: df)
        except QueryStopped:
            pass
        else:
            self._let_through = batch
            return
        self._wait_until_stopped()
        raise Interrupted

    def _name(self) -> str:
        self._started.wait()
        # Not yet known only if Spark could begin and yet not say that it did.
        return "" if self._query is None else self._query.id

    def _wait_until_stopped(self) -> None:
        """Spark takes an interruption for its own only when it has begun to stop the query."""
        self._started.wait()
        while not self._inactive():
            time.sleep(0.003)

    def _inactive(self) -> bool:
        try:
            return self._query is not None and not self._query.isActive
        except Exception:  # noqa: BLE001 - there is no Spark any more
            return True

    # ----

    def _report(self, query: "StreamingQuery") -> None:
        self._status.told(_reports(query))

    def _hang_up(self) -> None:
        """End the thread that the body ran in: it listens to Java's, which has ended and will not say so."""
        connection, self._connection = self._connection, None
        # It may have hung up itself, because Spark is gone.
        with suppress(OSError, AttributeError):
            connection.socket.shutdown(socket.SHUT_RDWR)

    def _stop(self) -> None:
        # What it might raise is that Spark is gone, or its time is up: both are told by the end, or its not coming.
        with suppress(Exception), unlogged():
            if self._query is not None:
                self._query.stop()


def _is_no_interruption(record: logging.LogRecord) -> bool:
    """Whether a line of the bridge to Java is not about an interruption that has ended a body: that is no error."""
    return record.exc_info is None or not isinstance(record.exc_info[1], Interrupted)


def _reports(query: "StreamingQuery") -> Iterator[dict[str, Any]]:
    """Spark's reports, the newest first; of the public ones each takes some dozens of calls to Java."""
    java: Any = query._jsq  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    last: Any = java.lastProgress()
    if last is not None:
        yield json.loads(last.json())
        for report in reversed(list(java.recentProgress())):
            yield json.loads(report.json())


def _connection(df: "DataFrame") -> Any:
    """The connection of Java and the body's thread; there is no public way to it."""
    gateway: Any = df.sparkSession.sparkContext._gateway  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    client = getattr(gateway, "_gateway_client", None)
    get = getattr(client, "get_thread_connection", None)
    return None if get is None else get()


class _Body:
    """The function that Spark calls for a micro-batch, and Java keeps longer than anybody needs it."""

    def __init__(self, query: Query) -> None:
        self.query: Query | None = query

    def __call__(self, df: "DataFrame", batch: int) -> None:
        query = self.query
        if query is None:
            raise Interrupted
        query.hand_over(df, batch)
