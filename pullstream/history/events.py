"""Events of an edge, kept within bounds: the first and the last."""

from collections import deque
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, Final, cast

import attrs

from pullstream.protocol import Batch, TimedBatch

FIRST: Final = 20
LAST: Final = 200
SAMPLE: Final = 3
"""The number of values of a batch that are kept for show."""


class Act(Enum):
    """An act of a partner. Requests and indications come from below; answers from above."""

    ASK = "ask"
    ABORT = "abort"
    ERROR = "error"
    DONE_INDICATION = "done"
    ERROR_INDICATION = "error "
    ACK = "ack"
    VALUE = "value"
    DONE = "answered done"
    FAILURE = "answered error"
    CANCELLED = "cancelled"

    def __repr__(self) -> str:
        return self.name


REQUESTS: Final = frozenset(
    {Act.ASK, Act.ABORT, Act.ERROR, Act.DONE_INDICATION, Act.ERROR_INDICATION, Act.ACK},
)
"""The events that come from below."""


class Times(tuple[Hashable, ...]):
    """The times of the first values of a batch of many times."""

    __slots__ = ()


@attrs.frozen
class Batched:
    """A summary of a batch: its time, or `Times`, how many values it had, and the first of them."""

    time: Hashable
    count: int
    sample: tuple[Any, ...]


@attrs.frozen
class Seen:
    """An event of an edge.

    `number` is the request's, from 1; an answer has the number of its request. `lane` tells lanes apart, from 0.
    `about` is an ask's limit, a termination's reason, an answer's `Batched` or failure. `order` is when, among all
    events of a run.
    """

    order: int
    what: Act
    number: int
    lane: int
    about: object = None

    @property
    def requested(self) -> bool:
        """Whether it came from below."""
        return self.what in REQUESTS


class EventLog:
    """The first events of an edge and the last; what lies between is let go of.

    `note` takes an event as a tuple, (order, what, number, lane, about): most are never looked at.
    """

    def __init__(self) -> None:
        self._first: list[Noted] = []
        self._last: deque[Noted] = deque(maxlen=LAST)
        self.note: Callable[[Noted], None] = self._note_first

    def _note_first(self, event: "Noted") -> None:
        self._first.append(event)
        if len(self._first) == FIRST:
            self.note = self._last.append

    @property
    def gap(self) -> int | None:
        """The number of events before those that were let go of, if any were."""
        return FIRST if len(self._last) == LAST else None

    @property
    def events(self) -> list[Seen]:
        """The events that are kept, in order."""
        return [seen(event) for event in (*self._first, *self._last)]


def shown_time(batch: Batch[Any]) -> Hashable:
    """The time of a batch, for show; of one of many times those of the values that are kept."""
    return Times(batch.times[:SAMPLE]) if isinstance(batch, TimedBatch) else batch.time


Noted = tuple[int, Act, int, int, Any]


def seen(event: Noted) -> Seen:
    """The event that was noted as a tuple."""
    order, what, number, lane, about = event
    if what is Act.VALUE and isinstance(about, Batch):
        batch = cast("Batch[Any]", about)
        about = Batched(shown_time(batch), len(batch.values), tuple(batch.values[:SAMPLE]))
    elif what is Act.VALUE and isinstance(about, tuple):
        about = Batched(*cast("tuple[Hashable, int, tuple[Any, ...]]", about))
    return Seen(order, what, number, lane, about)
