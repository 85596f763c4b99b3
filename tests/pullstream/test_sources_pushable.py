"""pushable: room, order, endings, times; pushers and readers in every combination."""

import random
from math import nan

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, finish


def test_a_pushable_without_a_pusher_is_refused():
    with pytest.raises(ps.StalledError, match=r"made at .*test_sources_pushable\.py.* Keep it in a variable"):
        ps.run(ps.pipe(ps.pushable(4), ps.collect()))
    sources = ps.dynamic_merge()
    sources.add(ps.pushable(4))
    sources.cap()
    for several in (ps.merge(ps.values("a"), ps.pushable(4)), ps.join(ps.pushable(4), ps.values("a"), on=len), sources):
        with pytest.raises(ps.StalledError, match="Keep it in a variable"):
            ps.run(ps.pipe(several, ps.collect()))

    def full():
        pushed = ps.pushable(4)
        pushed.push_nowait("a")
        return pushed

    got = []
    with pytest.raises(ps.StalledError, match="made at"):
        ps.run(ps.pipe(full(), ps.drain(got.append)))
    assert got == ["a"]


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_name_makes_a_second_handle(kept, autojump_clock):
    first = ps.pushable(4)
    handle = [first, first.named("orders")][kept]
    pipeline = ps.pipe(first.named("orders") if kept == 0 else handle, ps.collect())
    del first
    async with pipeline.open() as running:
        await trio.sleep(1)
        await handle.push("tea")
        handle.end()
        assert await running.result() == ["tea"]


async def test_push_waits_for_room(edge, autojump_clock):
    pushed = ps.pushable(1)
    done = []

    async def push(n):
        await pushed.push(n)
        done.append(n)

    async with edge(pushed) as reader, trio.open_nursery() as nursery:
        for n in range(4):
            nursery.start_soon(push, n)
            await trio.testing.wait_all_tasks_blocked()
        assert done == [0]
        with pytest.raises(trio.WouldBlock, match=r"await push\(\)"):
            pushed.push_nowait(9)
        for n in range(4):
            assert (await reader.ask(10)).values == [n]
            await trio.testing.wait_all_tasks_blocked()
            assert done == list(range(min(4, n + 2)))
        pushed.end()
        assert await reader.ask() is ps.DONE


async def test_the_end_follows_waiting_values(autojump_clock):
    pushed = ps.pushable(1)
    async with trio.open_nursery() as nursery:
        for n in range(3):
            nursery.start_soon(pushed.push, n)
            await trio.testing.wait_all_tasks_blocked()
        pushed.fail(Unseen())
        got = []
        with pytest.raises(Unseen):
            async with ps.pipe(pushed, ps.drain(got.append)).open():
                pass
    assert got == [0, 1, 2]
    assert await pushed.aborted() is False


@pytest.mark.parametrize("how", ["abort", "error", "never asked"])
async def test_an_abort_reaches_the_pushers(how, edge, autojump_clock):
    """Pushers that wait for room get an error, so do later ones, and `aborted` returns."""
    pushed = ps.pushable(1)
    seen = []

    async def push():
        try:
            await pushed.push_many(range(9))
        except ps.errors.Ended as exc:
            seen.append(exc)

    async def watch():
        seen.append(await pushed.aborted())

    async with trio.open_nursery() as nursery, edge(pushed) as reader:
        nursery.start_soon(push)
        nursery.start_soon(watch)
        await trio.testing.wait_all_tasks_blocked()
        assert await finish(reader, how) == [0] * (how != "never asked")
    assert True in seen
    (error,) = (one for one in seen if one is not True)
    assert "aborted by its reader" in str(error)
    assert isinstance(error.__cause__, Unseen if how == "error" else type(None))
    with pytest.raises(ps.errors.Ended):
        await pushed.push(1)
    with pytest.raises(ps.errors.Ended):
        pushed.advance(1)
    pushed.end()


async def test_times(autojump_clock):
    """They must not go back; the pusher gets the error, and the stream continues."""
    pushed = ps.pushable(9)
    await pushed.push("a", time=3)
    with pytest.raises(ps.errors.CapabilityError, match="cannot take 2 after 3"):
        await pushed.push("b", time=2)
    with pytest.raises(ps.errors.CapabilityError):
        pushed.advance(1)
    pushed.advance(5)
    with pytest.raises(ps.errors.CapabilityError, match="cannot take 4 after 5"):
        await pushed.push("b", time=4)
    await pushed.push("c", time=5)
    pushed.end()
    assert await ps.arun(ps.pipe(pushed, ps.collect(timed=True))) == [(3, "a"), (5, "c")]


@pytest.mark.parametrize("time", [None, nan, (0, nan), ps.timely.Product(0, nan), [1]])
async def test_a_refused_push_changes_nothing(time, autojump_clock):
    pushed = ps.pushable(9)
    async with ps.pipe(pushed, ps.collect(timed=True)).open() as running:
        for call in (pushed.advance, lambda time: pushed.push_nowait("no", time)):
            with pytest.raises((TypeError, ps.errors.CapabilityError), match="cannot be a time"):
                call(time)
        await pushed.push("yes", time=1)
        pushed.end()
        assert await running.result() == [(1, "yes")]


async def test_announcements_before_the_first_ask_count(autojump_clock):
    first, second = ps.pushable(9), ps.pushable(9)
    first.push_nowait("a", time=4)
    second.advance(5)
    async with ps.pipe(ps.concat(first, second), ps.drain()).open() as running:
        assert running.progress.frontier() == ps.timely.Antichain([4])
        await trio.testing.wait_all_tasks_blocked()
        first.end()
        second.end()


@pytest.mark.parametrize("seed", range(30))
async def test_several_pushers_at_random(seed, autojump_clock):
    """Whatever is cancelled, no pushed value is lost or repeated, and each pusher's values keep their order."""
    chance = random.Random(seed)
    pushed = ps.pushable(chance.randint(1, 3))
    taken, got = [], []

    async def push(name):
        for n in range(10):
            with trio.move_on_after(chance.choice([0, 0.5, 1, 1000])):
                await trio.sleep(chance.choice([0, 0.5]))
                try:
                    await pushed.push((name, n))
                except ps.errors.Ended:
                    return
                taken.append((name, n))

    async def slowly(value):
        await trio.sleep(chance.choice([0, 0.5, 1]))
        return value

    stop = chance.choice([5, 1000])
    parts = [ps.map_async(slowly, 2), ps.take(stop), ps.drain(got.append)]
    async with ps.pipe(pushed, *parts).open(limit=chance.choice([1, 2, 100])):
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(push, name)
        pushed.end()
    left_early = await pushed.aborted()
    assert len(got) == len(set(got)) == min(stop, len(got))
    for name in "abc":
        assert [n for given, n in got if given == name] == sorted(n for given, n in got if given == name)
    assert set(got) <= set(taken)
    if not left_early and len(got) < stop:
        assert set(got) == set(taken)
