"""Modules that are wrong about times: what they hold, when they answer, and of what."""

import pullstream as ps
from pullstream.conformance import Subject


@ps.transformer
async def forgets_the_hold(upstream, ctx):
    """Keeps each batch until the next one has come."""
    kept = None
    async for batch in ctx.batches(upstream):
        if kept is not None:
            yield kept
        kept = batch
    if kept is not None:
        yield kept


@ps.transformer
async def holds_for_ever(upstream, ctx):
    """Holds the first time until the end, as if everything were an answer to it."""
    first = await upstream.ask(ctx.limit)
    if first is ps.DONE:
        return
    with ctx.hold(first.time):
        yield first
        async for batch in ctx.batches(upstream):
            yield batch


@ps.transformer
async def notified_of_nothing(upstream, ctx):
    """Asks to be told of times, and does not listen."""
    async for batch in ctx.batches(upstream):
        ctx.notify_at(batch.time)
        yield batch


@ps.transformer
async def at_an_earlier_time(upstream, ctx):
    """Answers at the time before that of its batch."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time - 1, batch.values)


@ps.transformer
async def answers_all_at_once(upstream, ctx):
    """The largest of each time, of all times as soon as one of them is complete."""
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed():
                for time in sorted(found):
                    yield ps.Batch(time, [found.pop(time)])


@ps.transformer
async def again_at_the_end(upstream, ctx):
    """The largest of each time and, at the end, all of them once more."""
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed(time):
                yield ps.Batch(time, [found[time]])
    for time, value in found.items():
        yield ps.Batch(time, [value])


@ps.transformer
async def overwritten(upstream, ctx):
    """The largest of each time, or rather of its last batch."""
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max(values)
            case ps.Completed(time):
                yield ps.Batch(time, [found.pop(time)])


@ps.transformer
async def never_reset(upstream, ctx):
    """The largest of each time, or rather of all times so far."""
    largest = -1
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                largest = max(largest, *values)
            case ps.Completed(time):
                yield ps.Batch(time, [largest])


LARGEST = {"flushes": True, "per_time": True}

WRONG = (
    (Subject("forgets the hold", forgets_the_hold), {"R12"}),
    (Subject("holds for ever", holds_for_ever), {"holding"}),
    (Subject("notified of nothing", notified_of_nothing), {"holding"}),
    (Subject("at an earlier time", at_an_earlier_time), {"R12"}),
    (Subject("answers all at once", answers_all_at_once, **LARGEST), {"early"}),
    (Subject("again at the end", again_at_the_end, **LARGEST), {"R12"}),
    (Subject("overwritten", overwritten, **LARGEST), {"batching"}),
    (Subject("never reset", never_reset, **LARGEST), {"times"}),
)
