"""Pipelines for simulations: each has modules that past faults were in, between modules that wait.

A scene that takes a folder is simulated with a journal.
"""

import inspect
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import trio

import pullstream as ps
from pullstream import files
from tests.pullstream.common import per_time


async def slowly(value):
    await trio.sleep(value % 3)
    return value


async def quickly(value):
    await trio.lowlevel.checkpoint()
    return value


def numbers(count=12, per_time=4):
    return ps.values(range(count), time=lambda n: n // per_time)


@ps.transformer
async def told_complete(upstream, ctx):
    """Pass values on, and say when their time is complete."""
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, _):
                ctx.notify_at(time)
                yield event
            case ps.Completed(time):
                yield ps.Batch(time, ["complete"])


@ps.sink
async def two_lanes(upstream, ctx):
    """Ask in two tasks, each in a lane of its own."""
    values = []

    async def ask(lane):
        while (batch := await lane.ask(1)) is not ps.DONE:
            await trio.sleep(batch.values[0] % 2)
            values.extend(batch.values)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, upstream)
        nursery.start_soon(ask, upstream.lane())
    return sorted(values)


@ps.sink
async def three_lanes(upstream, ctx):
    """Ask in three tasks, of which two are cancelled."""

    async def ask(lane, scope):
        with scope:
            while await lane.ask(1) is not ps.DONE:
                pass

    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for scope in scopes:
            nursery.start_soon(ask, upstream.lane(), scope)
        await trio.sleep(1)
        for scope in scopes[1:]:
            await trio.lowlevel.checkpoint()
            scope.cancel()


@ps.source
async def fails_after(ctx, values, failure):
    for value in values:
        await trio.sleep(0.5)
        yield ps.Batch(value, [value])
    raise failure


@ps.source
async def slow_to_close(ctx):
    try:
        for n in range(6):
            await trio.sleep(n % 2)
            yield ps.Batch(n, [n])
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)


@ps.source
class FailsWhenComplete(ps.authoring.Kernel):
    """Fails after it has completed its only time."""

    async def produce(self, limit):
        await trio.sleep(1)
        if 0 in self.location.held:
            self.location.drop_capability()
            raise OSError("gone")
        return ps.Batch(0, [1])


# ---- scenes


def calls():
    return ps.pipe(
        numbers(), ps.map_async(slowly, 3), ps.filter(lambda n: n % 4), ps.count_by_key(lambda n: n % 2), ps.collect()
    )


def calls_one_by_one():
    return ps.pipe(numbers(), ps.map_async(slowly, 1), told_complete(), ps.prefetch(3), ps.collect())


def generators():
    return ps.pipe(numbers(), ps.map_async(slowly, 2), per_time(), told_complete(), ps.collect())


def branches():
    fast, slow = ps.map(lambda n: -n), ps.map_async(slowly, 2)
    return ps.pipe(
        numbers(6, 2), ps.fork(fast, slow), ps.tee(ps.collect(), ps.pipe(per_time(), ps.collect()), capacity=2)
    )


def dealt():
    slow = ps.pipe(ps.map_async(slowly, 2), ps.collect())
    return ps.pipe(numbers(), ps.partition(lambda n: n % 2, {0: slow}, other=ps.collect(), capacity=1))


def lanes():
    return ps.pipe(numbers(), ps.map_async(slowly, 2), two_lanes())


def lanes_that_leave():
    return ps.pipe(slow_to_close(), ps.map_async(quickly, 1), three_lanes())


def zipped():
    return ps.pipe(
        ps.zip(ps.pipe(numbers(8, 2), ps.map_async(slowly, 2)), numbers(6, 2), mode="padded", fill=0),
        per_time(),
        ps.collect(),
    )


def zipped_with_a_failure():
    failing = fails_after([0, 1], OSError("gone"))
    return ps.pipe(ps.zip(numbers(4, 1), failing, mode="padded", fill=0), ps.prefetch(2), ps.collect())


def sorted_together():
    left, right = ps.pipe(numbers(8, 2), ps.map_async(slowly, 2)), numbers(6, 2)
    return ps.pipe(ps.merge_sorted(left, right), told_complete(), ps.map(str), ps.collect())


def merged():
    return ps.pipe(ps.merge(ps.pipe(numbers(), ps.map_async(slowly, 2)), numbers(6, 2)), per_time(), ps.drain())


def joined():
    slow = ps.pipe(numbers(12, 3), ps.map_async(slowly, 2))
    return ps.pipe(
        ps.join(slow, numbers(8, 2), on=lambda n: n % 3, how="left", within=1),
        ps.reduce_by_time(ps.agg.count()),
        ps.collect(),
    )


def recovered():
    again = ps.retry(fails_after([0, 1, 2], OSError("gone")), 2, delay=1, skip_delivered=True)
    return ps.pipe(ps.pipe(again, ps.catch(lambda _: [7])), ps.map_async(slowly, 2), told_complete(), ps.collect())


def caught():
    async def one_fails(value):
        await trio.sleep(1)
        await trio.lowlevel.checkpoint()
        return 1 // (value - 1)

    return ps.pipe(ps.values([0, 1]), ps.map_async(one_fails, 2), ps.catch(lambda _: [9]), per_time(), ps.collect())


def caught_one_by_one():
    async def fails(value):
        await trio.sleep(1)
        await trio.lowlevel.checkpoint()
        return 1 // value

    return ps.pipe(ps.values([0]), ps.map_async(fails, 1), ps.catch(lambda _: [9]), ps.prefetch(2), ps.collect())


def caught_in_a_generator():
    @ps.transformer
    async def one_fails(upstream, ctx):
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                await trio.sleep(1)
                await trio.lowlevel.checkpoint()
                yield ps.Batch(batch.time, [1 // value])

    return ps.pipe(ps.values([0]), one_fails(), ps.catch(lambda _: [9]), ps.prefetch(2), ps.collect())


def caught_when_complete():
    return ps.pipe(FailsWhenComplete(), ps.catch(lambda _: []), ps.map_async(slowly, 2), told_complete(), ps.collect())


def inside():
    def stream(n):
        return ps.pipe(ps.values([n, n + 1]), ps.map_async(slowly, 2))

    return ps.pipe(numbers(6, 2), ps.flat_map(stream), per_time(), ps.map_async(slowly, 2), ps.collect())


def side_by_side():
    streams = ps.map(lambda n: ps.pipe(ps.values([n, n + 1]), ps.map_async(slowly, 2)))
    return ps.pipe(numbers(6, 2), streams, ps.flatten(concurrency=2), per_time(), ps.collect())


def side_inside():
    """A stream inside, with a side sink of its own, which is slow."""
    seen = []

    async def note(value):
        await trio.sleep(2)
        seen.append(value)

    def stream(n):
        side = ps.pipe(ps.map_async(note, 1), ps.drain())
        return ps.pipe(ps.values([n, 0]), ps.map(lambda m: 1 // m, on_error=side), ps.map_async(quickly, 1))

    return ps.pipe(
        ps.values([1, 2, 3], time=lambda n: n), ps.flat_map(stream), ps.map(lambda n: (n, len(seen))), ps.collect()
    )


def side_inside_fails():
    return ps.pipe(failing_aside(), ps.catch(lambda exc: [type(exc).__name__]), ps.collect())


def failing_aside():
    """Streams inside, each with a side sink that fails."""

    def stream(n):
        side = ps.drain(lambda failed: [][failed.value])
        return ps.pipe(ps.values([n, 0]), ps.map(lambda m: 1 // m, on_error=side), ps.map_async(quickly, 1))

    return ps.pipe(ps.values([1, 2]), ps.flat_map(stream))


def grouped():
    return ps.pipe(
        numbers(), ps.map_async(slowly, 2), ps.group_by(lambda n: n % 2, per_time()), told_complete(), ps.drain()
    )


def looped():
    body = ps.pipe(
        told_complete(),
        ps.map_async(quickly, 2),
        ps.map(lambda n: ps.Again(n - 1) if isinstance(n, int) and n % 3 else n),
    )
    return ps.pipe(numbers(6, 2), ps.loop(body), ps.filter(lambda n: n != "complete"), per_time(), ps.drain())


def loop_left():
    """A loop whose body ends, while values of later times wait outside it."""
    body = ps.pipe(ps.take(3), told_complete())
    return ps.pipe(numbers(6, 1), ps.loop(body), ps.map(str), ps.drain())


def groups_round():
    """Streams inside a loop: what they hold comes round to them again."""
    body = ps.pipe(ps.group_by(lambda n: n % 2, ps.pipe(ps.map_async(quickly, 2), per_time())), ps.map(halved))
    return ps.pipe(numbers(8, 2), ps.loop(body), told_complete(), ps.drain())


def halved(pair):
    return ps.Again(pair[1] // 2) if pair[1] > 2 else pair[1]


def sessions():
    moments = [(0, "a"), (4, "b"), (1, "a"), (6, "b"), (3, "b"), (9, "a"), (7, "a"), (14, "b")]
    times = ps.stamp(lambda row: row[0], lateness=5)
    return ps.pipe(
        ps.values(moments),
        ps.map_async(slowly_row, 2),
        times,
        # Below a function of times, reading a frontier brings all of them up to date.
        ps.map_time(lambda time: time),
        ps.sessions(3, ps.agg.count(), key=lambda row: row[1], eager=True),
        told_complete(),
        ps.collect(),
    )


async def slowly_row(row):
    await trio.sleep(row[0] % 3)
    return row


def windows():
    return ps.pipe(
        numbers(12, 1), ps.map_async(slowly, 2), ps.sliding(4, 2, ps.agg.sum()), told_complete(), ps.collect()
    )


def late_aside():
    times = [0, 5, 1, 6, 2, 9, 3]
    late = ps.pipe(ps.map_async(slowly, 1), ps.drain())
    return ps.pipe(
        ps.values(times),
        ps.map_async(slowly, 1),
        ps.stamp(lambda n: n, lateness=2, late=late),
        per_time(),
        ps.collect(),
    )


def days():
    """Times of several zones: some of them are the same instant."""
    begin = datetime(2024, 3, 1, tzinfo=UTC)
    zones = [UTC, timezone(timedelta(hours=2))]

    def rows(count, every):
        return ps.values(range(count), time=lambda n: (begin + timedelta(hours=n // every)).astimezone(zones[n % 2]))

    near = ps.join(
        ps.pipe(rows(8, 2), ps.map_async(slowly, 2)),
        rows(6, 2),
        on=lambda n: n % 3,
        how="left",
        within=timedelta(hours=1),
    )
    return ps.pipe(near, ps.reduce_by_time(ps.agg.count()), ps.collect())


def switched():
    tap, stop = ps.pausable(), ps.abortable()

    async def steer(running):
        await trio.sleep(1)
        tap.pause()
        await trio.sleep(3)
        tap.resume()

    return ps.pipe(numbers(), ps.map_async(slowly, 2), tap, stop, per_time(), ps.collect()), steer


def switched_off():
    stop = ps.abortable()

    async def switch(running):
        await trio.sleep(2)
        stop.abort(OSError("switched off"))

    return ps.pipe(
        numbers(40, 4), ps.map_async(slowly, 1), ps.prefetch(2), stop, ps.catch(lambda _: []), ps.drain()
    ), switch


def switched_off_early():
    """Switched off before anybody has asked, and then aborted by the consumer."""
    stop = ps.abortable()

    @ps.sink
    async def leaves(upstream, ctx):
        stop.abort(OSError("switched off"))
        await trio.sleep(0.5)
        await upstream.abort()

    return ps.pipe(numbers(), ps.map_async(slowly, 1), stop, leaves())


def switched_off_and_aborted():
    stop = ps.abortable()

    async def switch(running):
        await trio.sleep(0.2)
        stop.abort(OSError("switched off"))
        await running.abort()

    @ps.sink
    async def sleeps(upstream, ctx):
        await trio.sleep(5)
        while await upstream.ask() is not ps.DONE:
            pass

    return ps.pipe(numbers(), ps.map_async(slowly, 1), stop, sleeps()), switch


def added():
    many = ps.dynamic_merge()

    async def add(running):
        with suppress(ps.errors.Ended):
            for n in range(3):
                many.add(ps.pipe(ps.values([n, n + 1], time=lambda m: m), ps.map_async(slowly, 2)))
                await trio.sleep(2)
        many.cap()

    return ps.pipe(many, per_time(), ps.map_async(quickly, 2), ps.drain()), add


def pushed():
    handle = ps.pushable(2)

    async def push(running):
        try:
            for n in range(6):
                await handle.push(n, time=n // 2)
                await trio.sleep(1)
            handle.end()
        except ps.errors.Ended:
            pass

    return ps.pipe(handle, ps.map_async(slowly, 2), ps.prefetch(2), per_time(), ps.collect()), push


def limited():
    return ps.pipe(numbers(), ps.rate_limit(2, per=1), ps.timeout(10_000), ps.prefetch(3), per_time(), ps.drain())


def mapped_times():
    """A function of times that raises, while somebody waits for a completion."""

    def half(time):
        if time == 2:
            raise LookupError("no such time")
        return time // 2

    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.map_time(half), ps.map(str), ps.collect())


def taken():
    return ps.pipe(numbers(40, 4), ps.map_async(slowly, 3), ps.prefetch(4), per_time(), ps.take(5), ps.collect())


def times_taken():
    return ps.pipe(
        numbers(40, 4), ps.map_async(slowly, 3), ps.take_times(2), told_complete(), ps.map(str), ps.collect()
    )


def failing_parts():
    """A function that fails in the middle of a time, above sinks that act when a time is complete."""

    def parts(n):
        return [n, 1 // (n - 9)]

    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.flat_map(parts), told_complete(), ps.map(str), ps.collect())


def stuck():
    """A pipeline that cannot go on: whoever waits is told."""
    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.in_flight(per_time(), 2), ps.prefetch(2), ps.collect())


def stuck_by_exit():
    """The last task that could move something ends."""

    @ps.sink
    async def waits(upstream, ctx):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 5)
            while await upstream.ask(9) is not ps.DONE:
                pass

    return ps.pipe(numbers(), ps.in_flight(per_time(), 2), ps.prefetch(2), waits())


def patient():
    """A wait that only a deadline ends."""

    @ps.sink
    async def waits(upstream, ctx):
        with trio.fail_after(500):
            while await upstream.ask(9) is not ps.DONE:
                pass

    return ps.pipe(numbers(), ps.map_async(quickly, 2), ps.in_flight(per_time(), 2), ps.prefetch(2), waits())


def ticks():
    return ps.pipe(numbers(), ps.map_async(quickly, 1), ps.in_flight(ps.debounce(2), 1), ps.prefetch(2), ps.drain())


def branches_fail():
    return ps.pipe(
        numbers(),
        ps.map_async(slowly, 2),
        ps.tee(ps.pipe(ps.map_async(slowly_but_five, 2), ps.drain()), ps.pipe(per_time(), ps.drain()), ps.collect()),
    )


def branch_leaves():
    return ps.pipe(
        numbers(),
        ps.map_async(slowly, 2),
        ps.tee(ps.pipe(ps.take(2), ps.collect()), ps.pipe(ps.prefetch(2), ps.collect()), ps.collect()),
    )


def dealt_fails():
    return ps.pipe(
        numbers(12, 4),
        ps.map_async(slowly, 2),
        ps.partition(lambda n: 1 // (n - 6), {1: ps.collect()}, other=ps.pipe(told_complete(), ps.collect())),
    )


def open_files():
    """A generator that closes its file, however it ends."""

    @ps.source
    async def opened(ctx):
        file = await trio.open_file(__file__)
        try:
            for n in range(5):
                await trio.sleep(1)
                yield ps.Batch(n, [n])
        finally:
            with trio.CancelScope(shield=True):
                await file.aclose()

    return ps.pipe(opened(), ps.map_async(slowly, 2), ps.prefetch(2), ps.take(3), ps.collect())


def side_inside_lost():
    return ps.pipe(failing_aside(), ps.prefetch(2), per_time(), ps.collect())


def skipped():
    checked = ps.map_async(slowly_but_five, 2, on_error="result")
    return ps.pipe(numbers(), checked, ps.map(lambda n: repr(n)[:12]), per_time(), ps.collect())


async def slowly_but_five(n):
    await trio.sleep(n % 3)
    if n == 5:
        raise ValueError("five")
    return n


def threads():
    return ps.pipe(numbers(), ps.map_thread(lambda n: n * n, 2), per_time(), ps.prefetch(2), ps.collect())


def put_off():
    """A part of the pipeline is known only while it runs."""
    later = ps.deferred("transformer")

    async def resolve(running):
        await trio.sleep(2)
        later.resolve(ps.pipe(ps.map_async(slowly, 2), per_time()))

    return ps.pipe(numbers(), ps.map_async(slowly, 2), later, told_complete(), ps.collect()), resolve


def pooled():
    """A worker fails, and another takes its value."""
    flaky = ps.map_async(slowly_but_five, 1)
    return ps.pipe(numbers(), ps.worker_pool(ps.map_async(slowly, 1), flaky), per_time(), ps.map(str), ps.collect())


def lists():
    return ps.pipe(
        *(numbers(), ps.map_async(slowly, 2), ps.windowed(3), ps.map(tuple), told_complete(), ps.batch(2)), ps.collect()
    )


def in_a_row():
    later = ps.catch_up(ps.values([3], time=lambda n: n), ps.pipe(numbers(6, 1), ps.map_async(slowly, 2), ps.delay(4)))
    first = ps.pipe(numbers(4, 2), ps.map_async(slowly, 2), ps.unique_by_time())
    return ps.pipe(ps.concat(first, later), per_time(), ps.prefetch(2), ps.collect())


def found_early():
    sinks = ps.find(lambda n: n > 5), ps.pipe(ps.take_times(2), ps.collect()), ps.first()
    return ps.pipe(numbers(40, 4), ps.map_async(slowly, 2), ps.tee(*sinks))


def errors_aside():
    async def seen(failed):
        return await slowly(failed.value)

    calls = ps.map_async(slowly_but_five, 2, on_error=ps.pipe(ps.map_async(seen, 1), ps.drain()))
    return ps.pipe(numbers(), calls, ps.map(lambda n: 1 // (n - 3), on_error=ps.collect()), per_time(), ps.collect())


def retried_inside():
    def stream(n):
        calls = []

        async def flaky(value):
            await trio.sleep(1)
            calls.append(value)
            if len(calls) == 2:
                raise OSError("gone")
            return value

        again = ps.pipe(ps.values([n, n + 1]), ps.map_async(flaky, 1))
        return ps.retry(again, 2, delay=1, skip_delivered=True)

    return ps.pipe(numbers(4, 2), ps.flat_map(stream), per_time(), ps.collect())


# ---- scenes with a journal


def states(folder):
    """States from value to value, of keys that are equal and yet other objects."""
    keys = [1, 1.0, True, (1, "a"), (1.0, "a")]
    count = ps.accumulate(ps.agg.count(), key=lambda n: keys[n % 5])
    return ps.pipe(
        numbers(),
        ps.map_async(slowly, 2),
        count,
        ps.map(lambda pair: pair[1]),
        ps.scan(lambda a, n: a + n, 0),
        ps.collect(),
    )


def results(folder):
    return ps.pipe(
        numbers(), ps.map_async(slowly, 2), ps.filter(lambda n: n < 6), ps.tee(ps.reduce(ps.agg.count()), ps.collect())
    )


def ended_early(folder):
    """A sink that ends long before the others."""
    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.tee(ps.pipe(ps.take(2), ps.collect()), ps.collect()))


def written(folder):
    rows = ps.map(lambda n: {"n": n})
    return ps.pipe(
        numbers(), ps.map_async(slowly, 2), rows, ps.tee(files.write_jsonl(folder / "{time}.jsonl"), ps.collect())
    )


def grown(folder):
    rows = ps.map(lambda n: {"n": n})
    return ps.pipe(
        numbers(), ps.map_async(slowly, 2), rows, ps.tee(files.write_jsonl(folder / "all.jsonl"), ps.collect())
    )


def read(folder):
    """Files that are written once, and then read."""
    if not (folder / "in").is_dir():
        (folder / "in").mkdir()
        for day in range(3):
            (folder / "in" / f"{day}.jsonl").write_text("".join(f'{{"day": {day}, "n": {n}}}\n' for n in range(3)))
    return ps.pipe(
        files.read_jsonl(folder / "in", time="day"),
        ps.map_async(later, 2),
        ps.scan(lambda total, row: total + row["n"], 0),
        ps.collect(),
    )


def read_many(folder):
    """A file with blocks of many rows."""
    path = folder / "in.jsonl"
    if not path.exists():
        path.write_text("".join(f'{{"day": {n // 400}, "n": {n}}}\n' for n in range(1100)))
    return ps.pipe(
        files.read_jsonl(path, time="day"),
        ps.map(lambda row: row["n"]),
        ps.reduce_by_time(ps.agg.count()),
        ps.collect(),
    )


def kept(folder):
    """Modules that keep values of complete times, or windows that are not over."""
    pairs = ps.zip(numbers(12, 3), ps.pipe(numbers(12, 3), ps.map_async(slowly, 2)))
    windows = ps.tumbling(3, ps.agg.sum(), key=lambda n: n % 2)
    return ps.pipe(pairs, ps.map(max), ps.unique(lambda n: n % 9), ps.tee(ps.pipe(windows, ps.collect()), ps.collect()))


async def later(row):
    await trio.sleep(1)
    return row


def times_left(folder):
    return ps.pipe(numbers(40, 4), ps.map_async(slowly, 2), ps.take_times(3), ps.batch(3), ps.collect())


SCENES = {
    scene.__name__: scene
    for scene in (
        *(calls, calls_one_by_one, generators, branches, dealt, lanes, lanes_that_leave, zipped, zipped_with_a_failure),
        *(sorted_together, merged, joined, recovered, caught, caught_one_by_one, caught_in_a_generator),
        *(caught_when_complete, inside, side_by_side, side_inside, side_inside_fails, grouped, looped, loop_left),
        *(groups_round, sessions, windows, late_aside, days, switched, switched_off, switched_off_early, added, pushed),
        *(
            limited,
            mapped_times,
            taken,
            times_taken,
            failing_parts,
            switched_off_and_aborted,
            stuck_by_exit,
            patient,
            ticks,
        ),
        *(branches_fail, branch_leaves, dealt_fails, ended_early, open_files, side_inside_lost, read_many, stuck),
        *(skipped, threads, put_off, pooled, lists, in_a_row, found_early, errors_aside, retried_inside),
        *(states, results, written, grown, read, kept, times_left),
    )
}
CHECKS = {
    "side_inside_lost": [lambda run: "it loses the failure" if run.ending == "complete" and not run.way else ""],
    "caught_when_complete": [lambda run: "it fails" if run.ending == "failed" and not run.way else ""],
}
"""Checks of scenes that are wrong under every schedule, if they are."""

COMPARED = {
    # Their values depend on the moment of something outside.
    **dict.fromkeys(["switched_off", "lanes_that_leave"], "nothing"),
    # Its workers race, and their results are given in order.
    "pooled": "order",
    # Some modules promise no order, and those below keep something for each time alone.
    **dict.fromkeys(["branches", "merged", "side_by_side", "grouped", "looped", "groups_round", "added"], "times"),
}
"""What is compared in scenes where the traits of the modules do not say enough."""


def journaled(scene):
    """Whether a scene takes a folder."""
    return bool(inspect.signature(scene).parameters)
