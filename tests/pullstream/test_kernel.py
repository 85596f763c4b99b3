"""The rules of an edge, one by one: answers, release, failures, indications, fairness.

`edge/test_orders.py` has the rules for turns and terminations of several lanes, in every order.
"""

import time
from functools import partial

import pytest
import trio

import pullstream as ps
from pullstream.conformance.ready import COMBINING, TRANSFORMERS
from tests.pullstream.common import Unseen, raises_at, until_failure

# ---- R3, R5, R6: terminations


async def test_a_failure_keeps_its_own_context(edge, autojump_clock):
    """An exception of the module upstream, raised while it is cancelled, does not become the context (R3)."""
    cause, reason = Unseen("first"), Unseen("the reason")
    reason.__context__ = cause

    @ps.source
    class Clumsy(ps.authoring.Kernel):
        async def produce(self, limit):
            try:
                await trio.sleep_forever()
            finally:
                raise OSError("while it was cancelled")

    async def ask(lane):
        with pytest.raises(Unseen) as caught:
            await lane.ask()
        assert caught.value is reason

    async with edge(Clumsy()) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(ask, reader.lane())
        await trio.sleep(1)
        with pytest.raises(OSError, match="while it was cancelled"):
            await reader.error(reason)
    assert reason.__context__ is cause


# ---- R6: release, and its timeout


@pytest.mark.parametrize("way", ["abort", "cancel"])
async def test_an_abort_never_looks_like_the_end_to_a_generator(way, edge, counting, probe, autojump_clock):
    seen = []

    @ps.transformer
    async def publishes_at_the_end(upstream, ctx):
        async for event in ctx.events(upstream):
            seen.append(event)
            ctx.notify_at(event.time)
            yield event
        seen.append("published")

    async with edge(ps.pipe(counting(probe, 9, delay=1), publishes_at_the_end())) as reader:
        await reader.ask()
        if way == "cancel":
            with trio.move_on_after(0.5):
                await reader.ask()
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(reader.lane().ask)
                await trio.sleep(0.5)
                await reader.abort()
    assert seen == [ps.Batch(0, [0])]


async def test_acquiring_is_cut_short_by_an_abort(edge, autojump_clock):
    """An abort does not wait for a connection that never comes; a module is released only if acquired (R6, R10)."""
    seen = []

    @ps.source
    class Dialling(ps.authoring.Kernel):
        async def acquire(self):
            await trio.sleep_forever()

        async def produce(self, limit):
            return ps.DONE

        async def release(self):
            seen.append("released")

    async with edge(Dialling()) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(1)
        await reader.abort()
        assert trio.current_time() == pytest.approx(1)
    assert seen == []


# ---- R7, R8: endings and failures


async def test_a_failure_beside_cancellations_is_kept(edge, autojump_clock):
    """In a group with cancellations it fails the stream, without them (R3, R8)."""

    @ps.source
    class Parallel(ps.authoring.Kernel):
        async def produce(self, limit):
            async def raises():
                try:
                    await trio.sleep_forever()
                finally:
                    raise Unseen

            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                nursery.start_soon(raises)

    async with edge(Parallel()) as reader:
        with trio.move_on_after(1), pytest.raises(Unseen) as first:
            await reader.ask()
        with pytest.raises(Unseen) as caught:
            await reader.ask()
        assert caught.value is first.value


def through(subject, function):
    """A stream through a module of the conformance kit, which calls the function with its values."""
    if subject.inputs:
        return subject.make(function, *[ps.values([1, 2]) for _ in range(subject.inputs)])
    return ps.pipe(ps.values([1, 2]), subject.make(function))


STOPPED = {
    "values": lambda stop: ps.values([1, 2], time=stop),
    "unfold": lambda stop: ps.unfold(2, stop),
    **{each.name: partial(through, each) for each in (*TRANSFORMERS, *COMBINING) if each.around and not each.absorbs},
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", STOPPED)
@pytest.mark.parametrize("exception", [StopIteration, StopAsyncIteration])
def test_stop_iteration_from_a_callable_is_an_error(name, exception):
    """It does not end the stream, as it would end a loop in Python (R8)."""

    def stop(n):
        if n == 2:
            raise exception
        return n

    with pytest.raises((RuntimeError, StopAsyncIteration)):
        ps.run(ps.pipe(STOPPED[name](stop), ps.collect()))


async def work(n):
    return n


def later(n):
    return work(n)


class Later:
    """A callable without any sign that its calls must be awaited."""

    async def __call__(self, value):
        return value


PLAIN = ps.filter_not, ps.drain, ps.take, ps.skip, ps.find, ps.map_time, ps.on_end, ps.probe, ps.unique, ps.stamp
WITH_POLICY = ps.map, ps.filter, ps.flat_map, ps.map_batches, ps.take, ps.unique
AWAITABLE = [
    *(module(later) for module in (*PLAIN, ps.unique_by_time)),
    *(module(later, on_error=on_error) for module in WITH_POLICY for on_error in ("skip", "result")),
    ps.map(Later()),
    ps.pipe(ps.stamp(lambda n: n), ps.unique_by_time(later)),
    *(ps.sliding(2, 1, key=later), ps.sessions(2, key=later)),
    *(ps.group_by(later, group) for group in (ps.map(str), ps.prefetch(2))),
    ps.reduce_by_time(ps.Fold(int, lambda _, n: later(n))),
    ps.accumulate(ps.Fold(int, max, later), eager=True),
    ps.tap(str, on_end=later),
    ps.pipe(ps.filter(bool), ps.map(later)),
    ps.reduce(lambda _, n: later(n), 0),
    ps.partition(later, {}, other=ps.drain()),
    *(ps.stamp(later, **options) for options in ({"lateness": 1}, {"on_error": "skip"})),
    *(ps.stamp_epochs(key=later), ps.stamp_epochs(begin=later)),
    ps.timed(lambda _, n: later(n)),
    *(ps.reduce(aggregate) for aggregate in (ps.agg.count_unique(later), ps.agg.most_common(1, later))),
    ps.join(ps.values([1]), ps.values([1]), on=later),
]


@pytest.mark.parametrize("module", AWAITABLE, ids=str)
def test_coroutine_results_fail(module):
    """A sync function that returns a coroutine is found when it is called."""
    stream = module if isinstance(module, ps.Source) else ps.pipe(ps.values([1]), module)
    with pytest.raises(TypeError, match="returned a coroutine, which is not awaited.* use map_async"):
        ps.run(stream if isinstance(stream, ps.Pipeline) else ps.pipe(stream, ps.collect()))


@pytest.mark.parametrize(
    "module",
    [
        lambda function: ps.flat_map(lambda value: [function(value)]),
        lambda function: ps.flat_map(lambda value: [function(value)], on_error="skip"),
        lambda function: ps.map(function, on_error="skip"),
    ],
)
@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
def test_exceptions_of_every_kind_arrive_unchanged(exception, module, probe, counting):
    """A BaseException ends the stream in order, too, whatever `on_error` says, and reaches the caller (R8)."""
    given = exception()

    assert until_failure(exception, ps.pipe(counting(probe, 9), module(raises_at(2, given)))) == ([0, 1], given)
    assert probe.balanced


# ---- fairness and cancellation


@pytest.mark.parametrize(
    "endless",
    [
        lambda: ps.pipe(ps.integers(), ps.filter(lambda _: False), ps.drain()),
        lambda: ps.pipe(ps.integers(), ps.drain()),
        lambda: ps.pipe(ps.integers(), ps.flat_map(lambda _: ()), ps.drain()),
        lambda: ps.pipe(ps.integers(), ps.map_batches(lambda _: ()), ps.drain()),
        lambda: ps.pipe(ps.integers(), ps.tee(ps.drain(), ps.drain())),
        # No value is dealt to any branch.
        lambda: ps.pipe(ps.integers(), ps.partition(bool, {True: ps.pipe(ps.take(1), ps.drain()), False: ps.drain()})),
        lambda: ps.pipe(ps.integers(), ps.reduce_by_key(ps.Fold(int, max), key=lambda n: n % 3), ps.drain()),
    ],
)
async def test_busy_pipelines_stay_cancellable_and_fair(endless):
    """Others wait for some milliseconds of this program's work, whatever else the machine is busy with."""
    waits = []

    async def other(scope):
        for _ in range(20):
            began = time.thread_time()
            await trio.lowlevel.checkpoint()
            waits.append(time.thread_time() - began)
        scope.cancel()

    with trio.fail_after(300):
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                async with endless().open():
                    nursery.start_soon(other, scope)
                    await trio.sleep_forever()
            assert scope.cancelled_caught
    assert sorted(waits)[-2] < 0.03
