"""Random pipelines against an oracle: no completion before its last value was worked off, and every one in the end."""

import collections
import random

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pullstream as ps
from tests.sampling import amount

MODULES = [
    "map", "filter", "flat_map", "map_batches", "map_async", "unordered", "take", "take_times", "thrice", "held",
    "batch", "batch seconds", "windowed", "sliding", "windowed seconds", "diverted",
    "prefetch", "in_flight", "rate_limit", "throttle", "debounce", "sample", "pausable", "abortable",
    "kept", "sorted", "unique_by_time", "stamped", "stamped late", "restamped", "delayed", "nested", "nested stamps",
]  # fmt: skip


class Unseen(Exception):
    """What these tests let fail."""


@ps.transformer
async def thrice(upstream, ctx):
    """Answers more than it was asked for."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [value for value in batch.values for _ in range(3)])


@ps.transformer
async def held(upstream, ctx):
    """Keeps a time's values until the time is complete."""
    kept = collections.defaultdict(list)
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            kept[event.time].extend(event.values)
        else:
            yield ps.Batch(event.time, kept.pop(event.time))


@ps.source
async def source(ctx, times, seed):
    """Values at the given times, after pauses; now and then it says sooner what will not come."""
    rng = random.Random(seed)
    await trio.sleep(1)
    for position, time in enumerate(times):
        if rng.random() < 0.4:
            ctx.advance(time)
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        yield ps.Batch(time, [(time, position)])


def module(kind, count, seed, log):
    rng = random.Random(seed)

    async def pause(value):
        await trio.sleep(rng.random())
        return value

    return {
        "map": lambda: ps.map(lambda value: value),
        "filter": lambda: ps.filter(lambda value: value[1] % 3 != 0),
        "flat_map": lambda: ps.flat_map(lambda value: [value] * (value[1] % 3)),
        "map_batches": lambda: ps.map_batches(lambda values: values[::-1] * 2),
        "map_async": lambda: ps.map_async(pause, 1 + count % 4),
        "unordered": lambda: ps.map_async(pause, 1 + count % 4, ordered=False),
        "take": lambda: ps.take(count),
        "take_times": lambda: ps.take_times(count),
        "thrice": thrice,
        "held": held,
        "batch": lambda: ps.pipe(ps.batch(count), ps.flat_map(list)),
        "batch seconds": lambda: ps.pipe(ps.batch(3, seconds=count / 3), ps.flat_map(list)),
        "windowed": lambda: ps.pipe(ps.windowed(count, count), ps.flat_map(list)),
        "sliding": lambda: ps.pipe(ps.windowed(count, 1), ps.flat_map(list)),
        "windowed seconds": lambda: ps.pipe(ps.windowed(seconds=count / 2, every=0.7), ps.flat_map(list)),
        "prefetch": lambda: ps.prefetch(count),
        "in_flight": lambda: ps.in_flight(ps.map_async(pause, 3), count),
        "rate_limit": lambda: ps.rate_limit(count, per=0.7),
        "throttle": lambda: ps.throttle(count / 4),
        "debounce": lambda: ps.debounce(count / 4),
        "sample": lambda: ps.sample(count / 4),
        "pausable": ps.pausable,
        "abortable": ps.abortable,
        "kept": lambda: ps.pipe(ps.reduce_by_time(ps.Fold(list, lambda kept, v: [*kept, v])), ps.flat_map(list)),
        "sorted": lambda: ps.sort_by_time(lambda value: -value[1]),
        "unique_by_time": lambda: ps.unique_by_time(lambda value: value[1] % 3),
        # Time is given up, and given anew; the values still say what it was.
        "stamped": lambda: ps.pipe(ps.sort_by_time(), ps.map_time(lambda _: 0), ps.stamp(lambda value: value[0])),
        "stamped late": lambda: ps.pipe(ps.map_time(lambda _: 0), ps.stamp(lambda value: value[0], lateness=5)),
        "restamped": lambda: ps.pipe(ps.map_time(str), ps.map_time(int)),
        "delayed": lambda: ps.pipe(ps.delay(count), ps.map_time(lambda time: time - count)),
        "nested": lambda: ps.pipe(ps.stamp_epochs(count, nest=True), ps.map_time(lambda time: time[0])),
        "nested stamps": lambda: ps.pipe(
            ps.stamp(lambda value: value[0], nest=True), ps.sort_by_time(), ps.map_time(lambda time: time[0])
        ),
        "diverted": lambda: ps.map(failing(count), on_error=record(log, seed)),
    }[kind]()


def failing(position):
    def function(value):
        if value[1] == position:
            raise Unseen
        return value

    return function


@ps.sink
async def record(upstream, ctx, log, seed):
    """Notes when each value was worked off: when the sink asks again."""
    rng = random.Random(seed)
    while (batch := await upstream.ask(ctx.limit)) is not ps.DONE:
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        log.extend(("value", batch.time) for _ in batch.values)


async def observe(pipeline, log, limit, times):
    """Run, with a task for each time that notes when, or how not, it was told to be complete."""

    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (Unseen, ps.errors.Abandoned) as exc:
            log.append(("refused", time, type(exc)))
        else:
            log.append(("complete", time))

    try:
        async with pipeline.open(limit=limit) as running, trio.open_nursery() as nursery:
            for time in times:
                nursery.start_soon(wait, running.progress, time)
    except Unseen:
        log.append(("failed",))


def judge(log, times):
    """The oracle: nothing worked off at or before a time that was told complete; every time told once."""
    told = {}
    for number, entry in enumerate(log):
        if entry[0] == "complete":
            told[entry[1]] = number
    for number, entry in enumerate(log):
        if entry[0] == "value":
            early = [time for time, when in told.items() if entry[1] <= time and when < number]
            assert not early, f"{early} were told complete before a value at {entry[1]}"
    if ("failed",) not in log:
        assert set(told) == set(times), "the stream ended, so every time is complete"
    refused = [entry[1] for entry in log if entry[0] == "refused"]
    assert not refused or min(refused) > max(told, default=-1), "what is refused comes after what is complete"


pipelines = st.fixed_dictionaries(
    {
        "times": st.lists(st.integers(0, 5), max_size=10).map(sorted),
        "kinds": st.lists(st.tuples(st.sampled_from(MODULES), st.integers(1, 5)), max_size=4),
        "fail": st.none() | st.tuples(st.integers(0, 4), st.integers(0, 9)),
        "limit": st.sampled_from([1, 2, 7, 4096]),
        "branches": st.integers(1, 2),
        "seed": st.integers(0, 1000),
    },
)


def check(given_):
    seed = given_["seed"]
    log = []
    parts = [module(kind, count, seed + n, log) for n, (kind, count) in enumerate(given_["kinds"])]
    if given_["fail"] is not None:
        place, position = given_["fail"]
        parts.insert(min(place, len(parts)), ps.map(failing(position)))
    sinks = [record(log, seed + n) for n in range(given_["branches"])]
    sink = sinks[0] if len(sinks) == 1 else ps.tee(*sinks)
    pipeline = ps.pipe(source(given_["times"], seed), *parts, sink)
    trio.run(_bounded, pipeline, log, given_["limit"], range(7), clock=MockClock(autojump_threshold=0))
    judge(log, range(7))


async def _bounded(*args):
    with trio.fail_after(1000):
        await observe(*args)


# Acknowledged from below while a call is under way for another ask.
ACKNOWLEDGED = {
    "times": [1, 1, 3, 4, 4, 5],
    "kinds": [("prefetch", 5), ("map_async", 5), ("unordered", 1)],
    "fail": None,
    "limit": 2,
    "branches": 2,
    "seed": 794,
}


@settings(max_examples=amount(250, 1000), deadline=None, derandomize=True)
@given(pipelines)
@example(ACKNOWLEDGED)
def test_completions_of_random_pipelines(given_):
    """Through any chain of modules, ended in any way, completions are true and come."""
    check(given_)


@pytest.mark.slow
@settings(max_examples=20000, deadline=None)
@given(pipelines)
def test_completions_of_many_random_pipelines(given_):
    """The same, on many more."""
    check(given_)
