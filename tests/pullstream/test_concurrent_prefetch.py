"""`prefetch`: what is above works while what is below does; bounded, held, and in order."""

import trio

import pullstream as ps


async def slow(n):
    await trio.sleep(1)
    return n


async def test_two_stages_take_as_long_as_the_slower(edge, drained, autojump_clock):
    """The times of the stages overlap: the whole takes their maximum, and without a prefetch their sum."""

    async def slower(n):
        await trio.sleep(2)
        return n

    for module, seconds in [(ps.prefetch(1), 1 + 2 * 10), (ps.map(lambda n: n), 3 * 10)]:
        start = trio.current_time()
        stages = ps.pipe(ps.values(range(10)), ps.map_async(slow, 1), module, ps.map_async(slower, 1))
        async with edge(stages) as reader:
            assert await drained(reader, 1) == list(range(10))
        assert trio.current_time() - start == seconds


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
