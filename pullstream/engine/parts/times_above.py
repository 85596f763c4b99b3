"""A cheap view of the modules above one that reads its frontier at every time, where no path changes a time."""

from collections.abc import Hashable
from typing import Any, Final

from pullstream.engine.sidecar.location import Location, above
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.timely.order import minimal

MANY: Final = 64
"""The number of places from which on the tracker is asked instead: it visits only places that have changed."""


class Above:
    """The places upstream of a module's input, whose holds and batches in flight determine the input's frontier.

    The tracker must be asked instead where a path changes times, where a module holds times for the inner streams it
    opened, or where there are `MANY` places.
    """

    def __init__(self, sidecar: Sidecar, location: Location) -> None:
        self._sidecar = sidecar
        self._locations = above(location)
        self._plain = len(self._locations) < MANY and not any(here.summaries for here in self._locations)
        self._own = len(location.ports)
        self._ports = [port for here in (location, *self._locations) for port in here.ports]

    @property
    def tells(self) -> bool:
        """Whether `may_lead_to` and `fronts` are exact, so that the tracker need not be asked."""
        return self._plain and not self._sidecar.nesting.mirrors

    def may_lead_to(self, time: Hashable) -> bool:
        """Whether a hold or a batch in flight may still lead to a batch at `time`.

        Raises:
            TypeError: the times are of several domains.
        """
        return any(location.holds(time) for location in self._locations) or any(
            stamp.covers(time) for port in self._ports for stamp in port.in_flight
        )

    def fronts(self, *, arrived: bool = True) -> list[Any]:
        """The least times that holds and batches in flight may still lead to.

        Without `arrived`, batches in flight at the module's own input are left out.

        Raises:
            TypeError: the times are of several domains.
        """
        times = {time for location in self._locations for time in location.held}
        ports = self._ports if arrived else self._ports[self._own :]
        times.update(stamp.stamped for port in ports for stamp in port.in_flight if stamp.live)
        return minimal(list(times))
