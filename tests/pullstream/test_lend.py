"""lend: a pool of borrowers, some of which fail."""

import pickle
import random
from itertools import product

import pytest
import trio

import pullstream as ps


class Boom(Exception):
    """Raised by a borrower, or upstream."""


def tenfold(seconds=0.0, *, fails_after=None, failure=None, calls=None):
    """A borrower that gives ten times the value, and may fail at some call."""
    count = 0

    async def call(value):
        nonlocal count
        count += 1
        if calls is not None:
            calls.append(value)
        await trio.sleep(seconds)
        if fails_after is not None and count > fails_after:
            raise failure or Boom
        return value * 10

    return ps.map_async(call, 1)


@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("ordered", [True, False])
async def test_every_value_has_one_result(limit, concurrency, ordered, autojump_clock):
    """Whatever the limits, and though borrowers fail, every value has its result, once; in order unless told not."""
    pool = ps.lend(
        tenfold(1),
        tenfold(0.3, fails_after=3),
        tenfold(0.5, fails_after=0),
        tenfold(0.2),
        concurrency=concurrency,
        ordered=ordered,
    )
    source = ps.values(range(20), time=lambda n: n // 3)
    async with ps.pipe(source, pool, ps.collect(timed=True)).open(limit=limit) as running:
        values = await running.result()
    assert sorted(values) == [(n // 3, n * 10) for n in range(20)]
    assert not ordered or values == sorted(values)


@ps.sink
async def by_sixteen(upstream, ctx):
    """All values; a ready sink asks for one where its work took long, as it does by chance, and one alone is lent."""
    values = []
    while (batch := await upstream.ask(16)) is not ps.DONE:
        values += batch.values
    return values


async def test_it_is_faster_with_more(autojump_clock):
    """Borrowers work side by side, each at its pace."""
    start = trio.current_time()
    slow, quick = [], []
    pool = ps.lend(tenfold(4, calls=slow), tenfold(1, calls=quick))
    async with ps.pipe(ps.values(range(10)), pool, by_sixteen()).open() as running:
        await running.result()
    assert trio.current_time() - start == 8
    assert len(slow) == 2
    assert len(quick) == 8


async def test_what_was_lent_is_lent_again_first(autojump_clock):
    """A failed borrower's values go to the next that asks, before newer ones."""
    calls = []
    pool = ps.lend(tenfold(1, fails_after=1), tenfold(2, calls=calls))
    async with ps.pipe(ps.values(range(6)), pool, by_sixteen()).open() as running:
        assert await running.result() == [0, 10, 20, 30, 40, 50]
    assert calls[:3] == [1, 2, 3]


@pytest.mark.parametrize("ordered", [True, False])
async def test_when_all_have_failed(ordered, counting, probe, autojump_clock):
    """The last failure is the stream's, as it is; results before it are delivered, and the source is told."""
    last, given = Boom("last"), []
    pool = ps.lend(tenfold(1, fails_after=1), tenfold(1, fails_after=2, failure=last), concurrency=1, ordered=ordered)
    with pytest.raises(Boom) as caught:
        async with ps.pipe(counting(probe, 9), pool, ps.drain(given.append)).open() as running:
            await running.result()
    assert caught.value is last
    assert given in ([0, 10], [0, 10, 20]) if ordered else len(set(given)) == 3
    assert probe.balanced
    assert probe.reasons == [last]


def test_borrowers_that_end_or_give_too_much():
    """Who ends leaves; when nobody is left the stream fails. More results than loans are refused by name."""
    values = ps.values(range(5))
    assert ps.run(ps.pipe(values, ps.lend(ps.take(2), ps.map(str)), ps.map(int), ps.collect())) == list(range(5))
    with pytest.raises(ps.PullstreamError, match="every borrower has ended"):
        ps.run(ps.pipe(values, ps.lend(ps.take(2), ps.take(1)), ps.collect()))
    with pytest.raises(ps.ProtocolError, match="one result for each value"):
        ps.run(ps.pipe(values, ps.lend(ps.flat_map(lambda n: [n, n])), ps.collect()))


async def test_others_join_while_it_runs(autojump_clock):
    """An empty pool waits; whoever joins is lent what waits, also after another has failed."""
    pool = ps.lending(concurrency=2)
    async with ps.pipe(ps.values(range(6)), pool, ps.collect()).open() as running:
        await trio.sleep(3)
        pool.add(tenfold(1, fails_after=2))
        pool.add(tenfold(9))
        await trio.sleep(2.5)
        pool.add(tenfold(1))
        assert await running.result() == [0, 10, 20, 30, 40, 50]
    with pytest.raises(ps.CompositionError, match="lends to transformers"):
        pool.add(ps.count())
    with pytest.raises(TypeError, match="lending"):
        pickle.dumps(pool)


async def test_a_pool_belongs_to_one_run():
    """A second opening is refused while the first is open."""
    pool = ps.lending()
    pipeline = ps.pipe(ps.values([1]), pool, ps.collect())
    async with pipeline.open() as running:
        with pytest.raises(ps.ReuseError, match="lending"):
            async with pipeline.open():
                pass
        pool.add(ps.map(str))
        assert await running.result() == ["1"]


def test_arguments_are_refused_when_composing():
    """Borrowers are transformers, at least one; concurrency is a whole number."""
    for wrong in (ps.lend, lambda: ps.lend(7), lambda: ps.lending(7), lambda: ps.lend(ps.take(1), concurrency=0)):
        with pytest.raises(ps.CompositionError, match="lend"):
            wrong()


async def test_times_complete_with_their_results(autojump_clock):
    """A time is complete when the results of all its values are out, however often they were lent."""
    seen = {}
    pool = ps.lend(tenfold(1, fails_after=1), tenfold(3))
    stream = ps.pipe(ps.values(range(4), time=lambda n: n // 2), pool)
    async with ps.pipe(stream, ps.collect()).open() as running, trio.open_nursery() as nursery:
        start = trio.current_time()

        async def wait(time):
            await running.progress.completed(time)
            seen[time] = trio.current_time() - start

        nursery.start_soon(wait, 0)
        nursery.start_soon(wait, 1)
        await running.result()
    assert seen == {0: 3, 1: 9}


WAYS = ("abort", "error", "abort under way", "cancel", "upstream fails", "end")


@pytest.mark.parametrize("cell", list(product(WAYS, range(5), [1, 3])))
async def test_every_ending(cell, counting, probe, edge, autojump_clock):
    """Source and borrowers are released once each; what failed upstream comes after the results before it."""
    way, position, limit = cell
    boom, reason = Boom(), KeyError("enough")
    opened, released = [], []

    @ps.transformer
    class Working(ps.Kernel):
        async def acquire(self):
            opened.append(self)

        async def produce(self, limit):
            batch = await self.upstream.ask(limit)
            await trio.sleep(1)
            return batch

        async def release(self):
            released.append(self)

    count = position if way == "upstream fails" else 5
    source = counting(probe, count, delay=1, failure=boom if way == "upstream fails" else None)
    outcome, values = None, []
    async with edge(ps.pipe(source, ps.lend(Working(), Working()))) as reader:
        try:
            while True:
                if way == "cancel" and len(values) >= position:
                    with trio.move_on_after(0.5) as scope:
                        batch = await reader.ask(limit)
                    if scope.cancelled_caught or batch is ps.DONE:
                        break
                elif way in {"abort", "error"} and len(values) >= position:
                    await (reader.abort() if way == "abort" else reader.error(reason))
                    break
                elif way == "abort under way" and len(values) >= position:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(reader.lane().ask, limit)
                        await trio.sleep(0.5)
                        await reader.abort()
                    break
                else:
                    batch = await reader.ask(limit)
                    if batch is ps.DONE:
                        break
                values.extend(batch.values)
        except Boom as exc:
            outcome = exc
        assert probe.balanced
        assert len(opened) == len(released)
        assert set(opened) == set(released)
    assert outcome is (boom if way == "upstream fails" else None)
    assert values == list(range(len(values)))
    if way in {"upstream fails", "end"}:
        assert len(values) == count
    if way == "error" and probe.acquired and not probe.ended:
        assert probe.reasons == [reason]


@pytest.mark.parametrize("seed", range(15))
async def test_random_pools(seed, autojump_clock):
    """Any paces and failures: one result each, in order, and none after its time is complete."""
    rng = random.Random(seed)
    workers = [
        tenfold(rng.choice([0, 0.3, 1]), fails_after=rng.choice([None, 0, 2, 5])) for _ in range(rng.randrange(4))
    ]
    complete, out = [], []

    @ps.sink
    async def keeping(upstream, ctx):
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    assert time not in complete, "R12"
                    out.extend(values)
                    ctx.notify_at(time)
                case ps.Completed(time):
                    complete.append(time)

    pool = ps.lend(*workers, tenfold(rng.choice([0, 1])), concurrency=rng.choice([1, 2]))
    pipeline = ps.pipe(ps.values(range(15), time=lambda n: n // 4), pool, keeping())
    async with pipeline.open(limit=rng.choice([1, 2, 4096])) as running:
        await running.result()
    assert out == [n * 10 for n in range(15)]
