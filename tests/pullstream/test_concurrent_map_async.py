"""`map_async`: when calls start, when results are answered, and how streams end."""

import types
from contextlib import nullcontext

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import never


@types.coroutine
def of_another_loop():
    yield "what no trio task may yield"


async def test_results_are_answered_while_the_next_call_is_busy(edge, autojump_clock):
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
@pytest.mark.parametrize("concurrency", [1, 3, 16])
async def test_the_concurrency_is_used_and_never_exceeded(concurrency, ordered, edge, drained, autojump_clock):
    now = most = 0

    async def call(n):
        nonlocal now, most
        now += 1
        most = max(now, most)
        await trio.sleep(1)
        now -= 1
        return n

    start = trio.current_time()
    async with edge(ps.pipe(ps.values(range(48)), ps.map_async(call, concurrency, ordered=ordered))) as reader:
        assert sorted(await drained(reader)) == list(range(48))
    assert most == concurrency
    assert trio.current_time() - start == 48 / concurrency


@pytest.mark.parametrize("limit", [1, 16])
async def test_awaiting_another_loop_raises_inside_the_call(limit):
    """Trio's error about a foreign await is raised in the call, and can be caught there."""

    async def call(n):
        try:
            await of_another_loop()
        except TypeError:
            if n == 1:
                raise
            return "caught"

    got = []
    with pytest.raises(TypeError, match="no trio task|unrecognized|asyncio"):
        await ps.arun(ps.pipe(ps.values([0, 1]), ps.map_async(call, 1), ps.drain(got.append)), limit=limit)
    assert got == ["caught"]


@pytest.mark.parametrize("ordered", [True, False])
async def test_no_call_starts_after_one_has_failed(ordered, autojump_clock):
    begun = []

    async def call(n):
        begun.append(n)
        await trio.sleep(3 if n == 0 else 1)
        if n == 1:
            raise ValueError(n)
        return n

    pipeline = ps.pipe(ps.values(range(16)), ps.map_async(call, 3, ordered=ordered), ps.collect())
    with pytest.raises(ValueError, match="1"):
        await ps.arun(pipeline)
    assert set(begun) <= {0, 1, 2, 3}


async def resists(n):
    with trio.CancelScope(shield=True):
        await trio.sleep(1000)


MODULES = {
    "in order": lambda f: ps.map_async(f, 2),
    "as ready": lambda f: ps.map_async(f, 2, ordered=False),
    "failures skipped": lambda f: ps.map_async(f, 2, on_error="skip"),
    "with a prefetch": lambda f: ps.pipe(ps.map_async(f, 2), ps.prefetch(3)),
    "with a clock": lambda f: ps.pipe(ps.map_async(f, 2), ps.throttle(1.0), ps.timeout(1e9)),
    "in flight": lambda f: ps.in_flight(ps.map_async(f, 2), 1),
    "with a switch": lambda f: ps.pipe(ps.map_async(f, 2), ps.abortable(), ps.pausable()),
}


@pytest.mark.parametrize("limit", [1, 5])
@pytest.mark.parametrize("call", [never, resists])
@pytest.mark.parametrize("name", MODULES)
async def test_a_hanging_call_does_not_delay_an_abort(  # noqa: PLR0917 - fixtures
    name, call, limit, edge, counting, probe, autojump_clock
):
    """It is cancelled at once; one that resists gets the release timeout, and then the abort names the module."""
    with trio.move_on_after(900):
        async with (
            edge(ps.pipe(counting(probe, 99), MODULES[name](call)), release_timeout=3.0) as reader,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(reader.lane().ask, limit)
            await trio.sleep(5)
            start = trio.current_time()
            late = pytest.raises(ps.errors.ReleaseTimeout, match=r"^map_async, composed at .* 3.0 s")
            with late if call is resists else nullcontext():
                assert await reader.abort() is ps.DONE
            # The timeout counts again for a task of a module downstream, which waits for the same answer.
            assert 3 * (call is resists) <= trio.current_time() - start <= 6 * (call is resists)
            assert probe.balanced


@pytest.fixture
def hand(monkeypatch):
    """The clock that detects long calls, moved by hand."""
    hand = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr("pullstream.engine.runtime.clocks.perf_counter", lambda: hand.now)
    return hand


@pytest.mark.parametrize("quick", [0, 1, 16, 40])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_calls_that_block_the_loop_are_reported(concurrency, quick, hand, caplog):
    async def compute(n):
        hand.now += 0.1 if n >= quick else 0.0001
        await trio.lowlevel.checkpoint()

    ps.run(ps.pipe(ps.values(range(quick + 100)), ps.map_async(compute, concurrency), ps.drain()))
    (message,) = caplog.messages
    assert "map_async" in message
    assert "has blocked the event loop" in message


async def test_blocking_by_others_is_not_logged(hand, caplog):
    """A call that only passes checkpoints while another task of the program computes has not blocked the loop."""

    async def compute():
        while True:
            hand.now += 0.1
            await trio.lowlevel.checkpoint()

    async def call(_):
        await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(compute)
        await ps.arun(ps.pipe(ps.values(range(200)), ps.map_async(call, 4), ps.drain()))
        nursery.cancel_scope.cancel()
    assert not caplog.messages
