"""`unique_by_time`, `sort_by_time`, `accumulate`, `at_completion`: when, how often, and what goes wrong."""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen
from timely import Product


def test_running_refuses_times_in_no_order():
    """A state is carried to the next time: there must be one."""

    @ps.source
    async def partial(ctx):
        with ctx.hold(Product(0, 1)), ctx.hold(Product(1, 0)):
            yield ps.Batch(Product(0, 1), "a")
            yield ps.Batch(Product(1, 0), "b")

    with pytest.raises(ps.errors.CapabilityError, match=r"accumulate.*Product\(.*have no order.*map_time"):
        ps.run(ps.pipe(partial(), ps.accumulate(ps.agg.count()), ps.collect()))


def test_a_result_that_the_next_step_would_change_is_refused(limit):
    """In `accumulate`, a state is emitted and goes on; one that `finish` copies, or `step` leaves alone, may stay."""

    def in_place(seen, n):
        seen[n % 3] = seen.get(n % 3, 0) + 1
        return seen

    def run(fold, key=None):
        stream = ps.values(range(9), time=lambda n: n // 3)
        return ps.run(ps.pipe(stream, ps.accumulate(fold, key=key), ps.collect()), limit=limit)

    for key in (None, abs, lambda n: n % 2):
        if key is not abs:
            with pytest.raises(
                TypeError, match=r"accumulate, composed at .* in place a dict .*Fold\(initial, step, dict"
            ):
                run(ps.Fold(dict, in_place), key)
        assert run(ps.Fold(dict, in_place, dict), key)
    with pytest.raises(TypeError, match="in place a set"):
        # A step may return the same state for a while before it changes it.
        run(ps.Fold(set, lambda seen, n: seen.add(n // 6) or seen))
    assert run(ps.Fold(list, lambda seen, n: seen if n > 4 else [*seen, n])) == [[0, 1, 2], [*range(5)], [*range(5)]]
    # What a module below does to the state that it was given is not the step's doing.
    new = ps.pipe(ps.accumulate(ps.Fold(list, lambda _, n: [n])), ps.tap(lambda state: state.append("read")))
    stream = ps.values(range(3), time=lambda n: n)
    assert ps.run(ps.pipe(stream, new, ps.collect()), limit=limit) == [[n, "read"] for n in range(3)]


async def test_an_effect_completes_its_time_when_it_is_done(autojump_clock):
    start, calls = trio.current_time(), []

    async def store(time, values):
        await trio.sleep(3)
        calls.append((time, values, trio.current_time() - start))

    source = ps.values([0, 1, 2], time=lambda n: n // 2)
    async with ps.pipe(source, ps.at_completion(store)).open() as running:
        await running.progress.completed(0)
        assert trio.current_time() - start == 3
        assert await running.result() is None
    assert calls == [(0, [0, 1], 3), (1, [2], 6)]


async def test_an_effect_that_fails_is_no_completion(limit):
    calls = []

    def store(time, values):
        calls.append(time)
        if time == 1:
            raise Unseen

    source = ps.values([0, 1, 2], time=lambda n: n)
    with pytest.raises(Unseen):
        async with ps.pipe(source, ps.at_completion(store)).open(limit=limit) as running:
            await running.progress.completed(0)
            with pytest.raises(Unseen):
                await running.progress.completed(1)
    assert calls == [0, 1]
