"""Modules that are right, as a learner may write them: none is to be accused of anything."""

from collections import Counter

import trio

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.conformance import Subject
from pullstream.conformance.ready import calling


@ps.source
async def rows(ctx, file):
    """A source over a resource."""
    with file:
        for row in range(5):
            yield row


@ps.source
async def reads_ahead(ctx):
    """A nursery around its yield."""
    send, receive = trio.open_memory_channel(2)

    async def read():
        async with send:
            for n in range(5):
                await send.send(n)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        async for value in receive:
            yield value


@ps.transformer
async def take_while(upstream, ctx, test):
    """Values as long as they pass; a test that raises in the middle of a batch does not lose what was before it."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if test(value) >= 25:
                return
            yield ps.Batch(batch.time, [value])


@ps.transformer
async def differences(upstream, ctx):
    """The difference of each value and the one before it."""
    last = 0
    async for batch in ctx.batches(upstream):
        found = []
        for value in batch.values:
            found.append(value - last)
            last = value
        yield ps.Batch(batch.time, found)


@ps.transformer
async def largest(upstream, ctx):
    """The largest value of each time, when that is complete."""
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed(time):
                yield ps.Batch(time, [found.pop(time)])


@ps.transformer
async def next_day(upstream, ctx):
    """How many values the day before had, told the day after."""
    counts = Counter()
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                counts[time] += len(values)
            case ps.Completed(time):
                yield ps.Batch(time + 1, [counts.pop(time)])


@ps.transformer
async def in_a_nursery(upstream, ctx, function):
    """Works on the values of a batch side by side."""
    async for batch in ctx.batches(upstream):
        results = [None] * len(batch.values)

        async def work(number, value, results=results):
            results[number] = await calling(function)(value)

        for number, value in enumerate(batch.values):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work, number, value)
            yield ps.Batch(batch.time, [results[number]])


@ps.source
class Pairs(ps.authoring.Kernel):
    """Pairs of two sources, which are asked side by side."""

    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        answers = [None, None]

        async def ask(number):
            answers[number] = await self.inputs[number].ask(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
            nursery.start_soon(ask, 1)
        if ps.DONE in answers:
            return ps.DONE
        left, right = answers
        return ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])


@ps.sink
async def stores(upstream, ctx, store):
    """Stores each value before it asks for the next."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            await store(value)


@ps.sink
async def stores_side_by_side(upstream, ctx, store):
    """Stores in the background, and holds the time of what is not stored yet."""
    async with trio.open_nursery() as nursery:

        async def keep(time, value, held):
            with ctx.hold(time):
                held.set()
                await store(value)

        async for batch in ctx.batches(upstream):
            for value in batch.values:
                held = trio.Event()
                nursery.start_soon(keep, batch.time, value, held)
                await held.wait()


@ps.sink
async def report(upstream, ctx, file):
    """Counts by time, into a file that it closes."""
    counts = {}
    with file:
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    ctx.notify_at(time)
                    counts[time] = counts.get(time, 0) + len(values)
                case ps.Completed():
                    pass
    return counts


@ps.sink
async def first_two(upstream, ctx):
    """Wants two values, and says so by returning."""
    taken = []
    while len(taken) < 2 and (batch := await upstream.ask(2 - len(taken))) is not ps.DONE:
        taken += batch.values
    return taken


RIGHT = (
    Subject("rows", rows, resource=True),
    Subject("reads ahead", reads_ahead),
    Subject("take_while", take_while, around=True),
    Subject("differences", differences),
    Subject("largest", largest, flushes=True, per_time=True),
    Subject("next day", next_day, flushes=True, per_time=True),
    Subject("in a nursery", in_a_nursery, around=True),
    Subject("pairs", Pairs, inputs=2),
    Subject("stores", stores, calls=True),
    Subject("stores side by side", stores_side_by_side, calls=True),
    Subject("report", report, resource=True),
    Subject("first two", first_two),
)
