"""Resuming from the state of an earlier run: which modules cannot, and where repeated values are dropped."""

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable
from functools import partial
from typing import Any, cast

from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.backlog import at_times
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane
from pullstream.engine.sidecar.location import Location, above
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.traits import Carries
from pullstream.errors import JournalError
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered
from pullstream.resuming.cut import Cut, remembered
from pullstream.timely import Summary

Drops = Callable[[Hashable], bool]
"""Whether to drop values at a time."""

Left = Callable[[Batch[Any], int], Batch[Any] | None]
"""A function that returns the part of an answer that passes, given the ask's limit; None if there is none."""


def let_pass(edge: Edge[Any], left: Left) -> None:
    """Let only a part of each of a module's answers pass: if nothing is left, the module is asked again."""
    polled = edge.polled
    if polled is not None:

        def passed_now(limit: int) -> Batch[Any] | Done | Unanswered:
            answer = polled(limit)
            return (left(answer, limit) or NOT_YET) if isinstance(answer, Batch) else answer

        edge.polled = passed_now
        return
    produce: Callable[[int], Awaitable[Batch[Any] | Done]] = edge.produce

    async def passed(limit: int) -> Batch[Any] | Done:
        while isinstance(answer := await produce(limit), Batch):
            part = left(answer, limit)
            if part is not None:
                return part
            if not (await edge.breathe() and edge.may_continue):
                return DONE
        return answer

    edge.produce = passed


def drop_in(edge: Edge[Any], drops: Drops) -> None:
    """Drop a module's values at some times."""
    let_pass(edge, partial(_not_dropped, edge, drops))


def _not_dropped(edge: Edge[Any], drops: Drops, answer: Batch[Any], limit: int) -> Batch[Any] | None:
    """Return the part of an answer whose results an earlier run has not completed; None if there is none."""
    if not edge.traits.trusted and mistake(answer, limit):
        return answer
    if edge.origin and not answer.uniform:
        # Times must not go back, dropped or not; the values before a time that does are still answered.
        answer = edge.until_wrong_time(answer)
    gone = set(filter(drops, (answer.time,) if answer.uniform else dict.fromkeys(answer.times)))
    left = at_times(answer, lambda time: time not in gone) if gone else answer
    for dropped in edge.location.dropping:
        dropped(len(answer.values) - (0 if left is None else len(left.values)))
    if left is not None:
        edge.checked = edge.origin and not left.uniform
        return left
    if edge.origin and answer.uniform:
        edge.location.advance(answer.time, answer.values)
    if edge.fails_next is not None:
        # The failure was to follow this answer, all of which is dropped (R8).
        raise edge.fails_next
    return None


def refuse_lost(locations: Iterable[Location], where: str) -> None:
    """Refuse modules that could not resume where an earlier run stopped; `where` is the kind of run, for the error."""
    locations = list(locations)
    for location in locations:
        if location.traits.carries is Carries.LOST:
            raise JournalError(
                f"{location}, cannot be in {where}: its output depends on when values arrive, and would differ "
                f"after a kill. Group values by their times instead: stamp(), join(), windows in event time"
            )
    for location in locations:
        # Downstream of these, the order in which values arrive is a matter of luck.
        shuffled = [here for here in above(location) if here.traits.reorders] if location.traits.counts else []
        if shuffled:
            raise JournalError(
                f"{location}, cannot be downstream of {shuffled[0]}, in {where}: it assigns times by the order in "
                f"which values arrive, or decides by it which values are late, and that order differs from run to run "
                f"there. Assign times further upstream, in each source: merge(pipe(a, stamp(...)), pipe(b, stamp(...)))"
            )


def drop_done(sidecar: Sidecar, cut: Cut, sinks: Collection[Location]) -> None:
    """Drop done times where times begin, and where values would count twice: at memories and `sinks`."""
    for lane in lanes_of(sidecar):
        drops = _drops(lane, cut, sinks)
        if drops is not None:
            drop_in(lane.edge, drops)


def lanes_of(sidecar: Sidecar) -> list["Lane[Any]"]:
    """The lanes on which the modules of a stream receive values, one for each input that has one."""
    claims = (port.claim for location in sidecar.locations for port in location.ports)
    return [cast("Lane[Any]", claim) for claim in claims if isinstance(claim, Lane)]


def _drops(lane: "Lane[Any]", cut: Cut, sinks: Collection[Location]) -> Callable[[Hashable], bool] | None:
    """A test for the times that an edge drops, because they are done; None if it drops none."""
    above, below = lane.edge.location, lane.port.location
    begins = not above.upstreams or any(not isinstance(row, Summary) and not row for row in above.summaries)
    ends = below in sinks or below.remembers
    if begins and ends:
        return remembered(lambda time: cut.output_done(above, time) or cut.input_done(below, time))
    if begins:
        return remembered(lambda time: cut.output_done(above, time))
    return remembered(lambda time: cut.input_done(below, time)) if ends else None
