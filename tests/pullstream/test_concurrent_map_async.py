"""`map_async`: when calls start, when results are answered, and how it all ends."""

import types

import pytest
import trio

import pullstream as ps


@types.coroutine
def of_another_loop():
    yield "what no trio task may yield"


async def test_what_is_there_is_answered_though_the_next_call_is_busy(edge, autojump_clock):
    """A result does not wait for a call that goes on passing checkpoints, nor for one that waits."""

    async def call(n):
        while n == 1:
            await trio.lowlevel.checkpoint()
        await trio.sleep(1e6 * n)
        return n

    async with edge(ps.pipe(ps.values([0, 1, 2]), ps.map_async(call, 1))) as reader:
        assert (await reader.ask(3)).values == [0]
        await reader.abort()
    async with edge(ps.pipe(ps.values([0, 2]), ps.map_async(call, 1))) as reader:
        assert (await reader.ask(3)).values == [0]
        assert trio.current_time() < 1e6
        await reader.abort()


async def test_no_call_starts_while_nobody_asks(edge, autojump_clock):
    """Between two asks the calls under way go on, and no other is begun, whatever was asked for before."""
    begun = []

    async def call(n):
        begun.append(n)
        await trio.sleep(1)
        return n

    async with edge(ps.pipe(ps.values(range(100)), ps.map_async(call, 2))) as reader:
        assert (await reader.ask(50)).values == [0, 1]
        await trio.sleep(100)
        assert len(begun) <= 4
        assert (await reader.ask(1)).values == [2]
        await reader.abort()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("width", [1, 3, 16])
async def test_the_width_is_used_and_never_exceeded(width, ordered, edge, drained, autojump_clock):
    """So many calls are under way, and the whole takes as long as that makes it."""
    now = most = 0

    async def call(n):
        nonlocal now, most
        now += 1
        most = max(now, most)
        await trio.sleep(1)
        now -= 1
        return n

    start = trio.current_time()
    async with edge(ps.pipe(ps.values(range(48)), ps.map_async(call, width, ordered=ordered))) as reader:
        assert sorted(await drained(reader)) == list(range(48))
    assert most == width
    assert trio.current_time() - start == 48 / width


async def test_the_earliest_value_that_fails_is_the_one_that_counts(autojump_clock):
    """In order, the failure raised is that of the first value, whichever call failed first."""

    async def call(n):
        await trio.sleep(10 - n)
        if n >= 3:
            raise ValueError(n)
        return n

    got = []
    with pytest.raises(ValueError, match="3"):
        async with ps.pipe(ps.values(range(6)), ps.map_async(call, 6), ps.drain(got.append)).open() as running:
            await running.result()
    assert got == [0, 1, 2]


async def test_awaiting_another_loop_fails_as_the_calls_own_error():
    """What trio says of an await that it does not understand is raised in the call, and can be caught there."""

    async def call(n):
        try:
            await of_another_loop()
        except TypeError:
            if n == 1:
                raise
            return "caught"

    got = []
    with pytest.raises(TypeError, match="no trio task|unrecognized|asyncio"):
        async with ps.pipe(ps.values([0, 1]), ps.map_async(call, 1), ps.drain(got.append)).open(limit=1) as running:
            await running.result()
    assert got == ["caught"]
