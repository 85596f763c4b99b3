"""One end of an edge: the batch answered there, which is in flight until it is acknowledged."""

from collections.abc import Iterator
from typing import Any, Generic, Protocol
from weakref import WeakSet

from typing_extensions import TypeVar

from pullstream.engine.observer import EdgeObserver, LaneObserver
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Claim, Port


class HasEnds(Protocol):
    """The part of an edge that its ends use."""

    scope: Scope
    ends: "Ends"
    observer: EdgeObserver | None


E_co = TypeVar("E_co", bound=HasEnds, covariant=True)


class End(Claim, Generic[E_co]):
    """One end of an edge, as the edge sees it: what one asker has in flight."""

    __slots__ = ("edge", "observer", "over", "whole")

    def __init__(self, edge: E_co, port: Port) -> None:
        super().__init__(edge.scope.sidecar, port)
        self.edge = edge
        self.observer: LaneObserver | None = None if edge.observer is None else edge.observer.lane()
        self.over = False
        """Whether the terminal answer was given here."""
        self.whole = False
        """Whether the asker takes a multi-time batch whole, rather than one time after another."""
        edge.ends.add(self)

    def settle(self) -> None:
        """Acknowledge everything in flight here: in the step in which its results are answered, or are held."""
        if self.live:
            self.acknowledge()
        if self._counts.alert:
            self._counts.activate(self.port)


class Ends:
    """The ends below an edge: the first one, and those taken besides.

    The others are held weakly: a task may take a lane for a single ask, and only its user keeps it alive.
    """

    __slots__ = ("_first", "_taken")

    def __init__(self) -> None:
        self._first: End[Any] | None = None
        self._taken: WeakSet[End[Any]] | None = None

    def add(self, end: End[Any]) -> None:
        """Add an end."""
        if self._first is None:
            self._first = end
            return
        if self._taken is None:
            self._taken = WeakSet()
        self._taken.add(end)

    def __iter__(self) -> Iterator[End[Any]]:
        if self._first is not None:
            yield self._first
        if self._taken is not None:
            yield from self._taken
