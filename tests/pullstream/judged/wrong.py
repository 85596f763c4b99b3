"""Wrong modules, as written by people who do not know a rule yet; `WRONG` says which rules must be found broken.

The same kit judges the wrong answers to the tutorials' exercises (`tests/tutorials/answers`).
"""

import os

import trio

import pullstream as ps
from pullstream.conformance import Subject

# ---- sources


@ps.source
class OneList(ps.authoring.Kernel):
    """Fills the same list for each of its batches."""

    def __init__(self):
        self.values = []
        self.next = 0

    async def produce(self, limit):
        self.values.clear()
        self.values += range(self.next, min(5, self.next + limit))
        self.next += limit
        return ps.Batch(0, self.values) if self.values else ps.DONE


@ps.source
class OneAnswerAhead(ps.authoring.Kernel):
    """Prepares the next answer, as large as the last ask allowed."""

    def __init__(self):
        self.left = list(range(5))
        self.prepared = None

    def take(self, limit):
        taken, self.left = self.left[:limit], self.left[limit:]
        return taken

    async def produce(self, limit):
        values = self.take(limit) if self.prepared is None else self.prepared
        self.prepared = self.take(limit)
        return ps.Batch(0, values) if values else ps.DONE


@ps.source
class Forgetful(ps.authoring.Kernel):
    """Answers nothing but the end."""

    async def produce(self, limit):
        return ps.DONE


# ---- transformers


@ps.transformer
class OneBatch(ps.authoring.Kernel):
    """Takes the first batch, whatever its size, for the whole stream."""

    taken = False

    async def produce(self, limit):
        if self.taken:
            return ps.DONE
        self.taken = True
        return await self.upstream.ask(limit)


@ps.transformer
class Hangs(ps.authoring.Kernel):
    """Never answers after the second value."""

    given = 0

    async def produce(self, limit):
        self.given += 1
        if self.given == 3:
            await trio.sleep_forever()
        return await self.upstream.ask(1)


@ps.transformer
class Swallows(ps.authoring.Kernel):
    """Takes its upstream's failure for its end."""

    async def produce(self, limit):
        try:
            return await self.upstream.ask(limit)
        except Exception:
            return ps.DONE


@ps.transformer
class EndsWhenCancelled(ps.authoring.Kernel):
    """Takes its cancellation for the end of the stream."""

    async def produce(self, limit):
        try:
            return await self.upstream.ask(limit)
        except trio.Cancelled:
            return ps.DONE


@ps.transformer
async def leaves_the_program(upstream, ctx):
    """Ends the program when it does not know what to do."""
    async for batch in ctx.batches(upstream):
        if len(batch.values) > 1:
            raise SystemExit(3)
        yield batch


@ps.transformer
class CrashesHard(ps.authoring.Kernel):
    """Ends the process without a word."""

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            os._exit(7)
        return batch


# ---- times


@ps.transformer
async def forgets_the_hold(upstream, ctx):
    """Keeps each batch until the next one arrives."""
    kept = None
    async for batch in ctx.batches(upstream):
        if kept is not None:
            yield kept
        kept = batch
    if kept is not None:
        yield kept


@ps.transformer
class HoldsEachBatch(ps.authoring.Kernel):
    """Holds a time once for each of its batches, and drops one hold."""

    held = None

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        if self.held not in (None, batch.time):
            self.location.drop(self.held)
        self.location.hold(batch.time)
        self.held = batch.time
        return batch


@ps.transformer
async def at_an_earlier_time(upstream, ctx):
    """Answers at the time before its batch's."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time - 1, batch.values)


@ps.transformer
async def again_at_the_end(upstream, ctx):
    """Emits the largest value of each time and, at the end, all of them again."""
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


# ---- sinks


@ps.sink
async def changes_its_batch(upstream, ctx):
    """Empties the batch while it adds up the values."""
    total = 0
    async for batch in ctx.batches(upstream):
        while batch.values:
            total += batch.values.pop()
    return total


@ps.sink
async def never_gives_up(upstream, ctx):
    """Continues, whatever is raised."""
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
async def one_batch(upstream, ctx):
    """Stores one batch."""
    batch = await upstream.ask(ctx.limit)
    return [] if batch is ps.DONE else list(batch.values)


@ps.sink
async def works_in_the_background(upstream, ctx, save):
    """Keeps asking, as if values that are still being saved were saved."""
    async with trio.open_nursery() as nursery:
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                nursery.start_soon(save, value)


@ps.transformer
async def first_of_each_row(upstream, ctx):
    """Takes a new time for the end of the previous one."""
    last = None
    async for batch in ctx.batches(upstream):
        if batch.time != last:
            last = batch.time
            yield ps.Batch(last, batch.values[:1])


@ps.transformer
async def adds_earlier_times(upstream, ctx):
    """Answers with the sum of all values up to a time."""
    sums = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                sums[time] = sums.get(time, 0) + sum(values)
            case ps.Completed(time):
                yield ps.Batch(time, [sum(total for other, total in sums.items() if other <= time)])


WRONG = (
    (Subject("one list", OneList), {"sharing"}),
    (Subject("one answer ahead", OneAnswerAhead), {"R2"}),
    (Subject("forgetful", Forgetful), {"vacuous"}),
    (Subject("one batch", OneBatch), {"batching"}),
    (Subject("hangs", Hangs), {"hang"}),
    (Subject("swallows", Swallows), {"R6"}),
    (Subject("ends when cancelled", EndsWhenCancelled), {"R1"}),
    (Subject("leaves the program", leaves_the_program), {"crash"}),
    (Subject("crashes hard", CrashesHard), {"crash"}),
    (Subject("forgets the hold", forgets_the_hold), {"R12"}),
    (Subject("holds each batch", HoldsEachBatch), {"holding"}),
    (Subject("at an earlier time", at_an_earlier_time), {"R12"}),
    (Subject("again at the end", again_at_the_end, flushes=True, per_time=True), {"R12"}),
    (Subject("adds earlier times", adds_earlier_times, flushes=True, per_time=True), {"times"}),
    (Subject("changes its batch", changes_its_batch), {"sharing"}),
    (Subject("never gives up", never_gives_up), {"spin"}),
    (Subject("one batch, a sink", one_batch), {"batching"}),
    (Subject("works in the background", works_in_the_background, calls=True), {"early"}),
)
