"""What a function module may say and when, and the order in which it hears of completions."""

import datetime as dt

import pytest
import trio

import pullstream as ps
import timely


@ps.source
async def batches(ctx, *given):
    for batch in given:
        yield batch


@ps.sink
async def note(upstream, ctx, log):
    """Notes every event; asks to be told of every time."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            log.append(("batch", event.time))
        else:
            log.append(("complete", event.time))


DOMAINS = {
    "dates": [dt.date(2013, 1, 1), dt.date(2013, 1, 2), dt.date(2013, 2, 1)],
    "text": ["a", "ab", "b"],
    "tuples": [(1, 1), (1, 2), (2, 0)],
    "sets": [frozenset(), frozenset("a"), frozenset("ab")],
    "products": [timely.Product(0, 0), timely.Product(0, 1), timely.Product(1, 1)],
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_any_ordered_times_complete_before_the_batch_that_passes_them(domain):
    """Completions come before the batch that caused them, whatever the times are made of."""
    log = []
    times = DOMAINS[domain]
    ps.run(ps.pipe(batches(*(ps.Batch(time, ["x"]) for time in times)), note(log)))
    a, b, c = times
    assert log == [
        ("batch", a),
        ("complete", a),
        ("batch", b),
        ("complete", b),
        ("batch", c),
        ("complete", c),
    ]


def test_incomparable_times_from_a_source_that_holds_what_it_goes_back_to():
    """A source may hold several incomparable times; each completes after its last value, and before what follows."""
    a, b, both = frozenset("a"), frozenset("b"), frozenset("ab")
    log = []

    @ps.source
    async def partial(ctx):
        with ctx.hold(a), ctx.hold(b):
            yield ps.Batch(a, [1])
            yield ps.Batch(b, [2])
            yield ps.Batch(a, [3])
        yield ps.Batch(both, [4])

    ps.run(ps.pipe(partial(), note(log)))
    last = {time: len(log) - log[::-1].index(("batch", time)) for time in (a, b)}
    completed = {time: log.index(("complete", time)) for time in (a, b)}
    assert last[a] <= completed[a] < log.index(("batch", both))
    assert last[b] <= completed[b] < log.index(("batch", both))
    assert log[-1] == ("complete", both)


def test_several_completions_come_least_first():
    """At one advance several times complete: the least is told first, whatever the order of asking."""
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


def test_asking_to_be_told_too_late_is_refused():
    """notify_at a time that nothing held covers any more says what to do instead."""

    @ps.sink
    async def late(upstream, ctx):
        async for event in ctx.events(upstream):
            if event.time == 2:
                ctx.notify_at(1)

    with pytest.raises(ps.errors.CapabilityError, match=r"late.*1.*holds nothing.*while a batch at it") as caught:
        ps.run(ps.pipe(ps.values([1, 2], time=lambda time: time), late()))
    assert any("late" in line for line in caught.value.__notes__)


async def test_a_hold_is_lowered_step_by_step(autojump_clock):
    """What was held completes as far as the hold has been lowered, and no further; back it does not go."""
    seen = []

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

    async def note(progress, time):
        await progress.completed(time)
        seen.append((time, trio.current_time()))

    async with ps.pipe(slow(), ps.drain()).open() as running, trio.open_nursery() as nursery:
        for time in (0, 2, 5, 8):
            nursery.start_soon(note, running.progress, time)
    assert sorted(seen) == [(0, 0.0), (2, 10.0), (5, 20.0), (8, 30.0)]


def test_what_was_complete_before_a_failure_is_told():
    """A time is complete when the source has gone past it, whatever becomes of the source afterwards."""

    @ps.source
    async def failing(ctx):
        yield ps.Batch(1, ["a"])
        yield ps.Batch(2, ["b"])
        ctx.advance(2)
        raise LookupError

    @ps.sink
    async def seen(upstream, ctx):
        async for event in ctx.events(upstream):
            events.append(event)
            if isinstance(event, ps.Batch):
                ctx.notify_at(event.time)

    events = []
    with pytest.raises(LookupError):
        ps.run(ps.pipe(failing(), seen()))
    assert events == [ps.Batch(1, ["a"]), ps.Completed(1), ps.Batch(2, ["b"])]
