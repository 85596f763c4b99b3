"""Code of a module that does not return within the release timeout: its ask is given up, and answered afterwards."""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import in_virtual_time
from tests.pullstream.edge.test_orders import Order, decide_the_order, no_dice

__all__ = ["no_dice"]

TIMEOUT = 5


@ps.source
class Overtime(ps.authoring.Kernel):
    """Returns some steps after the release timeout."""

    def __init__(self, steps):
        self.steps = steps

    async def produce(self, limit):
        del limit
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(TIMEOUT)
                for _ in range(self.steps):
                    await trio.lowlevel.checkpoint()


async def answered_in_turn(order, steps):
    """Abort a module that is asked on three lanes; return who is answered, in order."""
    answered = []

    @ps.sink
    async def asks(upstream, ctx):
        async def ask(lane, name):
            assert await lane.ask() is ps.DONE
            answered.append(name)

        lanes = {name: upstream.lane() for name in ("first", "second", "third")}
        async with trio.open_nursery() as nursery:
            for name, lane in lanes.items():
                nursery.start_soon(ask, lane, name)
                await trio.testing.wait_all_tasks_blocked()
            decide_the_order(order)
            with pytest.raises(ps.errors.ReleaseTimeout):
                await upstream.abort()
            answered.append("abort")
        decide_the_order(None)

    async with ps.pipe(Overtime(steps), asks()).open(release_timeout=TIMEOUT) as running:
        await running.result()
    return answered


def given_up():
    """Return all orders in which requests are answered, whichever task trio runs first."""
    seen = set()
    for steps in range(5):
        order = Order()
        while True:
            seen.add(tuple(in_virtual_time(answered_in_turn, order, steps)))
            if not order.again():
                break
    return seen


def in_turn(answered):
    """Whether the requests that waited are answered in their order, and the first one at any time."""
    return [name for name in answered if name != "first"] == ["second", "third", "abort"] and "first" in answered


def test_an_ask_that_is_given_up_does_not_disturb_the_others():
    """Its code returns in any step in which they are answered."""
    seen = given_up()

    assert len(seen) > 1
    assert all(map(in_turn, seen))
