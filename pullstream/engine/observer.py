"""The observer of a run: it receives the events on the edges, and the changes of progress.

The checker, the tracer and the simulations of `shake` are observers. Each event is a method that does nothing here; an
observer overrides those that it needs. A run without one pays only one test per ask.

An event that begins something returns a token, which comes back with the event that ends it: a lane may have several
requests under way.
"""

from collections.abc import Callable, Hashable
from typing import Any

from pullstream.protocol import Batch

Update = Callable[[int, Hashable, int], None]
"""Changes the count of a pointstamp: its place, its time, and the difference."""


class LaneObserver:
    """Receives the events on one lane of an edge."""

    def asked(self, lane: Any, limit: int) -> Any:  # noqa: ARG002 - here and below: overridden
        """Note that an ask is being sent; the batch before it is not acknowledged yet. Returns its token."""
        return None

    def brought(self, batch: Batch[Any], limit: int) -> None:
        """Note a multi-time answer before any of it is counted."""

    def answered(self, lane: Any, sent: Any, answer: Any) -> Any:  # noqa: ARG002
        """Note an answer, or NOT_YET or WAIT if a poll led to none; returns the answer to hand over."""
        return answer

    def raised(self, sent: Any, exc: BaseException) -> None:
        """Note that an ask raised."""

    def acknowledged(self) -> None:
        """Note that the lane acknowledges without asking."""

    def terminated(self, lane: Any, reason: BaseException | None, *, dismissing: bool, closed: bool) -> Any:  # noqa: ARG002
        """Note that an abort, or an error with its reason, is being sent, or only awaited. Returns its token.

        The module's code sends it or, when `dismissing`, its kernel. With `closed`, the kernel has sent it by `close`.
        """
        return None

    def confirmed(self, sent: Any, exc: BaseException | None) -> None:
        """Note that a termination is confirmed, or what it raised instead."""

    def closed(self, lane: Any, reason: BaseException | None) -> None:
        """Note that the kernel is sending a termination to one of several lanes, and will await it."""

    def indicated(self, lane: Any, reason: BaseException | None) -> None:
        """Note that a termination is being sent that nobody waits for."""

    def carried_out(self, failure: BaseException | None) -> BaseException | None:
        """Note that such a termination was carried out, perhaps with an exception; returns the one to raise later."""
        return failure


class EdgeObserver:
    """Receives the events at one edge."""

    resource: Any = None
    """The counts of the module's acquisitions and releases, in a checked run."""

    def lane(self) -> LaneObserver:
        """Return the observer of a new lane."""
        return LaneObserver()

    def acquired(self) -> None:
        """Note that the module has acquired its resources (R10)."""

    def released(self) -> None:
        """Note that it has released them."""


class Observer:
    """Receives the events of a run: each edge that is made, and the progress of the pipeline's own stream."""

    def edge(self, edge: Any, port: Any) -> EdgeObserver:  # noqa: ARG002
        """Return the observer of an edge that has its first lane; `port` is the input of the module downstream."""
        return EdgeObserver()

    def started(self, sidecar: Any) -> None:
        """Note that the run begins: all its modules are placed, and its sources hold their first time."""

    def counting(self, update: Update) -> Update:
        """Return the function to call with every change of a count from now on: `update`, or one that calls it."""
        return update

    def read(self) -> None:
        """Note that the frontiers have been read: everything is up to date."""

    def awaited(self, watch: Any) -> None:
        """Note that something waits at some places."""

    def left(self, watch: Any) -> None:
        """Note that a wait ends, met or not."""

    def met(self, watch: Any) -> None:
        """Note that a wait has nothing left to wait for."""

    def over(self, location: Any) -> None:
        """Note that a module's part of the run has ended."""
