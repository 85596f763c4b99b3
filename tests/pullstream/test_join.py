"""`join`: which pairs it emits and when, what it keeps meanwhile, and how it ends."""

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import trio
import trio.lowlevel
from hypothesis import given, settings, strategies as st

import pullstream as ps
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.modules.combining.join_state import Near
from tests.pullstream.common import after, delayed, run
from tests.sampling import amount
from timely import Antichain, Product, TimeDomainError


def name(row):
    """The key of a row (time, key, number)."""
    return row[1]


def pairs(left, right, how, within):
    """The (time, pair) results for rows, in plain Python."""
    found = []
    for row in left:
        matches = [other for other in right if other[1] == row[1] and abs(other[0] - row[0]) <= (within or 0)]
        if how not in {"semi", "anti"}:
            found += [(max(row[0], other[0]), (row, other)) for other in matches]
        if how in {"left", "full"} and not matches:
            found.append((row[0], (row, None)))
        if how == "anti" and not matches:
            found.append((row[0], row))
        if how == "semi" and matches:
            found.append(([max(row[0], other[0]) for other in matches], row))
    if how == "full":
        found += [(time, (None, row)) for time, (row, match) in pairs(right, left, "left", within) if match is None]
    return sorted(found, key=repr)


# ---- delays and schedules at random


rows_of_one = st.lists(st.tuples(st.integers(-2, 7), st.sampled_from("ab"), st.integers(0, 99)), max_size=10)
sides = st.lists(rows_of_one.map(lambda rows: sorted(rows, key=lambda row: row[0])), min_size=1, max_size=2).map(tuple)


def side(rows, seed):
    """One side, whose times are in any order if it has several sources."""
    return ps.merge(*[delayed(some, seed + number) for number, some in enumerate(rows)])


@settings(max_examples=amount(30, 400), deadline=None)
@given(
    sides,
    sides,
    st.sampled_from(["inner", "left", "full", "semi", "anti"]),
    st.sampled_from([None, None, 1, 2.5]),
    st.sampled_from([1, 2, 7, 4096]),
    st.integers(0, 1000),
)
def test_pairs_equal_plain_python(left, right, how, within, limit, seed):  # noqa: PLR0917 - of a random case
    joined = ps.join(side(left, seed), side(right, -seed), on=name, how=how, within=within)
    found = run(ps.pipe(joined, ps.collect(timed=True)), limit, seed=seed)
    expected = pairs(list(itertools.chain(*left)), list(itertools.chain(*right)), how, within)
    if how == "semi":
        # Which match of a row is the first depends on the schedule.
        times = {row: times for times, row in expected}
        assert all(time in times[row] for time, row in found)
        found, expected = ([each for _, each in results] for results in (found, expected))
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_times_of_other_kinds():
    products = [Product(0, 1), Product(1, 0), Product(1, 1)]
    each = [ps.values([time], time=lambda time: time) for time in products]
    joined = ps.join(ps.merge(*each), ps.merge(*each[1:]), on=lambda _: 0, how="left")
    assert sorted(ps.run(ps.pipe(joined, ps.collect(timed=True))), key=repr) == [
        (products[0], (products[0], None)),
        (products[1], (products[1], products[1])),
        (products[2], (products[2], products[2])),
    ]
    hours = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (0, 5, 7)]
    near = ps.join(
        ps.values(hours[:1] + hours[2:], time=lambda time: time),
        ps.values(hours[1:2], time=lambda time: time),
        on=lambda _: 0,
        within=timedelta(hours=2),
    )
    assert ps.run(ps.pipe(near, ps.collect(timed=True))) == [(hours[2], (hours[2], hours[1]))]
    near = ps.join(ps.values([1, 7], time=np.int64), ps.values([5], time=np.int64), on=lambda _: 0, within=2)
    assert ps.run(ps.pipe(near, ps.collect(timed=True))) == [(7, (7, 5))]


@settings(max_examples=amount(20, 300), deadline=None)
@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(1e-3, 10), st.booleans())
def test_nearness_does_not_depend_on_arrival_order(one, other, within, late):
    def made(left_late):
        sources = [ps.values([time], time=lambda time: time) for time in (one, other)]
        slow = 0 if left_late else 1
        sources[slow] = ps.pipe(sources[slow], ps.map_async(after(1), 1))
        return ps.pipe(ps.join(*sources, on=lambda _: 0, within=within), ps.collect(timed=True))

    assert run(made(late)) == run(made(not late))


# ---- completeness and memory


class Moves(list):
    """A list that counts how many of its values move when others are deleted."""

    moved = 0

    def __delitem__(self, key):
        Moves.moved += len(self) - key.stop
        super().__delitem__(key)


def test_values_of_a_frequent_key_are_forgotten_singly(monkeypatch):
    monkeypatch.setattr(Moves, "moved", 0)
    near, many = Near(), 300
    for time in range(many):
        near.add([("hot", time, time, str(time), 0, True)])
    row = near.rows["hot"]
    row.values = Moves(row.values)
    for time in range(many):
        assert row.values[row.begin :] == [str(left) for left in range(time, many)]
        near.forget(Antichain([time + 1]))
    assert near.size == 0
    assert not near.rows
    assert Moves.moved <= many


async def test_a_source_ahead_waits(autojump_clock):
    """No more than `capacity` values of a source are kept; it is asked again when the other has caught up."""
    given_ = []

    fast = ps.pipe(ps.values(range(100), time=int), ps.tap(given_.append))
    slow = ps.pipe(ps.values(range(100), time=int), ps.map_async(after(1), 1))
    ahead = []

    def look(pair):
        ahead.append(len(given_) - pair[0])

    await ps.arun(ps.pipe(ps.join(fast, slow, on=int, capacity=5), ps.drain(look)), check="strict")
    assert len(ahead) == 100
    assert max(ahead) == 5


@pytest.mark.parametrize("how", [{}, {"how": "asof", "at": int}], ids=str)
def test_sources_both_ahead_overflow(how):
    """While times stay incomplete, neither is asked: only one source may have many values."""

    def joined(left, right):
        return ps.pipe(
            ps.join(ps.values(range(left)), ps.values(range(right)), on=int, capacity=20, **how), ps.collect()
        )

    with pytest.raises(ps.Overflow, match="capacity="):
        ps.run(joined(90, 90), limit=8)
    assert len(ps.run(joined(90, 9), limit=8)) == (90 if how else 9)


# ---- endings


async def test_it_ends_when_no_pair_can_follow(new_probe, counting, autojump_clock):
    """When one source has ended, and nothing is kept of it, the other one is aborted (R7)."""
    for how, which in (("inner", 0), ("inner", 1), ("left", 0), ("asof", 0)):
        probes = [new_probe(), new_probe()]
        lengths = [3, 10**9] if which == 0 else [10**9, 3]
        sources = [counting(each, length, delay=0.1, timed=True) for each, length in zip(probes, lengths, strict=True)]
        joined = ps.join(*sources, on=int, how=how, **{"at": int} if how == "asof" else {})
        assert await ps.arun(ps.pipe(joined, ps.collect()), check="strict") == [(0, 0), (1, 1), (2, 2)]
        assert probes[1 - which].reasons == [None]
        assert all(each.balanced for each in probes)


def test_one_instant_in_two_zones(limit):
    """On the day before clocks change, a day ends sooner in one of them: values at that time go in turns."""
    noon, hour = datetime(2026, 3, 28, 12, tzinfo=UTC), timedelta(hours=1)
    rows = [noon.astimezone(ZoneInfo("Europe/Paris")), noon, noon + 30 * hour]
    ticks = [noon + number * hour / 2 for number in range(60)]
    left, right = (ps.values(times, time=lambda time: time) for times in (rows, ticks))
    joined = ps.join(left, right, on=(lambda _: "row", lambda _: "tick"), how="left", within=timedelta(days=1))
    assert ps.run(ps.pipe(joined, ps.collect()), limit=limit) == [(row, None) for row in rows]


@pytest.mark.parametrize("within", [None, 1])
def test_keys_are_computed_once(within):
    asked = []

    def key(number):
        asked.append(number)
        return [number] if number % 3 else number

    joined = ps.join(ps.values(range(50)), ps.values(range(50)), on=(key, int), within=within, on_error="skip")
    assert sorted(ps.run(ps.pipe(joined, ps.collect()))) == [(number, number) for number in range(0, 50, 3)]
    assert asked == [*range(50)]


def test_times_without_distances_are_refused():
    for time, within in (("monday", 1), (Product(1, 2), 1), (3, timedelta(1)), ((1, 2), 1), (np.int8(127), 1)):
        source = ps.values([1], time=lambda _, time=time: time)
        with pytest.raises(TimeDomainError, match=r"join.*map_time"), np.errstate(over="ignore"):
            ps.run(ps.pipe(ps.join(source, source, on=int, within=within), ps.drain()))


TIMED, TIMELESS = ps.values(range(3), time=int), ps.values(range(3))
FIRST, SECOND, NONE = ps.values(range(3), time=lambda _: 1), ps.values(range(3), time=lambda _: 2), ps.empty()
BOTH = ps.concat(FIRST, SECOND)
WITHIN, ASOF = {"within": 1}, {"how": "asof", "at": int}


@pytest.mark.parametrize(
    ("left", "right", "on", "options", "message"),
    [
        (TIMED, TIMED, int, WITHIN, None),
        (TIMED, ps.values([0], time=int), int, WITHIN, None),
        (TIMELESS, TIMED, int, WITHIN, "its source 1 at the time 0"),
        (TIMED, TIMELESS, int, WITHIN, "its source 2 at the time 0"),
        (TIMELESS, TIMELESS, int, WITHIN, "its source 1 and of its source 2 at the time 0"),
        (TIMELESS, TIMELESS, int, {}, None),
        (FIRST, SECOND, int, {}, "is at 1 in source 1 and at 2 in source 2. Allow a distance with within="),
        (FIRST, FIRST, (int, str), {"how": "left"}, "of type int, like 0, and those of source 2 of type str, like '0'"),
        (FIRST, FIRST, (int, lambda n: n + 3), {}, None),
        (FIRST, BOTH, int, {}, None),
        (FIRST, NONE, int, {"how": "left"}, None),
        (FIRST, SECOND, int, ASOF, "have no time in common"),
        (FIRST, BOTH, int, ASOF, None),
        (BOTH, SECOND, int, ASOF, None),
        (FIRST, NONE, int, ASOF, None),
        (NONE, SECOND, int, ASOF, None),
    ],
)
def test_a_join_that_pairs_nothing_says_why(left, right, on, options, message, caplog):  # noqa: PLR0917 - a row
    ps.run(ps.pipe(ps.join(left, right, on=on, **options), ps.drain()))
    assert (message in caplog.text) if message else not caplog.records


# ---- the nearest value: `how="asof"`


ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(0, 9)), max_size=8).map(
    lambda rows: [(*row, number) for number, row in enumerate(sorted(rows, key=lambda row: row[0]))]
)


def place(row):
    return row[2]


def nearest(row, right, strategy):
    """The match of a row (time, key, place, number), in plain Python; of several at one place, the nearest in order."""
    same = [other for other in right if other[:2] == row[:2]]
    before = [other for other in same if place(other) <= place(row) and strategy != "forward"]
    after = [other for other in same if place(other) >= place(row) and strategy != "backward"]
    if strategy == "forward":
        return min(after, key=lambda other: (place(other), other[3]), default=None)
    return max(
        {*before, *after}, key=lambda other: (-abs(place(other) - place(row)), place(other), other[3]), default=None
    )


@settings(max_examples=amount(40, 1000), deadline=None)
@given(ROWS, ROWS, st.sampled_from(["backward", "forward", "nearest"]), st.sampled_from([1, 7, 4096]), st.booleans())
def test_each_value_is_paired_with_the_nearest(left, right, strategy, limit, check):
    one, two = ps.values(left, time=lambda row: row[0]), ps.values([[row] for row in right], time=lambda row: row[0][0])
    functions = {"on": (name, lambda row: name(row[0])), "at": (place, lambda row: place(row[0]))}
    joined = ps.join(one, two, how="asof", strategy=strategy, **functions)

    found = ps.run(ps.pipe(joined, ps.collect(timed=True)), limit=limit, check=check)

    ordered = sorted(left, key=lambda row: (row[0], place(row)))
    matches = [nearest(row, right, strategy) for row in ordered]
    assert found == [(row[0], (row, match and [match])) for row, match in zip(ordered, matches, strict=True)]


@pytest.mark.parametrize("on", ["key", "place"])
def test_values_without_a_key_or_a_place(on):
    rows = [(0, "a", 1), (0, "b", 2)]

    def only_a(row):
        return {"a": 0}[row[1]]

    functions = {"on": name, "at": place} | ({"on": only_a} if on == "key" else {"at": only_a})
    joined = ps.join(ps.values(rows), ps.values(rows), how="asof", **functions)
    with pytest.raises(KeyError, match="b"):
        ps.run(ps.pipe(joined, ps.collect()))

    failed = []
    policy = ps.drain(lambda failure: failed.append(failure.value))
    joined = ps.join(ps.values(rows), ps.values(rows), how="asof", on_error=policy, **functions)
    assert ps.run(ps.pipe(joined, ps.collect())) == [(rows[0], rows[0])]
    assert Counter(failed) == {rows[1]: 2}


@pytest.mark.parametrize("values", [(0, 1, 2, 3), (0, 3, 1), [1, 0]])
@pytest.mark.parametrize("within", [None, 5])
def test_a_key_that_raises_stop_iteration_skips_only_its_value(values, within):
    left, right = ps.values(values, time=lambda _: 1), ps.values([0, 20, 30], time=lambda _: 1)
    failed = []

    def key(number):
        return next(iter([] if number == 1 else [10 * number]))

    joined = ps.join(left, right, on=(key, int), within=within, on_error=ps.drain(failed.append))
    found = ps.run(ps.pipe(joined, ps.collect()))
    assert sorted(found) == [(number, 10 * number) for number in sorted(values) if number != 1]
    assert [failure.value for failure in failed] == [1]


def test_unordered_times_share_a_wait(monkeypatch):
    attend, until = Sidecar.attend, Sidecar.until
    counts = Counter()

    def attended(sidecar, waiter):
        counts["watches"] += 1
        attend(sidecar, waiter)

    async def waited(sidecar, *args, **kwargs):
        counts["waits"] += 1
        await until(sidecar, *args, **kwargs)

    monkeypatch.setattr(Sidecar, "attend", attended)
    monkeypatch.setattr(Sidecar, "until", waited)

    @ps.source
    async def numbers(ctx, begin):
        for number in range(begin, begin + 50):
            await trio.lowlevel.checkpoint()
            yield ps.Batch(Product(number, number), [number])

    found = ps.run(ps.pipe(ps.join(numbers(0), numbers(25), on=lambda n: n), ps.collect()))
    assert sorted(found) == [(number, number) for number in range(25, 50)]
    assert counts["watches"] <= 2 * counts["waits"], counts
