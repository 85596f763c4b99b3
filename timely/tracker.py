"""The tracker: frontiers computed incrementally from counts of pointstamps.

A pointstamp (place, time) stands for something that may still lead to messages: a message in flight, or a right to
send. `update` only notes a change. `propagate` adds up all noted changes, checks them, and carries the difference to
the observed places. Any number of updates cost one propagation, and updates that cancel out cost next to nothing.

A propagation works on the contracted graph of `plan`, in topological order of its strongly connected components. A spot
that lies on no cycle is recomputed once from its predecessors. Around cycles, changes are counted in the order of time
(`counting`). Either way every (spot, time) is visited at most once.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from .antichain import Antichain
from .counting import CountingGroup, differences
from .errors import NegativeCountError, RetreatError
from .explain import Blocker, blockers
from .graph import Graph
from .order import less_equal
from .plan import ContractedGraph, Spot, make_plan

COMPACT_AT = 4096
"""The number of noted updates after which they are added up even if no frontier is read."""


class Tracker:
    """Count pointstamps and keep the frontiers of observed places up to date.

    With `monotone` (the default), an observed frontier that moves backwards after the first propagation is an error.
    Without it, frontiers follow any changes, as in the query of 003. `pullstream.timely.theory.CheckedTracker` checks
    itself at every propagation.

    >>> from pullstream.timely import GraphBuilder, Source, Target
    >>> builder = GraphBuilder()
    >>> numbers, show = builder.add_node("numbers", 0, 1), builder.add_node("show", 1, 0)
    >>> builder.add_edge(Source(numbers), Target(show))
    >>> graph = builder.build()
    >>> start, end = graph.place(Source(numbers)), graph.place(Target(show))
    >>> tracker = Tracker(graph)
    >>> tracker.observe(end)
    >>> tracker.update(start, 3, +1)
    >>> tracker.propagate() == [end], tracker.frontier(end)
    (True, Antichain([3]))
    """

    def __init__(
        self,
        graph: Graph,
        *,
        monotone: bool = True,
        counts: list[dict[Any, int]] | None = None,
    ) -> None:
        self.graph = graph
        self.monotone = monotone
        self._buffer: list[tuple[int, Any, int]] = []
        self.stamps = [dict[Any, int]() for _ in range(len(graph))] if counts is None else counts
        """The applied counts of every place; read them, never change them."""
        self._observed: dict[int, tuple[Any, ...] | None] = {}  # the frontier last reported, None before the first
        self._plan: ContractedGraph | None = None
        self._complete = True  # whether the plan has all observed places; if not, the next change makes a new plan
        self._spots: dict[int, Spot] = {}  # the observed ones
        self._known: dict[int, Spot] = {}  # those of another tracker; they replace everything upstream of them
        self._dirty: list[int] = []  # a heap of the spots to visit, in order of work
        self._moved: dict[int, None] = {}  # observed places whose frontier changed since the last report
        self._compact_at = COMPACT_AT
        self._started = False
        self._failure: BaseException | None = None

    def update(self, place: int, time: Any, delta: int) -> None:
        """Note a change to the count of the pointstamp (place, time). It takes effect or fails at the next propagation.

        The order of updates between two propagations does not matter, only their sums.
        """
        buffer = self._buffer
        buffer.append((place, time, delta))
        if len(buffer) >= self._compact_at:
            try:
                self._compact()
            except BaseException as error:  # noqa: BLE001 - raised by the next propagation
                self._failure = error
                buffer.clear()

    def observe(self, place: int) -> None:
        """Keep the frontier of this place up to date from now on. You may call this at any time.

        The first propagation after the next change reports the place if its frontier is not empty.
        """
        if place not in self._observed:
            self.graph.location(place)
            self._observed[place] = None
            self._complete = False

    def unobserve(self, place: int) -> None:
        """Stop keeping the frontier of this place up to date."""
        if place in self._observed:
            del self._observed[place]
            self._plan = None

    def propagate(self) -> list[int]:
        """Apply all updates and return the observed places whose frontier changed since the previous propagation.

        After an error the tracker is unusable: every later call raises the same error.

        Raises:
            NegativeCountError: more pointstamps were removed than were there; no update is applied.
            RetreatError: an observed frontier moved backwards (only when `monotone`).
            TimeDomainError: times of different domains met at one place.
        """
        self._advance()
        moved: list[int] = []
        # A frontier may have moved and come back since the last report, so compare. After a failure none is reported.
        for place in self._moved:
            front = self._spots[place].front
            if not same(front, self._observed[place] or ()):
                self._observed[place] = front
                moved.append(place)
        self._moved.clear()
        return moved

    def frontier(self, place: int) -> Antichain[Any]:
        """The times that may still arrive at (or leave) this place: those at or after one of its elements.

        Includes every update so far. For a place that is not observed, it is computed at every call, from the frontiers
        of the nearest observed places upstream, and the counts in between.
        """
        self._advance()
        if place in self._spots:
            return Antichain.of_minimal(self._spots[place].front)
        once = Tracker(self.graph, monotone=False, counts=self.stamps)
        once._observed[place] = None
        once._known = self._spots
        once._rebuild()
        return Antichain.of_minimal(once._spots[place].front)

    def counts(self, place: int) -> dict[Any, int]:
        """The pointstamps at this place: a count for each time."""
        self._advance()
        return dict(self.stamps[place])

    @property
    def spots(self) -> Sequence[Spot]:
        """The spots of the current plan, for inspection."""
        return self._plan.spots if self._plan else ()

    def explain(self, place: int, time: Any, *, roots: bool = False) -> list[Blocker]:
        """The pointstamps that keep `time` from being complete at this place, each with a path.

        Only the minimal times of each location are listed. `roots` keeps only the places to look first: blockers that
        no other blocker can lead to, unless they can also lead to it. The list is empty when `time` is complete.
        """
        self._advance()
        return blockers(self.graph, self.stamps, place, time, roots=roots)

    def _advance(self) -> None:
        """Bring everything up to date. A failure is permanent: every later call raises it again."""
        if self._failure is not None:
            raise self._failure
        if not self._buffer and self._plan is not None:
            return
        try:
            self._work_off()
        except Exception as error:
            self._failure = error
            raise

    def _work_off(self) -> None:
        """Carry the noted updates to the frontiers."""
        flips = self._apply()
        if self._plan is None or not self._complete:
            self._rebuild()
        else:
            for place, time, delta in flips:
                self._flip(place, time, delta)
            self._settle(self._plan.spots)
        self._started = self._started or bool(flips)

    def _compact(self) -> None:
        net: dict[tuple[int, Any], int] = {}
        for place, time, delta in self._buffer:
            key = (place, time)
            net[key] = net.get(key, 0) + delta
        self._buffer = [(place, time, delta) for (place, time), delta in net.items() if delta]
        self._compact_at = max(COMPACT_AT, 2 * len(self._buffer))

    def _apply(self) -> list[tuple[int, Any, int]]:
        """Add the updates to the counts; return the pointstamps that appeared, then those that vanished."""
        self._compact()
        counts = self.stamps
        # All updates are checked before any is applied, so that a failure leaves the counts unchanged.
        for place, time, delta in self._buffer:
            if counts[place].get(time, 0) + delta < 0:
                raise NegativeCountError(
                    f"cannot remove {-delta} at {self.graph.name(place)} for the time {time!r}: the count there is "
                    f"{counts[place].get(time, 0)}; all counts at this place: {counts[place]!r}",
                )
        appeared: list[tuple[int, Any, int]] = []
        vanished: list[tuple[int, Any, int]] = []
        for place, time, delta in self._buffer:
            here = counts[place]
            old = here.get(time, 0)
            if old + delta:
                here[time] = old + delta
                if not old:
                    appeared.append((place, time, 1))
            else:
                del here[time]
                vanished.append((place, time, -1))
        self._buffer.clear()
        # In this order, a time that moves on changes a spot's minima once. The other way round it would be twice.
        return appeared + vanished

    def _flip(self, place: int, time: Any, delta: int) -> None:
        """Change the count at the spot that a pointstamp jumps to, when the pointstamp appears or vanishes."""
        assert self._plan is not None
        jump = self._plan.jump.get(place)
        if jump is None:
            return
        spot, summary = jump
        if summary is not None:
            time = summary.results_in(time)
            if time is None:
                return
        before = spot.own.elements
        if spot.own.update(time, delta):
            group: CountingGroup | None = spot.counting
            if group is not None:
                for changed, sign in differences(before, spot.own.elements):
                    group.add(spot, changed, sign)
                # A group is visited once, in its first spot's turn, when everything that leads into it is done.
                spot = group.first
            if not spot.dirty:
                spot.dirty = True
                heappush(self._dirty, spot.index)

    def _settle(self, spots: list[Spot]) -> None:
        """Visit the dirty spots, upstream first."""
        # A spot only makes later spots dirty, so each is visited once, after everything upstream of it.
        dirty = self._dirty
        while dirty:
            spot = spots[heappop(dirty)]
            spot.dirty = False
            group: CountingGroup | None = spot.counting
            if group is None:
                front = spot.compute()
                if front is not spot.front and not same(front, spot.front):
                    self._move(spot, front)
            else:
                for member in group.settle():
                    front = group.front(member)
                    if not same(front, member.front):
                        self._move(member, front)

    def _move(self, spot: Spot, front: tuple[Any, ...]) -> None:
        """Set a spot's frontier and pass the change on."""
        before, spot.front = spot.front, front
        if spot.observed:
            self._moved[spot.place] = None
            if self._started and self.monotone and spot.settled:
                # The usual case needs no sets: one time before, one time after, in order.
                one = len(before) == 1 == len(front)
                if not one or not less_equal(before[0], front[0]):
                    self._check_advance(spot, before)
        for follower in spot.followers:
            if not follower.dirty:
                follower.dirty = True
                heappush(self._dirty, follower.index)
        for end, summary in spot.pushes:
            group: CountingGroup = end.counting
            for changed, sign in differences(before, front):
                later = summary.results_in(changed)
                if later is not None:
                    group.add(end, later, sign)
            if not group.first.dirty:
                group.first.dirty = True
                heappush(self._dirty, group.first.index)

    def _check_advance(self, spot: Spot, before: tuple[Any, ...]) -> None:
        for time in set(spot.front).difference(before):
            if not any(less_equal(earlier, time) for earlier in before):
                raise RetreatError(
                    f"the frontier at {self.graph.name(spot.place)} moved back: {time!r} is possible again after "
                    f"{Antichain.of_minimal(before)!r}; some place upstream claimed a time it had given up",
                )

    def _rebuild(self) -> None:
        """Make a new plan for the observed places, and compute every frontier from the counts."""
        # The order matters. Links need to know each spot's group, and flips note changes for the linked groups. No spot
        # is `settled` until all have a frontier; otherwise the first frontiers would look like retreats.
        old = {place: spot.front for place, spot in self._spots.items()}
        plan = self._plan = make_plan(self.graph, self._observed, self._known)
        self._complete = True
        self._spots = {spot.place: spot for spot in plan.spots if spot.observed}
        for spots in plan.groups:
            CountingGroup(spots, self.graph)
        for spot in plan.spots:
            spot.link()
        for place in plan.jump:
            for time in self._known[place].front if place in self._known else self.stamps[place]:
                self._flip(place, time, 1)
        self._dirty = [spot.index for spot in plan.spots]
        for spot in plan.spots:
            spot.dirty = True
        self._settle(plan.spots)
        for place, spot in self._spots.items():
            spot.settled = True
            before = old.get(place, ())
            if place in old and self._started and self.monotone and not same(before, spot.front):
                self._check_advance(spot, before)
        self._moved = dict.fromkeys(self._spots)


def same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two tuples of minimal times stand for the same frontier."""
    return a is b or a == b or (len(a) == len(b) > 1 and set(a) == set(b))
