"""The costs of whole programs, in counts: their sources and calls really wait, as in a service.

A row is a program and the most that one more value may cost it. These numbers only ever get smaller.
"""

import pytest
import trio

import pullstream as ps
from tests.pullstream.counting import Counts, count

FEW, MANY = 100, 300


@ps.source
async def ticks(ctx, number):
    """A value at a time, each after a wait, with ten values at each time."""
    for value in range(number):
        await trio.sleep(0.01)
        yield ps.Batch(value // 10, [value])


async def varied(value):
    """A call whose duration depends on the value."""
    await trio.sleep(0.001 * (1 + value * 7919 % 31))
    return value


@ps.transformer
async def waits(upstream, ctx):
    """Each batch after a wait."""
    async for batch in ctx.batches(upstream):
        await trio.sleep(0.001)
        yield batch


def short(value):
    return ps.values([value] * 5)


PROGRAMS = {
    "one call at a time": (
        lambda number: ps.pipe(ticks(number), ps.map_async(varied, 1)),
        Counts(answers=2.1, steps=4.2, tasks=0.01, frames=390),
    ),
    "unordered calls, a time each": (
        lambda number: ps.pipe(
            ps.values(range(number), time=lambda value: value), ps.map_async(varied, 100, ordered=False)
        ),
        Counts(answers=2.1, steps=3.5, tasks=0.01, frames=270),
    ),
    "a short stream for each value, side by side": (
        lambda number: ps.pipe(ps.values(range(number)), ps.map(short), ps.flatten(concurrency=10)),
        Counts(answers=1.1, steps=0.2, tasks=0.01, frames=270),
    ),
    "a fold of a clock": (
        lambda number: ps.pipe(
            ps.interval(0.01), ps.take(number), ps.stamp(lambda tick: tick // 10), ps.reduce_by_time(ps.agg.count())
        ),
        Counts(answers=3.2, steps=2.1, tasks=0.01, frames=440),
    ),
    "a fold after a timeout": (
        lambda number: ps.pipe(ticks(number), ps.timeout(1), ps.reduce_by_time(ps.agg.count())),
        Counts(answers=2.2, steps=2.4, tasks=0.01, frames=490),
    ),
    "a fold after a rate limit": (
        lambda number: ps.pipe(ticks(number), ps.rate_limit(1000), ps.reduce_by_time(ps.agg.count())),
        Counts(answers=2.2, steps=2.6, tasks=0.01, frames=400),
    ),
    "many sources that wait": (
        lambda number: ps.merge(*[ticks(number // 20)] * 20),
        Counts(answers=2.1, steps=1.2, tasks=0.01, frames=240),
    ),
    "a fold of a fork": (
        lambda number: ps.pipe(
            ticks(number), ps.fork(ps.map(abs), ps.map_async(varied, 1)), ps.reduce_by_time(ps.agg.count())
        ),
        Counts(answers=9.2, steps=6.2, tasks=0.01, frames=1260),
    ),
    "a source that waits for each value": (
        lambda number: ps.pipe(ps.values([3] * (number // 3)), ps.flat_map(ticks)),
        Counts(answers=1.4, steps=2.8, tasks=0.4, frames=400),
    ),
    "sources that wait for each value, side by side": (
        lambda number: ps.pipe(ps.values([3] * (number // 3)), ps.map(ticks), ps.flatten(concurrency=10)),
        Counts(answers=1.2, steps=2.6, tasks=0.5, frames=410),
    ),
    "groups that wait": (
        lambda number: ps.pipe(ticks(number), ps.group_by(lambda value: value % 3, waits())),
        Counts(answers=2.1, steps=6.1, tasks=0.01, frames=780),
    ),
}


def cost(source, number):
    """The cost of a program with so many values."""

    async def run():
        async with ps.pipe(source(number), ps.drain()).open() as running:
            await running.result()
        return sum(row.batches_out for row in running.counters())

    return count(run)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cost_of_one_more_value(name, no_clocks):
    source, most = PROGRAMS[name]
    few, many = cost(source, FEW), cost(source, MANY)
    more = Counts(*((high - low) / (MANY - FEW) for low, high in zip(few, many, strict=True)))
    assert all(found <= limit for found, limit in zip(more, most, strict=True)), more
