"""Batches that have left a module and are in flight: one at each end of its edge, and the rest of a multi-time one."""

from collections.abc import Hashable, Sequence
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.observer import LaneObserver
from pullstream.engine.sidecar.location import Claim, Counts, Port
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import Batch


class End(Claim):
    """One end of an edge, as the edge sees it: what one asker has in flight until it acknowledges."""

    over = False
    """Whether the terminal answer was given here."""
    whole = False
    """Whether the asker takes a multi-time batch whole, rather than one time after another."""

    def __init__(self, edge: Any, port: Port) -> None:
        super().__init__(edge.scope.sidecar, port)
        self.edge = edge
        self.observer: LaneObserver | None = None if edge.observer is None else edge.observer.lane()

    def settle(self) -> None:
        """Acknowledge everything in flight here; called in the step that answers its results, or holds them."""
        if self.live:
            self.acknowledge()
        if self._counts.alert:
            self._counts.activate(self.port)


class Rest(Backlog):
    """The values of a multi-time answer that no lane has been given yet; all are in flight.

    The rest belongs to the edge, whichever lane asked for the answer: lanes are served in the order in which they ask
    (R4), and a lane taken for a single ask must not take the rest with it.
    """

    def __init__(self, counts: Counts, port: Port, batch: Batch[Any]) -> None:
        super().__init__()
        self._counted = True
        self._claim = Claim(counts, port)
        # Before anything is counted: times without a common order fail here, and not later.
        minima = Minima(batch)
        self.put(batch)
        self._minima = minima

    @override
    def count(self, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        self._claim.count_least(now)
