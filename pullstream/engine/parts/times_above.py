"""The modules above one that looks at every time: cheaper than the tracker, where no path changes a time."""

from collections.abc import Hashable
from typing import Any, Final

from pullstream.engine.sidecar.location import Location, above
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.timely.order import minimal

MANY: Final = 64
"""From so many places on the tracker is asked, which looks only at those where something has changed."""


class Above:
    """The places from which something may come to a module's input: then what is held and in flight there tells all.

    Where a path changes times, a module holds what streams it opened may bring, or the places are many, the tracker is
    to be asked.
    """

    def __init__(self, sidecar: Sidecar, location: Location) -> None:
        self._sidecar = sidecar
        self._locations = above(location)
        self._plain = len(self._locations) < MANY and not any(here.summaries for here in self._locations)
        self._own = len(location.ports)
        self._ports = [port for here in (location, *self._locations) for port in here.ports]

    @property
    def tells(self) -> bool:
        """Whether it is enough to ask `may_lead_to`."""
        return self._plain and not self._sidecar.nesting.mirrors

    def may_lead_to(self, time: Hashable) -> bool:
        """Whether anything here may still lead to a batch at `time`.

        Raises:
            TypeError: the times here are of several domains.
        """
        return any(location.holds(time) for location in self._locations) or any(
            stamp.covers(time) for port in self._ports for stamp in port.in_flight
        )

    def fronts(self, *, arrived: bool = True) -> list[Any]:
        """The least times that anything here may still lead to; without the batches that have `arrived`, if so asked.

        Raises:
            TypeError: the times here are of several domains.
        """
        times = {time for location in self._locations for time in location.held}
        ports = self._ports if arrived else self._ports[self._own :]
        times.update(stamp.stamped for port in ports for stamp in port.in_flight if stamp.live)
        return minimal(list(times))
