"""Times where streams meet and part: random graphs against an oracle, least upper bounds, domains that do not meet."""

import collections
import functools
import random
from datetime import date

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps
from pullstream.blueprint import Module
from pullstream.modules.values.side_branch import SideBranch
from tests.sampling import amount
from timely import Product, TimeDomainError


class Unseen(Exception):
    """What these tests let fail."""


@ps.source
async def source(ctx, times, seed, *, fails=False):
    """Values at the given times, after pauses; now and then it says sooner what will not come."""
    rng = random.Random(seed)
    for position, time in enumerate(times):
        if rng.random() < 0.4:
            ctx.advance(time)
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        yield ps.Batch(time, [(time, position)])
    if fails:
        raise Unseen


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


@ps.sink
async def record(upstream, ctx, log, seed):
    """Notes when each value was worked off: when the sink asks again."""
    rng = random.Random(seed)
    while (batch := await upstream.ask(rng.choice([1, ctx.limit]))) is not ps.DONE:
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        log.extend(("value", batch.time) for _ in batch.values)


def some(seed):
    """A test that passes some values, whatever they are."""
    rng = random.Random(seed)
    return lambda _: rng.random() < 0.5


def transformer(kind, count, seed):
    async def pause(value):
        await trio.sleep(random.Random(seed).random())
        return value

    return {
        "map": lambda: ps.map(lambda value: value),
        "filter": lambda: ps.filter(some(seed)),
        "flat_map": lambda: ps.flat_map(lambda value: [value] * count),
        "map_async": lambda: ps.map_async(pause, count, ordered=False),
        "take": lambda: ps.take(count * 3),
        "take_times": lambda: ps.take_times(count),
        "thrice": thrice,
        "held": held,
        "tumbling": lambda: ps.tumbling(count),
        "sliding": lambda: ps.sliding(count, 2, ps.agg.count(), eager=count == 1),
        "sessions": lambda: ps.sessions(count, key=lambda _: random.Random(seed).random() < 0.5, eager=count == 1),
    }[kind]()


def joined(how, within=None):
    """All sources, joined in a row, without keys."""
    return lambda *sources: functools.reduce(
        lambda left, right: ps.join(left, right, on=lambda _: None, how=how, within=within), sources
    )


FAN_INS = {
    "join": joined("inner"),
    "join, left": joined("left"),
    "join, near": joined("left", 1),
    "concat": ps.concat,
    "merge": ps.merge,
    "merge_sorted": lambda *sources: ps.merge_sorted(*sources, key=str),
    "zip": ps.zip,
    "padded": lambda *sources: ps.zip(*sources, mode="padded"),
    "combine_latest": ps.combine_latest,
}


def built(tree, rng):
    """A source, of a tree of sources."""
    match tree:
        case ("source", times, fails):
            return source(times, rng.random(), fails=fails)
        case ("many", children):
            many = ps.dynamic_merge()
            many.add(*[built(child, rng) for child in children])
            many.cap()
            return many
        case ("through", child, chain):
            return ps.pipe(built(child, rng), chained(chain, rng))
        case (kind, children):
            return FAN_INS[kind](*[built(child, rng) for child in children])


def chained(chain, rng):
    parts = [
        ps.fork(*[chained(way, rng) for way in step[1]], capacity=step[2])
        if step[0] == "fork"
        else transformer(*step, rng.random())
        for step in chain
    ]
    return parts[0] if len(parts) == 1 else ps.pipe(*parts)


def ending(kind, log, rng):
    """A sink, of one or several that keep a record."""
    one = lambda: record(log, rng.random())  # noqa: E731
    match kind:
        case "one":
            return one()
        case "tee":
            return ps.tee(one(), ps.pipe(ps.take(3), one()), one(), capacity=rng.choice([0, 1, 20]))
        case "partition":
            test = some(rng.random())
            return ps.partition(test, {True: one(), False: ps.pipe(held(), one())}, capacity=rng.choice([0, 1, 20]))
        case "aside":
            aside = ps.Transformer((Module("aside", SideBranch, (one(), some(rng.random()))),))
            return ps.pipe(aside, one())


STEPS = [
    "map", "filter", "flat_map", "map_async", "take", "take_times", "thrice", "held", "tumbling", "sliding", "sessions",
]  # fmt: skip
steps = st.tuples(
    st.sampled_from(STEPS),
    st.integers(1, 3),
)
forks = st.tuples(
    st.just("fork"), st.lists(st.lists(steps, min_size=1, max_size=2), min_size=1, max_size=3), st.sampled_from([0, 3])
)
chains = st.lists(steps | forks, min_size=1, max_size=2)
leaves = st.tuples(
    st.just("source"), st.lists(st.integers(0, 5), max_size=6).map(sorted), st.sampled_from([False] * 9 + [True])
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(st.sampled_from([*FAN_INS, "many"]), st.lists(inner, min_size=1, max_size=3))
        | st.tuples(st.just("through"), inner, chains)
    ),
    max_leaves=5,
)
graphs = st.tuples(
    trees,
    st.sampled_from(["one", "tee", "partition", "aside"]),
    st.sampled_from([1, 2, 7, 4096]),
    st.integers(0, 10**6),
)


def check(graph):
    """No value at or before a time that was told complete comes after; every time is told, unless it failed."""
    tree, kind, limit, seed = graph
    rng = random.Random(seed)
    log = []
    pipeline = ps.pipe(built(tree, rng), ending(kind, log, rng))
    trio_scheduler._r.seed(seed)
    trio.run(observe, pipeline, log, limit, clock=MockClock(autojump_threshold=0))
    told = {entry[1]: at for at, entry in enumerate(log) if entry[0] == "complete"}
    for at, (what, time) in enumerate(log):
        if what == "value":
            assert not [early for early, when in told.items() if time <= early and when < at]
    assert set(told) == set(range(7)) or ("failed", None) in log


async def observe(pipeline, log, limit):
    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (Unseen, ps.errors.Abandoned):
            log.append(("refused", time))
        else:
            log.append(("complete", time))

    with trio.fail_after(10_000):
        try:
            async with pipeline.open(limit=limit, check="strict") as running, trio.open_nursery() as nursery:
                for time in range(7):
                    nursery.start_soon(wait, running.progress, time)
        except Unseen:
            log.append(("failed", None))


@settings(max_examples=amount(100, 400), deadline=None, derandomize=True)
@given(graphs)
def test_completions_of_random_graphs(graph):
    """Where streams meet and part, and meet again, completions are true and come."""
    check(graph)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None)
@given(graphs)
def test_completions_of_many_random_graphs(graph):
    """The same, on many more."""
    check(graph)


def collected(source):
    """What comes, with its times."""

    async def main():
        with trio.fail_after(1000):
            async with ps.pipe(source, ps.collect(timed=True)).open(check="strict") as running:
                return await running.result()

    return trio.run(main, clock=MockClock(autojump_threshold=0))


@ps.source
async def at(ctx, *pairs):
    for time, value in pairs:
        yield ps.Batch(time, [value])


class TestTimesOfTuples:
    """A value made of several is at the least upper bound of their times."""

    def test_zip(self):
        """The later of two numbers; both components of products."""
        assert collected(ps.zip(at((1, "a"), (5, "b")), at((3, "x"), (4, "y")))) == [
            (3, ("a", "x")),
            (5, ("b", "y")),
        ]
        assert collected(ps.zip(at((Product(1, 5), "a")), at((Product(2, 0), "x")))) == [(Product(2, 5), ("a", "x"))]

    def test_padded(self):
        """What stands for a missing value has no time."""
        assert collected(ps.zip(at((9, "a")), at((1, "x"), (2, "y")), mode="padded")) == [
            (9, ("a", "x")),
            (2, (None, "y")),
        ]

    def test_combine_latest(self):
        """The latest values' times count, of which one may lie before."""
        times = [time for time, _ in collected(ps.combine_latest(at((1, "a"), (7, "b")), at((3, "x"), (4, "y"))))]

        assert times[0] == 3
        assert times[-1] == 7

    def test_merged_in_order_at_their_times(self):
        """Merging changes no time, and no batch mixes two."""
        assert collected(ps.merge_sorted(at((5, 1), (6, 4)), at((0, 2), (1, 3)))) == [(5, 1), (0, 2), (1, 3), (6, 4)]

    def test_times_without_an_upper_bound(self):
        """Times that are incomparable and have no join() are refused, naming the module."""

        class Loose:
            def __init__(self, name):
                self.name = name

            def __le__(self, other):
                return self is other

        with pytest.raises(TimeDomainError, match="join") as caught:
            collected(ps.zip(at((Loose("a"), 1)), at((Loose("b"), 2))))

        assert any("raised in zip" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("kind", [kind for kind in FAN_INS if kind != "join, near"])
@pytest.mark.parametrize("seed", range(5))
def test_two_domains_are_refused(kind, seed):
    """Times without a common order fail the module where they meet, by name, and whoever waits for one of them."""
    told = []

    async def main():
        module = FAN_INS[kind](source([1, 2], 0), at((date(2024, 1, 3), "x"), (date(2024, 1, 4), "y")))
        trio_scheduler._r.seed(seed)

        async def wait(progress):
            try:
                await progress.completed(7)
            except TimeDomainError as exc:
                told.append(exc)

        with trio.fail_after(1000):
            async with ps.pipe(module, ps.map(str), ps.collect()).open(limit=1, check="strict") as running:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(wait, running.progress)
                await running.result()

    with pytest.raises(TimeDomainError, match=rf"{module_name(kind)}, composed at .*two domains.*(int|date)") as caught:
        trio.run(main, clock=MockClock(autojump_threshold=0))

    assert told == [caught.value]


def module_name(kind):
    return "zip" if kind == "padded" else kind.partition(",")[0]
