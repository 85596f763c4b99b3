"""Nested dataflows: the operator contract, no echo, and nested equals flattened."""

import random

import pytest

from tests.sampling import amount
from timely import (
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    Antichain,
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


class Pair:
    """The same random program twice: nested subgraphs, and one flat graph with enter and leave as nodes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.builder = GraphBuilder()
        self.leaves = []  # (leaf, flat node, depth, inner level or None)
        self.ports = {}  # id of leaf or subgraph -> (flat targets by input, flat sources by output)
        self.subgraphs = []
        operators, edges = self.level(0)
        self.top = Operators(operators, edges, debug=True)
        self.home = {}
        self.fix(self.top)
        self.graph = self.builder.build()
        self.flat = Tracker(self.graph, monotone=False)
        for place in range(len(self.graph)):
            self.flat.observe(place)

    def leaf(self, depth, inputs, outputs, summary=IDENTITY, initial=None):
        name = f"leaf{len(self.leaves)}"
        summaries = {(i, o): (summary,) for i in range(inputs) for o in range(outputs)}
        leaf = Leaf(name, inputs, outputs, summaries, initial=initial)
        node = self.builder.add_node(name, inputs, outputs, {k: v[0] for k, v in summaries.items()})
        self.leaves.append((leaf, node, depth))
        self.ports[id(leaf)] = ([Target(node, i) for i in range(inputs)], [Source(node, o) for o in range(outputs)])
        return leaf

    def subgraph(self, depth):
        enter = self.builder.add_node("enter", 1, 1, {(0, 0): ENTER})
        leave = self.builder.add_node("leave", 1, 1, {(0, 0): LEAVE})
        inner, edges = self.level(depth + 1, enter, leave)
        made = Subgraph(f"scope{enter}", 1, 1, inner, edges, enter=ENTER, leave=LEAVE, debug=True)
        self.ports[id(made)] = ([Target(enter)], [Source(leave)])
        self.subgraphs.append((made, enter, leave))
        return made

    def level(self, depth, enter=None, leave=None):
        """Operators of one level in a line with shortcuts and perhaps a loop back; edges in both graphs."""
        rng = self.rng
        offset = 0 if enter is None else 1
        operators = (
            [self.leaf(depth, 0, 1, initial=0 if depth == 0 else LoopTime(0, (0,) * depth))] if depth == 0 else []
        )
        for _ in range(rng.randrange(1, 4)):
            if depth < 2 and rng.random() < 0.4:
                operators.append(self.subgraph(depth))
            else:
                operators.append(self.leaf(depth, rng.choice([1, 1, 2]), 1))
        edges = []

        def connect(source, target):
            """`source` and `target` are (operator index or None for the outside, port)."""
            flat_source = Source(enter) if source is None else self.ports[id(operators[source])][1][0]
            flat_target = Target(leave) if target is None else self.ports[id(operators[target[0]])][0][target[1]]
            edge = (
                Source(0 if source is None else source + offset),
                Target(0, 0) if target is None else Target(target[0] + offset, target[1]),
            )
            if edge not in edges:
                edges.append(edge)
                self.builder.add_edge(flat_source, flat_target)

        for at, operator in enumerate(operators):
            for port in range(operator.inputs):
                before = list(range(at)) + ([None] if offset else [])
                connect(rng.choice(before), (at, port))
        if rng.random() < 0.6:
            operators.append(self.leaf(depth, 1, 1, Delay(1) if depth == 0 else FEEDBACK))
            back = len(operators) - 1
            connect(rng.randrange(back), (back, 0))
            targets = [(at, port) for at in range(back) for port in range(operators[at].inputs)]
            if targets:
                connect(back, rng.choice(targets))
        if offset:
            connect(rng.randrange(len(operators)), None)
        return operators, edges

    def fix(self, level):
        """Remember for every leaf and subgraph on which level it lives, as which node."""
        for index, operator in enumerate(level.operators):
            self.home[id(operator)] = (level, index)
            if isinstance(operator, Subgraph):
                self.fix(operator.inner)

    def run(self, rounds):
        rng = self.rng
        held = {}  # (leaf index, output) -> list of times
        waiting = {}  # flat target -> list of times
        for leaf, node, _ in self.leaves:
            if leaf.internal_summary()[1] and leaf.inputs == 0:
                held[node] = [0]
                self.flat.update(self.graph.place(Source(node)), 0, 1)
        by_node = {node: leaf for leaf, node, _ in self.leaves}
        scopes = {enter: made for made, enter, _ in self.subgraphs}

        def arrive(source, time):
            """A message on all flat edges from `source`; leaving a scope happens at once, in both."""
            for start, target in self.graph.edges:
                if start == source:
                    if self.graph.nodes[target.node].name == "leave":
                        arrive(Source(target.node), LEAVE.results_in(time))
                    else:
                        waiting.setdefault(target, []).append(time)
                        self.flat.update(self.graph.place(target), time, 1)

        for _ in range(rounds):
            choices = [("take", t) for t, times in waiting.items() if times] + [("hold", n) for n in held if held[n]]
            if not choices:
                break
            kind, what = rng.choice(choices)
            if kind == "take":
                time = waiting[what].pop(rng.randrange(len(waiting[what])))
                self.flat.update(self.graph.place(what), time, -1)
                if what.node in scopes:
                    scopes[what.node].take(0, time)
                    arrive(Source(what.node), ENTER.results_in(time))
                else:
                    leaf = by_node[what.node]
                    leaf.take(what.port, time)
                    summary = leaf.internal_summary()[0].get((what.port, 0), (None,))[0]
                    if summary is not None and rng.random() < 0.7:
                        later = summary.results_in(time)
                        leaf.send(0, later)
                        arrive(Source(what.node), later)
                        if rng.random() < 0.4:
                            leaf.change(0, later, 1)
                            held.setdefault(what.node, []).append(later)
                            self.flat.update(self.graph.place(Source(what.node)), later, 1)
            else:
                leaf, time = by_node[what], held[what].pop()
                if rng.random() < 0.5:
                    leaf.send(0, time)
                    arrive(Source(what), time)
                if rng.random() < 0.5:
                    later = Delay(1).results_in(time) if not isinstance(time, LoopTime) else FEEDBACK.results_in(time)
                    leaf.change(0, later, 1)
                    held[what].append(later)
                    self.flat.update(self.graph.place(Source(what)), later, 1)
                leaf.change(0, time, -1)
                self.flat.update(self.graph.place(Source(what)), time, -1)
            settle(self.top)
            yield

    def differences(self):
        """The inputs at which the nested and the flat frontier differ."""
        found = []
        for operator_id, (level, index) in self.home.items():
            if operator_id not in self.ports:
                continue
            for port, target in enumerate(self.ports[operator_id][0]):
                nested = level.frontier(Target(index, port))
                flat = self.flat.frontier(self.graph.place(target))
                if nested != flat:
                    found.append((self.graph.name(target), nested, flat))
        return found


def check_pair(seed):
    pair = Pair(seed)
    settle(pair.top)
    for _ in pair.run(12):
        assert pair.differences() == []
    return len(pair.subgraphs)


def test_nested_equals_flattened():
    assert sum(check_pair(seed) for seed in range(amount(25, 1_000))) > 10


def around_a_scope():
    """An outer loop through a region: source -> scope -> feedback -> scope; level, leaves and scope."""
    source, body, back = Leaf("source", 0, 1, initial=0), Leaf("body", 2, 1), Leaf("back", 1, 1, {(0, 0): (Delay(1),)})
    edges = [(Source(0, 0), Target(1, 0)), (Source(0, 1), Target(1, 1)), (Source(1), Target(0, 0))]
    scope = Subgraph("scope", 2, 1, [body], edges)
    level = Operators(
        [source, scope, back], [(Source(0), Target(1, 0)), (Source(1), Target(2)), (Source(2), Target(1, 1))]
    )
    settle(level)
    return level, source, body, scope


def test_the_outside_is_not_echoed_and_an_outer_loop_comes_to_an_end():
    level, source, _, _ = around_a_scope()
    assert level.frontier(Target(1, 1)) == Antichain([1])
    source.change(0, 0, -1)
    settle(level)
    assert level.frontier(Target(1, 0)) == Antichain()
    assert level.frontier(Target(1, 1)) == Antichain()


@pytest.mark.parametrize("checked", [True, False])
def test_echoing_the_outside_stalls_an_outer_loop(checked, monkeypatch):
    """A subgraph that also reports the outside's capability breaks the contract; unchecked, the loop never ends."""
    if not checked:
        monkeypatch.setattr("timely.theory.nesting.check_contract", lambda *_: None)
    level, source, _, scope = around_a_scope()
    scope._inside = scope.inner.tracker
    scope._inside.observe(scope._outs[0])
    source.change(0, 0, -1)
    if checked:
        with pytest.raises(CapabilityError, match="scope claims"):
            settle(level)
        return
    for _ in range(20):
        level.step()
    assert level.frontier(Target(1, 1)) != Antichain()


def test_a_loop_around_a_subgraph_that_does_not_advance_is_refused():
    inner = [(Source(0), Target(1)), (Source(1), Target(0))]
    scope = Subgraph("scope", 1, 1, [Leaf("inner", 1, 1)], inner)
    with pytest.raises(CycleError, match="scope"):
        Operators([scope], [(Source(0), Target(0))])


@pytest.mark.parametrize("act", ["capability", "message", "give up"])
def test_an_operator_that_claims_from_nothing_is_named(act):
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
    """Steps without a short form are joined a stretch at a time, not one by one with all before them."""
    joins = []

    class Joined(Summary):
        def results_in(self, time):
            return time + 1

        def merge(self, other):
            joins.append(other)

    steps = [Joined() for _ in range(5000)]
    leaves = [Leaf(f"op{n}", 1, 1, {(0, 0): (step,)}) for n, step in enumerate(steps)]
    edges = [(Source(n), Target((n + 1) % (len(steps) + 1))) for n in range(len(steps) + 1)]
    ((path,),) = Subgraph("chain", 1, 1, leaves, edges).internal_summary()[0].values()
    assert path.results_in(0) == len(path.steps) == len(steps)
    assert len(joins) <= 3 * len(steps)
