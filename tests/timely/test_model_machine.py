"""The state machine: its actions one by one; Propositions 7 to 9 and Theorem 2 over all interleavings (000, 4, 5)."""

import random
from itertools import product

import pytest

from tests.sampling import amount
from tests.timely.machines import begin, machine_of, meets_conditions, sound_machines
from timely.theory.model import (
    SHAPES,
    CouldResultIn,
    Edge,
    Explorer,
    Machine,
    Message,
    ModelGraph,
    Notify,
    Program,
    Reaction,
    Step,
    condition_1,
    condition_2,
    new_requests,
    random_walk,
    relation_node,
)
from timely.theory.model.nodes import Node
from timely.theory.model.properties import (
    proposition_7,
    proposition_8,
    proposition_9,
    theorem_2,
    watch,
    watched_steps,
)
from timely.theory.model.small import Wild, random_program


def test_init_prop_offers_every_choice_of_initial_states_and_fills_only_input_edges():
    graph = ModelGraph(("p", "q"), (Edge("i", destination="p"), Edge("a", "p", "q")))
    starts = frozenset({("new", frozenset()), ("old", frozenset({0}))})
    node = Node(starts, lambda state, _event: Reaction(state))
    machine = machine_of(Program(graph, {"p": node, "q": node}, (0,)))
    states = machine.initial({"i": [Message(0)]})
    assert len(set(states)) == 4
    assert all(state.queues == ((Message(0),), ()) for state in states)
    with pytest.raises(ValueError, match="not an input edge"):
        machine.initial({"a": [Message(0)]})


def test_mess_dequeues_the_head_and_reacts_atomically():
    graph = ModelGraph(("p",), (Edge("i", destination="p"), Edge("o", "p")))
    node = relation_node(emits={0: [("o", 0), ("o", 1)]}, requests={0: {1}}, initial_requests={0})
    machine = machine_of(Program(graph, {"p": node}, (0, 1)))
    (state,) = machine.initial({"i": [Message(0), Message(1)]})
    ((action, after),) = machine.receipts(state)
    assert action.event.message == Message(0)
    assert after.queues == ((Message(1),), (Message(0), Message(1)))
    assert after.requests == (frozenset({0, 1}),)


def test_not_waits_until_no_incoming_edge_can_bring_the_time():
    """A notification is possible exactly if (e, t) is outside Clock for every incoming edge e."""
    checked = 0
    for rng, machine in sound_machines(11, amount(60, 200)):
        for step in Explorer([begin(rng, machine)], machine.steps, depth=4, max_states=60):
            possible = {(a.node, a.event.time) for a, _ in machine.steps(step.after) if isinstance(a, Notify)}
            graph = machine.program.graph
            for node, times in zip(graph.nodes, step.after.requests, strict=True):
                for t in times:
                    free = not any(machine.in_clock(step.after, e.name, t) for e in graph.incoming[node])
                    assert ((node, t) in possible) == free
                    checked += 1
    assert checked


def test_proposition_7_every_state_is_explained_by_local_histories():
    for rng, machine in sound_machines(7, amount(150, 600), inputs="any"):
        start = begin(rng, machine)
        walk = list(random_walk(start, machine.steps, 12, rng))
        assert proposition_7(machine, start, walk) is None


def test_proposition_8_clock_does_not_grow_unless_inputs_do():
    """Under Conditions 1 and 2, on every transition within the bounds, for both closures and any input behaviour."""
    for closure, inputs in product(("fixpoint", "image"), ("fixed", "any")):
        for rng, machine in sound_machines(8, amount(30, 200), closure=closure, inputs=inputs):
            for step in Explorer([begin(rng, machine)], machine.steps, depth=5, max_states=150):
                assert proposition_8(machine, step) is None


def violations_of_8(machines):
    """The number of machines with a growing Clock although their inputs do not grow."""
    return sum(
        any(
            proposition_8(machine, step) is not None
            for step in Explorer([begin(rng, machine)], machine.steps, depth=5, max_states=150)
        )
        for rng, machine in machines
    )


def wild_machines(seed, count, wild, wanted, **options):
    rng = random.Random(seed)
    made = 0
    while made < count:
        for times in (SHAPES["chain 2"], SHAPES["chain 3"], SHAPES["wedge"]):
            machine = machine_of(random_program(rng, times, wild, edges=4), **options)
            if wanted(machine):
                made += 1
                yield rng, machine


def lacks_condition_1(machine):
    return condition_1(new_requests(machine.program), machine.program.times) is not None


def past_senders(**options):
    def lacks_only_condition_2(machine):
        return condition_2(machine.leads) is not None and not lacks_condition_1(machine)

    return wild_machines(10, amount(200, 600), Wild(past_sends=0.7), lacks_only_condition_2, **options)


def test_proposition_8_needs_condition_1():
    assert violations_of_8(wild_machines(9, amount(80, 300), Wild(past_requests=0.6), lacks_condition_1)) > 0


def test_proposition_8_with_the_least_fixpoint_does_not_need_condition_2():
    """Closed as the text defines it, Clock never grows, even if nodes send into the past."""
    assert violations_of_8(past_senders()) == 0


def test_proposition_8_with_the_one_shot_image_needs_condition_2():
    """With Proposition 3's formula instead of the closure, the same programs make Clock grow."""
    assert violations_of_8(past_senders(closure="image")) > 0


def explore_watched(machine, start, depth=5, max_states=150):
    return Explorer([watch(machine, start)], lambda w: watched_steps(machine, w), depth=depth, max_states=max_states)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reordering", [False, True])
@pytest.mark.parametrize("inputs", ["fixed", "within clock"])
def test_proposition_9_and_theorem_2_times_never_return_to_clock(inputs, reordering):
    """Once (e, t) is out of Clock, no message on e ever has a time at or before t, even if messages overtake.

    The inputs never grow, or never enlarge Clock.
    """
    notified = 0
    for rng, machine in sound_machines(14, amount(80, 300), inputs=inputs, reordering=reordering):
        for step in explore_watched(machine, begin(rng, machine, 3)):
            assert proposition_9(machine, step.after) is None
            assert theorem_2(machine, step.after) is None
            notified += isinstance(step.action, Notify)
    assert notified, "some notifications must have happened"


def test_theorem_2_needs_inputs_that_stay_within_clock():
    graph = ModelGraph(("p",), (Edge("i", destination="p"),))
    machine = machine_of(Program(graph, {"p": relation_node(initial_requests={0})}, (0, 1)), inputs="any")
    (start,) = machine.initial()
    assert any(theorem_2(machine, step.after) for step in explore_watched(machine, start))


def test_theorem_2_needs_condition_1():
    graph = ModelGraph(("p",), (Edge("o", "p"),))
    node = relation_node(emits={0: [("o", 0)]}, requests={1: {0}}, initial_requests={1})
    machine = machine_of(Program(graph, {"p": node}, (0, 1)))
    assert not meets_conditions(machine)
    assert any(theorem_2(machine, step.after) for step in explore_watched(machine, machine.initial()[0]))


def test_a_declared_relation_that_includes_the_actual_one_is_sound():
    """An implementation may overestimate could-result-in: Theorem 2 holds, and completions are only later."""
    for rng, machine in sound_machines(16, amount(80, 300)):
        extra = [
            Step(e.source, t, e.name, t) for e in machine.program.graph.edges if e.source for t in machine.program.times
        ]
        leads = CouldResultIn(machine.program.graph, machine.program.times, {*machine.leads.steps, *extra})
        declared = Machine(machine.program, leads)
        start = begin(rng, machine)
        for step in explore_watched(declared, start):
            assert theorem_2(declared, step.after) is None
            early = machine.clock(step.after.state)
            assert early & ~declared.clock(step.after.state) == 0
