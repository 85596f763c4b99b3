"""One end of an edge: the batch answered there, which is in flight until it is acknowledged."""

from typing import Any, Generic, Protocol
from weakref import WeakSet

from typing_extensions import TypeVar

from pullstream.engine.observer import EdgeObserver, LaneObserver
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Claim, Port


class HasEnds(Protocol):
    """The part of an edge that its ends use."""

    scope: Scope
    observer: EdgeObserver | None
    first_end: "End[Any] | None"
    further_ends: "WeakSet[End[Any]] | None"


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
        if edge.first_end is None:
            edge.first_end = self
        elif edge.further_ends is None:
            edge.further_ends = WeakSet([self])
        else:
            edge.further_ends.add(self)

    def settle(self) -> None:
        """Acknowledge everything in flight here; called in the step that answers its results, or holds them."""
        if self.live:
            self.acknowledge()
        if self._counts.alert:
            self._counts.activate(self.port)
