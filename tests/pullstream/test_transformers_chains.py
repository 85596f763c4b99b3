"""Random chains of the synchronous transformers: batching is invisible, times do not mix, memory does not grow."""

import operator
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullstream as ps
from tests.sampling import amount

LIMITS = (2, 7, 4096)
COUNT = 1_000_000


class Boom(Exception):
    pass


def weigh(value):
    """A number for whatever a chain has made of the values."""
    if isinstance(value, ps.Failed):
        return weigh(value.value)
    if isinstance(value, (list, str)):
        return len(value)
    return value


class Fragile:
    """A function of weights that raises for some of them."""

    def __init__(self, function, bad):
        self.function = function
        self.bad = bad

    def __call__(self, *values):
        if self.bad and weigh(values[-1]) % 5 in self.bad:
            raise Boom
        return self.function(*map(weigh, values))


MODULES = {
    "map": lambda n, f, p: ps.map(f(lambda v: v + n), on_error=p),
    "filter": lambda n, f, p: ps.filter(f(lambda v: v % (n + 2)), on_error=p),
    "filter_not": lambda n, f, p: ps.filter_not(f(lambda v: v % (n + 2)), on_error=p),
    "tap": lambda n, f, p: ps.tap(f(lambda v: v), on_end=lambda _: None, on_error=p),
    "unique": lambda n, f, p: ps.unique(f(lambda v: v % (n + 2)), on_error=p),
    "unique bounded": lambda n, f, p: ps.unique(f(lambda v: v), capacity=n + 1, on_error=p),
    "duplicates": lambda n, f, p: ps.duplicates(f(lambda v: v % (n + 2)), on_error=p),
    "scan": lambda n, f, p: ps.scan(f(lambda a, b: a + b), n, on_error=p),
    "take": lambda n, f, p: ps.take(n * 3),
    "take by a test": lambda n, f, p: ps.take(f(lambda v: v < 6 * n), last=n % 2 == 0, on_error=p),
    "skip": lambda n, f, p: ps.skip(n),
    "skip by a test": lambda n, f, p: ps.skip(f(lambda v: v < n), on_error=p),
    "flat_map": lambda n, f, p: ps.flat_map(f(lambda v: [v] * n), on_error=p),
    "batch": lambda n, f, p: ps.batch(n + 1),
    "batch seconds": lambda n, f, p: ps.batch(n + 1, seconds=1000),
    "windowed": lambda n, f, p: ps.windowed(n + 1, 2),
    "windowed seconds": lambda n, f, p: ps.windowed(seconds=1000),
    "split": lambda n, f, p: ps.pipe(ps.map(lambda v: "a" * (weigh(v) % 9) + "b"), ps.split("ab"[n % 2])),
    "split lines": lambda n, f, p: ps.pipe(ps.map(lambda v: "a" * (weigh(v) % 9) + "\r\n"[n % 3 :]), ps.split()),
    "split size": lambda n, f, p: ps.pipe(ps.map(lambda v: "a" * (weigh(v) % 9)), ps.split(size=n + 1)),
}

stages = st.lists(
    st.tuples(st.sampled_from(sorted(MODULES)), st.integers(0, 4), st.sampled_from(["fail", "skip", "result"])),
    min_size=1,
    max_size=4,
)
sources = st.tuples(st.integers(0, 20), st.integers(1, 6))
bad = st.sets(st.integers(0, 4), max_size=2)


def outcome(source, chain, bad, limit):
    count, width = source
    made = [MODULES[name](n, lambda function: Fragile(function, bad), policy) for name, n, policy in chain]
    values = []
    failure = None

    @ps.sink
    async def noted(upstream, ctx):
        async for batch in ctx.batches(upstream):
            values.extend((batch.time, weigh(value)) for value in batch.values)

    try:
        ps.run(ps.pipe(ps.values(range(count), time=lambda n: n // width), *made, noted()), limit=limit)
    except Boom:
        failure = Boom
    return values, failure


@settings(max_examples=amount(37, 150), deadline=None)
@given(sources, stages, bad)
def test_batching_is_invisible_in_chains(source, chain, bad):
    """The same values at the same times, and the same failure, at every limit."""
    expected = outcome(source, chain, bad, 1)
    for limit in LIMITS:
        assert outcome(source, chain, bad, limit) == expected
    assert [time for time, _ in expected[0]] == sorted(time for time, _ in expected[0])


LONG = {
    "filter_not": lambda: ps.filter_not(lambda n: n % 2),
    "tap": lambda: ps.tap(int, on_end=lambda _: None),
    "unique": lambda: ps.unique(capacity=100),
    "unique by a few keys": lambda: ps.unique(lambda n: n % 100),
    "duplicates": lambda: ps.duplicates(capacity=100),
    "scan": lambda: ps.scan(operator.add),
    "take": lambda: ps.take(COUNT),
    "take by a test": lambda: ps.take(lambda n: n >= 0, ahead=100),
    "skip": lambda: ps.skip(COUNT - 1),
    "skip by a test": lambda: ps.skip(lambda n: n >= 0),
    "batch": lambda: ps.batch(100),
    "batch by the clock": lambda: ps.batch(100, seconds=0.1),
    "windowed": lambda: ps.windowed(100, 100),
    "window, sliding": lambda: ps.windowed(10, 5),
    "window by the clock": lambda: ps.windowed(seconds=0.001, capacity=1000),
    "split": lambda: ps.pipe(ps.map(lambda _: "ab\nc"), ps.split()),
    "split size": lambda: ps.pipe(ps.map(lambda _: b"abc"), ps.split(size=10)),
    "decode": lambda: ps.pipe(ps.map(lambda _: b"\xc3\xa9"), ps.split(size=3), ps.decode()),
    "probe": lambda: ps.probe(lambda _: None),
    "skipped": lambda: ps.map(lambda n: 1 // (n % 10), on_error="skip"),
    "results": lambda: ps.map(lambda n: 1 // (n % 10), on_error="result"),
    "diverted": lambda: ps.map(lambda n: 1 // (n % 10), on_error=ps.drain()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_million_values_in_constant_memory(name):
    """A million values need no more memory than a hundred thousand do."""
    ps.run(ps.pipe(ps.values(range(COUNT // 10)), LONG[name](), ps.drain()))
    tracemalloc.start()
    try:
        ps.run(ps.pipe(ps.values(range(COUNT)), LONG[name](), ps.drain()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12_000_000
