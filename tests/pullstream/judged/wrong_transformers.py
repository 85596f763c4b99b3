"""Transformers that are wrong, each as one writes it who has not yet met the rule."""

import os
import time

import trio

import pullstream as ps
from pullstream.conformance import Subject


class TakeWhile(ps.authoring.Kernel):
    """Values as long as they pass a test; subclasses do so in a wrong way."""

    def __init__(self, test):
        self.test = test

    def passing(self, values):
        """The values before the first that does not pass."""
        passed = []
        for value in values:
            if self.test(value) < 20:
                passed.append(value)
            else:
                break
        return passed

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        passed = self.passing(batch.values)
        if len(passed) < len(batch.values):
            self.produce_next = self.ended
        return ps.Batch(batch.time, passed) if passed else ps.DONE

    async def ended(self, limit):
        return ps.DONE


@ps.transformer
class SwallowsTheAbort(TakeWhile):
    """Takes an ending from below for its own affair."""

    async def dismiss(self, reason):
        pass


@ps.transformer
class LooksAtTheFirst(TakeWhile):
    """Tests the first value of a batch only."""

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE or self.test(batch.values[0]) >= 20:
            return ps.DONE
        return batch


@ps.transformer
async def asks_after_done(upstream, ctx):
    """Does not look whether its upstream has said that it is over."""
    missed = 0
    while missed < 2:
        batch = await upstream.ask(ctx.limit)
        if batch is ps.DONE:
            missed += 1
        else:
            yield batch


@ps.transformer
class EmptyBatch(TakeWhile):
    """Answers a batch of which no value has passed."""

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        return ps.Batch(batch.time, self.passing(batch.values))


@ps.transformer
async def failure_as_end(upstream, ctx, test):
    """Takes an exception of its test for the end."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            try:
                passes = test(value) < 1000
            except Exception:
                return
            if passes:
                yield ps.Batch(batch.time, [value])


@ps.transformer
async def drops_the_prefix(upstream, ctx, test):
    """Ends at the first batch in which a value does not pass, with those before it."""
    async for batch in ctx.batches(upstream):
        if any(test(value) >= 20 for value in batch.values):
            return
        yield batch


@ps.transformer
class OneBatch(ps.authoring.Kernel):
    """Takes one batch, whatever its size, for all there is."""

    taken = False

    async def produce(self, limit):
        if self.taken:
            return ps.DONE
        self.taken = True
        return await self.upstream.ask(limit)


@ps.transformer
class IgnoresDone(ps.authoring.Kernel):
    """Asks again when its upstream is over, in case there is more."""

    async def produce(self, limit):
        for _ in range(3):
            batch = await self.upstream.ask(limit)
            if batch is not ps.DONE:
                return batch
        return ps.DONE


@ps.transformer
class CatchesTheCancellation(ps.authoring.Kernel):
    """Takes a cancellation for something that can be tried again."""

    async def produce(self, limit):
        try:
            return await self.upstream.ask(limit)
        except trio.Cancelled:
            return await self.upstream.ask(limit)


@ps.transformer
class AsksForMuch(ps.authoring.Kernel):
    """Asks for a thousand values, as one does for speed, and keeps what is not wanted yet."""

    kept = None

    async def produce(self, limit):
        batch = self.kept or await self.upstream.ask(1000)
        if batch is ps.DONE:
            return ps.DONE
        rest = batch.part(limit)
        self.kept = rest if rest.values else None
        return batch.part(0, limit)


@ps.transformer
async def tries_again(upstream, ctx):
    """Asks again when a stream has failed: but its end is for ever."""
    while True:
        try:
            batch = await upstream.ask(ctx.limit)
        except Exception:
            continue
        if batch is ps.DONE:
            return
        yield batch


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


@ps.transformer
async def sorts_in_place(upstream, ctx):
    """Sorts each batch where it lies."""
    async for batch in ctx.batches(upstream):
        batch.values.sort(key=lambda value: -value)
        yield batch


@ps.transformer
class Sleeps(ps.authoring.Kernel):
    """Waits for something with a call that blocks everything."""

    async def produce(self, limit):
        time.sleep(1000)  # noqa: ASYNC251 - the slip it stands for
        return await self.upstream.ask(limit)


WRONG = (
    (Subject("swallows the abort", SwallowsTheAbort, around=True), {"R6", "R7", "R10"}),
    (Subject("looks at the first", LooksAtTheFirst, around=True), {"batching"}),
    (Subject("asks after done", asks_after_done), {"R9"}),
    (Subject("empty batch", EmptyBatch, around=True), {"R2"}),
    (Subject("failure as end", failure_as_end, around=True), {"R8"}),
    (Subject("drops the prefix", drops_the_prefix, around=True), {"batching"}),
    (Subject("one batch", OneBatch), {"batching"}),
    (Subject("ignores done", IgnoresDone), {"R9"}),
    (Subject("catches the cancellation", CatchesTheCancellation), {"R9"}),
    (Subject("asks for much", AsksForMuch), {"R2"}),
    (Subject("tries again", tries_again), {"spin", "R9"}),
    (Subject("leaves the program", leaves_the_program), {"crash"}),
    (Subject("crashes hard", CrashesHard), {"crash"}),
    (Subject("sorts in place", sorts_in_place), {"sharing"}),
    (Subject("sleeps", Sleeps), {"spin"}),
)
