"""Check a recorded run against the model: is every announced completion one that the model allows (000, Theorem 2)?

A run is described once by a `Plan` (nodes, edges, and how each edge's source changes times) and recorded as a list of
events. `replay` goes through the record, recomputes Clock from the definitions before and after each event, and reports
every event that the model does not allow. It does not use trackers, and works with times of any kind.

A recorder writes:

| event in the run                                               | record                          |
|----------------------------------------------------------------|---------------------------------|
| a batch is put on an edge, at its time                         | `Sent(edge, time)`              |
| that batch is finished (acknowledged, consumed)                | `Taken(edge, time)`             |
| a node begins to hold a time (a capability, a buffer, a sum)   | `Held(node, time)`              |
| it releases the time, or a failed part's stamps are withdrawn  | `Released(node, time)`          |
| a consumer starts to wait for a time to complete at a place    | `Awaited(location, time)`       |
| the run announces that the time is complete                    | `Completed(location, time)`     |
| a wait ends otherwise: cancelled, abandoned, failed            | `Dismissed(location, time)`     |
| the run is idle until something happens outside                | `Settled()`                     |
| the idle run reports the frontier of a place                   | `Frontier(location, times)`     |
| several of the first four as one change, in any order          | `Together(events)`              |

Without `Together`, a change with several parts is written additions first: moving a capability from 3 to 4 is
`Held(source, 4)`, `Released(source, 3)`. A notification request is a `Held` at the node (if it may send) and an
`Awaited` at each of its incoming edges. A node whose inputs and outputs change times differently is written as several
nodes. A run that counts pointstamps at ports, as `timely`'s graphs do, makes every port a node: `Plan.of_steps`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from attrs import Factory, field, frozen

from .could_result_in import Pointstamp
from .graph import Edge, ModelError, ModelGraph
from .times import Time, minimal

MOST_CLOCKS: Final = 1_000
"""The number of sets of pointstamps for which a replay caches Clock."""

Sends: TypeAlias = Callable[[Time], Iterable[Time]]


def same(time: Time) -> Iterable[Time]:
    """Allow an event at t to send at t and later, as nearly every node does."""
    return (time,)


PortStep: TypeAlias = tuple[str, str, Sends]
"""A step: from a port, to a port, and how it changes times."""


@frozen
class Plan:
    """The graph of a run and, for each edge, the least times its source may send in reaction to an event at a time.

    An edge that `sends` does not name passes times on unchanged. A function returns no times for an event that it never
    reacts to, and must be monotone. Every cycle must strictly advance time, or Clock has no finite description.

    `initial` has the pointstamps at the start of the run: the times that its sources may produce.

    >>> plan = Plan([Edge("in", "numbers", "total"), Edge("sums", "total")], initial=[("numbers", 0)])
    >>> plan.graph.nodes
    ('numbers', 'total')
    """

    edges: tuple[Edge, ...] = field(converter=tuple[Edge, ...])
    sends: Mapping[str, Sends] = field(factory=dict[str, Sends])
    initial: tuple[tuple[str, Time], ...] = field(default=(), converter=tuple[tuple[str, Time], ...])
    graph: ModelGraph = field(
        init=False,
        repr=False,
        default=Factory(lambda self: _graph_of(self), takes_self=True),  # noqa: PLW0108 (defined below the class)
    )

    @classmethod
    def of_steps(cls, steps: Iterable[PortStep], initial: Iterable[tuple[str, Time]] = ()) -> "Plan":
        """Make a plan in which every port is a node, from the steps between the ports.

        >>> plan = Plan.of_steps([("a out", "b in", same), ("b in", "b out", lambda t: [t + 1])], [("a out", 3)])
        >>> clock(plan, [Pointstamp("a out", 3)])["b out"]
        (4,)
        """
        named = [(f"{a} > {b} #{i}", a, b, sends) for i, (a, b, sends) in enumerate(steps)]
        return cls([Edge(name, a, b) for name, a, b, _ in named], {name: sends for name, _, _, sends in named}, initial)


def _graph_of(plan: Plan) -> ModelGraph:
    ends = (end for edge in plan.edges for end in (edge.source, edge.destination) if end is not None)
    return ModelGraph(tuple(dict.fromkeys(ends)), plan.edges)


@frozen
class _AtEdge:
    edge: str
    time: Time


class Sent(_AtEdge):
    """A batch is put on an edge."""


class Taken(_AtEdge):
    """A batch that was on an edge is finished."""


@frozen
class _AtNode:
    node: str
    time: Time


class Held(_AtNode):
    """A node begins to hold a time: it may react at that time later."""


class Released(_AtNode):
    """A node releases a time that it held."""


@frozen
class _AtLocation:
    location: str
    time: Time


class Awaited(_AtLocation):
    """A wait begins for a time to be complete at a location."""


class Completed(_AtLocation):
    """The run announces that a time is complete at a location. This ends all waits for it there."""


class Dismissed(_AtLocation):
    """A wait ends without a completion."""


@frozen
class Settled:
    """The run is idle: nothing happens by itself, and every wait for a complete time must have been answered."""


@frozen
class Frontier:
    """The least times that may still arrive at a location, according to the run. They must be exactly right."""

    location: str
    times: tuple[Time, ...] = field(converter=tuple[Time, ...])


Change: TypeAlias = Sent | Taken | Held | Released


@frozen
class Together:
    """Several changes at once: every addition must have been possible before all of them, whatever their order."""

    changes: tuple[Change, ...] = field(converter=tuple[Change, ...])


RunEvent: TypeAlias = Change | Awaited | Completed | Dismissed | Settled | Frontier | Together


@frozen
class Violation:
    """An event that the model does not allow: its index in the record (from 0), the broken rule, and the reason."""

    index: int
    event: RunEvent
    rule: str
    because: str


def clock(plan: Plan, pending: Iterable[Pointstamp]) -> dict[str, tuple[Time, ...]]:
    """Give the least times in Clock at each location: the least fixpoint from the pending pointstamps.

    Raises:
        ModelError: if the computation does not end, because a cycle does not advance time.

    >>> loop = Plan([Edge("a", "p", "q"), Edge("b", "q", "p")], {"b": lambda t: [t + 1]})
    >>> clock(loop, [Pointstamp("q", 3)])
    {'p': (4,), 'q': (3,), 'a': (4,), 'b': (4,)}
    """
    graph = plan.graph
    least: dict[str, tuple[Time, ...]] = dict.fromkeys(graph.locations, ())
    found: dict[str, list[Time]] = {}
    for location, time in pending:
        found.setdefault(location, []).append(time)
    budget = 10_000 + 1_000 * len(least) + 100 * len(found)
    # In the plan's order of nodes: if that is downstream, each location is visited once.
    agenda = [(graph.rank[location], location) for location in found]
    heapify(agenda)
    while agenda:
        budget -= 1
        if budget < 0:
            raise ModelError("Clock has no finite description: some cycle of the plan does not advance time")
        _, location = heappop(agenda)
        before = least[location]
        least[location] = minimal((*before, *found.pop(location)))
        new = [time for time in least[location] if time not in before]
        for onward in graph.successors(location) if new else ():
            if onward not in found:
                found[onward] = []
                heappush(agenda, (graph.rank[onward], onward))
            sends = plan.sends.get(onward, same)
            found[onward] += [later for time in new for later in sends(time)]
    return least


def _clock_of(plan: Plan, pending: frozenset[Pointstamp]) -> dict[str, tuple[Time, ...]]:
    # Sorted, so that the times visited on the way do not depend on hashes or addresses.
    return clock(plan, sorted(pending, key=repr))


def replay(plan: Plan, record: Iterable[RunEvent]) -> "Replay":
    """Check a recorded run against the model.

    The `rule` of a violation is one of:

    - `from nothing`: a pointstamp appears that was not in Clock (Prop. 8);
    - `too early`: a completion of a pointstamp that is still in Clock, or a reported frontier that excludes one;
    - `after completion`: a message or hold at or before a time that was announced complete there (Theorem 2);
    - `withheld`: the run is idle, and a wait is unanswered although its time is complete;
    - `late`: a reported frontier includes a time that is not in Clock;
    - `not there`: a batch or hold is removed that was never added.

    Raises:
        KeyError: if an event names a location the plan does not have.

    >>> plan = Plan([Edge("in", "numbers", "total"), Edge("sums", "total")], initial=[("numbers", 0)])
    >>> replay(plan, [Sent("in", 0), Held("numbers", 1), Released("numbers", 0), Completed("in", 0)]).violations[0].rule
    'too early'
    >>> replay(plan, [Held("numbers", 1), Released("numbers", 0), Completed("in", 0), Settled()]).ok
    True
    """
    replayed = Replay(plan)
    for index, event in enumerate(record):
        replayed.see(index, event)
    return replayed


class Replay:
    """A replay, event by event: pending pointstamps with their counts, waits, and announced completions.

    `violations` are those so far; `events`, `completions` and `settled` count how much was checked. `least` is the
    current Clock: the least times that may still come, for each location of the plan's graph.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.pending: Counter[Pointstamp] = Counter(Pointstamp(node, time) for node, time in plan.initial)
        # A run returns to the same few sets repeatedly: a batch leaves, and another arrives at the same time.
        self._clock = lru_cache(MOST_CLOCKS)(partial(_clock_of, plan))
        self.least = self._clock(frozenset(self.pending))
        self.waits: Counter[Pointstamp] = Counter()
        self.announced: dict[str, list[Time]] = {location: [] for location in plan.graph.locations}
        self.violations: list[Violation] = []
        self.events = self.completions = self.settled = 0

    @property
    def ok(self) -> bool:
        """Whether the model allows the whole record so far."""
        return not self.violations

    def see(self, index: int, event: RunEvent) -> None:
        """Check one event and apply it, allowed or not. Violations have its `index`."""
        self.events += 1

        def wrong(rule: str, because: str) -> None:
            self.violations.append(Violation(index, event, rule, because))

        match event:
            case Sent() | Taken() | Held() | Released():
                self._change((event,), wrong)
            case Together(changes):
                self._change(changes, wrong)
            case Awaited(location, time):
                self.announced[location]  # raises KeyError for a location that is not in the plan
                self.waits[Pointstamp(location, time)] += 1
            case Completed(location, time):
                self.completions += 1
                # A completion covers all earlier times, so only the maximal ones are kept.
                self.announced[location] = [done for done in self.announced[location] if not done <= time]
                self.announced[location].append(time)
                del self.waits[Pointstamp(location, time)]
                if self._in_clock(Pointstamp(location, time)):
                    wrong("too early", self._because(Pointstamp(location, time)))
            case Dismissed(location, time):
                self.waits[Pointstamp(location, time)] -= 1
                self.waits += Counter()
            case Settled():
                self.settled += 1
                for wait in self.waits:
                    if not self._in_clock(wait):
                        wrong("withheld", f"{wait.time} is complete at {wait.location!r}, but a wait is not answered")
            case Frontier(location, times):
                self._compare(location, times, wrong)

    def _compare(self, location: str, times: tuple[Time, ...], wrong: Callable[[str, str], None]) -> None:
        """Check that the reported times are the least times in Clock at a location."""
        true = self.least[location]
        for time in true:
            if not any(said <= time for said in times):
                wrong("too early", self._because(Pointstamp(location, time)))
        for time in times:
            if not any(least <= time for least in true):
                wrong("late", f"the run reports that {time} may come to {location!r}, but nothing before {true} may")

    def _in_clock(self, stamp: Pointstamp) -> bool:
        return any(least <= stamp.time for least in self.least[stamp.location])

    def _change(self, changes: Iterable[Change], wrong: Callable[[str, str], None]) -> None:
        """Add and remove pointstamps. Clock is updated only after all of them."""
        removed: list[Pointstamp] = []
        for change in changes:
            match change:
                case Sent(place, time) | Held(place, time):
                    self._appear(Pointstamp(place, time), wrong)
                case Taken(place, time) | Released(place, time):
                    removed.append(Pointstamp(place, time))
        for stamp in removed:
            if stamp in self.pending:
                self.pending[stamp] -= 1
                if not self.pending[stamp]:
                    del self.pending[stamp]
            else:
                wrong("not there", f"nothing at {stamp.time} is pending at {stamp.location!r}")
        self.least = self._clock(frozenset(self.pending))

    def _appear(self, stamp: Pointstamp, wrong: Callable[[str, str], None]) -> None:
        if any(stamp.time <= done for done in self.announced[stamp.location]):
            wrong("after completion", f"{stamp.time} was already announced complete at {stamp.location!r}")
        if not self._in_clock(stamp):
            wrong("from nothing", f"nothing pending leads to {stamp.time} at {stamp.location!r}")
        self.pending[stamp] += 1

    def _because(self, stamp: Pointstamp) -> str:
        blocking = [
            pending
            for pending in self.pending
            if any(least <= stamp.time for least in clock(self.plan, (pending,))[stamp.location])
        ]
        return "still pending: " + ", ".join(f"{p.time} at {p.location!r}" for p in blocking)
