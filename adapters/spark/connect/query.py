"""The Spark side of a streaming query of Spark Connect: its lifetime, and its micro-batches at their `gate`.

It replaces the `streaming.query` of a classic session, with the same messages. All work is done in the one thread that
waits for the query. This class blocks, and runs in threads.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import SparkStreamError
from ..failures import stream_error, unlogged
from ..reading.jobs import STOPPED, over
from ..streaming.checked import StreamingFrame
from ..streaming.messages import Message, Messenger, QueryStopped, Reply
from ..streaming.query import COMMIT_SECONDS, stopped_elsewhere
from ..streaming.status import StreamStatus
from .gate import Gate

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_SECONDS = 0.1
"""The seconds between checks for a new micro-batch."""

ALIVE_SECONDS = 1.0
"""The seconds between checks, during a micro-batch, that the query still runs."""

START_SECONDS = 120.0
"""The seconds for which a start is retried: Spark gives the body's process ten, which is short on a busy server."""

START_PAUSE = 5.0
"""The seconds before the second attempt; doubled for each later one."""

_SLOW_START = "Python worker failed to connect back"


class ConnectQuery:
    """A streaming query; it passes messages to `send` in the thread of `run`, and `reply` answers them."""

    def __init__(self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus) -> None:
        self._spec = spec
        self._status = status
        self._messenger = Messenger(spec.as_, send, self._lives, ALIVE_SECONDS)
        self._begun = False
        self._cut = False
        self._over = threading.Event()
        self._query: StreamingQuery | None = None
        self._gate = Gate(spec.frame.sparkSession, spec.checkpoint)

    def run(self) -> None:
        """Start the query and wait for its end.

        Raises:
            SparkStreamError: it failed, with Spark's message, or was stopped from elsewhere.
        """
        session = self._spec.frame.sparkSession
        self._begun = True
        try:
            with unlogged():
                if self._messenger.stopping.is_set():
                    return
                self._gate.open()
                self._query = query = self._started()
                self._gate.clear()
                self._wait(query)
        except Exception as exc:  # noqa: BLE001 - any error of Spark or the network ends the query
            if over(session):
                raise SparkStreamError(f"the streaming query failed: {STOPPED}", str(exc)) from None
            raise stream_error(exc) from None
        finally:
            self._gate.close()
            self._over.set()
        if not self._messenger.stopping.is_set() and (self._cut or not self._spec.ends):
            raise stopped_elsewhere(session)

    def reply(self, reply: Reply) -> None:
        """Answer a message."""
        self._messenger.reply(reply)

    def close(self) -> None:
        """Stop the query, without committing the current micro-batch, and wait until it has released everything.

        A second call has no effect.
        """
        self._messenger.stop()
        while self._begun and not self._over.wait(LOOK_SECONDS):
            self._messenger.cancel()

    def wait_for_commit(self, batch: int) -> None:
        """Wait at most two seconds until Spark has noted the commit of a micro-batch, or the query has ended."""
        end = time.monotonic() + COMMIT_SECONDS
        while time.monotonic() < end and not self._over.is_set():
            if self._status.has_committed(batch):
                return
            time.sleep(0.01)

    # ---- in the thread of `run`

    def _started(self) -> "StreamingQuery":
        end = time.monotonic() + START_SECONDS
        pause = START_PAUSE
        while True:
            try:
                return self._spec.start(self._gate.body())
            except Exception as exc:
                if _SLOW_START not in str(exc) or time.monotonic() > end or self._messenger.stopping.wait(pause):
                    raise
            # A process that came too late blocks the next one for a while.
            pause *= 2

    def _wait(self, query: "StreamingQuery") -> None:
        try:
            self._hand_over_all(query)
        except QueryStopped:
            if not self._messenger.stopping.is_set():
                # Raises what it has failed with, if it has.
                query.awaitTermination()
                self._cut = True
        finally:
            # However it ends early, the gate stays closed for the micro-batch.
            with suppress(Exception):
                query.stop()

    def _hand_over_all(self, query: "StreamingQuery") -> None:
        last = -1
        while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]  # fractions of a second work
            if self._messenger.stopping.is_set():
                raise QueryStopped
            self._report(query)
            if (batch := self._gate.batch()) > last:
                last = batch
                self._hand_over(query, batch)
        self._report(query)
        if last >= 0 and not self._status.has_committed(last):
            # It may pass, but Spark no longer passes the gate.
            raise QueryStopped

    def _hand_over(self, query: "StreamingQuery", batch: int) -> None:
        self._messenger.hand_over(batch, lambda: query.id, self._gate.frame)
        if not self._gate.commit(batch):
            raise QueryStopped

    def _lives(self) -> bool:
        return self._query is not None and self._query.isActive

    def _report(self, query: "StreamingQuery") -> None:
        self._status.update(_reports(query))


def _reports(query: "StreamingQuery") -> Iterator[dict[str, Any]]:
    """Spark's reports, the newest first."""
    last: Any = query.lastProgress
    if last is not None:
        yield _report(last)
        yield from map(_report, reversed(query.recentProgress))


def _report(progress: Any) -> dict[str, Any]:
    # What comes through Connect has these for each source only.
    totals = ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond")
    return {**json.loads(progress.json), **{name: getattr(progress, name) for name in totals}}
