"""An end of an edge: what was answered there, and is in flight until it is dealt with."""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, Protocol
from weakref import WeakSet

from typing_extensions import TypeVar, override

from pullstream.engine.edge.rest import Least, Rest
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Port, Stamp
from pullstream.protocol import TimedBatch


class HasEnds(Protocol):
    """The edge of an end, as far as the end knows it."""

    scope: Scope
    ends: "WeakSet[End[Any]]"


E_co = TypeVar("E_co", bound=HasEnds, covariant=True)


class End(Stamp, Generic[E_co]):
    """One end of an edge, as the edge sees it: who asks there, and what it has in flight."""

    __slots__ = ("edge", "others", "over", "whole")

    def __init__(self, edge: E_co, port: Port) -> None:
        super().__init__(edge.scope.sidecar, port)
        self.edge = edge
        self.over = False
        """Whether it has had its last answer."""
        self.whole = False
        """Whether an answer of many times is wanted as it is, and not one time after another."""
        self.others: Least | None = None
        """The times of a batch of many times that is in flight here, of which the least but the first count beside."""
        edge.ends.add(self)
        self._counts.stamps.add(self)

    def brought(self, batch: TimedBatch[Any], limit: int) -> None:
        """Hear of an answer of many times to an ask of this end, before any of it is counted; for who verifies it."""

    def rest_of(self, batch: TimedBatch[Any]) -> Rest:
        """An answer of many times to an ask of this end, to be given out one time after another."""
        return Rest(self._counts, self.port, batch)

    def stamp_many(self, batch: TimedBatch[Any]) -> None:
        """Count a batch of many times that is handed over whole: its least times alone, which hold up the others.

        In place of what was counted here before: a part of a batch is what is left of it, and no values are nothing.
        """
        self.stamp_least(batch.least)
        if batch.times:
            assert self.others is not None
            self.others.times = batch.times
        if self.port.note is not None:
            for time in dict.fromkeys(batch.times):
                self.port.note(time)

    def stamp_least(self, least: Sequence[Hashable]) -> None:
        """Count these times, of which none is before another, in place of what was counted here before."""
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
        """The times of the batch in flight: all of them, whatever is counted."""
        return super().times if self.others is None else self.others.times

    @override
    def covers(self, time: Hashable) -> bool:
        return super().covers(time) or (self.live and self.others is not None and self.others.covers(time))

    def let_go(self) -> None:
        """Count nothing here as in flight any more."""
        if self.live:
            self.acknowledge()
        if self.others is not None:
            self.others.count(())
            self.others = None
        if self._counts.alert:
            self._counts.activate(self.port)
