"""Pipelines for simulations: each puts modules that once had faults between modules that wait.

A scene that takes a folder is simulated with a journal.
"""

import inspect

import trio

import pullstream as ps
from pullstream import files, incremental
from tests.pullstream.common import after_a_moment, per_time, script


async def slowly(value):
    await trio.sleep(value % 3)
    return value


def numbers(count=12, per_time=4):
    return ps.values(range(count), time=lambda n: n // per_time)


@ps.transformer
async def told_complete(upstream, ctx):
    """Pass values on, and emit a mark when their time is complete."""
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, _):
                ctx.notify_at(time)
                yield event
            case ps.Completed(time):
                yield ps.Batch(time, ["complete"])


@ps.sink
async def two_lanes(upstream, ctx):
    """Ask in two tasks, each on its own lane."""
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
    """Ask in three tasks; two are cancelled."""

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


def generators():
    return ps.pipe(numbers(), ps.map_async(slowly, 2), per_time(), told_complete(), ps.collect())


def dealt():
    slow = ps.pipe(ps.map_async(slowly, 2), ps.collect())
    return ps.pipe(numbers(), ps.partition(lambda n: n % 2, {0: slow}, other=ps.collect(), capacity=1))


def lanes():
    return ps.pipe(numbers(), ps.map_async(slowly, 2), two_lanes())


def lanes_that_leave():
    return ps.pipe(slow_to_close(), ps.map_async(after_a_moment, 1), three_lanes())


def zipped():
    slow = ps.pipe(numbers(8, 2), ps.map_async(slowly, 2))
    return ps.pipe(ps.zip(slow, numbers(6, 2), mode="padded", fill=0), per_time(), ps.collect())


def zipped_with_a_failure():
    failing = script(0.5, ps.Batch(0, [0]), 0.5, ps.Batch(1, [1]), OSError("gone"))
    return ps.pipe(ps.zip(numbers(4, 1), failing, mode="padded", fill=0), ps.prefetch(2), ps.collect())


def merged():
    return ps.pipe(ps.merge(ps.pipe(numbers(), ps.map_async(slowly, 2)), numbers(6, 2)), per_time(), ps.drain())


def joined():
    slow = ps.pipe(numbers(12, 3), ps.map_async(slowly, 2))
    pairs = ps.join(slow, numbers(8, 2), on=lambda n: n % 3, how="left", within=1)
    return ps.pipe(pairs, ps.reduce_by_time(ps.agg.count()), ps.collect())


def recovered():
    failing = script(*(part for n in range(3) for part in (0.5, ps.Batch(n, [n]))), OSError("gone"))
    again = ps.retry(failing, 2, delay=1, skip_delivered=True)
    return ps.pipe(ps.pipe(again, ps.catch(lambda _: [7])), ps.map_async(slowly, 2), told_complete(), ps.collect())


def caught():
    async def one_fails(value):
        await trio.sleep(1)
        await trio.lowlevel.checkpoint()
        return 1 // (value - 1)

    return ps.pipe(ps.values([0, 1]), ps.map_async(one_fails, 2), ps.catch(lambda _: [9]), per_time(), ps.collect())


def caught_when_complete():
    return ps.pipe(FailsWhenComplete(), ps.catch(lambda _: []), ps.map_async(slowly, 2), told_complete(), ps.collect())


def side_by_side():
    streams = ps.map(lambda n: ps.pipe(ps.values([n, n + 1]), ps.map_async(slowly, 2)))
    return ps.pipe(numbers(6, 2), streams, ps.flatten(concurrency=2), per_time(), ps.collect())


def side_inside():
    """Inner streams, each with a slow side sink."""
    seen = []

    async def note(value):
        await trio.sleep(2)
        seen.append(value)

    def stream(n):
        side = ps.pipe(ps.map_async(note, 1), ps.drain())
        return ps.pipe(ps.values([n, 0]), ps.map(lambda m: 1 // m, on_error=side), ps.map_async(after_a_moment, 1))

    counted = ps.map(lambda n: (n, len(seen)))
    return ps.pipe(ps.values([1, 2, 3], time=lambda n: n), ps.flat_map(stream), counted, ps.collect())


def side_inside_fails():
    """Inner streams, each with a side sink that fails."""

    def stream(n):
        side = ps.drain(lambda failed: [][failed.value])
        return ps.pipe(ps.values([n, 0]), ps.map(lambda m: 1 // m, on_error=side), ps.map_async(after_a_moment, 1))

    failing = ps.pipe(ps.values([1, 2]), ps.flat_map(stream))
    return ps.pipe(failing, ps.catch(lambda exc: [type(exc).__name__]), ps.collect())


def looped():
    body = ps.pipe(
        told_complete(),
        ps.map_async(after_a_moment, 2),
        ps.map(lambda n: ps.Again(n - 1) if isinstance(n, int) and n % 3 else n),
    )
    return ps.pipe(numbers(6, 2), ps.loop(body), ps.filter(lambda n: n != "complete"), per_time(), ps.drain())


def loop_left():
    """A loop whose body ends, while values of later times wait outside it."""
    body = ps.pipe(ps.take(3), told_complete())
    return ps.pipe(numbers(6, 1), ps.loop(body), ps.map(str), ps.drain())


def groups_round():
    """Inner streams in a loop: the times that they hold come back to them."""
    body = ps.pipe(ps.group_by(lambda n: n % 2, ps.pipe(ps.map_async(after_a_moment, 2), per_time())), ps.map(halved))
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
        # Downstream of a function of times, reading one frontier updates them all.
        ps.map_time(lambda time: time),
        ps.sessions(3, ps.agg.count(), key=lambda row: row[1], eager=True),
        told_complete(),
        ps.collect(),
    )


async def slowly_row(row):
    await trio.sleep(row[0] % 3)
    return row


def windows():
    sums = ps.sliding(4, 2, ps.agg.sum())
    return ps.pipe(numbers(12, 1), ps.map_async(slowly, 2), sums, told_complete(), ps.collect())


def switched_off_early():
    """Switched off before any ask, then aborted by the consumer."""
    stop = ps.abortable()

    @ps.sink
    async def leaves(upstream, ctx):
        stop.abort(OSError("switched off"))
        await trio.sleep(0.5)
        await upstream.abort()

    return ps.pipe(numbers(), ps.map_async(slowly, 1), stop, leaves())


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


def mapped_times():
    """A function of times that raises while a module waits for a completion."""

    def half(time):
        if time == 2:
            raise LookupError("no such time")
        return time // 2

    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.map_time(half), ps.map(str), ps.collect())


def stuck_by_exit():
    """The last task that could make progress ends."""

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

    return ps.pipe(numbers(), ps.map_async(after_a_moment, 2), ps.in_flight(per_time(), 2), ps.prefetch(2), waits())


def branches_fail():
    fails = ps.pipe(ps.map_async(slowly_but_five, 2), ps.drain())
    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.tee(fails, ps.pipe(per_time(), ps.drain()), ps.collect()))


def branch_leaves():
    leaves, stays = ps.pipe(ps.take(2), ps.collect()), ps.pipe(ps.prefetch(2), ps.collect())
    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.tee(leaves, stays, ps.collect()))


def dealt_fails():
    rest = ps.pipe(told_complete(), ps.collect())
    return ps.pipe(
        numbers(), ps.map_async(slowly, 2), ps.partition(lambda n: 1 // (n - 6), {1: ps.collect()}, other=rest)
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


async def slowly_but_five(n):
    await trio.sleep(n % 3)
    if n == 5:
        raise ValueError("five")
    return n


def threads():
    return ps.pipe(numbers(), ps.map_thread(lambda n: n * n, 2), per_time(), ps.prefetch(2), ps.collect())


# ---- scenes with a journal


def states(folder):
    """State across values, with keys that are equal but different objects."""
    keys = [1, 1.0, True, (1, "a"), (1.0, "a")]
    count = ps.accumulate(ps.agg.count(), key=lambda n: keys[n % 5])
    total = ps.pipe(ps.map(lambda pair: pair[1]), ps.scan(lambda a, n: a + n, 0))
    return ps.pipe(numbers(), ps.map_async(slowly, 2), count, total, ps.collect())


def ended_early(folder):
    """A sink that ends long before the others."""
    return ps.pipe(numbers(), ps.map_async(slowly, 2), ps.tee(ps.pipe(ps.take(2), ps.collect()), ps.collect()))


def maintained(folder):
    """The nodes reachable from 0, with distances, as edges change: two joins and a loop."""

    def changed(n):
        begin, end = n % 5, n % 7
        return ((begin, end), 1) if n < 16 else ((begin, (end + 2) % 7), 1)

    def reached(edges):
        start = edges.map(lambda _: (0, 0)).distinct()
        steps = start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min())
        return steps.join(edges)

    changes = ps.map(changed), incremental.maintain(reached)
    return ps.pipe(numbers(24, 3), ps.map_async(slowly, 2), *changes, rows_of_text(folder))


def upserted(folder):
    changes = incremental.upserts(lambda n: n % 4, deletes=lambda n: n % 9 == 0), incremental.integrate()
    return ps.pipe(numbers(24, 3), ps.map_async(slowly, 2), *changes, rows_of_text(folder))


def rows_of_text(folder):
    return ps.pipe(ps.map(repr), files.write_text(folder / "{time}.txt"))


def written(folder):
    return rows_to(folder / "{time}.jsonl")


def grown(folder):
    return rows_to(folder / "all.jsonl")


def rows_to(path):
    rows = ps.map(lambda n: {"n": n})
    return ps.pipe(numbers(), ps.map_async(slowly, 2), rows, ps.tee(files.write_jsonl(path), ps.collect()))


def read_many(folder):
    """A file with blocks of many rows."""
    path = folder / "in.jsonl"
    if not path.exists():
        path.write_text("".join(f'{{"day": {n // 400}, "n": {n}}}\n' for n in range(1100)))
    rows = files.read_jsonl(path, time="day")
    return ps.pipe(rows, ps.map(lambda row: row["n"]), ps.reduce_by_time(ps.agg.count()), ps.collect())


SCENES = {
    scene.__name__: scene
    for scene in (
        *(calls, generators, dealt, lanes, lanes_that_leave, zipped, zipped_with_a_failure, merged, joined, recovered),
        *(caught, caught_when_complete, side_by_side, side_inside, side_inside_fails, looped, loop_left, groups_round),
        *(sessions, windows, switched_off_early, pushed, mapped_times, patient),
        *(stuck_by_exit, branches_fail, branch_leaves, dealt_fails, ended_early, open_files, read_many, threads),
        *(states, maintained, upserted, written, grown),
    )
}
CHECKS = {
    "caught_when_complete": [lambda run: "it fails" if run.ending == "failed" and not run.way else ""],
}
"""Checks of scenes that, if wrong, are wrong under every schedule."""

COMPARED = {
    # Its values depend on the timing of an outside event.
    "lanes_that_leave": "nothing",
    # Some modules promise no order, and modules downstream keep state per time only.
    **dict.fromkeys(["merged", "side_by_side", "looped", "groups_round"], "times"),
}
"""What to compare in scenes whose modules' traits do not say enough."""


def journaled(scene):
    """Whether a scene takes a folder."""
    return bool(inspect.signature(scene).parameters)
