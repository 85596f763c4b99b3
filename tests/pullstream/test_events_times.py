"""What a function module may hold and request and when, and the order of its notifications."""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import after, completions, in_virtual_time, run, script, steps
from tests.pullstream.programs import is_notified


def test_a_source_may_go_back_to_incomparable_times_it_holds():
    a, b, both = frozenset("a"), frozenset("b"), frozenset("ab")
    log = []

    @ps.source
    async def partial(ctx):
        with ctx.hold(a), ctx.hold(b):
            yield ps.Batch(a, [1])
            yield ps.Batch(b, [2])
            yield ps.Batch(a, [3])
        yield ps.Batch(both, [4])

    run(ps.pipe(partial(), is_notified(log, 0)))
    for last in (a, 3), (b, 2):
        assert log.index(last) < log.index(("complete", last[0])) < log.index((both, 4))
    assert log[-1] == ("complete", both)


def test_completions_come_least_first():
    log = []

    @ps.sink
    async def backwards(upstream, ctx):
        async for event in ctx.events(upstream):
            if isinstance(event, ps.Batch):
                for time in (3, 1, 2):
                    ctx.notify_at(time)
            else:
                log.append(event.time)

    ps.run(ps.pipe(ps.once("x"), backwards()))
    assert log == [1, 2, 3]


async def test_a_hold_is_lowered_step_by_step(autojump_clock):
    @ps.source
    async def slow(ctx):
        with ctx.hold(1) as held:
            ctx.advance(9)
            for time in (1, 3, 6):
                held.downgrade(time)
                await trio.sleep(10)
                yield ps.Batch(time, [time])
            with pytest.raises(
                ps.errors.CapabilityError, match=r"slow, composed at .* holds 6, which gives no right to 5"
            ):
                held.downgrade(5)
        for outside in (held, ctx.hold(9)):
            with pytest.raises(ps.errors.CapabilityError, match=r"does not hold [69].*inside its block"):
                outside.downgrade(9)

    async with ps.pipe(slow(), ps.drain()).open() as running:
        assert await completions(running, (0, 2, 5, 8)) == {0: 0, 2: 10, 5: 20, 8: 30}


# ---- whole multi-time batches: `many=True`


async def test_completions_precede_the_batch_after_them(autojump_clock):
    log = []

    @ps.sink
    async def notes(upstream, ctx):
        async for event in ctx.events(upstream, many=True):
            match event:
                case ps.Completed(time):
                    log.append(time)
                case batch:
                    log.append(list(batch.times))
                    for time in batch.times:
                        ctx.notify_at(time)

    answers = ps.Batch.of([1, 2, 3], [*"abc"]), ps.Batch(3, ["d"]), ps.Completed(4), ps.Batch.of([5, 6], [*"ef"])
    await ps.arun(ps.pipe(script(*(part for answer in answers for part in (1.0, answer))), notes()))
    assert log == [[1, 2, 3], 1, 2, [3], 3, [5, 6], 5, 6]


async def test_any_of_its_times_may_be_held():
    @ps.transformer
    async def holds(upstream, ctx):
        async for batch in ctx.batches(upstream, many=True):
            with pytest.raises(ps.errors.CapabilityError, match="hold 0, which it has no right to"), ctx.hold(0):
                pass
            with ctx.hold(3):
                upstream.ack()
                yield ps.Batch(3, ["late"])
            assert list(batch.times) == [1, 2, 3]

    pipeline = ps.pipe(script(ps.Batch.of([1, 2, 3], list("abc"))), holds(), ps.collect(timed=True))
    assert await ps.arun(pipeline) == [(3, "late")]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_multi_time_yields_are_handed_on_in_parts(limit):
    @ps.transformer
    async def doubles(upstream, ctx):
        async for batch in ctx.batches(upstream, many=True):
            yield ps.Batch.of([time for time in batch.times for _ in "ab"], [v for v in batch.values for _ in "ab"])

    @ps.sink
    async def parts(upstream, ctx):
        return [batch async for batch in ctx.batches(upstream, many=True)]

    source = ps.values([1, 2, 2, 3], time=lambda n: n)
    answered = ps.run(ps.pipe(source, doubles(), parts()), limit=limit, check=True)
    assert [time for batch in answered for time in batch.times] == [1, 1, 2, 2, 2, 2, 3, 3]
    assert [value for batch in answered for value in batch.values] == [1, 1, 2, 2, 2, 2, 3, 3]
    assert all(1 <= len(batch.values) <= limit for batch in answered)


def test_expecting_a_single_time_is_explained():
    @ps.sink
    async def confused(upstream, ctx):
        async for event in ctx.events(upstream, many=True):
            match event:
                case ps.Batch(time, values):
                    return time, values
        return None

    with pytest.raises(TypeError, match=r"use its runs\(\).*ctx\.events\(upstream\)"):
        ps.run(ps.pipe(ps.values([1, 2], time=lambda n: n), confused()), limit=2)
    assert ps.run(ps.pipe(ps.values([1, 2], time=lambda n: n), confused()), limit=1) == (1, [1])


@pytest.mark.parametrize("case", ["acknowledged", "of no lane", "earlier"])
def test_ack_but_takes_parts_of_batches_in_flight(case):
    @ps.sink
    async def confused(upstream, ctx):
        batch = await upstream.ask_many(9)
        if case == "earlier":
            upstream.ack_but(ps.Batch(0, [0]))
            return
        upstream.ack()
        upstream.ack_but(batch.part(1) if case == "acknowledged" else ps.Batch.of([1, 2], [1, 2]))

    with pytest.raises(
        ValueError, match="is not part of the batch in flight: pass a part of the batch that ask_many returned"
    ):
        ps.run(ps.pipe(ps.values([1, 2], time=lambda n: n), confused()))


# ---- asks that continue while a module is busy


@ps.transformer
async def tidies(upstream, ctx):
    """Work for three seconds on each completion."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            yield event
        else:
            await trio.sleep(3)


@ps.transformer
async def rests(upstream, ctx):
    """Rest for five seconds after each answer."""
    async for batch in ctx.batches(upstream):
        yield batch
        await trio.sleep(5)


EACH_SECOND = script(*(part for time in (0, 0, 1, 1) for part in (ps.Completed(time), 1.0, ps.Batch(time, [1]))))
ONCE_ROUND = ps.loop(ps.map(lambda n: ps.Again(0) if n else "left"))
INNER = ps.pipe(steps(3), ps.map(lambda value: script(2.0, value)), ps.flatten())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # The second stream is opened at 4, while the module works on the completion of time 0.
        (ps.pipe(INNER, tidies()), [3, 6, 9]),
        # The second stream is opened at 4, and the first result is answered at 3: nothing asks until 8.
        (ps.pipe(INNER, ps.count_by_key(), rests()), [3, 8, 13]),
        # The second stream is opened at 11, and the value of the other source is answered at 10: nothing asks until 15.
        (ps.pipe(ps.merge(INNER, ps.values([9, 9, 9])), rests(), ps.filter(lambda value: value < 9)), [5, 15, 25]),
        # A time is complete as soon as a value that went round has left, and then the fold must have asked for more.
        (ps.pipe(EACH_SECOND, ONCE_ROUND, ps.count_by_key(), rests()), [2, 7]),
    ],
    ids=["busy with a completion", "not asked", "not asked, of several inputs", "after a loop"],
)
async def test_asks_continue_while_a_module_is_busy(source, expected, autojump_clock):
    moments = []
    await ps.arun(ps.pipe(source, ps.drain(lambda _: moments.append(trio.current_time()))), limit=1)
    assert moments == expected


@ps.transformer
async def notified_of_0(upstream, ctx, log):
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            log.append((trio.current_time(), event.values))
            if event.time == 0:
                ctx.notify_at(0)
            yield event


@ps.transformer
async def rests_after_one(upstream, ctx):
    while (batch := await upstream.ask(1)) is not ps.DONE:
        yield batch
        await trio.sleep(5)


async def test_a_pending_ask_is_not_made_smaller(autojump_clock):
    """The source is asked for many, and then, while that is pending, for one: nothing arrives later or in parts."""
    log = []
    two_behind = script(0, ps.Completed(1), 1.0, ps.Batch(1, [1, 2]), 1.0, ps.Batch(1, [3]))
    await ps.arun(ps.pipe(two_behind, notified_of_0(log), rests_after_one(), ps.drain()))
    assert log == [(0, [0]), (6, [1, 2]), (16, [3])]


HALVES = ps.pipe(script(0.5, 0, 0.5, 1, 0.5, 2), ps.filter(lambda number: number != 1))
SLOWLY = ps.map_async(after(0.5), 1)


@pytest.mark.parametrize(
    ("source", "limit", "second"),
    [
        (ps.pipe(ps.values([ps.pipe(HALVES, ps.skip(1)), script(1.0, 0)]), ps.flatten(concurrency=2)), 1, 6),
        (ps.pipe(HALVES, ps.map(lambda number: script(0.5, 0)), ps.flatten(concurrency=3)), 1, 6.5),
        (ps.pipe(HALVES, ps.group_by(lambda number: number, SLOWLY)), 1, 6.5),
        (ps.combine_latest(HALVES, script(1.0, 0)), 1, 6),
        (ps.pipe(HALVES, ps.worker_pool(SLOWLY, SLOWLY)), 4, 6.5),
    ],
    ids=["streams of flatten", "flatten", "group_by", "combine_latest", "worker_pool"],
)
def test_an_input_is_still_asked_when_another_answers(source, limit, second):
    """One input's value is dropped at the moment when another input answers; its next comes half a second later.

    The consumer rests from then on, and the input must not stop until it asks again.
    """

    async def moments():
        noted = []
        program = ps.pipe(source, rests(), ps.drain(lambda _: noted.append(trio.current_time())))
        await ps.arun(program, limit=limit)
        return tuple(noted)

    assert {in_virtual_time(moments, seed=seed) for seed in range(20)} == {(1, second)}
