"""What a block, or whoever is around it, may do to a run, and what it is told."""

import pytest
import trio

import pullstream as ps


@ps.sink
async def writer(upstream, ctx, written):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, _):
                ctx.notify_at(time)
                await trio.sleep(0.05)
            case ps.Completed(time):
                written.append(time)


@ps.source
async def slowly(ctx):
    for n in range(20):
        await trio.sleep(0.05)
        yield ps.Batch(n // 4, [n])


@pytest.mark.parametrize("deadline", [0.02, 0.1, 0.3, 0.55])
async def test_a_cancellation_from_outside_completes_nothing(deadline, autojump_clock):
    written = []
    running = ps.pipe(slowly(), writer(written)).open()

    with trio.move_on_after(deadline) as scope:
        async with running:
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(0.2)

    assert scope.cancelled_caught
    complete = int((deadline + 0.2) / 0.2) - 1
    assert written == list(range(max(0, len(written))))
    assert len(written) <= complete + 1
    with pytest.raises(ps.errors.Abandoned):
        await running.progress.completed(len(written) + 1)


async def test_a_shielded_block_may_wait_for_the_result(autojump_clock):
    """The run's own tasks go on as long as the block does, so a shielded wait in it comes to an end."""

    async def double(n):
        await trio.sleep(0.1)
        return 2 * n

    with trio.move_on_after(0.15):
        async with ps.pipe(ps.values(range(5)), ps.map_async(double, 1), ps.collect()).open() as running:
            with trio.fail_after(100) as scope:
                scope.shield = True
                assert await running.result() == [0, 2, 4, 6, 8]


async def test_progress_before_opening_says_so():
    running = ps.pipe(ps.values([1]), ps.collect()).open()

    with pytest.raises(ps.PullstreamError, match="async with"):
        running.progress.frontier()


def test_a_source_is_not_notified():
    @ps.source
    async def asks(ctx):
        ctx.notify_at(0)
        yield 1

    with pytest.raises(ps.errors.CapabilityError, match="is a source"):
        ps.run(ps.pipe(asks(), ps.collect()))
