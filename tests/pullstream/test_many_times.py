"""Multi-time batches from sources to sinks: the same results and failures as one time after another."""

import operator
from contextlib import nullcontext

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Together, Unseen, passing, until_failure


class Stops(BaseException):
    """An exception that no policy catches."""


FAILURE: type[BaseException] = Unseen
"""The exception that `fails_at` raises."""


@pytest.fixture(params=[Unseen, Stops])
def failure(request, monkeypatch):
    monkeypatch.setitem(globals(), "FAILURE", request.param)
    return request.param


def at_once(values):
    """A source of values that are their own times, as many at once as are asked for."""
    return ps.values(values, time=lambda n: n)


def fails_at(bad, function=lambda *args: args[-1]):
    def call(*args):
        if args[-1] == bad:
            raise FAILURE(bad)
        return function(*args)

    return call


# ---- sinks


class Keeping(ps.authoring.Committer):
    many = True

    def prepare(self, batch):
        for self.taken, value in enumerate(batch.values):
            fails_at(5)(value)

    async def commit(self, times):
        pass


@ps.sink
async def keep(upstream, ctx):
    await Keeping().run(upstream, ctx)


@pytest.mark.parametrize(
    "sink",
    [
        ps.drain(fails_at(5)),
        ps.reduce(fails_at(5, operator.add), 0),
        ps.find(fails_at(5, lambda n: False), limit=100),
        keep(),
        ps.pipe(ps.map(lambda n: [n] if n != 5 else n), ps.concat_values(list)),
        ps.pipe(ps.map(lambda n: str(n) if n != 5 else n), ps.concat_values()),
    ],
    ids=str,
)
async def test_a_failing_sink_has_processed_earlier_values(sink, limit, failure):
    pipeline = ps.pipe(at_once(range(1, 10)), sink)
    async with pipeline.open(limit=limit) as running:
        with pytest.raises((failure, TypeError)) as caught:
            await running.result()
        await running.progress.completed(4)
        with pytest.raises(type(caught.value)):
            await running.progress.completed(5)


# ---- results of times


@pytest.mark.parametrize(
    "module",
    [
        ps.count_by_key(fails_at(3)),
        ps.reduce_by_key(ps.agg.count(), key=fails_at(3)),
        ps.reduce_by_time(ps.agg.sum(fails_at(3))),
        ps.aggregate(key=fails_at(3), n=ps.agg.count()),
        ps.accumulate(ps.agg.sum(fails_at(3))),
        ps.unique_by_time(fails_at(3)),
        ps.tumbling(1, ps.agg.sum(fails_at(3))),
        ps.sliding(2, 1, ps.agg.count(), key=lambda n: n // 3 and fails_at(3)(n)),
        ps.sessions(0.5, key=fails_at(3)),
    ],
    ids=str,
)
def test_results_of_earlier_times_precede_a_failure(module, limit, failure):
    """Also if the value that fails is in the same answer (R8)."""
    assert len(until_failure(failure, ps.pipe(at_once([1, 1, 2, 2, 3, 4]), module), limit=limit)[0]) == 2


@pytest.mark.parametrize("options", [{}, {"within": 0.5}, {"on_error": "skip"}, {"how": "asof", "at": int}], ids=str)
def test_pairs_precede_a_failure(options, limit, failure):
    got = []
    join = ps.join(at_once([1, 2, 3, 4]), at_once([1, 2, 3, 4]), on=(fails_at(3), int), **options)
    caught = "on_error" in options and failure is Unseen
    with nullcontext() if caught else pytest.raises(failure):
        ps.run(ps.pipe(join, ps.drain(got.append)), limit=limit)
    assert sorted(got) == [(n, n) for n in (1, 2, 4) if n < 3 or caught]


LISTS = ps.map(lambda n: n if n == 13 else [n])
NESTED = [
    ps.pipe(LISTS, ps.flatten()),
    ps.pipe(LISTS, ps.flatten(concurrency=3)),
    ps.pipe(ps.group_by(lambda n: n % 2 + 0 // (n - 13), ps.map(abs)), ps.map(operator.itemgetter(1))),
    ps.pipe(ps.group_by(lambda n: n % 2 + 0 // (n - 13), passing()), ps.map(operator.itemgetter(1))),
]


@pytest.mark.parametrize("module", NESTED, ids=str)
def test_a_time_whose_value_enters_no_stream_never_completes(module, limit):
    """That value and those after it are not counted yet: a sum of those before it would be wrong."""
    source = ps.values([1, 2, 11, 12, 13, 14, 21], time=lambda n: n // 10)
    sums = ps.pipe(source, module, ps.reduce_by_time(ps.agg.sum()))
    assert until_failure((TypeError, ZeroDivisionError), sums, limit=limit, check=True)[0] == [3]


# ---- partial acknowledgements


async def test_ack_but_moves_the_frontier():
    one, two, both = frozenset("a"), frozenset("b"), frozenset("ab")

    @ps.sink
    async def waits(upstream, ctx):
        batch = await upstream.ask_many(10)
        for done, frontier in enumerate([{one, two}, {two}, {both}, set()]):
            upstream.ack_but(batch.part(done))
            assert set(running.progress.frontier()) == frontier
        return len(batch.values)

    async with ps.pipe(Together([one, two, both]), waits()).open() as running:
        assert await running.result() == 3


@pytest.mark.parametrize("part", ["ack_but", "ack_before"])
async def test_a_part_left_after_an_abort_is_not_in_flight(part):
    """A termination acknowledges the whole batch: what its reader does with the values afterwards does not count."""

    @ps.sink
    async def leaves(upstream, ctx):
        batch = await upstream.ask_many(10)
        await upstream.abort()
        left = batch.part(2)
        getattr(upstream, part)(left if part == "ack_but" else left.least)
        await trio.lowlevel.checkpoint()
        return running.progress.pointstamps()

    async with ps.pipe(at_once([1, 2, 3, 4]), leaves()).open() as running:
        assert await running.result() == []
