"""What is above a module, for one that looks at every time: cheaper than the tracker, where no path changes a time."""

from collections.abc import Hashable

from pullstream.engine.progress import Progress
from pullstream.engine.seat import Seat


class Above:
    """The places from which something may come to a module's input: then what is held and in flight there tells all.

    Where a path changes times, or a module holds what streams it opened may bring, the tracker is to be asked.
    """

    def __init__(self, progress: Progress, seat: Seat) -> None:
        self._progress = progress
        self._seats: list[Seat] = []
        todo = list(seat.upstreams)
        while todo:
            here = todo.pop()
            if here not in self._seats:
                self._seats.append(here)
                todo += here.upstreams
        self._plain = not any(here.summaries for here in self._seats)
        self._places = {port.place for here in (seat, *self._seats) for port in here.ports}

    @property
    def tells(self) -> bool:
        """Whether it is enough to look here."""
        return self._plain and not self._progress.mirrors

    def may_lead_to(self, time: Hashable) -> bool:
        """Whether anything here may still lead to a batch at `time`.

        Raises:
            TypeError: the times here are of several domains.
        """
        return any(seat.holds(time) for seat in self._seats) or any(
            stamp.covers(time) and stamp.port.place in self._places for stamp in self._progress.in_flight
        )
