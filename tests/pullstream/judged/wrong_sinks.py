"""Sinks that are wrong."""

import trio

import pullstream as ps
from pullstream.conformance import Subject


@ps.sink
async def stores_in_the_background(upstream, ctx, store):
    """Starts to store each value, and asks for the next: nothing says when one is stored."""
    async with trio.open_nursery() as nursery:
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                nursery.start_soon(store, value)


@ps.sink
async def changes_its_batch(upstream, ctx):
    """Makes room in the batch for what it computes."""
    total = 0
    async for batch in ctx.batches(upstream):
        while batch.values:
            total += batch.values.pop()
    return total


@ps.sink
async def failure_as_end(upstream, ctx):
    """Gives what has come so far, as if that were all."""
    stored = []
    try:
        async for batch in ctx.batches(upstream):
            stored += batch.values
    except Exception:
        pass
    return stored


@ps.sink
async def opens_without_with(upstream, ctx, file):
    """Closes its file if all goes well."""
    file.__enter__()
    async for _ in ctx.batches(upstream):
        pass
    file.__exit__(None, None, None)


@ps.sink
async def never_gives_up(upstream, ctx):
    """Goes on, whatever is raised."""
    stored = []
    while True:
        try:
            batch = await upstream.ask(1)
        except BaseException:
            continue
        if batch is ps.DONE:
            return stored
        stored += batch.values


@ps.sink
async def two_askers(upstream, ctx):
    """Two tasks that ask the same reader."""
    stored = []

    async def take():
        while (batch := await upstream.ask(1)) is not ps.DONE:
            stored.extend(batch.values)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        nursery.start_soon(take)
    return stored


@ps.sink
async def one_batch(upstream, ctx):
    """Stores one batch."""
    batch = await upstream.ask(ctx.limit)
    return [] if batch is ps.DONE else list(batch.values)


@ps.sink
async def holds_what_it_stored(upstream, ctx, store):
    """Holds the time of each value, and never lets go of it."""
    async with trio.open_nursery() as nursery:

        async def keep(time, value, held):
            with ctx.hold(time):
                held.set()
                await store(value)
                await trio.sleep_forever()

        async for batch in ctx.batches(upstream):
            for value in batch.values:
                held = trio.Event()
                nursery.start_soon(keep, batch.time, value, held)
                await held.wait()
        await trio.sleep(1)
        nursery.cancel_scope.cancel()


WRONG = (
    (Subject("stores in the background", stores_in_the_background, calls=True), {"early"}),
    (Subject("changes its batch", changes_its_batch), {"sharing"}),
    (Subject("failure as end", failure_as_end), {"R6"}),
    (Subject("opens without with", opens_without_with, resource=True), {"R10"}),
    (Subject("never gives up", never_gives_up), {"spin"}),
    (Subject("two askers", two_askers), {"R4"}),
    (Subject("one batch", one_batch), {"batching"}),
    (Subject("holds what it stored", holds_what_it_stored, calls=True), {"holding"}),
)
