"""Modules written as async generators: their values are collected until they wait, which changes nothing else."""

import math

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.engine.parts import context, generator
from tests.pullstream.common import script, until_failure


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Time does not end a collection here, however slow the machine is."""
    monkeypatch.setattr(generator, "BREATH", math.inf)
    monkeypatch.setattr(context, "BREATH", math.inf)


@ps.source
async def logged(ctx, made, count=100):
    """Yields numbers, and notes each when it is made."""
    for number in range(count):
        made.append(number)
        yield number


@ps.source
async def timed(ctx, times):
    for number, time in enumerate(times):
        yield ps.Batch(time, [number])


@ps.transformer
async def singly(upstream, ctx):
    """Yields every value in its own batch."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            yield ps.Batch(batch.time, [value])


@ps.sink
async def asks(upstream, ctx, taken):
    while (batch := await upstream.ask_many(4096)) is not ps.DONE:
        taken.append(batch.values)


async def asyncly(count):
    for number in range(count):
        yield number


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: logged([], 10_000), id="values"),
        pytest.param(lambda: timed([0] * 10_000), id="batches"),
        pytest.param(lambda: timed(range(10_000)), id="times"),
        pytest.param(lambda: ps.from_async_iterable(asyncly(10_000)), id="iterable"),
        pytest.param(lambda: ps.from_async_iterable(asyncly(10_000), time=lambda n: n), id="iterable with times"),
        pytest.param(lambda: ps.pipe(ps.values(range(10_000)), singly()), id="transformer"),
        pytest.param(lambda: ps.pipe(ps.values(range(10_000), time=lambda n: n), singly()), id="transformer of times"),
    ],
)
async def test_few_answers_for_many_yields(source):
    """Tasks hand over thousands of values at once, not each by itself."""
    taken = []
    await ps.arun(ps.pipe(source(), asks(taken)))
    assert sum(map(len, taken)) == 10_000
    assert len(taken) < 10


async def test_an_ask_is_answered_after_a_few_milliseconds(monkeypatch):
    monkeypatch.setattr(generator, "BREATH", -1)
    taken = []
    await ps.arun(ps.pipe(logged([], 5), asks(taken)))
    assert taken == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("wanted", [1, 2, 3, 10])
def test_nothing_is_made_that_was_not_asked_for(limit, wanted):
    made = []
    assert ps.run(ps.pipe(logged(made), ps.take(wanted), ps.collect()), limit=limit) == list(range(wanted))
    assert made == list(range(wanted))


async def test_a_wait_answers_with_collected_values():
    go, made, taken = [trio.Event(), trio.Event()], [], []

    @ps.source
    async def source(ctx):
        for number in range(6):
            if number in (2, 4):
                await go[number // 2 - 1].wait()
            made.append(number)
            yield number

    @ps.sink
    async def sink(upstream, ctx):
        taken.append((await upstream.ask(100)).values)
        await trio.testing.wait_all_tasks_blocked()
        assert made == [0, 1]
        go[0].set()
        await trio.testing.wait_all_tasks_blocked()
        assert made == [0, 1, 2]
        taken.append((await upstream.ask(100)).values)
        taken.append((await upstream.ask(100)).values)
        go[1].set()
        while (batch := await upstream.ask(100)) is not ps.DONE:
            taken.append(batch.values)

    await ps.arun(ps.pipe(source(), sink()))
    assert taken[:2] == [[0, 1], [2]]
    assert [number for values in taken for number in values] == list(range(6))


FAILING = script(*(ps.Batch(number // 4, [number]) for number in range(13)), ZeroDivisionError())


@ps.transformer
async def late(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            yield ps.Batch(2 if value == 13 else batch.time, [value])


@pytest.mark.parametrize(
    ("stream", "error", "count"),
    [
        (ps.pipe(FAILING, singly()), ZeroDivisionError, 13),
        (ps.pipe(ps.values(range(20), time=lambda n: n // 4), late()), ps.errors.CapabilityError, 13),
        (timed([0, 1, 1, 5, 5, 3, 6]), ps.errors.CapabilityError, 5),
        (script(0, 1, ps.Batch(0, [])), ps.errors.ProtocolError, 2),
    ],
    ids=["fails", "has no right", "goes back", "is empty"],
)
def test_a_failure_strikes_at_the_same_value(stream, error, count, limit):
    assert until_failure(error, stream, limit=limit)[0] == list(range(count))


def test_a_list_changed_after_its_yield():
    @ps.source
    async def source(ctx):
        buffer = []
        for number in range(10):
            buffer.append(number)
            if len(buffer) == 2:
                yield ps.Batch(0, buffer)
                buffer.clear()

    assert ps.run(ps.pipe(source(), ps.collect())) == list(range(10))


def test_an_iterable_s_batches_are_values():
    async def batches():
        yield ps.Batch(3, ["a"])
        yield ps.Batch(4, [])

    assert ps.run(ps.pipe(ps.from_async_iterable(batches()), ps.collect())) == [ps.Batch(3, ["a"]), ps.Batch(4, [])]
