"""What a function module may say and when, and the order in which it hears of completions."""

import pytest
import trio

import pullstream as ps


@ps.sink
async def note(upstream, ctx, log):
    """Notes every event; asks to be told of every time."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            log.append(("batch", event.time))
        else:
            log.append(("complete", event.time))


def test_completions_come_before_the_batch_that_passes_their_time():
    """And the last ones at the end."""
    log = []
    ps.run(ps.pipe(ps.values([1, 2, 5], time=int), note(log)))
    assert log == [(what, time) for time in (1, 2, 5) for what in ("batch", "complete")]


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
