"""Events of an edge, limited in number: the first and the last ones."""

from collections import deque
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, Final, Self, cast

import attrs

from pullstream.protocol import Batch

FIRST: Final = 20
LAST: Final = 200
SAMPLE: Final = 3
"""The number of values of a batch that are kept for display."""


class Act(Enum):
    """An act of a module. Requests and indications come from downstream, answers from upstream.

    Its value is the kind of the event in a trace.
    """

    ASK = "ask"
    ABORT = "abort"
    ERROR = "error"
    DONE_INDICATION = "abort soon"
    ERROR_INDICATION = "error soon"
    ACK = "ack"
    VALUE = "value"
    DONE = "done"
    FAILURE = "failed"
    CANCELLED = "cancelled"

    def __repr__(self) -> str:
        return self.name


REQUESTS: Final = frozenset({Act.ASK, Act.ABORT, Act.ERROR, Act.DONE_INDICATION, Act.ERROR_INDICATION, Act.ACK})
"""The events that come from downstream."""


class Times(tuple[Hashable, ...]):
    """The times of the first values of a multi-time batch."""

    __slots__ = ()


@attrs.frozen
class Batched:
    """A summary of a batch: its time or `Times`, its number of values, and the first of them."""

    time: Hashable
    count: int
    sample: tuple[Any, ...]

    @classmethod
    def of(cls, batch: Batch[Any]) -> Self:
        """Summarize a batch."""
        time = batch.time if batch.uniform else Times(batch.times[:SAMPLE])
        return cls(time, len(batch.values), tuple(batch.values[:SAMPLE]))


@attrs.frozen
class Seen:
    """An event of an edge.

    `number` is the request's number, from 1; an answer has the number of its request. `lane` numbers the lanes, from 0.
    `about` is an ask's limit, a termination's reason, or an answer's `Batched` or failure. `order` is its position
    among all events of a run.
    """

    order: int
    what: Act
    number: int
    lane: int
    about: object = None

    @property
    def requested(self) -> bool:
        """Whether it came from downstream."""
        return self.what in REQUESTS


class EventLog:
    """The first and the last events of an edge; those between are dropped.

    `note` takes an event as a tuple (order, what, number, lane, about), because most events are never displayed.
    """

    def __init__(self) -> None:
        self._first: list[Noted] = []
        # One more than is shown: if it is full, some event is left out.
        self._last: deque[Noted] = deque(maxlen=LAST + 1)
        self.note: Callable[[Noted], None] = self._note_first

    def _note_first(self, event: "Noted") -> None:
        self._first.append(event)
        if len(self._first) == FIRST:
            self.note = self._last.append

    def take_back(self, number: int) -> bool:
        """Remove an ask if it is the last event; return whether it was removed."""
        events = self._last or self._first
        taken = events[-1][1:3] == (Act.ASK, number)
        if taken:
            events.pop()
            if events is self._first:
                self.note = self._note_first
        return taken

    @property
    def gap(self) -> int | None:
        """The number of events before the dropped ones, if any were dropped."""
        return FIRST if len(self._last) > LAST else None

    @property
    def events(self) -> list[Seen]:
        """The events that are kept, in order."""
        return [seen(event) for event in (*self._first, *list(self._last)[-LAST:])]


Noted = tuple[int, Act, int, int, Any]


def seen(event: Noted) -> Seen:
    """Make the event that was noted as a tuple."""
    order, what, number, lane, about = event
    if what is Act.VALUE and isinstance(about, Batch):
        about = Batched.of(cast("Batch[Any]", about))
    return Seen(order, what, number, lane, about)
