"""Stages that emit at most one result for each value: take, skip, filter_not, tap, unique, duplicates, scan."""

import operator
from itertools import dropwhile, takewhile

import more_itertools
import pytest
import trio
from hypothesis import given, settings, strategies as st

import pullstream as ps
from tests.pullstream.common import Leaky, Unseen, finish, through
from tests.sampling import amount

values = st.lists(st.integers(0, 6), max_size=25)
limits = st.sampled_from([1, 2, 7, 4096])
bounds = st.integers(0, 6)


@settings(deadline=None, max_examples=amount(30, 300))
@given(values, st.sampled_from([None, 1, 2, 3, 4]), limits)
def test_a_capacity_remembers_the_latest_keys(data, capacity, limit):
    """`duplicates` passes on the values that `unique` drops."""
    numbered, passed, again = list(enumerate(data)), [], []
    for position, value in numbered:
        lately = list(more_itertools.unique_everseen(reversed(data[:position])))[:capacity]
        (again if value in lately else passed).append((position, value))
    for module, expected in ((ps.unique, passed), (ps.duplicates, again)):
        assert through(numbered, module(operator.itemgetter(1), capacity=capacity), limit=limit) == expected


@settings(deadline=None, max_examples=amount(30, 300))
@given(values, bounds, limits, st.sampled_from([1, 2, 99]))
def test_take_by_a_test_is_takewhile(data, bound, limit, ahead):
    def small(n):
        return n < bound

    assert through(data, ps.take(small, ahead=ahead), limit=limit) == list(takewhile(small, data))
    inclusive = list(more_itertools.takewhile_inclusive(small, data))
    assert through(data, ps.take(small, last=True, ahead=ahead), limit=limit) == inclusive


@settings(deadline=None, max_examples=amount(30, 300))
@given(values, bounds, limits)
def test_skip_by_a_test_is_dropwhile(data, bound, limit):
    tested = []

    def small(n):
        tested.append(n)
        return n < bound

    expected = list(dropwhile(lambda n: n < bound, data))
    assert through(data, ps.skip(small), limit=limit) == expected
    assert tested == data[: len(data) - len(expected) + bool(expected)]


@pytest.mark.parametrize(
    ("modules", "result"),
    [
        *(((ps.take(lambda n: n != "3", last=last), ps.collect()), [*"0123"][: 3 + last]) for last in (False, True)),
        ((ps.find(lambda n: n == "3"),), "3"),
        ((ps.filter(lambda n: n == "3"), ps.first()), "3"),
    ],
    ids=str,
)
def test_nothing_past_the_match_is_produced(counting, probe, modules, result, limit):
    """With a test, take asks for one value at a time, however many it is asked for (R2), then aborts (R7)."""
    assert ps.run(ps.pipe(counting(probe, 99), ps.map(str), *modules), limit=limit) == result
    assert probe.asked == [1, 1, 1, 1]
    assert probe.reasons == [None]
    assert probe.balanced
    assert not probe.ended


async def test_ahead_asks_for_more_at_a_time(edge, counting, probe):
    async with edge(ps.pipe(counting(probe, 99), ps.take(lambda n: n < 10, ahead=8))) as reader:
        for limit in (100, 4, 100, 100):
            answer = await reader.ask(limit)
    assert probe.asked == [8, 4]
    assert answer is ps.DONE


def test_skip_asks_for_no_more_than_it_needs(counting, probe, limit):
    result = ps.run(ps.pipe(counting(probe, 99), ps.skip(5), ps.take(3), ps.collect()), limit=limit)
    assert result == [5, 6, 7]
    assert probe.asked[0] == min(limit, 8)
    assert sum(probe.asked) == 8


def raising(value):
    raise Unseen(value)


@pytest.mark.parametrize(
    ("modules", "shown"),
    [
        ([ps.map(str), ps.filter_not(raising), ps.map(str)], "filter_not(raising)"),
        ([ps.map(str), ps.tap(raising), ps.map(str)], "tap(raising)"),
        ([ps.map(int), ps.unique(raising), ps.map(str)], "unique(raising)"),
        ([ps.map(int), ps.scan(lambda *args: raising(args)), ps.map(str)], "scan("),
        ([ps.map(int, on_error="skip"), ps.map(raising)], "map(raising)"),
        ([ps.map(int, on_error="skip"), ps.filter(len, on_error="skip"), ps.map(str)], None),
    ],
)
def test_the_culprit_of_a_fused_row_is_named(modules, shown):
    if shown is None:
        assert through("12", *modules) == []
        return
    with pytest.raises(Unseen) as raised:
        through("12", *modules)
    assert raised.value.__notes__[0].startswith(f"raised in {shown}")
    assert __file__ in raised.value.__notes__[0]


# ---- the end


ENDINGS = {
    **dict.fromkeys(["end", "take", "abort", "cancel", "never asked"]),
    "source fails": "from the source",
    "function raises": "0",
    "error": "from downstream",
}
"""The ways to end, and the exception that `on_end` is called with; None for none."""


@pytest.mark.parametrize("ending", ENDINGS)
async def test_on_end_is_called_once_in_every_ending(ending, edge, counting, probe, autojump_clock):
    ends, begun = [], trio.Event()

    def ended(exc):
        assert probe.acquired == probe.released
        ends.append(exc)

    async def begin(value):
        begun.set()
        await trio.sleep(ending == "cancel")
        return value

    failure = Unseen("from the source") if ending == "source fails" else None
    function = raising if ending == "function raises" else lambda _: None
    modules = [ps.map_async(begin, 1), ps.tap(function, on_end=ended), *[ps.take(1)] * (ending == "take")]
    async with edge(ps.pipe(counting(probe, 3, failure=failure), *modules)) as reader:
        await finish(reader, ending, begun)
        assert len(ends) == 1
    assert [exc and str(exc) for exc in ends] == [ENDINGS[ending]]


@pytest.mark.parametrize("raises", [False, True])
async def test_on_end_and_a_failed_release(raises, edge, counting, probe):
    """It gets the error of a release that fails; if it raises, that is a release that fails."""
    ends = []
    source, ended = (counting(probe, 9), raising) if raises else (Leaky(), ends.append)
    async with edge(ps.pipe(source, ps.tap(lambda _: None, on_end=ended))) as reader:
        await reader.ask(1)
        with pytest.raises(Unseen, match=None if raises else "release") as raised:
            await reader.abort()
        assert probe.released == raises
    assert ends == [raised.value] * (not raises)
