"""`prefetch`: what is above works while what is below does; bounded, held, and in order."""

import trio

import pullstream as ps


async def test_it_asks_ahead_for_so_many_and_no_more(edge, counting, probe, autojump_clock):
    """Nothing is asked for before the first ask; from then on so many values are kept or under way, at most."""
    async with edge(ps.pipe(counting(probe, 99, delay=1.0), ps.prefetch(3))) as reader:
        await trio.sleep(10)
        assert probe.asked == []
        assert (await reader.ask(1)).values == [0]
        await trio.sleep(10)
        assert probe.asked == [3, 1]
        assert (await reader.ask(100)).values == [1, 2, 3]
        await reader.abort()
    assert probe.balanced
