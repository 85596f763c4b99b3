"""Orders, times and antichains: the laws on which everything else is based."""

# ruff: noqa: PLR0124, DTZ001 - comparisons are the subject, in every direction

import itertools
import pickle
import random
from datetime import UTC, date, datetime, time as clock_time, timedelta, timezone
from decimal import Decimal

import attrs
import pytest
from hypothesis import given, strategies as st

from tests.sampling import amount
from tests.timely.divides import Divides
from timely import (
    BEGINNING,
    Antichain,
    Lexicographic,
    LoopTime,
    MutableAntichain,
    NaiadTime,
    NegativeCountError,
    Product,
    TimeDomainError,
    advance,
    join,
    less_equal,
    less_than,
    meet,
    sort_key,
)
from timely.order import Ascending, ascending, in_one_order, is_total, minimal
from timely.theory import ChangeBatch

small = st.integers(0, 3)
pairs = st.tuples(small, small)
DOMAINS = {
    "int": st.integers(-3, 3),
    "str": st.text("ab", max_size=2),
    "date": st.dates(date(2013, 1, 1), date(2013, 1, 4)),
    "tuple": pairs,
    "tuple of sets": st.tuples(st.frozensets(st.sampled_from("ab")), small),
    "frozenset": st.frozensets(st.sampled_from("abc")),
    "Product": pairs.map(lambda p: Product(*p)),
    "Product of sets": st.tuples(st.frozensets(st.sampled_from("ab")), small).map(lambda p: Product(*p)),
    "Lexicographic": pairs.map(lambda p: Lexicographic(*p)),
    "LoopTime": st.tuples(small, small, small).map(lambda t: LoopTime(t[0], t[1:])),
    "NaiadTime": st.tuples(small, small, small).map(lambda t: NaiadTime(t[0], t[1:])),
}
every_domain = pytest.mark.parametrize("domain", DOMAINS)


@every_domain
@given(data=st.data())
def test_times_are_partially_ordered(domain, data):
    a, b, c = (data.draw(st.one_of(st.just(BEGINNING), DOMAINS[domain])) for _ in range(3))
    assert less_equal(a, a)
    assert not (less_equal(a, b) and less_equal(b, a)) or a == b
    assert not (less_equal(a, b) and less_equal(b, c)) or less_equal(a, c)
    assert less_than(a, b) == (a < b) == (less_equal(a, b) and a != b)
    assert a != b or hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a


@every_domain
@given(data=st.data())
def test_sort_key_extends_the_order(domain, data):
    a, b = data.draw(DOMAINS[domain]), data.draw(DOMAINS[domain])
    assert not less_than(a, b) or sort_key(a) < sort_key(b)
    assert sort_key(BEGINNING) < sort_key(a)
    assert not is_total(a) or less_equal(a, b) or less_equal(b, a)


LATTICES = ["int", "date", "frozenset", "Product", "Product of sets", "LoopTime", "NaiadTime"]


@pytest.mark.parametrize("domain", LATTICES)
@given(data=st.data())
def test_joins_and_meets_are_the_closest_bounds(domain, data):
    a, b, c = (data.draw(DOMAINS[domain]) for _ in range(3))
    for bound, below in ((join, less_equal), (meet, lambda x, y: less_equal(y, x))):
        both = bound(a, b)
        assert below(a, both)
        assert below(b, both)
        assert not (below(a, c) and below(b, c)) or below(both, c)
    assert meet(a, join(a, b)) == a == join(a, meet(a, b))


@pytest.mark.parametrize("domain", LATTICES)
@given(data=st.data())
def test_an_advanced_time_is_the_latest_equivalent_one(domain, data):
    """At or after the frontier, it compares like the original, and all indistinguishable times advance to one."""
    time, other, later = (data.draw(DOMAINS[domain]) for _ in range(3))
    frontier = data.draw(st.lists(DOMAINS[domain], min_size=1, max_size=3))
    advanced = advance(time, frontier)
    for reached in frontier:
        seen_from = join(later, reached)
        assert less_equal(time, seen_from) == less_equal(advanced, seen_from)
    assert less_equal(time, advanced)
    assert advance(advanced, frontier) == advanced
    assert advance(time, []) == time
    if all(join(time, reached) == join(other, reached) for reached in frontier):
        assert advance(other, frontier) == advanced


@pytest.mark.parametrize(("a", "b"), [(1, "a"), (date(2013, 1, 1), 1), (LoopTime(1, (0,)), 1), (Product(1, 2), (1, 2))])
def test_unlike_times_are_refused_by_name(a, b):
    for compare in (less_equal, lambda x, y: Antichain([x]).less_equal(y), lambda x, y: Antichain([x, y])):
        with pytest.raises(TimeDomainError) as caught:
            compare(a, b)
        assert repr(a) in str(caught.value)
        assert repr(b) in str(caught.value)
    times = MutableAntichain()
    times.update(a, 1)
    with pytest.raises(TimeDomainError):
        times.update(b, 1)
    # `BEGINNING` keeps the two from being compared while it is there.
    times = MutableAntichain()
    with pytest.raises(TimeDomainError):
        for time, delta in ((BEGINNING, 1), (a, 1), (b, 1), (BEGINNING, -1)):
            times.update(time, delta)


class Faulty(int):
    def __le__(self, other):
        return None + other


@pytest.mark.parametrize(("time", "shown"), [(1, False), (Faulty(), True)])
def test_an_error_within_the_order_of_a_type_is_shown(time, shown):
    with pytest.raises(TimeDomainError) as caught:
        less_equal(time, "a")
    assert caught.value.__suppress_context__
    assert (caught.value.__cause__ is not None) == shown


@every_domain
@given(data=st.data())
def test_antichains_keep_minimal_times(domain, data):
    times = data.draw(st.lists(DOMAINS[domain], max_size=5))
    chain = Antichain(times)
    assert all(not less_equal(a, b) for a, b in itertools.permutations(chain, 2))
    assert all(chain.less_equal(time) for time in times)
    assert set(chain) <= set(times)
    grown = Antichain()
    for time in reversed(times):
        grown = grown.insert(time)
    for same in (grown, Antichain(reversed(times))):
        assert (same, hash(same)) == (chain, hash(chain))
    other = data.draw(DOMAINS[domain])
    assert chain.less_equal(other) == any(less_equal(time, other) for time in times)
    assert chain.less_than(other) == any(less_than(time, other) for time in times)


@given(*[st.lists(DOMAINS["Product"], max_size=3).map(Antichain)] * 3)
def test_antichains_are_ordered_with_the_end_of_time_on_top(a, b, c):
    """Frontiers are partially ordered; the empty one is the greatest; union is the greatest lower bound."""
    assert a <= a
    assert a <= Antichain()
    assert not (Antichain() <= a) or a == Antichain()
    assert not (a <= b <= a) or a == b
    assert not (a <= b <= c) or a <= c
    both = a.union(b)
    assert both <= a
    assert both <= b
    assert not (c <= a and c <= b) or c <= both


@every_domain
@given(data=st.data())
def test_mutable_antichain_is_the_minimum_of_its_times(domain, data):
    times, there = MutableAntichain(), {}
    domain_with_bottom = st.one_of(DOMAINS[domain], st.just(BEGINNING))
    for time, up in data.draw(st.lists(st.tuples(domain_with_bottom, st.booleans()), max_size=25)):
        before = times.frontier
        if up:
            there[time] = there.get(time, 0) + 1
            moved = times.update(time, 1)
        elif time in there:
            there[time] -= 1
            there = {t: n for t, n in there.items() if n}
            moved = times.update(time, -1)
        else:
            with pytest.raises(NegativeCountError):
                times.update(time, -1)
            moved = False
        assert times.frontier == Antichain(there)
        assert moved == (times.frontier != before)
        assert dict(times) == there
        assert len(times) == len(there)


@pytest.mark.parametrize("kind", [Product, lambda a, b: frozenset({a, b}), lambda a, b: Divides(1 + a * b)])
@pytest.mark.parametrize("seed", range(amount(1, 5)))
def test_many_changes_in_partial_orders(kind, seed):
    rng, times, there = random.Random(seed), MutableAntichain(), set()
    for _ in range(1_500):
        time = kind(rng.randrange(12), rng.randrange(12))
        if time in there and rng.random() < 0.7:
            there.remove(time)
            times.update(time, -1)
        elif time not in there:
            there.add(time)
            times.update(time, 1)
        assert times.frontier == Antichain(there)


@pytest.mark.parametrize("order", [range, lambda n: reversed(range(n))], ids=["up", "down"])
def test_ascending_times_of_a_partial_order_cost_few_comparisons(order):
    compared = 0

    @attrs.frozen(order=False)
    class Counted:
        n: int

        def __le__(self, other):
            nonlocal compared
            compared += 1
            return self.n <= other.n

    times = MutableAntichain()
    for n in order(1_000):
        times.update(Counted(n), 1)
    for n in range(1_000):
        assert times.frontier == Antichain([Counted(n)])
        times.update(Counted(n), -1)
    assert compared < 8 * 1_000


@given(st.lists(st.tuples(small, st.integers(-2, 2))))
def test_change_batches_hold_no_zeros(changes):
    batch = ChangeBatch(changes)
    totals = {key: sum(delta for k, delta in changes if k == key) for key, _ in changes}
    assert dict(batch) == {key: total for key, total in totals.items() if total}
    assert len(batch) == sum(map(bool, totals.values()))
    drained = batch.drain()
    assert not batch
    assert ChangeBatch(drained) == ChangeBatch(changes)


@every_domain
@given(data=st.data())
def test_ascending_times_never_go_back(domain, data):
    """`ascending` equals comparing neighbours; `Ascending` behaves like its list and has the same minimal times."""
    times = data.draw(st.lists(DOMAINS[domain], max_size=5))
    expected = all(less_equal(before, time) for before, time in itertools.pairwise(times))
    assert ascending(times) == expected
    if expected:
        known = Ascending(times)
        assert ascending(known)
        assert (list(known), len(known), repr(known)) == (times, len(times), repr(times))
        assert list(reversed(known)) == times[::-1]
        assert minimal(known) == minimal(times)
        assert (list(known[1:3]), known[::-1]) == (times[1:3], times[::-1])
        assert isinstance(known[1:3], Ascending)


def test_ascending_refuses_times_without_a_common_order():
    """As in every comparison of times; NaN is not after any time, so no time ascends to it."""
    with pytest.raises(TimeDomainError, match="cannot be compared"):
        ascending([1, "a"])
    assert not ascending([0.5, float("nan")])


NAN = float("nan")
AWAY = timezone(timedelta(hours=2))
QUICK = {
    "bools": [True, False],
    "numbers": [1, 0.5, True, 10**400, float("inf")],
    "decimals": [Decimal(2), Decimal("0.1"), Decimal("-Infinity")],
    "times of day": [clock_time(2), clock_time(1)],
    "times of day, elsewhere": [clock_time(2, tzinfo=UTC), clock_time(1, tzinfo=AWAY)],
    "pairs": [(2, "a"), (1, "b"), (1, "a")],
    "pairs of numbers": [(2, 0.5), (2.0, 0), (1, 7)],
    "nested": [((2, 1), "a"), ((1, 5), "c"), ((1, 4), "b")],
    "empty": [(), ()],
}
SLOW = {
    "mixed": [1, "a"],
    "NaN": [0.5, NAN],
    "NaN among numbers": [1, NAN, 0.5],
    "NaN in pairs": [(1, NAN), (1, 0.5)],
    "NaN in pairs of numbers": [(1, 2), (1, NAN)],
    "decimal NaN": [Decimal(1), Decimal("nan")],
    "with a zone and without": [clock_time(2), clock_time(1, tzinfo=UTC)],
    "lengths": [(1,), (1, 2)],
    "kinds of parts": [(1, "a"), (2, 3), (1, 4)],
    "unordered parts": [(1, frozenset("a")), (1, frozenset("b"))],
    "with the beginning": [BEGINNING, 3],
}


@pytest.mark.parametrize("kind", QUICK)
def test_times_in_one_order_compare_like_min_and_sorted(kind):
    for times in itertools.permutations(QUICK[kind]):
        assert in_one_order(times)
        assert minimal(times) == [min(times)]
        assert ascending(sorted(times))
    assert all(less_equal(a, b) or less_equal(b, a) for a, b in itertools.product(QUICK[kind], repeat=2))


@pytest.mark.parametrize("kind", SLOW)
def test_times_without_an_obvious_order_are_not_in_one(kind):
    """They may still be ordered, and are compared one by one."""
    assert not any(map(in_one_order, itertools.permutations(SLOW[kind])))


def test_dates_and_times_of_day_are_total():
    """The usual types of times are known to be total, so that they are kept in a heap."""
    assert all(map(is_total, [date(2013, 1, 1), datetime(2013, 1, 1), timedelta(1), (1, ("a", 2.0)), BEGINNING, True]))
    assert is_total(Lexicographic(1, "a"))
    assert not any(map(is_total, [frozenset(), (1, frozenset()), Product(1, 2), LoopTime(1, (0,)), Divides(2)]))
