"""At every time, a program's output equals a recomputation from all of its input so far."""

import random
from collections import Counter
from itertools import pairwise

import pytest

import pullstream as ps
from pullstream.incremental import maintain
from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import LatticeOrder, Order
from tests.pullstream.incremental.programs import GRAPHS, PROGRAMS, at_their_times
from tests.sampling import amount
from timely import Product, join, less_equal

DOMAINS = {
    "numbers": [*range(6)],
    "products": [Product(a, b) for a in range(3) for b in range(3)],
    "sets": [frozenset(), *map(frozenset, ["a", "b", "c", "ab", "bc"])],
}


def changes_among(rnd, times, nodes, most):
    """Random changes of two inputs, in no order: each added record may be removed at that time or a later one."""
    changes = []
    for _ in range(rnd.randint(1, most)):
        name, record = rnd.choice(["left", "left", "right"]), (rnd.randrange(nodes), rnd.randrange(nodes))
        at = rnd.choice(times)
        changes.append((at, (name, record, 1)))
        if rnd.random() < 0.6:
            changes.append((join(at, rnd.choice(times)), (name, record, -1)))
    rnd.shuffle(changes)
    return changes


def all_joins(times):
    """The times and all their joins."""
    found = set(times)
    while more := {join(a, b) for a in found for b in found} - found:
        found |= more
    return found


def given(program, changes, first):
    """The output for changes, each at its time."""
    source = ps.pipe(ps.values(changes, time=lambda _: first), at_their_times())
    return ps.run(ps.pipe(source, maintain(program), ps.collect(timed=True)))


def sum_up(changes, time):
    total = Counter()
    for at, (*name, record, diff) in changes:
        if less_equal(at, time):
            total[(*name, record)] += diff
    return {record: count for record, count in total.items() if count}


def check(name, seed, domain, most=12, nodes=4):
    program, plain = PROGRAMS[name]
    rnd = random.Random(f"{name} {seed} {domain}")
    times = DOMAINS[domain]
    changes = changes_among(rnd, times, nodes, most)
    out = given(program, changes, times[0])
    assert all(diff for _, (_, diff) in out)
    assert len({(at, record) for at, (record, _) in out}) == len(out), "changes of a time are consolidated"
    for time in all_joins([at for at, _ in changes]):
        there = sum_up(changes, time)
        inputs = [
            Counter({record: n for (side, record), n in there.items() if side == one}) for one in ("left", "right")
        ]
        wanted = {(record,): count for record, count in plain(*inputs).items() if count}
        assert sum_up(out, time) == wanted, (time, changes)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_equal_recomputation_at_every_time(name, domain):
    for seed in range(amount(6, 136)):
        check(name, seed, domain, *(() if seed < 6 else (20, 5) if name in GRAPHS else (30, 5)))


def test_old_times_are_forgotten(monkeypatch):
    """For a node whose edges come and go for long; the other tests check that nothing is lost."""

    def kept_after(rounds):
        order = LatticeOrder()
        flow = Dataflow(lambda edges: edges.map(lambda edge: edge).reduce(lambda node, values: [len(values)]), order)
        for n in range(rounds):
            time = Product(n, 0)
            order.reach([time])
            flow.take("edges", (time,), [((0, n), 1)] if n < 5 else [((0, n), 1), ((0, n - 1), -1)])
            flow.run((time,))
        return sum(map(len, flow.region.traces))

    kept = kept_after(60)
    monkeypatch.setattr(LatticeOrder, "compacts", False)
    assert kept < kept_after(60) / 3


def random_edges(rnd, nodes, count):
    return [(rnd.randrange(nodes), rnd.randrange(nodes)) for _ in range(count)]


def reaching(edges):
    """A dataflow that maintains which nodes edges reach from 0."""
    flow = Dataflow(GRAPHS["reached"][0], Order())
    flow.take("right", (), [((0, 0), 1)])
    flow.take("left", (), [(edge, 1) for edge in edges])
    flow.run(())
    return flow


def test_a_change_costs_what_changes():
    touched = {}
    for nodes in (100, 1_000, 10_000):
        rnd = random.Random(nodes)
        edges = random_edges(rnd, nodes, 3 * nodes)
        flow, keys = reaching(edges), []
        for trace in flow.region.traces:
            trace.changed = lambda key, _, keys=keys: keys.append(key)
        for edge in edges[:50]:
            flow.take("left", (), [(edge, -1), ((rnd.randrange(nodes), rnd.randrange(nodes)), 1)])
            flow.run(())
        touched[nodes] = len(keys)
    assert all(more < 3 * less for less, more in pairwise(touched.values())), touched


@pytest.mark.parametrize("changes", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_memory_follows_current_records_not_past_ones(changes):
    rnd = random.Random(1)
    edges = random_edges(rnd, 100, 300)
    flow = reaching(edges)
    first = sum(map(len, flow.region.traces))
    for n in range(changes):
        new = rnd.randrange(100), rnd.randrange(100)
        flow.take("left", (), [(edges[n % 300], -1), (new, 1)])
        edges[n % 300] = new
        flow.run(())
        assert sum(map(len, flow.region.traces)) < 1.3 * first
