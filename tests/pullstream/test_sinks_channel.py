"""to_channel: back-pressure, endings, completion."""

import math

import pytest
import trio

import pullstream as ps


async def test_a_closed_receiver_is_an_abort(counting, probe, autojump_clock):
    send, receive = trio.open_memory_channel(0)
    async with ps.pipe(counting(probe, 9, timed=True), ps.to_channel(send)).open(limit=1) as running:
        assert [await receive.receive(), await receive.receive()] == [0, 1]
        await running.progress.completed(0)
        receive.close()
        assert await running.result() is None
        with pytest.raises(ps.errors.Abandoned):
            await running.progress.completed(3)
    assert probe.reasons == [None]
    assert probe.balanced


@pytest.mark.parametrize("how", ["failure", "abort"])
async def test_the_channel_is_closed_in_every_ending(how, counting, probe, autojump_clock):
    send, receive = trio.open_memory_channel(math.inf)
    source = counting(probe, 3, delay=1, timed=True, failure=KeyError() if how == "failure" else None)
    try:
        async with ps.pipe(source, ps.to_channel(send)).open() as running:
            if how == "abort":
                await trio.sleep(1.5)
                await running.abort()
    except KeyError:
        assert how == "failure"
    assert [value async for value in receive] == ([0, 1, 2] if how == "failure" else [0])


async def test_a_second_run_is_refused():
    send, _ = trio.open_memory_channel(9)
    pipeline = ps.pipe(ps.values([1]), ps.to_channel(send))
    async with pipeline.open():
        pass
    with pytest.raises(ps.errors.ReuseError, match="to_channel"):
        async with pipeline.open():
            pass


@pytest.mark.parametrize("both", [ps.tee, lambda *sinks: ps.partition(str, dict(zip("ab", sinks, strict=True)))])
def test_two_sinks_of_one_channel_are_refused(both):
    """Before anything runs: the first of them to end would close it for the other."""
    send, _ = trio.open_memory_channel(9)
    with pytest.raises(ps.errors.ReuseError, match=r"to_channel.* and to_channel.* would read from the same object"):
        ps.run(ps.pipe(ps.values("ab"), both(ps.to_channel(send), ps.to_channel(send))))
