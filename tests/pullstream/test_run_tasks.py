"""Tasks of the run's own, beside the stream: what one raises ends the run in order, and is never waited for."""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen

pytestmark = pytest.mark.filterwarnings("error")


class Planted(ps.authoring.Kernel[int]):
    """Gives numbers, and has a task of the run's own fail: at once, or when it is let go of."""

    def __init__(self, fail):
        self._fail = fail

    async def acquire(self):
        self.run.spawn(self._fail)

    async def produce(self, limit):
        await trio.sleep(0.001)
        return ps.Batch(0, [1])


def planted(*fails):
    return ps.merge(*(ps.Source((ps.blueprint.Module("planted", Planted, (fail,)),)) for fail in fails))


async def fails():
    await trio.sleep(0.01)
    raise Unseen("of the toolkit's own")


async def fails_at_the_end():
    try:
        await trio.sleep_forever()
    finally:
        raise Unseen("at the end")


def test_what_a_task_raises_is_the_runs_failure(counting, probe):
    with pytest.raises(Unseen, match="of the toolkit's own") as caught:
        ps.run(ps.pipe(ps.merge(planted(fails), counting(probe, 1_000_000, timed=True)), ps.drain()))
    assert caught.value.__notes__ == ["raised in a task of the run's own, beside the stream"]
    assert probe.balanced


def test_the_second_is_not_lost():
    with pytest.raises(Unseen) as caught:
        ps.run(ps.pipe(planted(fails, fails_at_the_end), ps.drain()))
    assert any("at the end" in note for note in caught.value.__notes__)


def test_one_that_fails_when_all_is_done():
    with pytest.raises(Unseen, match="at the end"):
        ps.run(ps.pipe(planted(fails_at_the_end), ps.take(3), ps.collect()))


async def test_a_block_hears_of_it():
    with trio.fail_after(5), pytest.raises(Unseen):
        async with ps.pipe(planted(fails), ps.drain()).open():
            await trio.sleep_forever()


async def test_a_clean_up_that_raises_a_group_is_told():
    """Also where that group is raised from None: it came of the cancellation."""
    begun = trio.Event()

    async def untidy(_):
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            raise ExceptionGroup("of its clean-up", [Unseen("one"), Unseen("two")]) from None

    with pytest.raises(ExceptionGroup, match="of its clean-up"):
        async with ps.pipe(ps.once(1), ps.map_async(untidy, concurrency=1), ps.drain()).open() as running:
            await begun.wait()
            await running.abort()
