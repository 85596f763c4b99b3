"""Pointstamps and could-result-in: from actual behaviour, or from a declared relation (000, Def. 1 and Def. 2).

One step, `(p, t) ~>1 (d, t')`, says that an event at time t at node p may send a message at time t' on edge d. The
steps are computed from a node's behaviour in all states that a local history can lead to (`one_steps`), or are
declared. Everything else follows from the steps and the graph. Relations are finite and stored as bit masks, so that
hundreds of thousands can be built.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from attrs import field, frozen

from .graph import ModelError, ModelGraph
from .nodes import Event, Node, Notified, Program, Received, Start, after_event
from .times import Time, up_masks


class Pointstamp(NamedTuple):
    """A location (node or edge) and a time."""

    location: str
    time: Time


class Step(NamedTuple):
    """One step of computation: an event at `time` at `node` may send a message at `later` on `edge` (Def. 1)."""

    node: str
    time: Time
    edge: str
    later: Time


def events_of(program: Program, node: str) -> Iterator[Event]:
    """List every event that a history of the node may contain: a message on an incoming edge, or a notification."""
    for time in program.times:
        yield Notified(time)
    for edge in program.graph.incoming[node]:
        for message in program.messages:
            yield Received(edge.name, message)


def local_states(program: Program, node: str, limit: int = 10_000) -> frozenset[Start]:
    """Find every (state, pending requests) that some local history of the node leads to.

    The node is considered alone. Whether the rest of the graph can supply those events is deliberately ignored, because
    could-result-in itself defines that (000, section 3.1).

    Raises:
        ModelError: if there are more than `limit` such states.
    """
    behaviour: Node = program.nodes[node]
    events = tuple(events_of(program, node))
    starts: set[Start] = set(behaviour.initial)
    agenda = list(starts)
    while agenda:
        state, pending = agenda.pop()
        for event in events:
            step = behaviour.react(state, event)
            reached = (step.state, after_event(pending, event, step))
            if reached not in starts:
                starts.add(reached)
                agenda.append(reached)
                if len(starts) > limit:
                    raise ModelError(f"node {node!r} has more than {limit} local states: make its world smaller")
    return frozenset(starts)


def one_steps(program: Program) -> frozenset[Step]:
    """Find every one step of a program from the behaviour of its nodes (000, Def. 1).

    >>> from pullstream.timely.theory.model import Edge, ModelGraph, relation_node
    >>> program = Program(ModelGraph(("p",), (Edge("a", "p"),)), {"p": relation_node({0: [("a", 1)]})}, (0, 1))
    >>> one_steps(program)
    frozenset({Step(node='p', time=0, edge='a', later=1)})
    """
    steps: set[Step] = set()
    for node, behaviour in program.nodes.items():
        states: set[Hashable] = {state for state, _ in local_states(program, node)}
        for event in events_of(program, node):
            for state in states:
                for edge, messages in behaviour.react(state, event).sends.items():
                    steps.update(Step(node, event.time, edge, message.time) for message in messages)
    return frozenset(steps)


@frozen(eq=False)
class CouldResultIn:
    """The relation could-result-in of a graph over a finite set of times (000, Def. 2).

    It is built from the one steps. A step whose edge does not leave its node, or with a time outside the world, is
    refused.

    >>> from pullstream.timely.theory.model import Edge
    >>> graph = ModelGraph(("p",), (Edge("i", destination="p"), Edge("o", "p")))
    >>> leads = CouldResultIn(graph, (0, 1), [Step("p", 1, "o", 1)])
    >>> leads(Pointstamp("i", 0), Pointstamp("o", 1)), leads(Pointstamp("i", 0), Pointstamp("o", 0))
    (True, False)
    """

    graph: ModelGraph
    times: tuple[Time, ...]
    steps: frozenset[Step] = field(converter=frozenset[Step])
    stamps: tuple[Pointstamp, ...] = field(init=False, repr=False)
    rows: tuple[int, ...] = field(init=False, repr=False)
    """For each pointstamp, the set of those it could result in, as a bit mask over `stamps`."""
    _position: dict[Pointstamp, int] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        stamps = tuple(Pointstamp(x, t) for x in self.graph.locations for t in self.times)
        object.__setattr__(self, "stamps", stamps)
        object.__setattr__(self, "_position", {stamp: i for i, stamp in enumerate(stamps)})
        object.__setattr__(self, "rows", _rows(self))

    def __call__(self, earlier: Pointstamp, later: Pointstamp) -> bool:
        """Say whether the first pointstamp could result in the second."""
        return bool(self.rows[self._position[earlier]] >> self._position[later] & 1)

    def mask(self, stamps: Iterable[Pointstamp]) -> int:
        """Turn a set of pointstamps into a bit mask over `self.stamps`."""
        mask = 0
        for stamp in stamps:
            mask |= 1 << self._position[stamp]
        return mask

    def unmask(self, mask: int) -> frozenset[Pointstamp]:
        """Turn a bit mask back into the set of pointstamps."""
        return frozenset(self.stamps[i] for i in bits(mask))

    def image(self, mask: int) -> int:
        """Give everything that members of a set could result in, in one step: Proposition 3's formula for Close."""
        result = 0
        for i in bits(mask):
            result |= self.rows[i]
        return result

    def is_upward_closed(self, mask: int) -> bool:
        """Say whether a set is upward closed: it contains everything its members could result in (section 3.3).

        >>> leads = CouldResultIn(ModelGraph(("p",), ()), (0, 1), ())
        >>> [leads.is_upward_closed(leads.mask([Pointstamp("p", t)])) for t in (0, 1)]
        [False, True]
        """
        return not self.image(mask) & ~mask

    def close_up(self, mask: int) -> int:
        """Give the least upward closed set that contains a set: Close of 000, section 3.3, as a fixpoint.

        It equals `image` exactly when the relation is transitive. Otherwise the image is not even upward closed, and
        Proposition 8 fails for it; for this closure Proposition 8 holds without Condition 2.
        """
        closed, fresh = mask, mask
        while fresh:
            fresh = self.image(fresh) & ~closed
            closed |= fresh
        return closed


def bits(mask: int) -> Iterator[int]:
    """List the positions of the bits that are set, least first."""
    while mask:
        least = mask & -mask
        yield least.bit_length() - 1
        mask ^= least


def _closed_steps(leads: CouldResultIn, ups: tuple[int, ...]) -> dict[str, list[int]]:
    """For each edge and each time of an event at its source, the times that a message may have, closed upward.

    Def. 2 also lets the event be later than the arrival at the node. That needs no extra work: a search starts from an
    upward closed set of times, and every set that arrives at a location is upward closed too.
    """
    position = {time: i for i, time in enumerate(leads.times)}
    table = {edge.name: [0] * len(leads.times) for edge in leads.graph.edges}
    for step in leads.steps:
        if step.edge not in {edge.name for edge in leads.graph.outgoing.get(step.node, ())}:
            raise ModelError(f"{step} uses an edge that does not leave its node")
        if step.time not in position or step.later not in position:
            raise ModelError(f"{step} has a time that is not among the model's times")
        table[step.edge][position[step.time]] |= ups[position[step.later]]
    return table


def _rows(leads: CouldResultIn) -> tuple[int, ...]:
    """Search all simple paths from each location: Def. 2 requires distinct locations, so cycles are not followed.

    Each path carries, for every starting time, the set of times that it may arrive at. The set is always upward closed.
    """
    ups = up_masks(leads.times)
    width = len(leads.times)
    table = _closed_steps(leads, ups)
    locations = {location: i for i, location in enumerate(leads.graph.locations)}
    after = {location: tuple(leads.graph.successors(location)) for location in locations}
    rows: list[int] = []
    for start in locations:
        found = [0] * width

        def walk(here: str, arrived: list[int], visited: frozenset[str], found: list[int]) -> None:
            for i, mask in enumerate(arrived):
                found[i] |= mask << locations[here] * width
            for there in after[here]:
                if there not in visited:
                    onward = _through(table[there], arrived) if there in table else arrived
                    if any(onward):
                        walk(there, onward, visited | {there}, found)

        walk(start, list(ups), frozenset({start}), found)
        rows.extend(found)
    return tuple(rows)


def _through(edge: list[int], arrived: list[int]) -> list[int]:
    """Send the set of arrived times, for each starting time, along an edge."""
    onward: list[int] = []
    for mask in arrived:
        sent = 0
        for i in bits(mask):
            sent |= edge[i]
        onward.append(sent)
    return onward


def proof_lengths(leads: CouldResultIn, earlier: Pointstamp, later: Pointstamp) -> frozenset[int]:
    """Find the lengths of all proofs that one pointstamp could result in another (000, Def. 2); empty if none exists.

    The length is the number of locations. The first case of the definition, one location and t <= t', has length 1.

    >>> graph = ModelGraph(("p",), ())
    >>> proof_lengths(CouldResultIn(graph, (0, 1), ()), Pointstamp("p", 0), Pointstamp("p", 1))
    frozenset({1})
    """
    ups = up_masks(leads.times)
    table = _closed_steps(leads, ups)
    target = 1 << leads.times.index(later.time)
    lengths: set[int] = set()

    def walk(here: str, arrived: int, visited: frozenset[str]) -> None:
        if here == later.location and arrived & target:
            lengths.add(len(visited))
        for there in leads.graph.successors(here):
            if there not in visited:
                onward = _through(table[there], [arrived])[0] if there in table else arrived
                if onward:
                    walk(there, onward, visited | {there})

    walk(earlier.location, ups[leads.times.index(earlier.time)], frozenset({earlier.location}))
    return frozenset(lengths)
