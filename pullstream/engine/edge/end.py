"""One end of an edge: the batch answered there, which is in flight until it is acknowledged."""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, Protocol
from weakref import WeakSet

from typing_extensions import TypeVar, override

from pullstream.engine.edge.rest import Least, Rest
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Port, Stamp
from pullstream.protocol import TimedBatch


class HasEnds(Protocol):
    """The part of an edge that its ends use."""

    scope: Scope
    ends: "WeakSet[End[Any]]"


E_co = TypeVar("E_co", bound=HasEnds, covariant=True)


class End(Stamp, Generic[E_co]):
    """One end of an edge, as the edge sees it: what one asker has in flight."""

    __slots__ = ("edge", "others", "over", "whole")

    def __init__(self, edge: E_co, port: Port) -> None:
        super().__init__(edge.scope.sidecar, port)
        self.edge = edge
        self.over = False
        """Whether the terminal answer was given here."""
        self.whole = False
        """Whether the asker takes a multi-time batch whole, rather than one time after another."""
        self.others: Least | None = None
        """All times of the multi-time batch in flight. Its minimal times beyond the first are counted here."""
        edge.ends.add(self)
        self._counts.stamps.add(self)

    def brought(self, batch: TimedBatch[Any], limit: int) -> None:
        """Hook for checkers: called with a multi-time answer before it is counted."""

    def rest_of(self, batch: TimedBatch[Any]) -> Rest:
        """A multi-time answer to an ask of this end, to be given out one time after another."""
        return Rest(self._counts, self.port, batch)

    def stamp_many(self, batch: TimedBatch[Any]) -> None:
        """Count a multi-time batch, handed over whole, with its minimal times only: they hold back the others.

        This replaces what was counted here before. The batch may be the remaining part of an earlier one; with no
        values left, nothing is counted.
        """
        self.stamp_least(batch.least)
        if batch.times:
            assert self.others is not None
            self.others.times = batch.times
        if self.port.note is not None:
            for time in dict.fromkeys(batch.times):
                self.port.note(time)

    def stamp_least(self, least: Sequence[Hashable]) -> None:
        """Count these times, none of which is before another, in place of those counted here before."""
        if not least:
            self.let_go()
            return
        self.stamp(least[0])
        if self.others is None:
            self.others = Least(self._counts, self.port)
        self.others.count(least[1:])

    @property
    @override
    def times(self) -> Sequence[Hashable]:
        """All times of the batch in flight, not only those counted."""
        return super().times if self.others is None else self.others.times

    @override
    def covers(self, time: Hashable) -> bool:
        return super().covers(time) or (self.live and self.others is not None and self.others.covers(time))

    def let_go(self) -> None:
        """Acknowledge everything in flight here."""
        if self.live:
            self.acknowledge()
        if self.others is not None:
            self.others.count(())
            self.others = None
        if self._counts.alert:
            self._counts.activate(self.port)
