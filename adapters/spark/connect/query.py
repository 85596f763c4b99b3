"""The Spark side of a streaming query of Spark Connect: its lifetime, and its micro-batches at their `gate`.

All work is done in the one thread that waits for the query.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from typing_extensions import override

from ..streaming.checked import StreamingFrame, StreamStatus
from ..streaming.messages import Message, QueryStopped
from ..streaming.query import StreamQuery
from ..types import StreamingQuery
from .gate import Gate

LOOK_SECONDS = 0.1
"""The seconds between checks for a new micro-batch."""

ALIVE_SECONDS = 1.0
"""The seconds between checks, during a micro-batch, that the query still runs."""

START_SECONDS = 120.0
"""The seconds for which a start is retried: Spark gives the body's process ten, which is short on a busy server."""

START_PAUSE = 5.0
"""The seconds before the second attempt; doubled for each later one."""

_SLOW_START = "Python worker failed to connect back"


class ConnectQuery(StreamQuery):
    """A streaming query of Spark Connect; messages are sent in the thread of `run`."""

    seconds = ALIVE_SECONDS

    def __init__(self, spec: StreamingFrame, send: Callable[[Message], None], status: StreamStatus) -> None:
        super().__init__(spec, send, status)
        self._cut = False
        self._gate = Gate(spec.frame.sparkSession, spec.checkpoint)

    @override
    def close(self) -> None:
        self.messenger.stop()
        while self._begun and not self._over.wait(LOOK_SECONDS):
            self.messenger.cancel()

    # ---- in the thread of `run`

    @override
    def _work(self) -> None:
        self._gate.open()
        self._query = query = self._started()
        self._gate.clear()
        self._wait(query)

    @override
    def _finish(self) -> None:
        self._gate.close()

    @override
    def _whole(self) -> bool:
        return self._spec.ends and not self._cut

    def _started(self) -> "StreamingQuery":
        end = time.monotonic() + START_SECONDS
        pause = START_PAUSE
        while True:
            try:
                return self._spec.start(self._gate.body())
            except Exception as exc:
                if _SLOW_START not in str(exc) or time.monotonic() > end or self.messenger.stopping.wait(pause):
                    raise
            # A process that came too late blocks the next one for a while.
            pause *= 2

    def _wait(self, query: "StreamingQuery") -> None:
        try:
            self._hand_over_all(query)
        except QueryStopped:
            if not self.messenger.stopping.is_set():
                # Raises the query's failure, if it has failed.
                query.awaitTermination()
                self._cut = True
        finally:
            # Whatever ends it early, the gate stays closed for the micro-batch.
            with suppress(Exception):
                query.stop()

    def _hand_over_all(self, query: "StreamingQuery") -> None:
        last = -1
        while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]  # fractions of a second work
            if self.messenger.stopping.is_set():
                raise QueryStopped
            self._report(query)
            if (batch := self._gate.batch()) > last:
                last = batch
                self._hand_over(query, batch)
        self._report(query)
        if last >= 0 and not self._status.has_committed(last):
            # The gate let it pass, but Spark has not committed it.
            raise QueryStopped

    def _hand_over(self, query: "StreamingQuery", batch: int) -> None:
        self.messenger.hand_over(batch, lambda: query.id, self._gate.frame)
        if not self._gate.commit(batch):
            raise QueryStopped

    @override
    def _reports(self, query: "StreamingQuery") -> Iterator[dict[str, Any]]:
        last: Any = query.lastProgress
        if last is not None:
            yield _report(last)
            yield from map(_report, reversed(query.recentProgress))


def _report(progress: Any) -> dict[str, Any]:
    # Connect's JSON has these for each source only.
    totals = ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond")
    return {**json.loads(progress.json), **{name: getattr(progress, name) for name in totals}}
