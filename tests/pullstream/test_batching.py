"""Batching is invisible: whatever the limit, the same values, the same calls in the same order, the same failure."""

import pytest

import pullstream as ps

LIMITS = (1, 2, 7, 1024)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("modules", "most"),
    [
        ([ps.take(3)], 3),
        ([ps.map(str), ps.take(3)], 3),
        ([ps.filter(lambda n: True), ps.take(3)], 3),
        ([ps.flat_map(lambda n: [n]), ps.take(3)], 3),
        ([ps.map_batches(list), ps.take(3)], 3),
        ([ps.take(3), ps.map(str), ps.take(9)], 3),
    ],
)
def test_demand_never_grows_on_its_way_up(counting, probe, modules, most, limit):
    """take(3) asks for no more than 3 altogether, through whatever is above it, and the source gives no more."""
    result = ps.run(ps.pipe(counting(probe, 99), *modules, ps.collect()), limit=limit)
    assert len(result) == 3
    assert max(probe.asked) <= min(most, limit)
    assert sum(probe.asked) >= 3
    assert probe.balanced


async def test_nothing_is_produced_that_was_not_asked_for(edge, counting, probe):
    """A source is asked as often as the sink asks, and not before it does (R2)."""
    async with edge(ps.pipe(counting(probe, 99), ps.map(str), ps.map_batches(list))) as reader:
        assert probe.asked == []
        await reader.ask(2)
        assert probe.asked == [2]
        await reader.ask(1)
        assert probe.asked == [2, 1]


async def test_concurrent_calls_ask_for_no_more_than_was_asked_for(edge, counting, probe, autojump_clock):
    """map_async has under way what was asked for, not its concurrency (R2)."""
    started = []

    async def call(value):
        started.append(value)
        return value

    async with edge(ps.pipe(counting(probe, 99), ps.map_async(call, 8))) as reader:
        await reader.ask(2)
        assert len(started) <= 2
        assert sum(probe.asked) <= 2
