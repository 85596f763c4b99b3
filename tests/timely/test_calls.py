"""Call stacks as times: the decision by the first difference against a plain search (000, section 3.4)."""

import itertools

import pytest

from timely import Antichain, CycleError, GraphError, TimeDomainError
from timely.theory import CallBody, CallTime

DEPTH = 2
SEARCH = 5


def search(edges, calls, start, deepest):
    """Everything `start` leads to, by the three rules of the relation, with stacks up to a depth."""
    found, agenda = {start}, [start]
    while agenda:
        node, stack = agenda.pop()
        steps = []
        for a, b in edges:
            if (f"ret-{a}" if a in calls else a) == node:
                steps.append((f"call-{b}" if b in calls else b, stack))
        if node.startswith("call-"):
            steps.append(("in", (*stack, node[5:])))
        if node == "out" and stack:
            steps.append((f"ret-{stack[-1]}", stack[:-1]))
        for step in steps:
            if step not in found and len(step[1]) <= deepest:
                found.add(step)
                agenda.append(step)
    return found


def bodies(ordinary, calls):
    """All acyclic bodies over these nodes that the constructor accepts."""
    nodes = ["in", *ordinary, *calls, "out"]
    possible = [(a, b) for a, b in itertools.permutations(nodes, 2) if a != "out" and b != "in"]
    forward = [(a, b) for a, b in possible if nodes.index(a) < nodes.index(b)]
    for size in range(len(forward) + 1):
        for edges in itertools.combinations(forward, size):
            try:
                body = CallBody(edges, calls)
            except GraphError:
                continue
            if len(body.nodes) == len(nodes):
                yield edges, body


def check_body(edges, body, calls, ordinary):
    stacks = [stack for n in range(DEPTH + 1) for stack in itertools.product(calls, repeat=n)]
    points = [(node, stack) for node in ("in", *ordinary, "out") for stack in stacks]
    for start in points:
        reached = search(edges, calls, start, SEARCH)
        for end in points:
            assert body.leads(start, end) == (end in reached), (edges, start, end)
            mutual = body.leads(start, end) and body.leads(end, start)
            assert not mutual or start == end


@pytest.mark.parametrize(
    ("ordinary", "calls"),
    [
        ((), ("c",)),
        (("a",), ("c",)),
        ((), ("c", "d")),
        pytest.param(("a",), ("c", "d"), marks=pytest.mark.slow),
    ],
)
def test_the_first_difference_decides_in_acyclic_bodies(ordinary, calls):
    """On every small acyclic body the check agrees with the search, and no two stacks are equivalent."""
    found = list(bodies(ordinary, calls))
    assert len(found) > 50 * (len(ordinary) * len(calls) > 1)
    for edges, body in found:
        check_body(edges, body, calls, ordinary)


def test_cyclic_bodies_are_refused():
    """There the check would be wrong: this body leads from (in, cc) to (in, c)."""
    edges = [("in", "a"), ("a", "c"), ("c", "a"), ("a", "out")]
    assert ("in", ("c",)) in search(edges, ("c",), ("in", ("c", "c")), SEARCH)
    with pytest.raises(CycleError, match="acyclic"):
        CallBody(edges, {"c"})


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("in", "c"), ("c", "out")], "calls again"),
        ([("in", "out"), ("in", "c")], "does not lie"),
        ([("in", "out"), ("c", "out")], "does not lie"),
        ([("in", "out")], "must be nodes"),
    ],
)
def test_malformed_bodies_are_refused(edges, message):
    """What 000 assumes of a body is checked."""
    with pytest.raises(GraphError, match=message):
        CallBody(edges, {"c"})


def test_call_times_are_ordered_per_node():
    """Times at one node follow the relation, at different nodes they are incomparable, of other bodies unlike."""
    edges = [("in", "a"), ("a", "c"), ("c", "out"), ("a", "out")]
    body = CallBody(edges, {"c"})
    first, inner = CallTime(body, "a"), CallTime(body, "a", ("c",))
    assert first <= inner
    assert first < inner
    assert not inner <= first
    assert not CallTime(body, "in") <= CallTime(body, "out")
    assert Antichain([inner, first]) == Antichain([first])
    assert Antichain([CallTime(body, "out"), CallTime(body, "out", ("c",))]) == Antichain(
        [CallTime(body, "out", ("c",))]
    )
    with pytest.raises(TimeDomainError):
        assert first <= CallTime(CallBody(edges, {"c"}), "a")
    with pytest.raises(GraphError, match="nowhere"):
        body.leads(("nowhere", ()), ("in", ()))
    with pytest.raises(GraphError, match="x"):
        body.leads(("in", ("x",)), ("in", ()))
