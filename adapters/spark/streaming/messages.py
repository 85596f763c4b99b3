"""Messages between the two sides of a streaming query: each of Spark's side waits for one reply, and who says them."""

import queue
import threading
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from ...arrow import As, Shape, in_utc
from ..errors import JobCancelled, SparkJobError, SparkStreamError
from ..reading.ordered import Batches, batches_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@attrs.frozen
class Began:
    """A micro-batch begins; Spark gives a crashed one the number that it had."""

    batch: int
    query: str
    """The query's identity: as long as its checkpoint is the same, it is this."""


@attrs.frozen
class Read:
    """A part of its rows."""

    values: list[Any]


@attrs.frozen
class Over:
    """The end of its rows."""


@attrs.frozen
class Broken:
    """A failure to read it."""

    failure: BaseException


Message: TypeAlias = Began | Read | Over | Broken


class Reply(Enum):
    """An answer of the pull side."""

    GO_ON = "go on"
    COMMIT = "commit"
    """The answer that everything this micro-batch leads to is complete."""
    STOP = "stop"


class QueryStopped(Exception):
    """The query is to end, or has ended: nothing more is handed over."""


class Messenger:
    """Tells the pull side of micro-batches, one Arrow batch at a time, each taken before the next is read.

    `hand_over` blocks, in the thread that has the micro-batch; all else is for any thread.
    """

    def __init__(self, as_: As, send: Callable[[Message], None], lives: Callable[[], bool], seconds: float) -> None:
        """`lives` says, asked every so many seconds, whether the query still has an end to wait for."""
        self._as: As = as_
        self._send = send
        self._lives = lives
        self._seconds = seconds
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._batches: Batches | None = None
        self.stopping = threading.Event()

    def reply(self, reply: Reply) -> None:
        """Answer what was sent."""
        self._replies.put(reply)

    def stop(self) -> None:
        """Hand nothing more over; a second call does nothing new."""
        self.stopping.set()
        self._replies.put(Reply.STOP)

    def cancel(self) -> None:
        """Cancel the reading that is under way, if one is; does not wait for it."""
        if (batches := self._batches) is not None:
            batches.cancel()

    def hand_over(self, batch: int, query: Callable[[], str], frame: "Callable[[], DataFrame]") -> None:
        """Hand over a micro-batch; returns when it may be committed. What goes wrong is handed over, too.

        Raises:
            QueryStopped: it may not be.
        """
        try:
            if self._told(Began(batch, query())) is not Reply.COMMIT:
                self._read(frame())
                self._told(Over())
        except QueryStopped:
            raise
        except BaseException as exc:  # noqa: BLE001 - it belongs to the pipeline, which ends the query
            self._told(Broken(exc))
            raise QueryStopped from None

    def _read(self, frame: "DataFrame") -> None:
        shape = Shape(self._as, frame.columns)
        self._batches = batches = batches_of(frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))))
        try:
            while (batch := batches.next()) is not None:
                if values := shape.of(in_utc(batch)):
                    self._told(Read(values))
        except JobCancelled:
            raise QueryStopped from None
        except SparkJobError as exc:
            if type(exc) is not SparkJobError:
                # One with a name of its own is no failure of the query's, such as Spark tells.
                raise
            raise SparkStreamError(str(exc), exc.details) from None
        finally:
            self._batches = None
            batches.close()

    def _told(self, message: Message) -> Reply:
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
