"""The requests of one edge: which are outstanding, whose turn it is, and how the edge ends (R1, R3 to R5).

Nothing here waits, and nothing calls anybody's code: what happens on the edge comes in as a call, and what follows is a
return value, or a ticket that is set. So no change of state can be left half done, and all orders of what can happen
can be tried one after another.

A request that cannot be answered at once leaves a **ticket**, which is anything with a `set()`. All that have one stand
in a queue, asks and terminations alike. The first there is given the **turn** by setting its ticket, and gives it back
by `answered`, whatever happened to it meanwhile: cancelled, too, it is still the one whom the others wait for.

What always holds between two calls:

- At most one request has the turn (`busy`). Only its ask may have the module's code under way (`working`).
- Who queues has a reason to: somebody has the turn, or the edge is closing. While it closes, nobody
  is given the turn; once it has ended, one after the other is, and so requests are answered in the order in which they
  came, asks before the termination that came after them.
- The first termination decides, from whichever side it comes: how the edge ends, and with what, is then the same for
  every request. Two events may still change it, and only before any request was answered with it: a release that fails
  turns an end into a failure, and a termination from below replaces one that a handle brought while no request was
  outstanding (`overrule`).
"""

from collections import deque
from types import TracebackType
from typing import Final, Protocol

from pullstream.protocol import TRANSITIONS, Event, State

OPEN: Final = State.OPEN
CLOSING: Final = State.CLOSING


class Ticket(Protocol):
    """A ticket of a request that has not got its turn yet, to wait for it."""

    def set(self) -> None:
        """Give it the turn."""
        ...

    def is_set(self) -> bool:
        """Whether it has the turn."""
        ...


class EdgeRequests:
    """The requests of all lanes of one edge, and the edge's state."""

    __slots__ = (
        "acquired",
        "announced",
        "below",
        "busy",
        "failure",
        "finishing",
        "how",
        "left",
        "lost",
        "queue",
        "replaceable",
        "state",
        "told",
        "traceback",
        "untold",
        "working",
    )

    def __init__(self) -> None:
        self.state = State.OPEN
        self.how: Event | None = None
        """The first termination, which ended the edge."""
        self.below = False
        """Whether that was a request, from below, which is confirmed."""
        self.failure: BaseException | None = None
        """The exception that every ask raises from now on, instead of being answered done."""
        self.traceback: TracebackType | None = None
        self.acquired = False
        """Whether the module has what it needs, which is released at the end."""
        self.finishing = False
        """Whether the module is to come to its end instead of producing more."""
        self.announced: BaseException | None = None
        """The reason of an error that is on its way here from below."""
        self.busy = False
        self.working = False
        self.queue: deque[Ticket] = deque()
        self.left: Ticket | None = None
        """Set when the code that was under way at the end has come back."""
        self.replaceable = False
        """Whether a termination from below may replace the end, as no ask led to it and no run depends on it."""
        self.told = False
        """Whether an ask was answered with the end."""
        self.untold: BaseException | None = None
        """The failure that a termination from below replaced before any ask was answered with it."""
        self.lost = False
        """Whether the code under way did not come back in time, and its ask has lost its turn."""

    @property
    def over(self) -> bool:
        """Whether the edge has ended, and everything from it up is released."""
        return self.state is not OPEN and self.state is not CLOSING

    @property
    def settled(self) -> bool:
        """Whether the edge has ended and nobody is left who waits for an answer: a request is answered at once."""
        return self.over and not self.busy

    # ---- turns

    def begin(self) -> None:
        """An ask came to an open edge where nobody had the turn, or was given the turn: its module goes to work."""
        self.busy = self.working = True

    def enqueue(self, ticket: Ticket) -> None:
        """A request waits for its turn, behind those that came before."""
        self.queue.append(ticket)

    def answered(self) -> None:
        """The request that had the turn is answered: the next has it at once, so that none can overtake it (R1).

        While the edge is closing nobody is answered: see `requeue`.
        """
        self.busy = self.working = False
        if self.queue:
            self._grant()

    def requeue(self, ticket: Ticket) -> None:
        """The ask that has the turn is not answered before the edge has ended: it is the first in the queue again."""
        self.code_returned()
        self.busy = False
        self.queue.appendleft(ticket)

    def withdraw(self, ticket: Ticket) -> None:
        """A request will not be answered, because whoever sent it waits no more."""
        if ticket.is_set():
            self.answered()
        else:
            self.queue.remove(ticket)

    def _grant(self) -> None:
        self.busy = True
        self.queue.popleft().set()

    # ---- the module's code

    def code_returned(self) -> None:
        """The module's code, which was under way for the request that has the turn, has come back."""
        self.working = False
        if self.left is not None:
            self.left.set()
            self.left = None

    def give_up(self) -> None:
        """The module's code does not come back in time: its ask loses its turn, and others are answered before it."""
        if self.working:
            self.lost = True
            self.busy = self.working = False
            self.left = None

    def reclaim(self) -> bool:
        """Whether the code that returns now was given up: its ask has no turn, and queues like a new one."""
        lost, self.lost = self.lost, False
        return lost

    # ---- endings

    def terminate(self, event: Event, failure: BaseException | None = None, *, below: bool = False) -> bool:
        """A termination comes; True for the first, which is to be carried out and then `released` (R5, R6)."""
        first = self.state is OPEN
        self.state = TRANSITIONS[self.state, event]
        if first:
            self.how, self.below = event, below
            self.fail(failure)
        return first

    def overrule(self, failure: BaseException | None, *, decides: bool = True) -> None:
        """Let a termination from below replace an end that a handle brought and no ask was answered with (R3, R5).

        The requester saw no end before its own termination. So that one decides how later asks are answered. The
        cancellation of an ask `decides` nothing while other requests are outstanding.
        """
        if not self.replaceable or self.told:
            return
        if self.busy or self.queue:
            # An ask that came before a termination is answered with the end there is. A cancelled one changes nothing.
            self.replaceable = not decides
            return
        self.replaceable = False
        self.untold = self.failure
        self.how, self.below = (Event.ABORT if failure is None else Event.ERROR), True
        self.fail(failure)

    def fail(self, failure: BaseException | None) -> None:
        """Let every ask raise this from now on: the same object, with the traceback that it has now (R3)."""
        self.failure = failure
        self.traceback = None if failure is None else failure.__traceback__

    def released(self) -> None:
        """Answer requests, one after another, now that everything from here up is released."""
        self.state = TRANSITIONS[self.state, Event.RELEASED if self.failure is None else Event.RELEASED_FAILED]
        if self.queue and not self.busy:
            self._grant()
