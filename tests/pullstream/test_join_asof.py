"""`join` with `how="asof"`: the nearest value of the other source, time by time."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

import pullstream as ps
from tests.sampling import amount

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(0, 9)), max_size=8).map(
    lambda rows: [(*row, number) for number, row in enumerate(sorted(rows, key=lambda row: row[0]))]
)


def name(row):
    return row[1]


def place(row):
    return row[2]


def nearest(row, right, strategy):
    """The match of a row (time, key, place, number), in plain Python; of several at one place, the last to look at."""
    same = [other for other in right if other[:2] == row[:2]]
    before = [other for other in same if place(other) <= place(row) and strategy != "forward"]
    after = [other for other in same if place(other) >= place(row) and strategy != "backward"]
    if strategy == "forward":
        return min(after, key=lambda other: (place(other), other[3]), default=None)
    return max(
        {*before, *after}, key=lambda other: (-abs(place(other) - place(row)), place(other), other[3]), default=None
    )


@settings(max_examples=amount(100, 1000), deadline=None)
@given(ROWS, ROWS, st.sampled_from(["backward", "forward", "nearest"]), st.sampled_from([1, 7, 4096]), st.booleans())
def test_each_value_is_paired_with_the_nearest(left, right, strategy, limit, check):
    """At every time, in the order of the places."""
    one, two = (ps.values(rows, time=lambda row: row[0]) for rows in (left, right))
    joined = ps.join(one, two, on=name, how="asof", at=place, strategy=strategy)

    found = ps.run(ps.pipe(joined, ps.collect(timed=True)), limit=limit, check=check)

    ordered = sorted(left, key=lambda row: (row[0], place(row)))
    assert found == [(row[0], (row, nearest(row, right, strategy))) for row in ordered]


def test_two_functions_of_place():
    """Each source has its own, and its own key."""
    joined = ps.join(
        ps.values([5]), ps.values([("x", 4), ("x", 6)]), on=(lambda _: "x", lambda row: row[0]), how="asof",
        at=(int, lambda row: row[1]),
    )  # fmt: skip
    assert ps.run(ps.pipe(joined, ps.collect())) == [(5, ("x", 4))]


@pytest.mark.parametrize("on", ["key", "place"])
def test_values_without_a_key_or_a_place(on):
    """The policy decides; other values are paired."""
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


def test_times_that_do_not_complete_overflow():
    """As in the other joins: only the values of one source may be many."""
    options = {"on": int, "at": int, "how": "asof", "capacity": 20}
    with pytest.raises(ps.Overflow, match="capacity="):
        ps.run(ps.pipe(ps.join(ps.values(range(90)), ps.values(range(90)), **options), ps.collect()), limit=8)

    small = ps.join(ps.values(range(90)), ps.values(range(9)), **options)
    assert len(ps.run(ps.pipe(small, ps.collect()), limit=8)) == 90


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"how": "asof"}, "needs at=, a function"),
        ({"at": place}, "needs at=, a function"),
        ({"how": "asof", "at": "place"}, "at"),
        ({"how": "asof", "at": place, "within": 2}, "pairs values at equal times"),
        ({"how": "asof", "at": place, "strategy": "any"}, "'any'"),
    ],
)
def test_wrong_options_are_refused_when_composing(options, why):
    """The message says what is needed."""
    with pytest.raises(ps.CompositionError, match=f"join\\(\\) at .*{why}"):
        ps.join(ps.values([]), ps.values([]), on=name, **options)
