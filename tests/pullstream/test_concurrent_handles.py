"""Handles: each belongs to one run; `pausable`, `abortable` and `in_flight` with its `Quota` steer a stream."""

import contextlib
import gc
import pickle
import weakref

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.conformance.ready import added, resolved
from tests.pullstream.common import answer, kept, never


def ended():
    pushed = ps.pushable(1)
    pushed.push_nowait(1)
    pushed.end()
    return pushed


def pool():
    made = ps.worker_pool(dynamic=True)
    made.add(ps.map(int))
    return made


def shaken():
    async def nothing(io):
        """Write nothing, and read nothing."""

    return ps.duplex.handshake(ps.duplex.Duplex(ps.values([1]), ps.drain()), nothing).source


ONE = ps.values([1])
AGAIN = {
    "pausable": lambda: ps.pipe(ONE, ps.pausable()),
    "abortable": lambda: ps.pipe(ONE, ps.abortable()),
    "Quota": lambda: ps.pipe(ONE, ps.in_flight(ps.take(9), ps.types.Quota(3))),
    "deferred source": lambda: resolved("source", ONE),
    "deferred transformer": lambda: ps.pipe(ONE, resolved("transformer", ps.map(int))),
    "worker_pool": lambda: ps.pipe(ONE, pool()),
}
ONCE = {"pushable": ended, "dynamic_merge": lambda: added(ONE), "handshake": shaken}


@pytest.mark.parametrize("name", [*AGAIN, *ONCE])
async def test_a_handle_belongs_to_one_run_at_a_time(name, autojump_clock):
    pipeline = ps.pipe((AGAIN | ONCE)[name](), ps.map_async(trio.sleep, 1), ps.collect())
    refused = pytest.raises(ps.errors.ReuseError, match=rf"{name}, made at .*.py:\d+")
    async with pipeline.open() as running:
        await trio.testing.wait_all_tasks_blocked()  # runs that begin in one step begin in any order
        with refused:
            async with pipeline.open():
                pass
        assert await running.result() == [None]
    with refused if name in ONCE else contextlib.nullcontext():
        assert await ps.arun(pipeline) == [None]


@pytest.mark.parametrize("name", ["pausable", "abortable", "Quota", "deferred transformer"])
async def test_a_handle_has_one_place(name):
    source = AGAIN[name]()
    handle = ps.Transformer(source.modules[-1:])
    with pytest.raises(ps.errors.ReuseError, match=name):
        async with ps.pipe(source, handle, ps.collect()).open():
            pass
    assert await ps.arun(ps.pipe(source, ps.collect())) == [1], "the refused run does not keep it"


@pytest.mark.parametrize("name", [*AGAIN, *ONCE, "broadcast", "pair"])
def test_a_handle_is_not_pickled(name):
    others = {"broadcast": ps.broadcast(1).listen, "pair": lambda: ps.duplex.pair()[0]}
    with pytest.raises(TypeError, match=f"{name}, made at .* cannot be pickled"):
        pickle.dumps((AGAIN | ONCE | others)[name]())


# ---- pausable


async def test_nothing_passes_while_paused(edge, counting, probe, autojump_clock):
    """No ask goes upstream and no value downstream, not even one that was in flight, whose time stays incomplete."""
    pause = ps.pausable()
    async with edge(ps.pipe(counting(probe, 99, delay=1.0), pause)) as reader, trio.open_nursery() as nursery:
        got = []

        async def ask():
            for _ in range(2):
                got.extend((await reader.ask(1)).values)

        nursery.start_soon(ask)
        await trio.sleep(0.5)
        pause.pause()
        assert pause.paused
        await trio.sleep(50)
        assert (got, probe.asked) == ([], [1])
        pause.resume()
        await trio.sleep(0.1)
        assert (got, probe.asked) == ([0], [1, 1])
        await trio.sleep(1)
        pause.pause()
        nursery.start_soon(ask)
        await trio.sleep(50)
        assert probe.asked == [1, 1]
        pause.resume()
    assert got == [0, 1, 2, 3]
    assert probe.balanced


async def test_a_pause_keeps_a_time_from_completing(autojump_clock):
    """A value that waits in it is in flight: no time completes downstream, though upstream has ended."""
    pause: ps.types.Pausable[int] = ps.pausable()
    pipeline = ps.pipe(ps.values([1]), ps.map_async(trio.sleep, 1), pause, ps.collect())
    async with pipeline.open(check=True) as running:
        await trio.sleep(0.5)
        pause.pause()
        with trio.move_on_after(10) as scope:
            await running.progress.completed(0)
        assert scope.cancelled_caught
        assert [blocking.holder for blocking in running.progress.explain(0)][:1] != ["collect"]
        pause.resume()
        await running.progress.completed(0)


@pytest.mark.parametrize("reason", [None, ValueError("enough")])
@pytest.mark.parametrize("asked", [0, 1, 2])
async def test_terminations_pass_a_pause(  # noqa: PLR0917 - fixtures
    asked, reason, edge, counting, probe, autojump_clock
):
    """An abort or an error from downstream is confirmed at once, and reaches the source, in or out of turn."""
    pause = ps.pausable()
    async with edge(ps.pipe(counting(probe, 99, delay=1.0), pause)) as reader, trio.open_nursery() as nursery:
        answers = []

        async def outstanding(lane):
            answers.append(await answer(lane.ask, 1))

        if asked > 0:
            await reader.ask(1)
        if asked > 1:
            nursery.start_soon(outstanding, reader.lane())
            await trio.sleep(0.5)
        pause.pause()
        await trio.sleep(5)
        with trio.fail_after(0.1):
            assert await (reader.abort() if reason is None else reader.error(reason)) is ps.DONE
        assert probe.reasons == [reason]
        assert probe.balanced
    assert answers == ([] if asked < 2 else [reason or ps.DONE])


@pytest.mark.parametrize("failure", [None, ValueError("upstream")])
async def test_a_failure_and_the_end_pass_a_pause(failure, edge, counting, probe, autojump_clock):
    pause = ps.pausable()

    async def hold_up():
        await trio.sleep(0.5)
        pause.pause()

    source = ps.pipe(counting(probe, 0, delay=1.0, failure=failure), pause)
    async with edge(source) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(hold_up)
        with trio.fail_after(2):
            assert await answer(reader.ask, 1) is (failure or ps.DONE)
        assert pause.paused


# ---- abortable


@pytest.mark.parametrize("reason", [None, ValueError("switched off")])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("position", [0, 1, 2])
async def test_the_switch_ends_both_directions_once(  # noqa: PLR0917 - fixtures
    position, strict, reason, counting, probe, autojump_clock
):
    stop: ps.types.Abortable[int] = ps.abortable()
    got: list[object] = []
    pipeline = ps.pipe(counting(probe, 99, delay=1.0, timed=True), stop, kept(got, pause=1.0))
    # At 0.5 and 2.5 an ask is outstanding, at 1.5 none is.
    async with pipeline.open(check="strict" if strict else True) as running, trio.open_nursery() as nursery:
        nursery.start_soon(running.wait)
        await trio.sleep(0.5 + position)
        stop.abort(reason)
        stop.abort(KeyError("again"))
        await trio.sleep(0.1)
        assert probe.balanced
        assert probe.reasons == [reason]
        assert await answer(running.result) == (reason or got)
    assert got == [0, 1][: (position + 1) // 2] + ["done"] * (reason is None)
    assert probe.reasons == [reason]


async def test_a_switch_before_the_run_opens(counting, probe, edge):
    stop = ps.abortable()
    stop.abort()
    source = ps.pipe(counting(probe, 3), stop)
    async with edge(source) as reader:
        assert await reader.ask(1) is ps.DONE
    assert probe.acquired == 0
    stop.abort()
    async with edge(source) as reader:
        assert (await reader.ask(9)).values == [0, 1, 2]


@pytest.mark.parametrize("wait", [0, 0.05])
@pytest.mark.parametrize("how", ["abort", "abort_nowait", "error", "error_nowait", "cancel"])
@pytest.mark.parametrize("reason", [None, ValueError("switched off")])
def test_a_termination_replaces_an_end_not_yet_answered(reason, how, wait):
    """The consumer sees one end (R3, R5): its own termination, though the switch came first."""
    stop, mine = ps.abortable(), KeyError("mine")
    answers = []

    @ps.sink
    async def terminates(upstream, ctx):
        stop.abort(reason)
        await trio.sleep(wait)
        if how == "cancel":
            with trio.move_on_after(0), contextlib.suppress(ValueError):
                await upstream.lane().ask()
        elif (call := getattr(upstream.lane(), how)(*[mine] * how.startswith("error"))) is not None:
            assert await call is ps.DONE
        answers.extend([await answer(upstream.lane().ask) for _ in range(2)])

    ps.run(ps.pipe(ps.values([1]), stop, terminates()), check=True)

    end = mine if how.startswith("error") else ps.DONE
    assert answers in ([[end, end]] if how != "cancel" else [[end, end], [reason, reason]])


async def test_an_ask_before_a_termination_gets_the_switch_s_end(autojump_clock):
    """The termination came later, and replaces nothing (R5)."""
    stop, answers = ps.abortable(), []

    @ps.sink
    async def terminates(upstream, ctx):
        async def ask(lane):
            answers.append(await lane.ask())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, upstream.lane())
            await trio.sleep(1)
            stop.abort()
            answers.append(await upstream.error(KeyError("mine")))

    await ps.arun(ps.pipe(ps.values([1]), ps.map_async(never, 1), stop, terminates()))
    assert answers == [ps.DONE, ps.DONE]


# ---- limit


async def test_a_quota_is_changed_while_it_runs(edge, autojump_clock):
    quota = ps.types.Quota(2)
    gate = trio.Event()

    async def call(n):
        await gate.wait()
        return n

    async with (
        edge(ps.pipe(ps.values(range(9)), ps.in_flight(ps.map_async(call, 16), quota))) as reader,
        trio.open_nursery() as nursery,
    ):
        got = []

        async def ask():
            while (batch := await reader.ask(9)) is not ps.DONE:
                got.extend(batch.values)
                await trio.sleep(1)

        nursery.start_soon(ask)
        await trio.sleep(1)
        assert quota.inside == 2
        quota.capacity = 5
        await trio.sleep(1)
        assert quota.inside == 5
        quota.capacity = 1
        gate.set()
        await trio.sleep(0.5)
        assert got == [0, 1, 2, 3, 4]
        assert quota.inside <= 1
        await trio.sleep(1)
        assert got[-1] == 5
    assert got == list(range(9))
    assert quota.inside == 0


@pytest.mark.parametrize("made", ["pause", "timeout", "debounce"])
async def test_waits_for_handles_or_clocks_are_not_stalls(made, autojump_clock):
    pause: ps.types.Pausable[int] = ps.pausable()
    if made == "pause":
        pause.pause()
    stuck = ps.in_flight(ps.filter(lambda n: n == (made == "timeout") * 100), 2)
    after = {"pause": pause, "timeout": ps.timeout(100), "debounce": ps.debounce(100)}[made]
    async with ps.pipe(ps.values(range(9)), stuck, after, ps.take(1), ps.collect()).open() as running:
        await trio.sleep(50)
        pause.resume()
        if made == "timeout":
            with pytest.raises(ps.AskTimeout):
                await running.result()
        else:
            assert await running.result() == [0]


class Same:
    """An identity function that can be watched by a weak reference."""

    def __call__(self, value):
        return value


@pytest.mark.parametrize(
    ("made", "steer"),
    [
        (lambda: ps.pushable(1), lambda handle: (handle.push_nowait(1), handle.end())),
        (ps.dynamic_merge, lambda handle: (handle.add(ONE), handle.cap())),
        (lambda: ps.deferred("source"), lambda handle: handle.resolve(ONE)),
    ],
    ids=["pushable", "dynamic_merge", "deferred"],
)
def test_a_kept_handle_keeps_nothing_of_its_run(made, steer):
    """A program with many runs, and a list of their handles, must not keep all their data."""
    handle = made()

    async def main():
        function = Same()
        async with ps.pipe(handle, ps.map(function), ps.collect()).open() as running:
            await trio.testing.wait_all_tasks_blocked()
            steer(handle)
            assert await running.result() == [1]
        return weakref.ref(function)

    function = trio.run(main)
    gc.collect()
    assert function() is None


# ---- from other threads


def steered():
    """Streams with a handle, the calls of another thread, and the result."""
    waits = ps.pipe(ps.values([1]), ps.map_async(never, 1))
    stop, fails, tap = ps.abortable(), ps.abortable(), ps.pausable()
    shops, answer = ps.dynamic_merge(), ps.deferred("source")
    quota = ps.types.Quota(1)
    tap.pause()
    yield "abortable", ps.pipe(waits, stop), [(stop.abort,)], []
    yield "abortable, with a reason", ps.pipe(waits, fails), [(fails.abort, ZeroDivisionError())], ZeroDivisionError
    yield "dynamic_merge", shops, [(shops.add, ps.values([1, 2])), (shops.cap,)], [1, 2]
    yield "deferred", answer, [(answer.resolve, ps.values([1, 2]))], [1, 2]
    yield "pausable", ps.pipe(ps.values([1, 2]), tap), [(tap.pause,), (tap.resume,)], [1, 2]
    full = ps.pipe(ps.values([1, 2]), ps.in_flight(ps.batch(2), quota))
    yield "Quota", full, [(setattr, quota, "capacity", 2)], [[1, 2]]


@pytest.mark.parametrize(
    ("stream", "calls", "result"), [row[1:] for row in steered()], ids=[row[0] for row in steered()]
)
async def test_a_thread_may_use_a_handle(stream, calls, result):
    with pytest.raises(result) if isinstance(result, type) else contextlib.nullcontext():
        async with ps.pipe(stream, ps.collect()).open() as running:
            for call in calls:
                await trio.testing.wait_all_tasks_blocked()
                await trio.to_thread.run_sync(*call)
            assert await running.result() == result
