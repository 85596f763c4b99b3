"""Observers given as `beside`: they see how many times are done, and change nothing unless they fail."""

from contextlib import nullcontext

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import after, never
from tests.pullstream.test_stalls_scenes import awaiting

FAR = 987_654_321
"""A time that never comes; no path in a message has these digits."""


async def ticking(running):
    while True:  # noqa: ASYNC110 - as a display does
        await trio.sleep(0.25)


async def watching(running):
    async for _ in running.progress.watch():
        pass


async def completing(running):
    await running.progress.completed(FAR)


async def in_tasks(running):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ticking, running)
        nursery.start_soon(running.wait)


LOOKERS = [never, ticking, watching, completing, in_tasks]


def slowly(*values):
    return ps.pipe(ps.values(values, time=lambda n: n), ps.map_async(after(1), 1))


@pytest.mark.parametrize("beside", LOOKERS)
async def test_it_ends_with_the_run_in_every_ending(beside, autojump_clock):
    """An observer that sees a failure does not replace the block, which waits for something else and must get it."""
    async with ps.pipe(slowly(1, 2, 3), ps.collect()).open(beside=beside) as running:
        assert await running.result() == [1, 2, 3]
    assert trio.current_time() == pytest.approx(3)
    async with ps.pipe(slowly(1, 2, 3), ps.tee(ps.collect(), ps.drain())).open(beside=beside) as running:
        await trio.sleep(1.5)
        await running.abort()
    with pytest.raises(ps.errors.Abandoned):
        await running.result()
    with trio.fail_after(300), pytest.raises(ZeroDivisionError) as caught:
        async with ps.pipe(slowly(0, 1), ps.map(lambda n: 1 / n), ps.drain()).open(beside=beside):
            await trio.sleep_forever()
    (place,) = caught.value.__notes__
    assert place.startswith("raised in map(")


def test_run_takes_it(capsys):
    async def last_words(running):
        try:
            await trio.sleep_forever()
        finally:
            print(running.finished, running.failure, [row.values_in for row in running.counters()])

    assert ps.run(ps.pipe(ps.values("abc"), ps.concat_values(str)), beside=last_words) == "abc"
    assert capsys.readouterr().out == "True None [0, 3]\n"


@pytest.mark.parametrize("beside", LOOKERS)
async def test_a_stall_is_still_noticed(beside, autojump_clock):
    box = []
    box.append(ps.pipe(slowly(1), awaiting(box)).open(beside=beside))
    with pytest.raises(ps.StalledError, match="awaiting has not acknowledged a batch at 1") as caught:
        async with box[0] as running:
            await running.result()
    assert "watched" not in str(caught.value)
    assert str(FAR) not in str(caught.value)
    assert "beside=" not in str(getattr(caught.value, "__notes__", ""))
    assert trio.current_time() < 3


async def test_its_failure_aborts_the_run_in_order(autojump_clock):
    released = []

    @ps.source
    async def ticks(ctx):
        try:
            for n in range(100):
                await trio.sleep(1)
                yield ps.Batch(n, [n])
        finally:
            released.append(trio.current_time())

    async def failing(running):
        await trio.sleep(2.5)
        return running.values

    with pytest.raises(AttributeError, match="has no attribute 'values'") as caught:
        async with ps.pipe(ticks(), ps.collect()).open(beside=failing) as running:
            await running.result()
    assert released == [2.5]
    assert running.failure is caught.value
    hint, place = caught.value.__notes__
    assert "running.progress" in hint
    assert place == "raised in the function given as beside="
    with pytest.raises(ps.errors.Abandoned):
        await running.progress.completed(50)


async def test_its_failure_at_the_end_is_raised(autojump_clock):
    async def failing_at_last(running):
        try:
            await trio.sleep_forever()
        finally:
            raise LookupError("last words")

    with pytest.raises(LookupError, match="last words"):
        async with ps.pipe(slowly(1), ps.collect()).open(beside=failing_at_last) as running:
            assert await running.result() == [1]
    with pytest.raises(ExceptionGroup) as caught:
        async with ps.pipe(slowly(0), ps.map(lambda n: 1 / n), ps.drain()).open(beside=failing_at_last) as running:
            await running.result()
    assert {type(exc) for exc in caught.value.exceptions} == {LookupError, ZeroDivisionError}


@pytest.mark.parametrize(("ends", "found"), [(None, [1, 2, 3]), ("finish", [1, 2]), ("abort", None)])
async def test_it_may_end_early_or_end_the_run(ends, found, autojump_clock):
    async def ending(running):
        if ends is not None:
            await trio.sleep(1.5)
            await getattr(running, ends)()

    async with ps.pipe(slowly(1, 2, 3), ps.collect()).open(beside=ending) as running:
        with pytest.raises(ps.errors.Abandoned) if ends == "abort" else nullcontext():
            assert await running.result() == found
    assert isinstance(running.failure, ps.errors.Abandoned) == (ends == "abort")


async def test_failures_while_a_run_begins_are_raised(monkeypatch):
    from pullstream.engine.run import Run

    def broken(self, task, *args):
        raise RuntimeError("no room for another task")

    monkeypatch.setattr(Run, "spawn_watch", broken)
    with trio.fail_after(300), pytest.raises(RuntimeError, match="no room"):
        async with ps.pipe(ps.values("ab"), ps.collect()).open(beside=LOOKERS[0]):
            pytest.fail("it was opened")


# ---- how many times are done


async def test_a_time_is_done_when_it_is_complete(autojump_clock):
    """Each sink has its own times."""
    seen, days = [], ps.pipe(ps.map_time("day {}".format), ps.drain())
    async with ps.pipe(slowly(1, 1, 1, 2, 5, 5), ps.tee(ps.drain(), days)).open(beside=never) as running:
        for _ in range(6):
            await trio.sleep(1)
            await trio.testing.wait_all_tasks_blocked()
            seen.append(running.progress.times_done())
        await running.result()
    assert seen == [0, 0, 2, 4, 4, 6]
    assert running.progress.times_done() == 6


async def test_without_beside_the_first_call_begins_to_count(autojump_clock):
    async with ps.pipe(slowly(1, 2, 3, 4), ps.drain()).open() as running:
        await trio.sleep(2.5)
        assert running.progress.times_done() == 0
        await running.result()
    assert running.progress.times_done() in (2, 3)


@pytest.mark.parametrize("beside", LOOKERS)
async def test_a_stall_that_only_it_sees_ends_the_run(beside, autojump_clock):
    """A deadlock in which no task of the run waits for a completion fails, even if the observer swallows it."""

    async def swallowing(running):
        try:
            await beside(running)
        except ps.StalledError:
            await trio.sleep_forever()

    @ps.sink
    async def taking_turns(upstream, ctx):
        await upstream.ask()
        await never.wait()
        await upstream.lane().ask()

    with pytest.raises(ps.StalledError):
        async with ps.pipe(ps.values([1]), taking_turns()).open(beside=swallowing) as running:
            never = running._run.signal()
            await running.result()
