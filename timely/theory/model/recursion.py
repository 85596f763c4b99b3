"""Recursive dataflow: call stacks as times, and the first-difference test (000, section 3.4).

A body is a graph with an entry `in`, an exit `out`, ordinary nodes, and call nodes that stand for the whole body again.
The paper's text uses one arrow for two relations. Here they have two names: `stacks_lead` is the relation on pairs
(place, stack), and could-result-in is the relation of a graph with those stacks as times.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple, TypeAlias

from attrs import field, frozen

from .conditions import intransitive
from .could_result_in import CouldResultIn, Pointstamp, Step
from .graph import Edge, ModelError, ModelGraph
from .times import Tagged

Stack: TypeAlias = tuple[str, ...]


class Point(NamedTuple):
    """A place of the split graph and a stack of calls, outermost first."""

    place: str
    stack: Stack


def call(node: str) -> str:
    """Give the name of the call part of a call node."""
    return f"call-{node}"


def ret(node: str) -> str:
    """Give the name of the return part of a call node."""
    return f"ret-{node}"


@frozen
class Body:
    """A recursive graph before its call nodes are split. It always has the nodes `in` and `out`.

    Raises:
        ModelError: if an edge enters `in` or leaves `out`, if some node is not reachable from `in` or does not reach
            `out`, or if every path from `in` to `out` goes through a call.

    >>> body = Body(("work",), ("again",), (("in", "work"), ("work", "out"), ("work", "again"), ("again", "out")))
    >>> body.places
    ('in', 'out', 'work', 'call-again', 'ret-again')
    """

    ordinary: tuple[str, ...]
    calls: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    places: tuple[str, ...] = field(init=False, eq=False, repr=False)
    after: dict[str, tuple[str, ...]] = field(init=False, eq=False, repr=False)
    """The edges of the split graph, without the back edges of calls and returns."""
    _reach: dict[str, frozenset[str]] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        nodes = ("in", "out", *self.ordinary, *self.calls)
        direct = {a: tuple(b for x, b in self.edges if x == a) for a in nodes}
        if any(b == "in" or a in {"out", b} for a, b in self.edges):
            raise ModelError("no edge may enter `in`, leave `out`, or join a node to itself")
        if _reachable(direct, "in") != set(nodes) or any("out" not in _reachable(direct, node) for node in nodes):
            raise ModelError("every node must be reachable from `in` and reach `out`")
        uncalled = {a: tuple(b for b in after if b not in self.calls) for a, after in direct.items()}
        if "out" not in _reachable(uncalled, "in"):
            raise ModelError("some path from `in` to `out` must avoid the calls, or no call ever returns")
        split = [part for c in self.calls for part in (call(c), ret(c))]
        after = {
            (ret(a) if a in self.calls else a): tuple(call(b) if b in self.calls else b for b in targets)
            for a, targets in direct.items()
        }
        places = ("in", "out", *self.ordinary, *split)
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "after", {place: after.get(place, ()) for place in places})
        forward = {place: (*after.get(place, ()), *_return_of(place)) for place in places}
        object.__setattr__(self, "_reach", {place: frozenset(_reachable(forward, place)) for place in places})

    def reaches(self, place: str, other: str) -> bool:
        """Say whether a path connects two places in the alternative graph, which joins each call to its return."""
        return other in self._reach[place]

    @property
    def is_acyclic(self) -> bool:
        """Whether the alternative graph, which joins each call to its return, has no cycle."""
        forward = {place: (*self.after[place], *_return_of(place)) for place in self.places}
        return not any(place in self._reach[onward] for place in self.places for onward in forward[place])

    def stacks(self, depth: int) -> tuple[Stack, ...]:
        """List the stacks of at most `depth` calls."""
        return tuple(stack for length in range(depth + 1) for stack in product(self.calls, repeat=length))


def _return_of(place: str) -> tuple[str, ...]:
    return (ret(place.removeprefix("call-")),) if place.startswith("call-") else ()


def _reachable(after: dict[str, tuple[str, ...]], start: str) -> set[str]:
    found, agenda = {start}, [start]
    while agenda:
        for other in after[agenda.pop()]:
            if other not in found:
                found.add(other)
                agenda.append(other)
    return found


def stacks_lead(body: Body, start: Point, depth: int) -> frozenset[Point]:
    """Find every (place, stack) of at most `depth` calls that a point leads to, by the relation's three clauses.

    A depth of one more than the deepest stack of interest is enough. Anything between pushing a call and popping it can
    be replaced by a path from `in` to `out` without calls, which every body has.
    """
    found, agenda = {start}, [start]
    while agenda:
        for onward in _one(body, agenda.pop()):
            if len(onward.stack) <= depth and onward not in found:
                found.add(onward)
                agenda.append(onward)
    return frozenset(found)


def _one(body: Body, point: Point) -> Iterator[Point]:
    place, stack = point
    for other in body.after[place]:
        yield Point(other, stack)
    if place.startswith("call-"):
        yield Point("in", (*stack, place.removeprefix("call-")))
    if place == "out" and stack:
        yield Point(ret(stack[-1]), stack[:-1])


def first_difference(body: Body, early: Point, late: Point, *, even_if_cyclic: bool = False) -> bool:
    """Decide whether one point leads to another by the first call in which their stacks differ (000, section 3.4).

    The paper does not say that the body must be acyclic, but otherwise the test is wrong. A call may lead to itself
    again within one activation, as in in -> a -> c -> a -> out. Then (in, c c) leads to (in, c) by returning and
    calling again, but the test finds that one stack is a prefix of the other, with no path from ret-c to `in`.

    Raises:
        ModelError: if the body has a cycle, unless `even_if_cyclic`, which is for showing this error.

    >>> body = Body((), ("c",), (("in", "c"), ("c", "out"), ("in", "out")))
    >>> first_difference(body, Point("in", ()), Point("out", ("c", "c")))
    True
    >>> first_difference(body, Point("in", ("c",)), Point("in", ()))
    False
    """
    if not even_if_cyclic and not body.is_acyclic:
        raise ModelError("the first-difference test works only for bodies without a cycle")
    common = 0
    while common < min(len(early.stack), len(late.stack)) and early.stack[common] == late.stack[common]:
        common += 1
    leave = ret(early.stack[common]) if common < len(early.stack) else early.place
    enter = call(late.stack[common]) if common < len(late.stack) else late.place
    return body.reaches(leave, enter)


@frozen
class StackClass:
    """A stack at a place, as a time: stacks that lead to one another are the same time (the induced partial order).

    It compares only with times of the same place and depth. Wrapped in `Tagged`, it is the [f]_p of the paper.
    """

    leads_to: frozenset[Stack] = field(repr=False)
    stacks: frozenset[Stack]

    def __le__(self, other: "StackClass") -> bool:
        return other.leads_to <= self.leads_to


@frozen
class Recursion:
    """A body as a graph of the model. Times are stacks of at most `depth` calls, and differ between places.

    Its nodes conform to the stack relation and take every step that it allows. Propositions 4 to 6 hold for all
    conforming nodes, so `model` may also be given fewer steps.
    """

    body: Body
    depth: int
    times: dict[Point, Tagged] = field(init=False, repr=False)
    relation: frozenset[tuple[Point, Point]] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        points = [Point(p, f) for p in self.body.places for f in self.body.stacks(self.depth)]
        onward = {point: stacks_lead(self.body, point, self.depth + 1) for point in points}
        relation = frozenset((a, b) for a in points for b in points if b in onward[a])
        above = {
            point: frozenset(f for f in self.body.stacks(self.depth) if (point, Point(point.place, f)) in relation)
            for point in points
        }
        times = {
            point: Tagged(
                point.place, StackClass(stacks, frozenset(f for f in stacks if above[Point(point.place, f)] == stacks))
            )
            for point, stacks in above.items()
        }
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "relation", relation)

    @property
    def graph(self) -> ModelGraph:
        """The split graph with its back edges, as a graph of the model. It has no input or output edges."""
        pairs = [(a, b) for a in self.body.places for b in self.body.after[a]]
        pairs += [pair for c in self.body.calls for pair in ((call(c), "in"), ("out", ret(c)))]
        return ModelGraph(self.body.places, tuple(Edge(f"{a}>{b}", a, b) for a, b in pairs))

    def steps(self) -> tuple[Step, ...]:
        """List every conforming one step: from [f] at a node to [f'] on an edge, if (p, f) leads to (p', f')."""
        return tuple(
            Step(edge.source, self.times[a], edge.name, self.times[b])
            for edge in self.graph.edges
            for a, b in sorted(self.relation)
            if a.place == edge.source and b.place == edge.destination and edge.source is not None
        )

    def model(self, steps: tuple[Step, ...]) -> CouldResultIn:
        """Give could-result-in of the graph, for nodes that take these steps."""
        return CouldResultIn(self.graph, tuple(dict.fromkeys(self.times.values())), frozenset(steps))


def related_nodes(recursion: Recursion, leads: CouldResultIn) -> Iterator[tuple[str, Tagged, str, Tagged]]:
    """List (p, [f]_q, p', [f']_q') for every pair of pointstamps at nodes where one could result in the other."""
    places = set(recursion.body.places)
    for early, row in zip(leads.stamps, leads.rows, strict=True):
        if early.location in places:
            for late in leads.unmask(row):
                if late.location in places and isinstance(early.time, Tagged) and isinstance(late.time, Tagged):
                    yield early.location, early.time, late.location, late.time


def proposition_4(recursion: Recursion, leads: CouldResultIn) -> tuple[Point, Point] | None:
    """Check that (p, f) leads to (p', f') if (p, [f]_p) could result in (p', [f']_p'): the relation is conservative."""
    stacks: dict[Tagged, list[Stack]] = {}
    for point, time in recursion.times.items():
        stacks.setdefault(time, []).append(point.stack)
    for p, time, q, later in related_nodes(recursion, leads):
        if time.domain == p and later.domain == q:
            for f, h in product(stacks[time], stacks[later]):
                if (Point(p, f), Point(q, h)) not in recursion.relation:
                    return Point(p, f), Point(q, h)
    return None


def proposition_5(recursion: Recursion, leads: CouldResultIn) -> tuple[str, Tagged, str, Tagged] | None:
    """Check that could-result-in between different nodes relates only times tagged with them; give another pair."""
    for p, time, q, later in related_nodes(recursion, leads):
        if p != q and (time.domain != p or later.domain != q):
            return p, time, q, later
    return None


def proposition_6(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp, Pointstamp] | None:
    """Check that could-result-in of a recursion is transitive (by Theorem 1); give three pointstamps if it is not.

    Condition 2 holds because no path returns to an earlier stack at the same place.
    """
    return intransitive(leads)


def bodies(ordinary: int, calls: int) -> Iterator[Body]:
    """List every body with these numbers of ordinary and call nodes that meets the section's assumptions.

    >>> sum(1 for _ in bodies(0, 1))
    1
    """
    work, called = tuple("abc"[:ordinary]), tuple("xyz"[:calls])
    middle = (*work, *called)
    pairs = [("in", "out")] + [
        (a, b) for a in ("in", *middle) for b in (*middle, "out") if a != b and (a, b) != ("in", "out")
    ]
    for mask in range(1 << len(pairs)):
        try:
            yield Body(work, called, tuple(pair for i, pair in enumerate(pairs) if mask >> i & 1))
        except ModelError:
            continue
