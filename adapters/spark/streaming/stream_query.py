"""A streaming query on Spark's side, in a classic session (`query`) or through Spark Connect (`connect.query`).

It is independent of the pull protocol: its calls block, and are meant for threads.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import SparkJobError, SparkStreamError
from ..failures import stream_error, unlogged
from ..reading.jobs import STOPPED, ended, over
from .checked import StreamingFrame
from .messages import Message, Messenger, Reply
from .status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COMMIT_SECONDS = 2.0
"""Seconds to wait for Spark to record that a micro-batch is committed."""


class StreamQuery(ABC):
    """A streaming query. `send` gets the messages about its micro-batches, and `reply` answers them."""

    def __init__(
        self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus, seconds: float
    ) -> None:
        """Make a query that is not started; every `seconds`, a waiting micro-batch checks whether it still runs."""
        self._spec = spec
        self._status = status
        self._messenger = Messenger(spec.as_, send, self._lives, seconds)
        self._begun = False
        self._over = threading.Event()
        self._query: StreamingQuery | None = None

    def run(self) -> None:
        """Start the query and wait for its end.

        Raises:
            SparkStreamError: it failed, with Spark's message, or was stopped elsewhere.
        """
        session = self._spec.frame.sparkSession
        self._begun = True
        try:
            with unlogged():
                if self._messenger.stopping.is_set():
                    return
                self._work()
        except Exception as exc:  # noqa: BLE001 - any error of Spark, py4j or the network ends the query
            if (end := ended(session)) is not None:
                raise end from None
            raise _session_stopped(str(exc)) if over(session) else stream_error(exc) from None
        finally:
            self._finish()
            self._over.set()
        if not (self._messenger.stopping.is_set() or self._whole()):
            raise stopped_elsewhere(session)

    def reply(self, reply: Reply) -> None:
        """Answer the last message."""
        self._messenger.reply(reply)

    @abstractmethod
    def close(self) -> None:
        """Stop the query and wait until it has ended; a micro-batch under way stays uncommitted. Idempotent."""

    def wait_for_commit(self, batch: int) -> None:
        """Wait, at most two seconds, until Spark has recorded a micro-batch as committed, or the query has ended."""
        end = time.monotonic() + COMMIT_SECONDS
        while not self._over.wait(0.01) and time.monotonic() < end and not self._status.has_committed(batch):
            self._look()

    @abstractmethod
    def _work(self) -> None:
        """Run the query, in a thread, until it ends."""

    @abstractmethod
    def _finish(self) -> None:
        """Release what the query needed."""

    @abstractmethod
    def _whole(self) -> bool:
        """Whether the query ended by itself, and Spark committed all that was handed over."""

    def _lives(self) -> bool:
        """Whether the query has not ended yet."""
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
