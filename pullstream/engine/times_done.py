"""How many times are done: have come to the sinks, and are complete there."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from pullstream.engine.seat import Seat
from timely import Antichain, TimelyError

if TYPE_CHECKING:
    from pullstream.engine.progress import Progress

Update = Callable[[int, Hashable, int], None]


class TimesDone:
    """Remembers the times under way at the sinks, and counts those that are complete when it is asked."""

    def __init__(self, progress: "Progress", sinks: Sequence[Seat]) -> None:
        self._sinks = sinks
        self._inputs = frozenset(port.place for sink in sinks for port in sink.ports)
        self._under_way: set[Hashable] = {
            stamp.stamped for stamp in progress.stamps if stamp.port.place in self._inputs and stamp.live
        }
        self._done = 0

    def watching(self, update: Update) -> Update:
        """Have every time that comes to a sink noted."""
        inputs, note = self._inputs, self._under_way.add

        def noted(place: int, time: Hashable, delta: int) -> None:
            if delta > 0 and place in inputs:
                note(time)
            update(place, time, delta)

        return noted

    def count(self) -> int:
        """How many are done by now."""
        if self._under_way:
            frontiers = [sink.frontier for sink in self._sinks]
            done = [time for time in self._under_way if not any(_may_come(time, at) for at in frontiers)]
            self._under_way.difference_update(done)
            self._done += len(done)
        return self._done


def _may_come(time: Hashable, frontier: Antichain[Any]) -> bool:
    try:
        return frontier.less_equal(time)
    except TimelyError:
        # At this sink times are of another kind.
        return False
