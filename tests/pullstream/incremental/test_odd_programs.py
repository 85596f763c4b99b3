"""Unusual programs and records: equal records of different types, deep programs, extra parameters."""

from functools import partial

import attrs
import pytest

import pullstream as ps
from pullstream.errors import CapabilityError, CompositionError
from pullstream.incremental import maintain
from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import LatticeOrder, Order
from tests.pullstream.incremental.programs import at_their_times, run
from timely import Product


def test_equal_records_are_one_record():
    assert run(lambda r: r.count(), (0, (1, 1)), (0, (True, 1)), (1, (1.0, -2))) == [
        (0, ((1, 2), 1)),
        (1, ((1, 2), -1)),
    ]


def test_sum_adds_bools_as_ints():
    assert run(lambda pairs: pairs.sum(), (0, (("k", True), 1)), (0, (("k", 2), 1))) == [(0, (("k", 3), 1))]


def test_the_failing_join_of_several_is_named():
    def program(left, right):
        first = left.join(right)
        second = left.join(right, lambda key, one, two: one // two)
        return {"first": first, "second": second}

    line = program.__code__.co_firstlineno + 2
    for order in (("left", "right"), ("right", "left")):
        with pytest.raises(ZeroDivisionError) as caught:
            run(program, *((0, (name, ("k", 0), 1)) for name in order))
        assert f"test_odd_programs.py:{line}" in "\n".join(caught.value.__notes__)


def test_a_program_may_have_extra_parameters():
    def multiples(numbers, n):
        return numbers.filter(lambda number: number % n == 0)

    for program in (partial(multiples, n=3), lambda numbers, n=3: multiples(numbers, n)):
        assert run(program, (0, (3, 1)), (0, (4, 1))) == [(0, (3, 1))]
    with pytest.raises(CompositionError, match="a named parameter for each input collection"):
        maintain(lambda n=3: n)


@pytest.mark.parametrize(
    "step",
    [
        lambda c: c.map(lambda pair: (pair[0], pair[1] + 1)),
        lambda c: c.concat(),
        lambda c: c.join(c.distinct(), lambda key, one, two: (key, one + 1)),
        lambda c: c.iterate(lambda inside: inside.map(lambda pair: (pair[0], min(pair[1] + 1, 500)))),
    ],
    ids=["map", "concat", "join", "iterate"],
)
def test_a_chain_of_verbs_may_be_of_any_length(step):
    """Longer than Python's recursion limit, though each verb calls the next."""

    def program(records):
        for _ in range(400):
            records = step(records)
        return records

    flow = Dataflow(program, Order())
    flow.take("records", (), [(("k", 0), 1)])
    assert [(record[0], diff) for _, record, diff in flow.run(())] == [("k", 1)]
    flow.take("records", (), [(("k", 0), -1)])
    assert [(record[0], diff) for _, record, diff in flow.run(())] == [("k", -1)]


def test_an_inner_iteration_starts_from_inner_collections():
    """A collection from outside must `enter` the loop first; the error says how."""

    def program(entered, numbers):
        def outer(found):
            start = numbers.enter(found) if entered else numbers
            inner = start.iterate(lambda inside: inside.concat(found).map(lambda n: min(n + 1, 9)).distinct())
            return inner.concat(numbers).distinct()

        return numbers.iterate(outer)

    with pytest.raises(
        CompositionError, match=r"start it with a collection that has entered the outer one: outside.enter\(inside\)"
    ):
        maintain(partial(program, False))
    assert run(partial(program, True), (0, (7, 1)), (1, (7, -1))) == [
        (time, (number, diff)) for time, diff in ((0, 1), (1, -1)) for number in (7, 8, 9)
    ]


def test_times_may_not_turn_from_total_to_partial_order():
    """Changes at earlier times are already added up; a partial order must be partial from the start."""
    times = [(1, 1), (2, frozenset("a")), (2, frozenset("b"))]
    source = ps.values([(time, ("r", 1)) for time in times], time=lambda _: (1, 1))
    with pytest.raises(CapabilityError, match="have no order. Use map_time"):
        ps.run(ps.pipe(source, at_their_times(), maintain(lambda records: records.count()), ps.collect()))


@attrs.frozen
class Beside:
    """Two numbers, each in its own order, with a join but no meet."""

    a: int
    b: int

    def __le__(self, other):
        return self.a <= other.a and self.b <= other.b

    def sort_key(self):
        return self.a + self.b

    def join(self, other):
        return Beside(max(self.a, other.a), max(self.b, other.b))


def test_times_need_no_meet():
    """Without a meet, less is forgotten."""
    order = LatticeOrder()
    flow = Dataflow(lambda records: records.reduce(lambda key, values: [len(values)]), order)
    out = []
    for n in range(20):
        time = Beside(n, 0)
        order.reach([time, Beside(0, n + 1)])
        flow.take("records", (time,), [(("k", n), 1)])
        out += flow.run((time,))
    assert out[-1] == ("", ("k", 20), 1)


def test_a_removed_key_leaves_nothing_behind():
    order = LatticeOrder()
    flow = Dataflow(lambda edges: edges.join(edges), order)
    for key in range(50):
        time = Product(key, 0)
        order.reach([time])
        for diff in (1, -1):
            flow.take("edges", (time,), [((key, n), diff) for n in range(10)])
        flow.run((time,))
    (trace,) = flow.region.traces
    assert not trace.updates
    assert not trace._ripe
