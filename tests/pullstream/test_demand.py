"""Modules that wait ask upstream for the values that they can work on, and few more."""

import time

import attrs
import pytest
import trio

import pullstream as ps
from tests.pullstream.common import after_a_moment


@attrs.define
class Queue:
    """A user's queue: how many values were taken, how many processed, and the most ever in between."""

    taken: int = 0
    done: int = 0
    most: int = 0

    def values(self, count):
        for number in range(count):
            self.taken += 1
            self.most = max(self.most, self.taken - self.done)
            yield number

    async def work(self, value):
        await trio.sleep(0.05)
        self.done += 1
        return value

    def block(self, value):
        time.sleep(0.02)
        self.done += 1
        return value

    def stream(self, value):
        return ps.pipe(ps.values([value]), ps.map_async(self.work, 1))


WAITING = {
    "map_async, one at a time": (lambda q: ps.map_async(q.work, 1), 1),
    "map_async": (lambda q: ps.map_async(q.work, 2), 2),
    "map_async, as ready": (lambda q: ps.map_async(q.work, 16, ordered=False), 16),
    "map_async, twice": (lambda q: ps.pipe(ps.map_async(q.work, 2), ps.map_async(after_a_moment, 2)), 2),
    "worker_pool": (lambda q: ps.worker_pool(ps.map_async(q.work, 4), ps.map_async(q.work, 4), concurrency=2), 4),
    # Three groups of four calls, which take values at once, and the values asked for because of that.
    "group_by": (lambda q: ps.group_by(lambda n: n % 3, ps.map_async(q.work, 4)), 12 + 8),
    "flatten": (lambda q: ps.pipe(ps.map(q.stream), ps.flatten()), 1),
    "flatten, side by side": (lambda q: ps.pipe(ps.map(q.stream), ps.flatten(concurrency=3)), 3),
    "flat_map": (lambda q: ps.flat_map(q.stream), 1),
    "rate_limit": (
        lambda q: ps.pipe(ps.rate_limit(3, per=1.0), ps.map(lambda value: setattr(q, "done", q.done + 1))),
        3,
    ),
    "map_async after a filter": (lambda q: ps.pipe(ps.filter(lambda n: True), ps.map_async(q.work, 2)), 2),
}


@pytest.mark.parametrize("name", WAITING)
async def test_values_are_not_taken_long_before_use(name, autojump_clock):
    queue = Queue()
    module, at_once = WAITING[name]
    await ps.arun(ps.pipe(ps.values(queue.values(300)), module(queue), ps.drain()))
    assert queue.taken == queue.done == 300
    assert queue.most <= at_once + 1


async def test_an_orderly_stop_waits_only_for_calls_under_way(autojump_clock):
    queue, switch = Queue(), ps.abortable()
    pipeline = ps.pipe(ps.values(queue.values(10_000)), switch, ps.map_async(queue.work, 2), ps.drain())
    async with pipeline.open() as running:
        await trio.sleep(1)
        switch.abort()
        began = trio.current_time()
        await running.result()
    assert trio.current_time() - began <= 0.1
    assert queue.taken < 50


async def test_a_call_that_becomes_slow_gets_fewer_values(autojump_clock):
    queue, ahead = Queue(), []

    async def call(n):
        if n < 2_000:
            queue.done += 1
        else:
            await queue.work(n)
            ahead.append(queue.taken - queue.done)
        return n

    async with ps.pipe(ps.values(queue.values(6_000)), ps.map_async(call, 2), ps.drain()).open() as running:
        with trio.move_on_after(200):
            await running.result()
        await running.abort()
    assert max(ahead[-100:]) <= 3


async def test_nothing_is_read_ahead_of_a_slow_async_block(autojump_clock):
    queue = Queue()
    async with ps.aiterate(ps.values(queue.values(100))) as values:
        async for value in values:
            await queue.work(value)
    assert queue.done == 100
    assert queue.most == 1


def test_nothing_is_read_ahead_of_a_slow_loop():
    queue = Queue()
    for value in ps.iterate(ps.values(queue.values(20))):
        queue.block(value)
    assert queue.most == 1


async def test_a_prefetch_asks_ahead_for_its_capacity_only(edge, counting, probe, autojump_clock):
    async with edge(ps.pipe(counting(probe, 99, delay=1.0), ps.prefetch(3))) as reader:
        await trio.sleep(10)
        assert probe.asked == []
        assert (await reader.ask(1)).values == [0]
        await trio.sleep(10)
        assert probe.asked == [3, 1]
        assert (await reader.ask(100)).values == [1, 2, 3]
        await reader.abort()
    assert probe.balanced
