"""`worker_pool`: transformers that share the values of a stream; some of them fail.

The conformance grid tests its endings.
"""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen


def tenfold(seconds=0.0, *, fails_after=None, failure=None):
    """A worker that multiplies by ten, and may fail at some call."""
    count = 0

    async def call(value):
        nonlocal count
        count += 1
        await trio.sleep(seconds)
        if fails_after is not None and count > fails_after:
            raise failure or Unseen
        return value * 10

    return ps.map_async(call, 1)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("ordered", [True, False])
async def test_every_value_has_one_result(limit, concurrency, ordered, autojump_clock):
    pool = ps.worker_pool(
        tenfold(1),
        tenfold(0.3, fails_after=3),
        tenfold(0.5, fails_after=0),
        tenfold(0.2),
        concurrency=concurrency,
        ordered=ordered,
    )
    source = ps.values(range(20), time=lambda n: n // 3)
    values = await ps.arun(ps.pipe(source, pool, ps.collect(timed=True)), limit=limit)
    assert sorted(values) == [(n // 3, n * 10) for n in range(20)]
    assert not ordered or values == sorted(values)


@pytest.mark.parametrize("ordered", [True, False])
async def test_when_all_have_failed(ordered, counting, probe, autojump_clock):
    last, given = Unseen("last"), []
    pool = ps.worker_pool(
        tenfold(1, fails_after=1), tenfold(1, fails_after=2, failure=last), concurrency=1, ordered=ordered
    )
    with pytest.raises(Unseen) as caught:
        await ps.arun(ps.pipe(counting(probe, 9), pool, ps.drain(given.append)))
    assert caught.value is last
    assert given in ([0, 10], [0, 10, 20]) if ordered else len(set(given)) == 3
    assert probe.balanced
    assert probe.reasons == [last]


def test_workers_that_end_or_give_too_much():
    values = ps.values(range(5))
    assert ps.run(ps.pipe(values, ps.worker_pool(ps.take(2), ps.map(str)), ps.map(int), ps.collect())) == list(range(5))
    assert ps.run(ps.pipe(values, ps.worker_pool(ps.take(2), ps.take(3)), ps.collect())) == list(range(5))
    ends = ps.worker_pool(tenfold(fails_after=0), ps.pipe(tenfold(), ps.take(5)))
    assert ps.run(ps.pipe(values, ends, ps.collect())) == [0, 10, 20, 30, 40]
    with pytest.raises(Unseen):
        ps.run(ps.pipe(ps.values(range(6)), ends, ps.drain()))
    with pytest.raises(ps.PullstreamError, match="all workers have ended. Values without a result: [12]"):
        ps.run(ps.pipe(values, ps.worker_pool(ps.take(2), ps.take(1)), ps.collect()))
    with pytest.raises(ps.errors.ProtocolError, match="exactly one result for each value"):
        ps.run(ps.pipe(values, ps.worker_pool(ps.flat_map(lambda n: [n, n])), ps.collect()))


async def test_workers_join_while_it_runs(autojump_clock):
    pool = ps.worker_pool(concurrency=2, dynamic=True)
    async with ps.pipe(ps.values(range(6)), pool, ps.collect()).open() as running:
        await trio.sleep(3)
        pool.add(tenfold(1, fails_after=2))
        pool.add(tenfold(9))
        await trio.sleep(2.5)
        pool.add(tenfold(1))
        assert await running.result() == [0, 10, 20, 30, 40, 50]
