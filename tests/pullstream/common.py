"""Modules and programs that several test files share."""

import gc
import random
from contextlib import suppress
from functools import partial

import pytest
import trio
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps
from pullstream.conformance.ready import COMBINING, TRANSFORMERS
from timely import BEGINNING

READY = {
    row.name: partial(row.make, *[lambda value: value] * row.around)
    for row in (*TRANSFORMERS, *COMBINING)
    if not row.inputs and not row.resource
}
"""Factories of the ready-made transformers by name; the functions that these call return their argument."""


class Unseen(Exception):
    """A test's own failure, which no module knows."""


def in_virtual_time(main, *args, seed=None):
    """Run a trio program in virtual time; the seed decides the scheduler's order."""

    async def bounded():
        with trio.fail_after(1000):
            return await main(*args)

    if seed is not None:
        trio_scheduler._r.seed(seed)
    return trio.run(bounded, clock=MockClock(autojump_threshold=0))


def run(pipeline, limit=4096, *, seed=None, check="strict"):
    async def main():
        return await ps.arun(pipeline, limit=limit, check=check)

    return in_virtual_time(main, seed=seed)


def through(values, *modules, **options):
    """The values that come of some values."""
    return ps.run(ps.pipe(ps.values(values), *modules, ps.collect()), **options)


def with_times(source, *modules, **options):
    """The resulting (time, value) pairs."""
    return ps.run(ps.pipe(source, *modules, ps.collect(timed=True)), **options)


def living(kind):
    """The number of objects of a type that something keeps."""
    gc.collect()
    return sum(isinstance(thing, kind) for thing in gc.get_objects())


def timed(*times):
    return ps.values(times, time=lambda time: time)


async def finish(reader, how, begun=None):
    """End a stream by an abort or an error after its first answer, or before any, or while an ask is under way.

    Otherwise read it to its end or failure. Returns the values that were read.
    """
    values = []
    async with trio.open_nursery() as nursery:
        match how:
            case "never asked":
                await reader.abort()
            case "abort" | "error":
                values += (await reader.ask()).values
                await (reader.abort() if how == "abort" else reader.error(Unseen("from downstream")))
            case "abort under way" | "cancel":
                nursery.start_soon(reader.lane().ask)
                await begun.wait()
                await reader.abort() if how != "cancel" else nursery.cancel_scope.cancel()
            case _:
                with suppress(Unseen):
                    while (batch := await reader.ask(9)) is not ps.DONE:
                        values += batch.values
    return values


def until_failure(error, stream, *, match=None, **options):
    """The values of a stream that fails, and its failure."""
    values = []
    with pytest.raises(error, match=match) as caught:
        ps.run(ps.pipe(stream, ps.drain(values.append)), **options)
    return values, caught.value


def aside(sink, test):
    """Send the values that pass a test to a side sink."""

    def check(value):
        if test(value):
            raise Unseen
        return value

    return ps.map(check, on_error=ps.pipe(ps.map(lambda failed: failed.value), sink))


async def answer(call, *args):
    """Return what an async function returns or raises."""
    try:
        return await call(*args)
    except Exception as exc:
        return exc


def broken(*_):
    raise Unseen


async def never(*_):
    await trio.sleep_forever()


def raises_at(bad, failure):
    """A function that returns its argument, but raises at one."""

    def call(value):
        if value == bad:
            raise failure
        return value

    return call


def after(seconds):
    """An async function that returns its argument after so many seconds."""

    async def wait(value):
        await trio.sleep(seconds)
        return value

    return wait


async def after_a_moment(value):
    await trio.lowlevel.checkpoint()
    return value


async def completions(running, times, at=None):
    """The seconds until each time is complete."""
    start, seen = trio.current_time(), {}

    async def wait(time):
        await running.progress.completed(time, at)
        seen[time] = trio.current_time() - start

    async with trio.open_nursery() as nursery:
        for time in times:
            nursery.start_soon(wait, time)
    return seen


@ps.source
async def delayed(ctx, rows, seed):
    """Emit rows, which begin with their times, in batches after pauses; sometimes advance before a row is emitted."""
    rng = random.Random(seed)
    start = 0
    while start < len(rows):
        time = rows[start][0]
        stop = start + 1
        while stop < len(rows) and rows[stop][0] == time and rng.random() < 0.8:
            stop += 1
        stop = min(stop, start + ctx.limit)
        if rng.random() < 0.3:
            ctx.advance(time)
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        yield ps.Batch(time, rows[start:stop])
        start = stop


@ps.source
class Together(ps.authoring.Kernel):
    """Answers 0, 1, ... at these times, as many at once as are asked for, but no more than `most`."""

    traits = ps.authoring.Traits(trusted=True, follows=True)

    def __init__(self, times, most=4096):
        self.times, self.most, self.given = times, most, 0

    async def acquire(self):
        self.location.hold(BEGINNING)
        self.location.drop_capability()

    async def produce(self, limit):
        start, self.given = self.given, min(len(self.times), self.given + min(limit, self.most))
        if start == self.given:
            return ps.DONE
        if self.given == len(self.times):
            self.location.drop(BEGINNING)
        return ps.Batch.of(self.times[start : self.given], range(start, self.given))


@ps.source
async def endless(ctx, log, failure=None):
    """Emit 1, and wait for ever; log the beginning, and the release, which takes a moment or fails at once."""
    log.append("begun")
    try:
        yield 1
        await trio.sleep_forever()
    finally:
        if failure is not None:
            raise failure
        with trio.CancelScope(shield=True):
            await trio.sleep(0.01)
        log.append("released")


@ps.source
class Leaky(ps.authoring.Kernel):
    """Gives ones; its release fails."""

    async def produce(self, limit):
        await trio.lowlevel.checkpoint()
        return ps.Batch(0, [1])

    async def release(self):
        raise Unseen("release")


@ps.source
class Answers(ps.authoring.Kernel):
    """Gives these answers to its asks, one after another, and then the end."""

    def __init__(self, *answers):
        self.left = iter(answers)

    async def produce(self, limit):
        return next(self.left, ps.DONE)


class PassesOn(ps.authoring.Kernel):
    """Passes batches on, and waits for each within an ask: it is not polled."""

    async def produce(self, limit):
        return await self.upstream.ask(limit)


@ps.transformer
async def passing(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield batch


@ps.transformer
class Cut(ps.authoring.Kernel):
    """Passes its input on, one time after another."""

    traits = ps.authoring.Traits(trusted=True)

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        self.upstream.ack()
        return batch


@ps.transformer
async def per_time(upstream, ctx, function=lambda value: value):
    """Emit the values of each time when it is complete."""
    kept = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                kept.setdefault(time, []).extend(values)
            case ps.Completed(time):
                yield ps.Batch(time, [function(value) for value in kept.pop(time)])


@ps.source
async def script(ctx, *parts):
    """Yield values and batches; a float is a pause in seconds, and a completion advances the clock."""
    for part in parts:
        match part:
            case float():
                await trio.sleep(part)
            case ps.Completed(time):
                ctx.advance(time)
            case Exception():
                raise part
            case _:
                yield part


@ps.source
async def steps(ctx, number):
    """Emit a value at each time, one second after the previous one."""
    for time in range(number):
        ctx.advance(time)
        await trio.sleep(1)
        yield ps.Batch(time, [time])


@ps.transformer
async def totals(upstream, ctx):
    """Emit the sum of all values so far, kept in its memory, when a time is complete."""
    sums = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                if time not in sums:
                    ctx.notify_at(time)
                sums[time] = sums.get(time, 0) + sum(values)
            case ps.Completed(time):
                memory = ctx.memory.at(time)
                memory["all"] = memory.get("all", 0) + sums.pop(time)
                yield ps.Batch(time, [memory["all"]])


@ps.sink
async def kept(upstream, ctx, log, *, pause=0.0, enough=None, failing=None):
    """Log values, and "done" at the end of the stream; the log survives a failure of the run."""
    async for batch in ctx.batches(upstream):
        await trio.sleep(pause)
        for value in batch.values:
            if value == failing:
                raise Unseen
            log.append(value)
            if len(log) == enough:
                return log
    log.append("done")
    return log
