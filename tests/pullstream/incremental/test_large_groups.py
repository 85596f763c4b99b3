"""The first of many values of one key: correct at every time, and found without scanning them all."""

import random

import pytest

from pullstream.incremental import MultiplicityError, ranked
from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import LatticeOrder, Order
from tests.pullstream.counting import Looked
from tests.pullstream.incremental.test_against_recomputing import DOMAINS, check
from tests.sampling import amount
from timely import Product

FOREMOST = ["min", "max", "top", "reached", "strongly connected"]


@pytest.fixture
def all_are_large(monkeypatch):
    """Every group of more than one change has an index."""
    monkeypatch.setattr(ranked, "LARGE", 1)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", FOREMOST)
def test_indexed_results_equal_recomputation(name, domain):
    for seed in range(amount(4, 300)):
        check(name, seed, domain, *((20, 3) if seed < 4 else (40, 4)))


GROUPS = {
    "min": lambda pairs: pairs.min(),
    "max": lambda pairs: pairs.max(),
    "top": lambda pairs: pairs.top(3),
    "distinct": lambda pairs: pairs.distinct(),
    "count": lambda pairs: pairs.count(),
    "min in a loop": lambda pairs: pairs.iterate(lambda found: found.concat(pairs).min()),
}


@pytest.mark.parametrize("order", [Order, LatticeOrder])
def test_removing_a_missing_value_is_refused(order):
    """Also in a group with an index, which looks only at changed values."""
    flow = Dataflow(GROUPS["min"], order())
    time = () if order is Order else (Product(0, 0),)
    flow.take("pairs", time, [((0, n), 1) for n in range(2 * ranked.LARGE)])
    flow.run(time)
    flow.take("pairs", time, [((0, 9999), -1)])
    with pytest.raises(MultiplicityError):
        flow.run(time)


def looks(program, order, size, *, first):
    """Looks at values and times per change, in a group of `size`; removes its first values, or any."""

    def at(n):
        if not order.compacts:
            return ()
        order.reach([Product(n, 0)])
        return (Product(n, 0),)

    joined = order.join

    def join(a, b):
        Looked.times += 1
        return joined(a, b)

    order.join = join
    rnd, falling, changes = random.Random(1), program in {GROUPS["max"], GROUPS["top"]}, 40
    flow = Dataflow(program, order)
    values = [rnd.randrange(10**9) for _ in range(size)]
    if first:
        values.sort(reverse=falling)
    flow.take("pairs", at(0), [((0, Looked(value)), 1) for value in values])
    flow.run(at(0))
    for n in range(2 * changes):
        if n == changes:
            # Sorting once after the load is part of the load.
            Looked.times = 0
        flow.take("pairs", at(n + 1), [((0, Looked(values[n])), -1), ((0, Looked(rnd.randrange(10**9))), 1)])
        flow.run(at(n + 1))
    return Looked.times / changes


@pytest.mark.sampled
@pytest.mark.parametrize("first", [False, True], ids=["remove any", "remove first"])
@pytest.mark.parametrize("order", [Order, LatticeOrder])
@pytest.mark.parametrize("name", GROUPS)
def test_a_change_does_not_scan_its_group(name, order, first):
    small, large = (looks(GROUPS[name], order(), size, first=first) for size in (100, 10_000))
    assert large < 2.5 * small, (small, large)


@pytest.mark.parametrize("order", [Order, LatticeOrder])
def test_an_index_keeps_current_records_not_past_ones(order):
    order = order()
    flow = Dataflow(GROUPS["min"], order)
    values = [*range(200)]
    kept = []
    for n in range(2_000):
        if order.compacts:
            order.reach([Product(n, 0)])
        time = (Product(n, 0),) if order.compacts else ()
        new = values if n == 0 else [values[n % 200] + 200]
        flow.take("pairs", time, [((0, value), 1) for value in new] + [((0, value - 200), -1) for value in new if n])
        if n:
            values[n % 200] = new[0]
        flow.run(time)
        # After a pass over all traces, the index is rebuilt on demand.
        if n > 400 and (index := flow.region.traces[0]._indexes.get(0)) is not None:
            kept.append(len(index._heap) + len(index._new) + len(index.values) + len(index.times))
    assert len(kept) > 1_500
    assert max(kept) < 200 * 6
