"""Replaying a recorded run against the model finds every broken rule, and allows the machines' runs (000, 5)."""

import random

import pytest

from tests.sampling import amount
from tests.timely.machines import begin, leads_of, sound_machines
from timely import Tracker
from timely.theory.model import (
    SHAPES,
    Awaited,
    Completed,
    Dismissed,
    Edge,
    Held,
    ModelError,
    Notify,
    Plan,
    Pointstamp,
    Released,
    Sent,
    Settled,
    Taken,
    Together,
    minimal,
    random_walk,
    replay,
)
from timely.theory.model.record import clock
from timely.theory.model.small import Wild, random_program

LINE = Plan([Edge("in", "source", "sum"), Edge("out", "sum", "sink"), Edge("done", "sink")], initial=[("source", 0)])


def rules(plan, record):
    return [violation.rule for violation in replay(plan, record).violations]


A_GOOD_RUN = [
    Awaited("done", 0),
    Sent("in", 0),
    Held("source", 1),
    Released("source", 0),
    Settled(),
    Held("sum", 0),
    Taken("in", 0),
    Settled(),
    Completed("in", 0),
    Sent("out", 0),
    Released("sum", 0),
    Settled(),
    Taken("out", 0),
    Completed("done", 0),
    Settled(),
    Released("source", 1),
    Settled(),
]


def test_a_good_run_is_allowed_and_counted():
    result = replay(LINE, A_GOOD_RUN)
    assert result.ok, result.violations
    assert (result.events, result.completions, result.settled) == (len(A_GOOD_RUN), 2, 5)


def test_a_completion_moved_anywhere_earlier_is_too_early():
    """A completion at the sink before its last batch is done is found, at any moment, with its blocker."""
    at = A_GOOD_RUN.index(Completed("done", 0))
    without = A_GOOD_RUN[:at] + A_GOOD_RUN[at + 1 :]
    for early in range(at):
        record = [*without[:early], Completed("done", 0), *without[early:]]
        found = [v for v in replay(LINE, record).violations if v.rule == "too early"]
        assert [v.index for v in found] == [early]
        assert "still pending: 0 at " in found[0].because


SILENT = [event for event in A_GOOD_RUN if event != Completed("done", 0)]
DOWN, UP = Released("source", 0), Held("source", 1)
AHEAD = [Held("source", 5), Released("source", 0)]


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        # A wait for a complete time must be answered when all has settled, unless it was dismissed.
        (SILENT, ["withheld", "withheld"]),
        ([*SILENT[:1], Dismissed("done", 0), *SILENT[1:]], []),
        # No batch may arrive at a complete time (Theorem 2), and nothing pending leads to this batch.
        ([*A_GOOD_RUN, Sent("in", 0)], ["after completion", "from nothing"]),
        # A hold or batch before everything pending upstream of it is not in Clock.
        ([*AHEAD, Held("sum", 4)], ["from nothing"]),
        ([*AHEAD, Sent("out", 4)], ["from nothing"]),
        ([*AHEAD, Held("sum", 6)], []),
        # A batch or hold can be removed only if it was added, twice if added twice.
        ([Taken("in", 0)], ["not there"]),
        ([Released("sum", 0)], ["not there"]),
        ([Sent("in", 0), Sent("in", 0), Taken("in", 0), Taken("in", 0)], []),
        # Changes at one moment may have any order; for separate changes the order matters.
        ([Together([DOWN, UP])], []),
        ([Together([UP, DOWN])], []),
        ([UP, DOWN], []),
        ([DOWN, UP], ["from nothing"]),
        ([Together([Taken("in", 0), Sent("in", 0)])], []),
        ([Together([Released("source", 0)]), Together([Held("sum", 0)])], ["from nothing"]),
    ],
)
def test_rules(record, broken):
    assert rules(LINE, record) == broken


def test_a_cycle_need_not_advance_but_must_not_go_back():
    """A cycle at equal times closes at once; a cycle that lowers times forever is refused, not searched."""
    edges = [Edge("a", "p", "q"), Edge("b", "q", "p")]
    assert clock(Plan(edges), [Pointstamp("p", 2)]) == {"p": (2,), "q": (2,), "a": (2,), "b": (2,)}
    with pytest.raises(ModelError, match="does not advance"):
        clock(Plan(edges, {"b": lambda t: [t - 1]}), [Pointstamp("p", 2)])


def test_clock_of_a_plan_is_the_models_close_up():
    rng = random.Random(41)
    for times in SHAPES.values():
        for _ in range(40):
            program = random_program(rng, times, Wild(past_sends=0.2), nodes=3, edges=4)
            compare_clocks(rng, leads_of(program))


def plan_of(leads):
    """The plan with the same single steps; the closure of the steps makes its functions monotone."""

    def sends(edge):
        steps = [s for s in leads.steps if s.edge == edge]
        return lambda t: minimal(s.later for s in steps if t <= s.time)

    used = {end for edge in leads.graph.edges for end in (edge.source, edge.destination)}
    assert used, "graphs without edges have no plan"
    return Plan(leads.graph.edges, {edge.name: sends(edge.name) for edge in leads.graph.edges if edge.source})


def compare_clocks(rng, leads):
    plan = plan_of(leads)
    known = set(plan.graph.locations)
    stamps = [stamp for stamp in leads.stamps if stamp.location in known]
    for _ in range(5):
        pending = rng.sample(stamps, k=min(3, len(stamps)))
        least = clock(plan, pending)
        generated = {s for s in stamps if any(t <= s.time for t in least[s.location])}
        assert generated == leads.unmask(leads.close_up(leads.mask(pending)))


def record_of(machine, start, walk):
    """Record a behaviour of the machine as a run: requests are holds, and waits at every incoming edge."""
    graph = machine.program.graph
    record = []
    for step in walk:
        new, gone = changes(machine, step.before, step.after)
        awaited = [e.name for e in graph.incoming[step.action.node]] if isinstance(step.action, Notify) else []
        record += [Completed(edge, step.action.event.time) for edge in awaited]
        record += new + gone
    return record


def changes(machine, before, after):
    graph = machine.program.graph
    new, gone = [], []
    for edge, old, now in zip(graph.edges, before.queues, after.queues, strict=True):
        for message in set(old) | set(now):
            difference = now.count(message) - old.count(message)
            new += [Sent(edge.name, message.time)] * difference
            gone += [Taken(edge.name, message.time)] * -difference
    for node, old, now in zip(graph.nodes, before.requests, after.requests, strict=True):
        new += [Held(node, t) for t in now - old]
        gone += [Released(node, t) for t in old - now]
    return new, gone


def walks(seed, count):
    for rng, machine in sound_machines(seed, count, edges=4):
        graph = machine.program.graph
        # A plan has only nodes with edges.
        if set(graph.nodes) <= {end for edge in graph.edges for end in (edge.source, edge.destination)}:
            start = begin(rng, machine)
            yield machine, start, list(random_walk(start, machine.steps, 12, rng))


def counted_initial(machine, start):
    """The messages and requests of a state, each message separately."""
    graph = machine.program.graph
    on_edges = [(e.name, m.time) for e, queue in zip(graph.edges, start.queues, strict=True) for m in queue]
    return on_edges + [(n, t) for n, ts in zip(graph.nodes, start.requests, strict=True) for t in ts]


def test_every_run_of_the_machine_is_allowed():
    completions = 0
    for machine, start, walk in walks(42, amount(100, 300)):
        plan = plan_of(machine.leads)
        plan = Plan(plan.edges, plan.sends, initial=counted_initial(machine, start))
        result = replay(plan, record_of(machine, start, walk))
        assert result.ok, result.violations
        completions += result.completions
    assert completions


def plan_of_ports(graph, initial):
    """A tracker's graph as a plan: every port is a node, and every step of a summary an edge."""
    steps = [
        (str(start), str(end), lambda t, s=summary: [u] if (u := s.results_in(t)) is not None else [])
        for start, followers in enumerate(graph.successors)
        for end, summary in followers
    ]
    return Plan.of_steps(steps, initial)


def watched_run(made, rounds):
    """Record a tracker that follows random updates: waits everywhere, and completions according to the frontiers."""
    graph, record = made.graph, []
    tracker = Tracker(graph)
    known = {str(start) for start, steps in enumerate(graph.successors) if steps}
    known |= {str(end) for steps in graph.successors for end, _ in steps}
    places = [place for place in range(len(graph)) if str(place) in known]
    for place in places[::2]:
        tracker.observe(place)
    waiting, initial = [], None
    for changes in rounds:
        for place, time, delta in changes:
            tracker.update(place, time, delta)
        if initial is None:
            initial = [(str(place), time) for place, time, _ in changes]
        else:
            moved = [(Held if d > 0 else Released)(str(p), t) for p, t, d in changes for _ in range(abs(d))]
            record.append(Together(moved))
        waiting += [(place, made.time(place)) for place in made.rng.choices(places, k=2)]
        record += [Awaited(str(place), time) for place, time in waiting[-2:]]
        tracker.propagate()
        for place, time in list(waiting):
            if not tracker.frontier(place).less_equal(time):
                record.append(Completed(str(place), time))
                waiting = [(p, t) for p, t in waiting if (p, t) != (place, time)]
        record.append(Settled())
    return plan_of_ports(graph, initial), record


def test_the_model_allows_the_tracker_s_completions(random_graph, history):
    completions = 0
    for seed in range(amount(50, 150)):
        made = random_graph(seed)
        plan, record = watched_run(made, history(made, 12))
        result = replay(plan, record)
        assert result.ok, (seed, result.violations)
        completions += result.completions
    assert completions
