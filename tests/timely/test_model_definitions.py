"""The model's definitions, compared with the text read literally (000, sections 2 to 3.2)."""

import random
from itertools import product

import pytest

from timely.theory.model import (
    SHAPES,
    CouldResultIn,
    Edge,
    History,
    Message,
    ModelError,
    ModelGraph,
    Node,
    Notified,
    Program,
    Reaction,
    Received,
    Request,
    Step,
    g,
    local_states,
    new_requests,
    one_steps,
    relation_node,
)
from timely.theory.model.small import Wild, random_graph, random_program


def literally(leads, early, late):
    """Def. 2 word for word: try every simple path and every choice of times along it."""
    if early.location == late.location and early.time <= late.time:
        return True
    edges = {edge.name: edge for edge in leads.graph.edges}

    def onward(x, t):
        if x in edges:
            if edges[x].destination is not None:
                yield edges[x].destination, t
            return
        for edge in leads.graph.outgoing[x]:
            for later in leads.times:
                if any(s.node == x and s.edge == edge.name and t <= s.time and s.later <= later for s in leads.steps):
                    yield edge.name, later

    def proves(x, t, visited):
        for y, u in onward(x, t):
            if y not in visited and ((y == late.location and u <= late.time) or proves(y, u, visited | {y})):
                return True
        return False

    return any(early.time <= first and proves(early.location, first, {early.location}) for first in leads.times)


def random_relation(rng, times, nodes=3, edges=4):
    graph = random_graph(rng, nodes, edges)
    possible = [
        Step(edge.source, a, edge.name, b)
        for edge in graph.edges
        if edge.source is not None
        for a, b in product(times, repeat=2)
    ]
    return CouldResultIn(graph, times, [step for step in possible if rng.random() < 0.3])


def test_graphs_exclude_what_the_text_excludes():
    with pytest.raises(ModelError, match="neither"):
        Edge("e")
    with pytest.raises(ModelError, match="buffer"):
        Edge("e", "p", "p")
    with pytest.raises(ModelError, match="not a node"):
        ModelGraph(("p",), (Edge("e", "p", "q"),))
    with pytest.raises(ModelError, match="twice"):
        ModelGraph(("p", "q"), (Edge("p", "p", "q"),))


def test_g_accumulates_messages_in_order_and_follows_the_state():
    def react(state, event):
        return Reaction(state + 1, sends={"o": (Message(event.time, state),)})

    node = Node(frozenset({(0, frozenset())}), react)
    after = g(node, History((0, frozenset())).then(Notified(5)).then(Received("i", Message(3))))
    assert (after.state, after.sends) == (2, {"o": (Message(5, 0), Message(3, 1))})
    with pytest.raises(ModelError, match="initial"):
        g(node, History((7, frozenset())))


def test_definition_1_equals_one_step_after_every_history():
    rng = random.Random(1)
    for _ in range(25):
        program = random_program(rng, (0, 1), Wild(0.3, 0.3, 1.0), nodes=2, edges=2)
        expected = set()
        for name, node in program.nodes.items():
            events = [Notified(t) for t in program.times]
            events += [Received(e.name, m) for e in program.graph.incoming[name] for m in program.messages]
            for start in node.initial:
                for length in range(3):
                    for past in product(events, repeat=length):
                        state = g(node, History(start, past)).state
                        for x in events:
                            for edge, messages in node.react(state, x).sends.items():
                                expected |= {Step(name, x.time, edge, m.time) for m in messages}
        assert one_steps(program) == expected


def test_definition_1_refuses_an_unbounded_node():
    counter = Node(frozenset({(0, frozenset())}), lambda state, _event: Reaction(state + 1))
    with pytest.raises(ModelError, match="local states"):
        local_states(Program(ModelGraph(("p",), ()), {"p": counter}, (0,)), "p", limit=50)


def test_definition_2_equals_the_text_read_word_for_word():
    rng = random.Random(2)
    for times in SHAPES.values():
        for _ in range(12):
            leads = random_relation(rng, times)
            for early, late in product(leads.stamps, repeat=2):
                assert leads(early, late) == literally(leads, early, late)


def test_definition_3_counts_only_requests_that_were_not_pending():
    """A request pending before the event is not new, even for the time a notification just took away."""
    graph = ModelGraph(("p",), (Edge("i", destination="p"),))
    again = relation_node(requests={1: {0}}, initial_requests={0})
    program = Program(graph, {"p": again}, (0, 1))
    assert new_requests(program) == {Request("p", 1, 0)}, "the notification of 0 ends the request, then 1 asks anew"

    def react(_state, event):
        return Reaction(None, frozenset({0}) if isinstance(event, Received) or event.time == 0 else frozenset())

    held = Program(graph, {"p": Node(frozenset({(None, frozenset({0}))}), react)}, (0, 1))
    assert new_requests(held) == frozenset(), "0 is requested only where it was pending before the event"
