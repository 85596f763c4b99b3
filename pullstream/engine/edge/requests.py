"""The requests of one edge: which are outstanding, whose turn it is, and how the edge ends (R1, R3 to R5).

Nothing here waits or calls foreign code. Events on the edge come in as calls; the result is a return value, or a ticket
that is set. So no change of state can be interrupted halfway, and a test can try all orders of events.

A request that cannot be answered at once enqueues a **ticket**: any object with a `set()`. Asks and terminations share
the queue. Setting the first ticket gives its request the **turn**. The request returns it by `_answered`, whatever
happened meanwhile: even a cancelled request keeps the turn until then, because the others wait for it.

These invariants hold between two calls:

- At most one request has the turn (`busy`). Only its ask may have the module's code under way (`working`).
- A request queues only while another has the turn or the edge is closing. While it closes, no request gets the turn.
  Once it has ended, each gets it in order of arrival: asks are answered before a termination that came after them.
- The first termination decides, from whichever side it comes: how the edge ends, and with which failure, is the same
  for every request. Two events may still change it, both only before any request was answered with it: a release that
  fails turns an end into a failure, and a termination from downstream replaces one that a handle caused while no
  request was outstanding (`_overrule`).
"""

from collections import deque
from types import TracebackType
from typing import Final, Protocol

from pullstream.protocol import TRANSITIONS, Event, State

OPEN: Final = State.OPEN
CLOSING: Final = State.CLOSING


class Ticket(Protocol):
    """The ticket of a request that waits for its turn."""

    def set(self) -> None:
        """Give the request its turn."""
        ...

    def is_set(self) -> bool:
        """Whether the request has its turn."""
        ...


NOBODY: Final[deque[Ticket]] = deque(maxlen=0)
"""The queue at most edges, where no request ever waits."""


class EdgeRequests:
    """The requests of all lanes of one edge, and its state: the part of an `Edge` that never waits."""

    state: State = OPEN
    how: Event | None = None
    """The first termination, which ended the edge."""
    below = False
    """Whether the first termination was a request from downstream, which gets a confirmation."""
    failure: BaseException | None = None
    """The exception that every ask raises from now on, instead of answering DONE."""
    traceback: TracebackType | None = None
    acquired = False
    """Whether the module has acquired its resources, as it does at the first ask; they must be released at the end."""
    finishing = False
    """Whether the module must end instead of producing more."""
    announced: BaseException | None = None
    """The reason of an error that is on its way here from downstream."""
    busy = False
    working = False
    left: Ticket | None = None
    """The ticket to set when the code that was under way at the end has returned."""
    replaceable = False
    """Whether a termination from downstream may replace the end: no ask caused it, and no run depends on it."""
    delivered = False
    """Whether an ask was answered with the end."""
    lost = False
    """Whether the code under way did not return in time; its ask has lost the turn, and queues like a new one."""
    _replaced: BaseException | None = None
    """The failure that a termination from downstream replaced before any ask was answered with it."""
    _queue: deque[Ticket] = NOBODY

    @property
    def over(self) -> bool:
        """Whether the edge has ended, and everything upstream of it is released."""
        return self.state is not OPEN and self.state is not CLOSING

    @property
    def _at_rest(self) -> bool:
        """Whether the edge has ended and no request waits for an answer: a new one is answered at once."""
        return self.over and not self.busy

    # ---- turns

    def _enqueue(self, ticket: Ticket) -> None:
        """Queue a request for its turn, behind earlier ones."""
        if self._queue is NOBODY:
            self._queue = deque()
        self._queue.append(ticket)

    def _answered(self) -> None:
        """Take the turn back from an answered request; the next in the queue gets it at once, so none overtakes (R1).

        While the edge is closing no other request is answered: see `_released`.
        """
        self.busy = self.working = False
        if self._queue and self.state is not CLOSING:
            self._grant()

    def _requeue(self, ticket: Ticket) -> None:
        """Return the ask that has the turn to the head of the queue: it is answered when the edge has ended.

        Its module's code has returned.
        """
        self.busy = self.working = False
        self._enqueue(ticket)
        self._queue.rotate()
        if self.left is not None:
            self.left.set()
            self.left = None

    def _withdraw(self, ticket: Ticket) -> None:
        """Remove a request that will not be answered, because its sender has stopped waiting."""
        if ticket.is_set():
            self._answered()
        else:
            self._queue.remove(ticket)

    def _grant(self) -> None:
        self.busy = True
        self._queue.popleft().set()

    # ---- endings

    def _accept(self, event: Event, failure: BaseException | None = None, *, below: bool = False) -> bool:
        """Accept a termination. True for the first: the caller must carry it out and then call `_released` (R5, R6)."""
        first = self.state is OPEN
        self.state = TRANSITIONS[self.state, event]
        if first:
            self.how, self.below = event, below
            if failure is not None:
                self._fail_with(failure)
        return first

    def _overrule(self, failure: BaseException | None, *, decides: bool = True) -> bool:
        """Replace an end that a handle caused, before any ask is answered with it, by a termination (R3, R5).

        The requester had not seen the end when it sent its own termination, so that termination decides how later asks
        are answered. Without `decides`, as for a cancelled ask, the end stays replaceable while other requests wait.
        True if the end was replaced.
        """
        if not self.replaceable or self.delivered:
            return False
        if self.busy or self._queue:
            # An ask that came before a termination is answered with the present end. A cancelled ask changes nothing.
            self.replaceable = not decides
            return False
        self.replaceable = False
        self._replaced = self.failure
        self.how, self.below = (Event.ABORT if failure is None else Event.ERROR), True
        self._fail_with(failure)
        return True

    def _fail_with(self, failure: BaseException | None) -> None:
        """Make every ask raise this exception from now on: the same object, with its present traceback (R3)."""
        self.failure = failure
        self.traceback = None if failure is None else failure.__traceback__

    def _released(self) -> None:
        """Start answering the waiting requests in order, now that everything from here upstream is released.

        An ask whose code has not returned in time loses its turn: the others are answered before it.
        """
        if self.working:
            self.lost, self.left = True, None
            self.busy = self.working = False
        self.state = TRANSITIONS[self.state, Event.RELEASED if self.failure is None else Event.RELEASED_FAILED]
        if self._queue and not self.busy:
            self._grant()
