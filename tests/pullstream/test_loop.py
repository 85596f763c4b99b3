"""Loops: values that go round, values that leave, when rounds are complete, and bounds."""

from functools import partial

import pytest
import trio

import pullstream as ps
from pullstream.conformance.ready import resolved
from tests.pullstream.common import script


@ps.transformer
async def per_round(upstream, ctx, step, most):
    """Sends values round at once, and keeps an entry for each round until it is complete."""
    kept = set()
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                kept.add(time)
                most.append(len(kept))
                yield ps.Batch(time, [step(value) for value in values])
            case ps.Completed(time):
                kept.remove(time)


def count_to(last):
    return lambda n: n if n == last else ps.Again(n + 1)


@pytest.mark.parametrize("times", [None, lambda n: n])
async def test_a_body_keeps_only_open_rounds(limit, times, autojump_clock):
    most = []
    pipeline = ps.pipe(ps.values([0], time=times), ps.loop(per_round(count_to(60), most)), ps.collect())
    assert await ps.arun(pipeline, limit=limit, check="strict") == [60]
    assert len(most) == 61
    assert max(most) <= 2


async def test_a_ready_source_is_asked_between_two_rounds():
    """Values that go round in one step do not delay a task that asks outside, so rounds complete as they pass."""
    most = []

    class PerRound(ps.authoring.Notified):
        def receive(self, batch):
            self.notify(batch.time, batch.time)
            most.append(len(self.requests))
            self.give(batch.time, [count_to(60)(value) for value in batch.values])

        def complete(self, time):
            """Keep nothing of it."""

    pipeline = ps.pipe(script(0), ps.loop(ps.transformer(PerRound)()), ps.collect())
    assert await ps.arun(pipeline) == [60]
    assert max(most) <= 2


async def test_looping_values_precede_values_outside(counting, probe, autojump_clock):
    inside = [0, 0]

    def body(value):
        n, left = value if isinstance(value, tuple) else (value, 3)
        if not isinstance(value, tuple):
            inside[0] += 1
            inside[1] = max(inside)
        if left:
            return ps.Again((n, left - 1))
        inside[0] -= 1
        return n

    assert await ps.arun(ps.pipe(counting(probe, 50), ps.loop(ps.map(body)), ps.collect()), limit=1) == list(range(50))
    assert inside == [0, 1]


def grouped(calls):
    return ps.pipe(ps.group_by(lambda _: 0, calls), ps.map(lambda pair: pair[1]))


later = partial(resolved, "transformer")


@pytest.mark.parametrize("streams", [[], [grouped], [grouped, grouped], [later, later]])
async def test_a_later_time_waits_outside(streams, autojump_clock):
    """While a time goes round, no value at a later one enters, except one that cannot be waited for."""
    order = []

    async def body(value):
        time, left = value
        order.append(time)
        await trio.sleep(1)
        return ps.Again((time, left - 1)) if left else time

    source = ps.values([(0, 3), (1, 0), (1, 2), (2, 0)], time=lambda value: value[0])
    calls = ps.map_async(body, 4)
    for stream in streams:
        # In a stream of the body, or in a stream of a stream.
        calls = stream(calls)
    await ps.arun(ps.pipe(source, ps.loop(calls), ps.drain()))
    assert order == sorted(order)


def test_a_loop_that_grows_without_end_fails():
    released = []

    def numbers():
        try:
            yield from range(3)
        finally:
            released.append(True)

    grow = ps.flat_map(lambda n: [ps.Again(n), ps.Again(n + 1)])
    with pytest.raises(ps.Overflow, match=r"loop ingress, composed at .* its capacity is 100\. .* raise capacity="):
        ps.run(ps.pipe(ps.values(numbers()), ps.loop(grow, capacity=100), ps.collect()))
    assert released == [True]
    # Among many times, values that went round before the one too many do not change the error.
    thrice = ps.flat_map(lambda n: [ps.Again(n)] * 3)
    source = ps.pipe(ps.values(range(40)), ps.stamp(lambda n: n % 5, lateness=9))
    for capacity in range(7, 31):
        with pytest.raises(ps.Overflow, match="loop ingress"):
            ps.run(ps.pipe(source, ps.loop(thrice, capacity=capacity), ps.collect()), limit=30)
