"""Messages between the two sides of a streaming query; each message of Spark's side waits for one reply."""

import queue
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias

import attrs

from ...arrow import As, Shape, in_utc
from ..errors import JobCancelled, SparkJobError, SparkStreamError
from ..reading.ordered import OrderedBatches
from ..types import DataFrame


@attrs.frozen
class Began:
    """A micro-batch begins; a repeated one has the same number as before."""

    batch: int
    query: str
    """The query's identity, which stays the same as long as its checkpoint does."""


@attrs.frozen
class Read:
    """Some rows of the micro-batch."""

    values: Sequence[Any]


@attrs.frozen
class Over:
    """The end of the rows."""


@attrs.frozen
class Broken:
    """A failure to read the rows."""

    failure: BaseException


Message: TypeAlias = Began | Read | Over | Broken


class Reply(Enum):
    """An answer of the pull side."""

    GO_ON = "go on"
    COMMIT = "commit"
    """Permission to commit: all results of the micro-batch are complete."""
    STOP = "stop"


class QueryStopped(Exception):
    """The query must end, or has ended, so nothing more is handed over."""


class Messenger:
    """Hands micro-batches to the pull side, one Arrow batch at a time; each is taken before the next is read.

    `hand_over` blocks, in the thread that has the micro-batch; all other methods may be called from any thread.
    """

    def __init__(self, as_: As, send: Callable[[Message], None], lives: Callable[[], bool], seconds: float) -> None:
        """Make a messenger; it asks `lives` every `seconds` whether the query is still running."""
        self._as: As = as_
        self._send = send
        self._lives = lives
        self._seconds = seconds
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._batches: OrderedBatches | None = None
        self.stopping = threading.Event()

    def reply(self, reply: Reply) -> None:
        """Answer the last message."""
        self._replies.put(reply)

    def stop(self) -> None:
        """Hand over nothing more; a second call has no effect."""
        self.stopping.set()
        self._replies.put(Reply.STOP)

    def cancel(self) -> None:
        """Cancel the current read, if any; does not wait for it."""
        if (batches := self._batches) is not None:
            batches.cancel()

    def hand_over(self, batch: int, query: Callable[[], str], frame: "Callable[[], DataFrame]") -> None:
        """Hand over a micro-batch, or an error; returns if it may be committed, or raises `QueryStopped`."""
        try:
            if self._exchange(Began(batch, query())) is not Reply.COMMIT:
                self._read(frame())
                self._exchange(Over())
        except QueryStopped:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised in the pipeline, which then ends the query
            self._exchange(Broken(exc))
            raise QueryStopped from None

    def _read(self, frame: "DataFrame") -> None:
        shape = Shape(self._as, frame.columns)
        plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        self._batches = batches = OrderedBatches(plain)
        try:
            while (batch := batches.next()) is not None:
                if values := shape.of(in_utc(batch)):
                    self._exchange(Read(values))
        except JobCancelled:
            raise QueryStopped from None
        except SparkJobError as exc:
            if type(exc) is not SparkJobError:
                # An error with its own name is not a failure of the query that Spark reports.
                raise
            raise SparkStreamError(str(exc), exc.details) from None
        finally:
            self._batches = None
            batches.close()

    def _exchange(self, message: Message) -> Reply:
        if self.stopping.is_set():
            raise QueryStopped
        self._send(message)
        while True:
            try:
                reply = self._replies.get(timeout=self._seconds)
            except queue.Empty:
                if not self._lives():
                    raise QueryStopped from None
                continue
            if reply is Reply.STOP:
                raise QueryStopped
            return reply
