"""Long rows of modules: what one task can do in one stack, and what needs no stack."""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import PassesOn, script


def row(make, count):
    """So many modules, one after another."""
    parts = [make() for _ in range(count)]
    while len(parts) > 1:
        parts = [ps.pipe(*parts[i : i + 8]) if len(parts) - i > 1 else parts[i] for i in range(0, len(parts), 8)]
    return parts[0]


async def same(value):
    """Return a value at once."""
    return value


async def aborted(source, seconds=0.0):
    async with ps.pipe(source, ps.drain()).open() as running:
        await trio.sleep(seconds)
        await running.abort()


def failed(source):
    with pytest.raises(ZeroDivisionError):
        ps.run(ps.pipe(source, ps.drain()))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("make", "count"),
    [
        pytest.param(lambda: ps.prefetch(2), 300, id="prefetch"),
        pytest.param(lambda: ps.worker_pool(ps.map(int), ps.map(int)), 300, id="worker_pool"),
        pytest.param(lambda: ps.pipe(ps.group_by(int, ps.map_async(same, 1)), ps.map(max)), 75, id="group_by"),
        pytest.param(lambda: ps.timeout(60), 230, id="timeout"),
        pytest.param(lambda: ps.fork(ps.map(int)), 200, id="fork"),
        pytest.param(lambda: ps.pipe(ps.windowed(1, 1), ps.map(max)), 150, id="windowed"),
    ],
)
def test_many_modules_that_ask_in_tasks(make, count):
    """Such an ask begins on its own stack, and an ending continues on a new one now and then."""
    many = row(make, count)
    assert ps.run(ps.pipe(ps.values([1, 2, 3]), many, ps.collect())) == [1, 2, 3]
    failed(ps.pipe(ps.values([1, 0]), ps.map(lambda n: 1 // n), many))


async def test_an_abort_reaches_the_end_of_a_long_row(counting, probe, autojump_clock):
    await aborted(ps.pipe(counting(probe, 10**9, delay=0.1), row(lambda: ps.prefetch(2), 300)), seconds=1)
    assert probe.balanced
    assert probe.reasons == [None]


@pytest.mark.parametrize("check", [False, True], ids=["", "checked"])
async def test_the_reason_of_an_error_passes_a_long_row(check, counting, probe, autojump_clock):
    """It cancels an ask that goes through all of it, which must not count as an abort before the reason arrives."""

    patient = ps.pipe(counting(probe, 1, delay=10), row(ps.transformer(PassesOn), 40))

    with pytest.raises(ZeroDivisionError) as caught:
        await ps.arun(ps.pipe(ps.merge(patient, script(1.0, ZeroDivisionError())), ps.drain()), check=check)
    assert probe.balanced
    assert probe.reasons == [caught.value]


def test_many_nested_branches():
    """Values pass a partition in the step of an ask, but not hundreds of partitions."""
    got, sink = [], None
    for _ in range(150):
        sink = ps.partition(lambda n: 0, {0: ps.drain(got.append) if sink is None else sink})
    ps.run(ps.pipe(ps.values([1, 2, 3]), sink))
    assert got == [1, 2, 3]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("make", [lambda: ps.map_batches(list), lambda: ps.take(10**6)], ids=["map_batches", "take"])
def test_the_longest_allowed_row_ends_in_every_way(make, counting, new_probe):
    most = 1
    while True:
        try:
            trio.run(aborted, ps.pipe(ps.values([1]), row(make, most + 20)))
        except ps.CompositionError as exc:
            assert "recursion limit" in str(exc)  # noqa: PT017 - the test looks for the limit
            break
        most += 20
    assert most > 160
    for source in (ps.values([1, 2, 3]), counting(new_probe(), 3)):
        assert len(ps.run(ps.pipe(source, row(make, most), ps.collect()))) == 3
    failed(ps.pipe(ps.values([1, 0]), ps.map(lambda n: 1 // n), row(make, most)))
    probe = new_probe()
    trio.run(aborted, ps.pipe(counting(probe, 10**9), row(make, most)))
    assert probe.balanced
