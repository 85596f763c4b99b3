"""take and skip, by number and by test: a stream's beginning, and its rest."""

from itertools import dropwhile, takewhile

import more_itertools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullstream as ps

LIMITS = (1, 2, 7, 4096)
values = st.lists(st.integers(0, 6), max_size=25)
limits = st.sampled_from(LIMITS)
bounds = st.integers(0, 6)


def through(data, *modules, limit=4096, time=None):
    return ps.run(ps.pipe(ps.values(data, time=time), *modules, ps.collect()), limit=limit)


@settings(deadline=None)
@given(values, bounds, limits, st.sampled_from([1, 2, 99]))
def test_take_by_a_test_is_takewhile(data, bound, limit, ahead):
    """With a test take is takewhile, inclusive with `last`, however far it asks ahead."""

    def small(n):
        return n < bound

    assert through(data, ps.take(small, ahead=ahead), limit=limit) == list(takewhile(small, data))
    inclusive = list(more_itertools.takewhile_inclusive(small, data))
    assert through(data, ps.take(small, last=True, ahead=ahead), limit=limit) == inclusive


@settings(deadline=None)
@given(values, bounds, limits)
def test_skip_by_a_test_is_dropwhile(data, bound, limit):
    """With a test skip is dropwhile: what comes after the first value that fails it passes unseen."""
    tested = []

    def small(n):
        tested.append(n)
        return n < bound

    expected = list(dropwhile(lambda n: n < bound, data))
    assert through(data, ps.skip(small), limit=limit) == expected
    assert tested == data[: len(data) - len(expected) + bool(expected)]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("last", [False, True])
def test_nothing_past_the_match_is_produced(counting, probe, last, limit):
    """By a test take asks for one value at a time, however many are asked of it (R2), then aborts (R7)."""
    result = ps.run(
        ps.pipe(counting(probe, 99), ps.map(str), ps.take(lambda n: n != "3", last=last), ps.collect()), limit=limit
    )
    assert result == ["0", "1", "2", "3"][: 3 + last]
    assert probe.asked == [1, 1, 1, 1]
    assert probe.reasons == [None]
    assert probe.balanced
    assert not probe.ended


async def test_ahead_asks_for_more_at_a_time(edge, counting, probe):
    """`ahead` is how many it may ask for; never more than it is asked for itself."""
    async with edge(ps.pipe(counting(probe, 99), ps.take(lambda n: n < 10, ahead=8))) as reader:
        for limit in (100, 4, 100, 100):
            answer = await reader.ask(limit)
    assert probe.asked == [8, 4]
    assert answer is ps.DONE


@pytest.mark.parametrize("limit", LIMITS)
def test_skip_asks_for_no_more_than_is_asked_for(counting, probe, limit):
    """`skip` asks at once for the values it leaves out and for those that are wanted, and for no others."""
    result = ps.run(ps.pipe(counting(probe, 99), ps.skip(5), ps.take(3), ps.collect()), limit=limit)
    assert result == [5, 6, 7]
    assert probe.asked[0] == min(limit, 8)
    assert sum(probe.asked) == 8
