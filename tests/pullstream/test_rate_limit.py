"""`timeout`, `rate_limit`, `throttle`, `debounce`, `sample`: by trio's clock, which is virtual here."""

import random

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Cut, in_virtual_time

pytestmark = pytest.mark.usefixtures("no_clocks")


@ps.source
async def at(ctx, script):
    """Gives (when, value) or (when, value, time) at those instants."""
    begin = trio.current_time()
    for when, value, *time in script:
        await trio.sleep_until(begin + when)
        yield ps.Batch(time[0] if time else 0, [value])


async def seen(source, limit=4096):
    """The values with their instants, (instant, value), and the end."""
    found = []
    begin = trio.current_time()

    @ps.sink
    async def look(upstream, ctx):
        while (batch := await upstream.ask(limit)) is not ps.DONE:
            found.extend((round(trio.current_time() - begin, 9), value) for value in batch.values)
        found.append((round(trio.current_time() - begin, 9), "end"))

    async with ps.pipe(source, look()).open(limit=limit, check=True) as running:
        await running.wait()
    return found


# ---- timeout


async def test_a_slow_answer_fails_and_notifies_upstream(edge, counting, probe, autojump_clock):
    async with edge(ps.pipe(counting(probe, 9, delay=3.0), ps.timeout(2.0).named("patience"))) as reader:
        start = trio.current_time()
        why = r"patience, composed at .*test_rate_limit.py.* within 2.0 s\. Allow more with a larger seconds="
        with pytest.raises(TimeoutError, match=why) as caught:
            await reader.ask(1)
        assert isinstance(caught.value, ps.AskTimeout)
        assert str(caught.value).endswith("with running.progress.explain(time)")
        assert trio.current_time() - start == 2
        assert probe.reasons == [caught.value]
    assert probe.balanced


async def test_the_clock_of_a_timeout_runs_only_while_asked(edge, counting, probe, drained, autojump_clock):
    async with edge(ps.pipe(counting(probe, 3, delay=1.5), ps.timeout(2.0))) as reader:
        assert (await reader.ask(1)).values == [0]
        await trio.sleep(100)
        assert await drained(reader, 1) == [1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_an_answer_at_the_deadline_is_in_time(seed):
    async def main():
        late = ps.pipe(ps.integers(), ps.rate_limit(1, per=2), ps.timeout(2))
        assert await ps.arun(ps.pipe(late, ps.take(9), ps.collect())) == [*range(9)]
        return trio.current_time()

    assert in_virtual_time(main, seed=seed) == 2 * 8


# ---- rate


@pytest.mark.parametrize("limit", [1, 2, 7, 1024])
async def test_no_period_has_more_than_the_limit(limit, autojump_clock):
    found = await seen(ps.pipe(ps.values(range(10)), ps.rate_limit(3, per=2.0)), limit)
    assert [value for _, value in found] == [*range(10), "end"]
    assert [when for when, _ in found] == [0, 0, 0, 2, 2, 2, 4, 4, 4, 6, 6]


async def test_a_rate_counts_values_of_the_last_period(autojump_clock):
    script = [(0, "a"), (1.5, "b"), (1.6, "c"), (9, "d")]
    assert await seen(ps.pipe(at(script), ps.rate_limit(2, per=2.0)), 1) == [
        (0, "a"), (1.5, "b"), (2, "c"), (9, "d"), (9, "end"),
    ]  # fmt: skip


# ---- throttle, debounce, sample: one logical time


BURSTS = [(0, "a"), (0.5, "b"), (0.9, "c"), (1.2, "d"), (5, "e"), (5.1, "f")]


OF_BURSTS = [
    (ps.throttle(1.0), [(0, "a"), (1, "c"), (2, "d"), (5, "e"), (5.1, "f")]),
    (ps.debounce(1.0), [(2.2, "d"), (5.1, "f")]),
    (ps.sample(1.0), [(1, "c"), (2, "d"), (5.1, "f")]),
]


@pytest.mark.parametrize(("module", "found"), OF_BURSTS, ids=["throttle", "debounce", "sample"])
async def test_values_kept_of_bursts(module, found, limit, autojump_clock):
    """The first and the latest of an interval, the last of a burst, the latest at every tick; the last of all."""
    assert await seen(ps.pipe(at(BURSTS), module), limit) == [*found, (5.1, "end")]


@pytest.mark.parametrize(
    ("module", "values"),
    [(ps.sample(3), [1, 4, 7, 9]), (ps.throttle(3), [0, 2, 5, 8, 9]), (ps.debounce(1), [*range(10)])],
)
@pytest.mark.parametrize("_", range(5))
async def test_a_value_at_a_tick_replaces_nothing(module, values, _, autojump_clock):
    found = await seen(ps.pipe(ps.interval(1), ps.take(10), module))
    assert [value for _, value in found[:-1]] == values


# ---- several logical times


@pytest.mark.parametrize("module", [ps.throttle, ps.debounce, ps.sample])
async def test_the_last_value_of_a_time_is_emitted_when_it_completes(module, autojump_clock):
    script = [(0, "a1", 1), (0.1, "a2", 1), (0.2, "a3", 1), (0.3, "b1", 2), (0.4, "b2", 2), (0.5, "c", 3)]
    pipeline = ps.pipe(at(script), module(100.0), ps.collect(timed=True))
    found = await ps.arun(pipeline, check=True)
    if module is ps.throttle:
        assert found.pop(0) == (1, "a1")
    assert found == [(1, "a3"), (2, "b2"), (3, "c")]


async def test_open_times_take_turns(autojump_clock):
    """One gets a value every moment, which must not leave it behind the others."""
    script = [(n / 4, (time, n)) for n in range(30) for time in ([0, 1, 2] if n % 4 == 0 else [0])]
    found = await seen(ps.pipe(at(script), ps.stamp(lambda value: value[0], lateness=2), ps.throttle(1)))
    assert [time for _, (time, _) in found[:7]] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("module", [ps.throttle, ps.debounce, ps.sample])
async def test_the_untaken_rest_of_a_batch_is_in_flight(module, edge, autojump_clock):
    source = ps.pipe(ps.values(range(1000), time=lambda n: n), module(0.1))
    async with edge(source) as reader:
        for _ in range(5):
            batch = await reader.ask(1)
            await trio.sleep(10)
            assert min(reader.edge.module.location.held) == batch.time + 1
            assert len(reader.edge.module.location.held) <= 2
        await reader.abort()


@ps.source
async def arriving(ctx, seed):
    """Emit several values at a time, at random instants."""
    rng, values = random.Random(seed), list(range(60))
    while values:
        await trio.sleep(rng.choice([0, 1, 3]))
        count = min(ctx.limit, rng.randint(1, 9))
        yield ps.Batch(0, values[:count])
        del values[:count]


@pytest.mark.parametrize("module", [ps.throttle(2), ps.debounce(2), ps.sample(1.37)], ids=str)
@pytest.mark.parametrize("slow", [0, 5])
def test_a_multi_time_batch_is_processed_like_its_runs(module, slow):
    """The same values at the same instants, whether multi-time batches are whole or cut; no tick coincides with them.

    Whether a value that is due when others arrive is replaced depends on the order of tasks. A slow consumer asks for
    one value at a time: those that it gets together are ready at the same instant.
    """

    async def main(seed, *between):
        rng = random.Random(seed)
        jitter = [n // 3 + rng.randint(0, 6) for n in range(60)]
        found = []

        @ps.sink
        async def look(upstream, ctx):
            while (batch := await upstream.ask_many(1 if slow else 9)) is not ps.DONE:
                found.extend(
                    (trio.current_time() - begin, *pair) for pair in zip(batch.times, batch.values, strict=True)
                )
                await trio.sleep(rng.random() * slow)

        begin = trio.current_time()
        source = ps.pipe(arriving(seed), ps.stamp(jitter.__getitem__, lateness=7), *between)
        async with ps.pipe(source, module, look()).open() as running:
            await running.wait()
        return found

    for seed in range(5):
        whole = in_virtual_time(main, seed)
        assert whole == in_virtual_time(main, seed, Cut()), seed
