"""A recorded run against the model: was every completion it announced one the model allows? (000, Theorem 2).

A run is described once by a `Plan` (nodes, edges, and what each edge's source does to times) and recorded as a list of
events. `replay` goes through the record, recomputes Clock from the definitions before and after each event, and
reports every event the model does not allow. It knows nothing of trackers, and works with times of any kind.

What the recorder writes down:

| the run                                                        | the record                      |
|----------------------------------------------------------------|---------------------------------|
| a batch is put on an edge, at its time                         | `Sent(edge, time)`              |
| that batch is done with (acknowledged, consumed)               | `Taken(edge, time)`             |
| a node comes to hold a time (a capability, a buffer, a sum)    | `Held(node, time)`              |
| it lets go, or a failed part's stamps are withdrawn            | `Released(node, time)`          |
| somebody starts waiting for a time to complete at a place      | `Awaited(location, time)`       |
| the run says it is complete                                    | `Completed(location, time)`     |
| a wait ended otherwise: cancelled, abandoned, failed           | `Dismissed(location, time)`     |
| nothing more happens until something from outside does         | `Settled()`                     |
| the run says, settled, what may still come to a place          | `Frontier(location, times)`     |
| several of the first four as one change, in any order          | `Together(events)`              |

Otherwise a change made of several is written additions first: to move a capability from 3 to 4 is `Held(source, 4)`,
`Released(source, 3)`. A notification request is a `Held` at the node (if it may answer) and an `Awaited` at each of its
incoming edges. A node with several inputs and outputs that do different things to times is written as several nodes; a
run that counts its pointstamps at ports, as `timely`'s graphs do, makes every port a node: `Plan.of_steps`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from attrs import Factory, field, frozen

from .could_result_in import Pointstamp
from .graph import Edge, ModelError, ModelGraph
from .times import Time, minimal

MOST_CLOCKS: Final = 1_000
"""The number of sets of pointstamps of which a replay keeps what may come of them."""

Sends: TypeAlias = Callable[[Time], Iterable[Time]]


def same(time: Time) -> Iterable[Time]:
    """Say that an event at t may send at t and later: what nearly every node does."""
    return (time,)


PortStep: TypeAlias = tuple[str, str, Sends]
"""From where to where, and what becomes of a time on the way."""


@frozen
class Plan:
    """The graph of a run, and per edge the least times its source may send on it in reaction to an event at a time.

    An edge that `sends` does not name passes times on unchanged. A function gives nothing for times it never reacts
    to, must be monotone, and every cycle must strictly advance time, or Clock has no finite description.

    `initial` are the pointstamps the run starts with: what its sources may produce.

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
        """Make a plan in which every location is a node: a graph of ports and the steps of time between them.

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
class Sent:
    """A batch is put on an edge."""

    edge: str
    time: Time


@frozen
class Taken:
    """A batch that was on an edge is done with."""

    edge: str
    time: Time


@frozen
class Held:
    """A node comes to hold a time: it may react at it later."""

    node: str
    time: Time


@frozen
class Released:
    """A node lets go of a time it held."""

    node: str
    time: Time


@frozen
class Awaited:
    """A wait begins, for a time to be complete at a location."""

    location: str
    time: Time


@frozen
class Completed:
    """The run announces that a time is complete at a location, to all who wait for it there."""

    location: str
    time: Time


@frozen
class Dismissed:
    """A wait has ended without a completion."""

    location: str
    time: Time


@frozen
class Settled:
    """A pause: nothing more happens by itself, and what is complete must have been announced to those who wait."""


@frozen
class Frontier:
    """The least times that may still come to a location, as the run says: no earlier and no later than is true."""

    location: str
    times: tuple[Time, ...] = field(converter=tuple[Time, ...])


Change: TypeAlias = Sent | Taken | Held | Released


@frozen
class Together:
    """Several changes at once: what comes must have been possible before any of them, whatever their order here."""

    changes: tuple[Change, ...] = field(converter=tuple[Change, ...])


RunEvent: TypeAlias = Change | Awaited | Completed | Dismissed | Settled | Frontier | Together


@frozen
class Violation:
    """An event the model does not allow: its place in the record (from 0), what is wrong, and why."""

    index: int
    event: RunEvent
    rule: str
    because: str


@frozen
class Replayed:
    """The findings of a replay: violations, and how much there was to check."""

    violations: tuple[Violation, ...]
    events: int
    completions: int
    settled: int

    @property
    def ok(self) -> bool:
        """Whether the model allows the whole record."""
        return not self.violations


def clock(plan: Plan, pending: Iterable[Pointstamp]) -> dict[str, tuple[Time, ...]]:
    """Give the least times in Clock at each location: the least fixpoint from the pending pointstamps.

    Raises:
        ModelError: if it does not come to an end, because a cycle does not advance time.

    >>> loop = Plan([Edge("a", "p", "q"), Edge("b", "q", "p")], {"b": lambda t: [t + 1]})
    >>> clock(loop, [Pointstamp("q", 3)])
    {'p': (4,), 'q': (3,), 'a': (4,), 'b': (4,)}
    """
    least: dict[str, tuple[Time, ...]] = dict.fromkeys(plan.graph.locations, ())
    agenda = list(pending)
    budget = 10_000 + 1_000 * len(least) + 100 * len(agenda)
    while agenda:
        budget -= 1
        if budget < 0:
            raise ModelError("Clock has no finite description: some cycle of the plan does not advance time")
        location, time = agenda.pop()
        if any(known <= time for known in least[location]):
            continue
        least[location] = minimal((*least[location], time)) if least[location] else (time,)
        for onward in plan.graph.successors(location):
            sends = plan.sends.get(onward, same) if location in plan.graph.outgoing else same
            agenda += [Pointstamp(onward, later) for later in sends(time)]
    return least


def replay(plan: Plan, record: Iterable[RunEvent]) -> Replayed:
    """Check a recorded run against the model.

    The rules, by the names violations carry: `from nothing` (a pointstamp appears that was not in Clock: Prop. 8),
    `too early` (a completion of a pointstamp still in Clock), `after completion` (a message or hold at or before a time
    that was announced complete there: Theorem 2), `withheld` (settled, and a wait is not answered though its time is
    complete), `late` (what the run says may still come begins before everything that may), `not there` (a batch or
    hold goes that never came).

    Raises:
        KeyError: if an event names a location the plan does not have.

    >>> plan = Plan([Edge("in", "numbers", "total"), Edge("sums", "total")], initial=[("numbers", 0)])
    >>> replay(plan, [Sent("in", 0), Held("numbers", 1), Released("numbers", 0), Completed("in", 0)]).violations[0].rule
    'too early'
    >>> replay(plan, [Held("numbers", 1), Released("numbers", 0), Completed("in", 0), Settled()]).ok
    True
    """
    check = Replay(plan)
    for index, event in enumerate(record):
        check.see(index, event)
    return check.replayed()


class Replay:
    """A replay event by event: pending pointstamps with their counts, waits, and what has been announced.

    `least` is Clock as of now: the least times that may still come, for each location of the plan's graph.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._clocks: dict[frozenset[Pointstamp], dict[str, tuple[Time, ...]]] = {}
        self.pending: Counter[Pointstamp] = Counter(Pointstamp(node, time) for node, time in plan.initial)
        self.least = clock(plan, self.pending)
        self.waits: Counter[Pointstamp] = Counter()
        self.announced: dict[str, list[Time]] = {location: [] for location in plan.graph.locations}
        self.violations: list[Violation] = []
        self.events = self.completions = self.settled = 0

    def replayed(self) -> Replayed:
        """The findings so far."""
        return Replayed(tuple(self.violations), self.events, self.completions, self.settled)

    def see(self, index: int, event: RunEvent) -> None:
        """Check one event and let it happen, allowed or not; violations carry its `index`."""
        self.events += 1

        def wrong(rule: str, because: str) -> None:
            self.violations.append(Violation(index, event, rule, because))

        match event:
            case Sent() | Taken() | Held() | Released():
                self._change((event,), wrong)
            case Together(changes):
                self._change(changes, wrong)
            case Awaited(location, time):
                self.announced[location]  # a location the plan does not have is a KeyError here
                self.waits[Pointstamp(location, time)] += 1
            case Completed(location, time):
                self.completions += 1
                # Of those that are one before the other the last says it all.
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
                        wrong("withheld", f"{wait.time} is complete at {wait.location!r}, and this wait was not told")
            case Frontier(location, times):
                self._compare(location, times, wrong)

    def _compare(self, location: str, times: tuple[Time, ...], wrong: Callable[[str, str], None]) -> None:
        """Whether this is where Clock begins at a location."""
        true = self.least[location]
        for time in true:
            if not any(said <= time for said in times):
                wrong("too early", self._because(Pointstamp(location, time)))
        for time in times:
            if not any(least <= time for least in true):
                wrong("late", f"{time} may come to {location!r}, says the run, and nothing before {true} may")

    def _in_clock(self, stamp: Pointstamp) -> bool:
        return any(least <= stamp.time for least in self.least[stamp.location])

    def _change(self, changes: Iterable[Change], wrong: Callable[[str, str], None]) -> None:
        """Let pointstamps come and go; Clock is that from before until all have."""
        goes: list[Pointstamp] = []
        for change in changes:
            match change:
                case Sent(place, time) | Held(place, time):
                    self._appear(Pointstamp(place, time), wrong)
                case Taken(place, time) | Released(place, time):
                    goes.append(Pointstamp(place, time))
        for stamp in goes:
            if stamp in self.pending:
                self.pending[stamp] -= 1
                if not self.pending[stamp]:
                    del self.pending[stamp]
            else:
                wrong("not there", f"nothing at {stamp.time} is pending at {stamp.location!r}")
        self.least = self._clock_now()

    def _clock_now(self) -> dict[str, tuple[Time, ...]]:
        # A run comes by the same few sets again and again: a batch goes, and another comes at its time.
        pending = frozenset(self.pending)
        known = self._clocks.get(pending)
        if known is None:
            if len(self._clocks) >= MOST_CLOCKS:
                self._clocks.clear()
            # In one order: which times are looked at on the way must not depend on where in memory they are.
            known = self._clocks[pending] = clock(self.plan, sorted(pending, key=repr))
        return known

    def _appear(self, stamp: Pointstamp, wrong: Callable[[str, str], None]) -> None:
        if any(stamp.time <= done for done in self.announced[stamp.location]):
            wrong("after completion", f"{stamp.time} was announced complete at {stamp.location!r} before")
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
