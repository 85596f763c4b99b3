"""Going on from what an earlier run has left: which modules cannot, and what is dropped where it appears again."""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, cast

from pullstream.engine.edge.lane import Lane
from pullstream.engine.sidecar.location import Location, above
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.traits import Carries
from pullstream.errors import JournalError
from pullstream.resuming.cut import Cut, remembered
from pullstream.resuming.dropping import drop_in
from pullstream.timely import Summary


def refuse_lost(locations: Iterable[Location], where: str) -> None:
    """Refuse modules that could not go on where an earlier run was; `where` is what has no place for them.

    Raises:
        JournalError: there is such a module.
    """
    locations = list(locations)
    for location in locations:
        if location.traits.carries is Carries.LOST:
            raise JournalError(
                f"{location}, has no place in {where}: what it gives follows from when things come, "
                f"or from what came last, and would be another thing after the run was killed. Let times say what "
                f"belongs together: stamp(), join(), windows in event time"
            )
    for location in locations:
        shuffled = _reordered_above(location) if location.traits.counts else None
        if shuffled is not None:
            raise JournalError(
                f"{location}, gives times by what came before, and has no place in {where} below "
                f"{shuffled}, behind which the order is another one each time. Put it above that, or let the "
                f"values say their times: stamp()"
            )


def _reordered_above(location: Location) -> Location | None:
    """A place above at which the order of what comes is a matter of luck."""
    return next((here for here in above(location) if here.traits.reorders), None)


def drop_done(sidecar: Sidecar, cut: Cut, sinks: Collection[Location]) -> None:
    """Let what is done be dropped where times begin, and where it would be taken twice: by memories and `sinks`."""
    for location in sidecar.locations:
        for port in location.ports:
            if isinstance(port.claim, Lane):
                lane = cast("Lane[Any]", port.claim)
                drops = _drops(lane, cut, sinks)
                if drops is not None:
                    drop_in(lane.edge, drops)


def _drops(lane: "Lane[Any]", cut: Cut, sinks: Collection[Location]) -> Callable[[Hashable], bool] | None:
    """A test for times that an edge does not let pass, because they are done."""
    above, below = lane.edge.location, lane.port.location
    begins = not above.upstreams or any(not isinstance(row, Summary) and not row for row in above.summaries)
    ends = below in sinks or below.remembers
    if begins and ends:
        return remembered(lambda time: cut.output_done(above, time) or cut.input_done(below, time))
    if begins:
        return remembered(lambda time: cut.output_done(above, time))
    return remembered(lambda time: cut.input_done(below, time)) if ends else None
