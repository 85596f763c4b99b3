"""The rest of a multi-time answer that is given out one time after another; all its values are in flight."""

from collections.abc import Hashable, Sequence
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.sidecar.location import Claim, Counts, Port
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import Batch


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
