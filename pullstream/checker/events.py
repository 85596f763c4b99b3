"""What happened on an edge, kept within bounds: the first events and the last."""

from collections import deque
from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any, Final

import attrs

FIRST: Final = 20
LAST: Final = 200
SAMPLE: Final = 3
"""How many values of a batch are kept for show."""


class What(Enum):
    """What a partner did. Requests and indications come from below; answers from above."""

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
    {What.ASK, What.ABORT, What.ERROR, What.DONE_INDICATION, What.ERROR_INDICATION, What.ACK},
)
"""What comes from below."""


@attrs.frozen
class Batched:
    """What is kept of a batch: its time, how many values it had, and the first of them."""

    time: Hashable
    count: int
    sample: tuple[Any, ...]


@attrs.frozen
class Seen:
    """One event of an edge.

    `number` is the request's, from 1; an answer has the number of its request. `lane` tells lanes apart, from 0.
    `about` is an ask's limit, a termination's reason, an answer's `Batched` or failure. `order` is when, among all
    events of a run.
    """

    order: int
    what: What
    number: int
    lane: int
    about: object = None

    @property
    def requested(self) -> bool:
        """Whether it came from below."""
        return self.what in REQUESTS


class Record:
    """The first events of an edge and the last; what lies between is counted and let go of."""

    def __init__(self) -> None:
        self._first: list[tuple[Any, ...]] = []
        self._last: deque[tuple[Any, ...]] = deque(maxlen=LAST)
        self._all = 0

    def add(self, order: int, what: What, number: int, lane: int, about: object = None) -> None:
        """Note an event; a tuple until somebody looks, for most are never looked at."""
        self._all += 1
        if self._all <= FIRST:
            self._first.append((order, what, number, lane, about))
        else:
            self._last.append((order, what, number, lane, about))

    @property
    def left_out(self) -> int:
        """How many events between the first and the last were let go of."""
        return self._all - len(self._first) - len(self._last)

    @property
    def events(self) -> Sequence[Seen]:
        """What is kept, in order."""
        return [Seen(*event) for event in (*self._first, *self._last)]
