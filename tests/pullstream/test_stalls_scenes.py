"""A dead end among everything else: every transformer above or below it, and below both whoever waits, in one table.

The clock is virtual: a scene that waits for ever is over at once, and fails.
"""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import after_a_moment, per_time


def timed():
    return ps.values([1, 2, 3], time=lambda time: time)


def dead_end():
    """One value goes in, and none comes out: a second is not let in."""
    return ps.in_flight(ps.filter(lambda _: False), 1)


async def rest(value):
    await trio.sleep(0.1)
    return value


MODULES = {
    "map": ps.map(lambda value: value),
    "map_async": ps.map_async(after_a_moment, 1),
    "map_async of 3": ps.map_async(rest, 3),
    "map_async as ready": ps.map_async(rest, 3, ordered=False),
    "prefetch": ps.prefetch(3),
    "batch": ps.batch(2),
    "flat_map": ps.flat_map(lambda value: [value, value]),
    "flatten": ps.pipe(ps.map(lambda value: ps.values([value])), ps.flatten()),
    "flatten of 2": ps.pipe(ps.map(lambda value: ps.values([value])), ps.flatten(concurrency=2)),
    "group_by": ps.group_by(str, ps.map_async(after_a_moment, 1)),
    "worker_pool": ps.worker_pool(ps.map_async(after_a_moment, 1), ps.map_async(after_a_moment, 1)),
    "in_flight": ps.in_flight(ps.map_async(rest, 2), 2),
    "fork": ps.fork(ps.map(str), ps.map_async(after_a_moment, 1)),
    "catch": ps.catch(lambda _: ps.empty()),
    "per_time": per_time(),
    "reduce_by_key": ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=str),
    "sort_by_time": ps.sort_by_time(),
    "take_times": ps.take_times(3),
    "throttle": ps.throttle(0.1),
    "debounce": ps.debounce(0.1),
    "sample": ps.sample(0.1),
    "rate_limit": ps.rate_limit(5, 1),
    "scan": ps.scan(lambda _, value: value, 0),
    "unique_by_time": ps.unique_by_time(),
    "take": ps.take(5),
    "skip": ps.skip(1),
    "loop": ps.loop(ps.map(lambda value: value)),
}
"""What may stand above a dead end, or below it."""


@ps.sink
async def awaiting(upstream, ctx, box):
    """Waits for the completion of what it still has in hand."""
    async for batch in ctx.batches(upstream):
        await box[0].progress.completed(batch.time)


def through_a_pair(source):
    (reading, writing) = ps.duplex.pair()
    return ps.duplex.connect(ps.duplex.Duplex(source, ps.collect()), ps.duplex.Duplex(reading, writing))


def below(box):
    """Pipelines of a source, with one more dead end where there are several."""
    other = ps.pipe(timed(), dead_end())
    return {
        "collect": lambda source: ps.pipe(source, ps.collect()),
        "awaiting": lambda source: ps.pipe(source, awaiting(box)),
        "tee": lambda source: ps.pipe(source, ps.tee(ps.drain(), awaiting(box))),
        "tee and prefetch": lambda source: ps.pipe(
            source, ps.prefetch(2), ps.tee(ps.drain(), ps.pipe(ps.prefetch(1), ps.drain()))
        ),
        "partition": lambda source: ps.pipe(source, ps.partition(str, {"1": ps.drain()}, other=ps.drain())),
        "merge": lambda source: ps.pipe(ps.merge(source, other), ps.collect()),
        "zip": lambda source: ps.pipe(ps.zip(source, other), ps.collect()),
        "concat": lambda source: ps.pipe(ps.concat(source, other), ps.collect()),
        "join": lambda source: ps.pipe(ps.join(source, other, on=str), ps.collect()),
        "pair": through_a_pair,
        "group_by": lambda source: ps.pipe(source, ps.group_by(str, ps.prefetch(1)), ps.drain()),
    }


def outcome(main, *args):
    """What comes of a trio program in virtual time; "hangs" if nothing does."""

    async def limited():
        with trio.move_on_after(1000):
            return await main(*args)
        return "hangs"

    try:
        return trio.run(limited, clock=trio.testing.MockClock(autojump_threshold=0))
    except BaseException as exc:
        while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
            exc = exc.exceptions[0]
        return exc


async def result(pipeline, box):
    async with pipeline.open() as running:
        box.append(running)
        return await running.result()


async def read(source):
    async with ps.aiterate(source) as values:
        return [value async for value in values]


def scenes(module):
    """Every scene with a module: its name, and what comes of it."""
    for where, source in [
        ("above", ps.pipe(timed(), module, dead_end())),
        ("below", ps.pipe(timed(), dead_end(), module)),
    ]:
        box = []
        for name, pipeline in below(box).items():
            box.clear()
            yield f"{where}, {name}", outcome(result, pipeline(source), box)
        yield f"{where}, aiterate", outcome(read, source)


@pytest.mark.parametrize("name", MODULES)
def test_a_dead_end_is_told(name):
    wrong = {scene: told for scene, told in scenes(MODULES[name]) if not isinstance(told, ps.StalledError)}
    assert not wrong


@pytest.mark.parametrize("name", MODULES)
def test_without_a_dead_end_nothing_is_told(name):
    box = []
    source = ps.pipe(timed(), MODULES[name])
    assert isinstance(outcome(result, ps.pipe(source, ps.collect()), box), list)
    assert isinstance(outcome(read, source), list)
    assert isinstance(outcome(result, through_a_pair(source), box), tuple)
    assert isinstance(outcome(result, ps.pipe(source, ps.tee(ps.collect(), ps.collect())), box), tuple)
    box.clear()
    assert isinstance(outcome(result, ps.pipe(source, awaiting(box)), box), ps.StalledError)
