"""Nested dataflows: the operator contract, no echo, and nested equals flattened."""

import random
from typing import NamedTuple

import pytest

from tests.sampling import amount
from timely import (
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    CapabilityError,
    CycleError,
    Delay,
    GraphBuilder,
    LoopTime,
    Source,
    Summary,
    Target,
    Tracker,
)
from timely.theory import Leaf, Operators, Subgraph
from timely.theory.paths import summaries_between
from timely.theory.queries import describe, summarize


def settle(level):
    for _ in range(200):
        if not level.step():
            return
    raise AssertionError("progress never settles")


class Made(NamedTuple):
    """An operator, and the nodes of the flat graph that have its inputs and its output."""

    operator: Leaf | Subgraph | None
    first: int
    last: int


class Pair:
    """The same random program twice: nested subgraphs, and one flat graph with enter and leave as nodes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.builder = GraphBuilder()
        self.operators = {}  # by the flat node of its inputs
        made, edges = self.level(0, self.leaf(0, initial=0))
        self.top = Operators([each.operator for each in made], edges, debug=True)
        self.graph = self.builder.build()
        self.flat = Tracker(self.graph, monotone=False)
        for place in range(len(self.graph)):
            self.flat.observe(place)

    def leaf(self, inputs, summary=IDENTITY, initial=None):
        name = f"leaf{len(self.operators)}"
        node = self.builder.add_node(name, inputs, 1, {(i, 0): summary for i in range(inputs)})
        leaf = Leaf(name, inputs, 1, {(i, 0): (summary,) for i in range(inputs)}, initial=initial)
        self.operators[node] = leaf
        return Made(leaf, node, node)

    def subgraph(self, depth):
        enter = self.builder.add_node("enter", 1, 1, {(0, 0): ENTER})
        leave = self.builder.add_node("leave", 1, 1, {(0, 0): LEAVE})
        (_, *inner), edges = self.level(depth + 1, Made(None, leave, enter))
        operators = [each.operator for each in inner]
        scope = Subgraph(f"scope{enter}", 1, 1, operators, edges, enter=ENTER, leave=LEAVE, debug=True)
        self.operators[enter] = scope
        return Made(scope, enter, leave)

    def level(self, depth, outside):
        """Operators of one level in a line, with shortcuts and perhaps a loop back; edges in both graphs.

        The first operator is the source of the program or, within a subgraph, the outside.
        """
        rng, made, edges = self.rng, [outside], []

        def connect(source, target, port=0):
            edge = Source(source), Target(target, port)
            if edge not in edges:
                edges.append(edge)
                self.builder.add_edge(Source(made[source].last), Target(made[target].first, port))

        for at in range(1, rng.randrange(2, 5)):
            nested = depth < 2 and rng.random() < 0.4
            made.append(self.subgraph(depth) if nested else self.leaf(rng.choice([1, 1, 2])))
            for port in range(made[at].operator.inputs):
                connect(rng.randrange(at), at, port)
        if rng.random() < 0.6:
            back = len(made)
            made.append(self.leaf(1, FEEDBACK if depth else Delay(1)))
            connect(rng.randrange(1, back), back)
            connect(
                back, *rng.choice([(at, port) for at in range(1, back) for port in range(made[at].operator.inputs)])
            )
        if depth:
            connect(rng.randrange(1, len(made)), 0)
        return made, edges

    def run(self, rounds):
        rng = self.rng
        held = {0: [0]}  # flat node -> times
        waiting = {}  # flat target -> times
        self.flat.update(self.graph.place(Source(0)), 0, 1)

        def arrive(node, time):
            """Send a message on all flat edges from a node; in both graphs, leaving a scope takes effect at once."""
            for start, target in self.graph.edges:
                if start.node != node:
                    continue
                if self.graph.nodes[target.node].name == "leave":
                    arrive(target.node, LEAVE.results_in(time))
                else:
                    waiting.setdefault(target, []).append(time)
                    self.flat.update(self.graph.place(target), time, 1)

        def send(node, time):
            self.operators[node].send(0, time)
            arrive(node, time)

        def hold(node, time, delta=1):
            self.operators[node].change(0, time, delta)
            self.flat.update(self.graph.place(Source(node)), time, delta)
            if delta > 0:
                held.setdefault(node, []).append(time)

        for _ in range(rounds):
            choices = [(where, times) for where, times in [*waiting.items(), *held.items()] if times]
            if not choices:
                return
            where, times = rng.choice(choices)
            time = times.pop(rng.randrange(len(times)))
            if isinstance(where, Target):
                self.flat.update(self.graph.place(where), time, -1)
                operator = self.operators[where.node]
                operator.take(where.port, time)
                if isinstance(operator, Subgraph):
                    arrive(where.node, ENTER.results_in(time))
                elif rng.random() < 0.7:
                    (summary,) = operator.internal_summary()[0][where.port, 0]
                    later = summary.results_in(time)
                    send(where.node, later)
                    if rng.random() < 0.4:
                        hold(where.node, later)
            else:
                if rng.random() < 0.5:
                    send(where, time)
                if rng.random() < 0.5:
                    hold(where, (FEEDBACK if isinstance(time, LoopTime) else Delay(1)).results_in(time))
                hold(where, time, -1)
            settle(self.top)
            yield

    def differences(self, level):
        """The inputs, on a level and inside it, whose nested and flat frontiers differ."""
        nodes = {operator: node for node, operator in self.operators.items()}
        for index, operator in enumerate(level.operators):
            for port in range(operator.inputs) if operator in nodes else ():
                target = Target(nodes[operator], port)
                frontiers = level.frontier(Target(index, port)), self.flat.frontier(self.graph.place(target))
                if frontiers[0] != frontiers[1]:
                    yield self.graph.name(target), frontiers
            if isinstance(operator, Subgraph):
                yield from self.differences(operator.inner)


def test_nested_equals_flattened():
    subgraphs = 0
    for seed in range(amount(25, 1_000)):
        pair = Pair(seed)
        settle(pair.top)
        for _ in pair.run(12):
            assert list(pair.differences(pair.top)) == []
        subgraphs += sum(isinstance(operator, Subgraph) for operator in pair.operators.values())
    assert subgraphs > 10


def test_a_loop_around_a_subgraph_that_does_not_advance_is_refused():
    inner = [(Source(0), Target(1)), (Source(1), Target(0))]
    scope = Subgraph("scope", 1, 1, [Leaf("inner", 1, 1)], inner)
    with pytest.raises(CycleError, match="scope"):
        Operators([scope], [(Source(0), Target(0))])


@pytest.mark.parametrize("act", ["capability", "message", "give up"])
def test_an_unjustified_claim_names_its_operator(act):
    source, rogue = Leaf("source", 0, 1, initial=5), Leaf("rogue", 1, 1)
    level = Operators([source, rogue], [(Source(0), Target(1))])
    settle(level)
    source.send(0, 5)
    settle(level)
    rogue.take(0, 5)
    if act == "capability":
        rogue.change(0, 4, 1)
    elif act == "message":
        rogue.send(0, 4)
    else:
        rogue.change(0, 5, -1)
    with pytest.raises(CapabilityError, match=r"rogue .*(4|5)"):
        level.step()


def check_between(seed, random_graph):
    made = random_graph(seed)
    graph, rng = made.graph, made.rng
    starts = rng.sample(range(len(graph)), min(len(graph), 4))
    ends = rng.sample(range(len(graph)), min(len(graph), 3))
    plainly = summarize(*describe(graph), [graph.location(end) for end in ends])
    found = summaries_between(graph, starts, ends)
    for start in starts:
        for end in ends:
            wanted = plainly.get((graph.location(start), graph.location(end)), set())
            here = found.get((start, end), ())
            assert all(any(a <= b for a in here) for b in wanted)
            assert all(any(b <= a for b in wanted) for a in here)
    return len(found)


def test_summaries_of_paths_agree_with_the_query(random_graph):
    assert sum(check_between(seed, random_graph) for seed in range(amount(40, 1_000))) > 100


def test_summarising_a_long_chain_composes_every_step_once():
    """Steps without a short form are joined in stretches, not one by one with all earlier steps."""
    joins = []

    class Joined(Summary):
        def results_in(self, time):
            return time + 1

        def merge(self, other):
            joins.append(other)

    steps = [Joined() for _ in range(1000)]
    leaves = [Leaf(f"op{n}", 1, 1, {(0, 0): (step,)}) for n, step in enumerate(steps)]
    edges = [(Source(n), Target((n + 1) % (len(steps) + 1))) for n in range(len(steps) + 1)]
    ((path,),) = Subgraph("chain", 1, 1, leaves, edges).internal_summary()[0].values()
    assert path.results_in(0) == len(path.steps) == len(steps)
    assert len(joins) <= 3 * len(steps)
