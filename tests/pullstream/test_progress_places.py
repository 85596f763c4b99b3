"""When a time is announced complete, and where: in flight, held, acknowledged, advanced."""

import pytest
import trio
import trio.testing

import pullstream as ps
import timely
from pullstream.engine.sidecar.explain import explain_stall
from timely import Antichain


def timed(*times):
    """A source of the given times, whose values are the times themselves."""
    return ps.values(list(times), time=lambda time: time)


async def settle():
    """Let every task do what it can, in virtual time."""
    await trio.testing.wait_all_tasks_blocked()


@ps.sink
async def stepwise(upstream, ctx, go, seen):
    """Takes one batch for each item received on `go`: "ask" asks, "ack" acknowledges."""
    async for command in go:
        if command == "ack":
            upstream.ack()
        elif (batch := await upstream.ask(ctx.limit)) is ps.DONE:
            seen.append(ps.DONE)
            return
        else:
            seen.append(batch)


class Stepper:
    """Drives a pipeline into `stepwise` a command at a time, and says what is complete in between."""

    def __init__(self, *parts, limit=4096):
        self.seen = []
        self._send, receive = trio.open_memory_channel(100)
        self._opening = ps.pipe(*parts, stepwise(receive, self.seen)).open(limit=limit)

    async def __aenter__(self):
        self.running = await self._opening.__aenter__()
        self.progress = self.running.progress
        return self

    async def __aexit__(self, *exc):
        self._send.close()
        return await self._opening.__aexit__(*exc)

    async def step(self, command="ask"):
        self._send.send_nowait(command)
        await settle()

    async def complete(self, time, at=None):
        """Whether `completed(time)` returns without anybody moving."""
        with trio.move_on_after(1) as scope:
            await self.progress.completed(time, at)
        return not scope.cancelled_caught


async def same(value):
    return value


async def test_a_batch_in_flight_holds_its_time_until_the_sink_asks_again(autojump_clock):
    """The sink still works on what it received; only asking again says that it does not."""
    async with Stepper(timed(1, 2, 3)) as stepper:
        await stepper.step()
        assert stepper.seen == [ps.Batch(1, [1])]
        assert not await stepper.complete(1)
        await stepper.step()
        assert await stepper.complete(1)
        assert not await stepper.complete(2)


async def test_what_has_not_been_produced_is_not_complete(autojump_clock):
    """Before the first ask nothing is known, so nothing is complete; not even a time before all others."""
    async with Stepper(timed(1, 2)) as stepper:
        assert not await stepper.complete(-1000)
        await stepper.step()
        assert await stepper.complete(0)


async def test_ack_completes_a_time_without_asking(autojump_clock):
    """ack() says that the batch is worked off; with a source that has said so too, its time is complete."""

    async with Stepper(timed(1, 2)) as stepper:
        await stepper.step()
        await stepper.step()
        await stepper.step("ack")
        assert not await stepper.complete(2), "the source may still answer at 2"
        assert stepper.progress.frontier() == stepper.progress.frontier(at="values")
        await stepper.step()
        assert stepper.seen[-1] is ps.DONE
        assert await stepper.complete(2)


KINDS = {
    "map": ps.map(lambda n: n),
    "filter": ps.filter(lambda _: True),
    "take": ps.take(100),
    "take_times": ps.take_times(100),
    "flat_map": ps.flat_map(lambda n: [n]),
    "map_batches": ps.map_batches(list),
    "map_async": ps.map_async(same, 3),
    "unordered": ps.map_async(same, 3, ordered=False),
    "reduce_by_key": ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda n: n),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 2, 4096])
async def test_every_module_passes_completion_on(kind, limit, autojump_clock):
    """Below every kind of module a time completes when the sink has gone on to a later one, not before."""
    module = KINDS[kind]
    async with Stepper(timed(1, 1, 2, 3, 3), ps.map(lambda n: n), module.named("it"), limit=limit) as stepper:
        reached = None
        while not stepper.seen or stepper.seen[-1] is not ps.DONE:
            await stepper.step()
            if stepper.seen[-1] is ps.DONE:
                break
            reached = stepper.seen[-1].time
            assert not await stepper.complete(reached)
            assert await stepper.complete(reached - 1)
            assert await stepper.complete(reached - 1, at="it")
        assert reached == 3
        for at in (None, "it", "values"):
            assert await stepper.complete(3, at)
            assert stepper.progress.frontier(at) == type(stepper.progress.frontier(at))()


async def test_a_lane_acknowledges_for_itself_alone(autojump_clock):
    """Two lanes of one reader: while one still works on t, the other's asking does not complete t."""
    working, finish = trio.Event(), trio.Event()

    @ps.sink
    async def two_lanes(upstream, ctx):
        other = upstream.lane()
        first = await upstream.ask(1)
        assert first.time == 1
        working.set()
        for _ in range(3):
            await other.ask(1)
        await finish.wait()
        while await upstream.ask(1) is not ps.DONE:
            pass
        await other.ask(1)

    async with ps.pipe(timed(1, 2, 3, 4, 5), ps.map(lambda n: n), two_lanes()).open() as running:
        await working.wait()
        await settle()
        assert running.progress.frontier().less_equal(1)
        assert not running.progress.frontier(at="map").less_equal(3)
        finish.set()
        await running.progress.completed(1)
        await running.progress.completed(5)


async def test_a_lane_that_gets_done_does_not_acknowledge_for_another(autojump_clock):
    """The end, seen by one lane, completes nothing that another lane still works on."""
    finish = trio.Event()

    @ps.sink
    async def two_lanes(upstream, ctx):
        other = upstream.lane()
        await upstream.ask(1)
        assert await other.ask(1) is ps.DONE
        await finish.wait()
        assert await upstream.ask(1) is ps.DONE

    async with ps.pipe(timed(1), two_lanes()).open() as running:
        await settle()
        assert running.progress.frontier().less_equal(1)
        assert "two_lanes has not acknowledged a batch at 1" in map(str, running.progress.explain(1))
        finish.set()
        await running.progress.completed(1)


async def test_leftovers_of_flat_map_hold_their_time(autojump_clock):
    """While values of a time are left inside flat_map, the time is not complete at its output."""
    async with Stepper(timed(1, 2), ps.flat_map(lambda n: [n, n, n]), limit=1) as stepper:
        await stepper.step()
        await stepper.step("ack")
        assert not await stepper.complete(1)
        assert not await stepper.complete(1, at="flat_map")
        await stepper.step()
        await stepper.step()
        assert not await stepper.complete(1)
        await stepper.step()
        assert stepper.seen[-1] == ps.Batch(2, [2])
        assert await stepper.complete(1)


@pytest.mark.parametrize("ordered", [True, False])
async def test_calls_under_way_hold_their_times(ordered, autojump_clock):
    """A call of map_async that is not answered yet holds its value's time, though upstream has gone on."""
    gates = {1: trio.Event(), 2: trio.Event()}

    async def gated(n):
        await gates[n].wait()
        return n

    upstream_done = trio.Event()

    @ps.source
    async def source(ctx):
        yield ps.Batch(1, [1])
        yield ps.Batch(2, [2])
        upstream_done.set()

    module = ps.map_async(gated, 3, ordered=ordered)
    async with ps.pipe(source(), module, ps.collect()).open() as running:
        await upstream_done.wait()
        await settle()
        progress = running.progress
        assert not progress.frontier(at="source").less_equal(2)
        assert progress.frontier(at="map_async").elements == (1,)
        assert [(blocking.holder, blocking.what) for blocking in progress.explain(1)] == [("map_async", "holds")]
        gates[2].set()
        await settle()
        assert progress.frontier(at="map_async").elements == (1,)
        gates[1].set()
        await progress.completed(2)
        assert await running.result() == ([1, 2] if ordered else [2, 1])


async def test_the_rest_of_a_large_batch_holds_its_time(autojump_clock):
    """A generator's batch larger than the ask is answered in parts; its time lasts until the last part."""

    @ps.transformer
    async def thrice(upstream, ctx):
        async for event in ctx.events(upstream):
            yield ps.Batch(event.time, [*event.values] * 3)

    async with Stepper(timed(1, 2), thrice(), limit=2) as stepper:
        await stepper.step()
        assert stepper.seen == [ps.Batch(1, [1, 1])]
        await stepper.step("ack")
        assert not await stepper.complete(1)
        await stepper.step()
        assert not await stepper.complete(1)
        await stepper.step()
        assert [batch.time for batch in stepper.seen] == [1, 1, 2]
        assert await stepper.complete(1)


async def test_the_state_of_reduce_by_key_holds_its_time(autojump_clock):
    """A time whose results are still owed is complete at the input's side, and not below."""
    go = trio.Event()

    @ps.source
    async def source(ctx):
        yield ps.Batch(1, ["a", "b"])
        ctx.advance(2)
        await go.wait()
        yield ps.Batch(2, ["c"])

    counts = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=str)
    async with Stepper(source(), counts) as stepper:
        await stepper.step()
        assert stepper.seen == [ps.Batch(1, [("a", 1), ("b", 1)])], "the source said so, without a value at 2"
        assert await stepper.complete(1, at="source")
        assert not await stepper.complete(1)
        go.set()
        await stepper.step()
        assert await stepper.complete(1)


async def test_a_source_that_advances_without_data_completes_times_below(autojump_clock):
    """ctx.advance in a source that then waits: the sink's times complete while its ask is outstanding."""

    @ps.source
    async def source(ctx):
        yield ps.Batch(1, ["a"])
        ctx.advance(5)
        await trio.sleep(100)
        yield ps.Batch(7, ["b"])

    async with ps.pipe(source(), ps.map(str.upper), ps.collect()).open() as running:
        start = trio.current_time()
        await running.progress.completed(4)
        assert trio.current_time() == start
        assert running.progress.frontier().elements == (5,)
        await running.progress.completed(6)
        assert trio.current_time() - start == pytest.approx(100)


async def test_explain_names_the_holder_and_the_way(autojump_clock):
    """explain() answers with every place that holds a time up, what it does there, and how it leads to the sink."""
    async with Stepper(timed(1, 2), ps.map(lambda n: n), ps.flat_map(lambda n: [n])) as stepper:
        assert [str(blocking) for blocking in stepper.progress.explain(1)] == [
            "values may still produce from BEGINNING -> map -> flat_map -> stepwise",
        ]
        await stepper.step()
        lines = [str(blocking) for blocking in stepper.progress.explain(1)]
        assert "stepwise has not acknowledged a batch at 1" in lines
        assert "values may still produce from 1 -> map -> flat_map -> stepwise" in lines
        await stepper.step()
        assert stepper.progress.explain(1) == []


async def test_an_unknown_or_ambiguous_name_is_refused(autojump_clock):
    """at= with a name that no module, or more than one, goes by says which names there are."""
    async with ps.pipe(timed(1), ps.map(str), ps.map(str), ps.collect()).open() as running:
        with pytest.raises(LookupError, match="no module is named 'nobody'.*'values', 'map', 'map', 'collect'"):
            running.progress.frontier(at="nobody")


async def test_modules_fused_into_one_can_be_named(autojump_clock):
    """Neighbouring stateless modules are one place to the sidecar, found by each of their names."""
    pipeline = ps.pipe(timed(1), ps.map(str).named("first"), ps.map(str).named("second"), ps.collect())
    async with pipeline.open() as running:
        with pytest.raises(LookupError):
            running.progress.frontier(at="map")
        await running.progress.completed(1, at="first")
        await running.progress.completed(1, at="second")


async def test_a_sink_that_owes_an_effect_delays_completion(autojump_clock):
    """A sink's hold keeps completed() waiting though all input has been acknowledged."""
    written = []

    @ps.sink
    async def slow_writer(upstream, ctx):
        batch = await upstream.ask(1)
        with ctx.hold(batch.time):
            await upstream.ask(1)
            await trio.sleep(10)
            written.append(batch.time)
        await trio.sleep(10)

    async with ps.pipe(timed(1, 2), slow_writer()).open() as running:
        start = trio.current_time()
        await running.progress.completed(1)
        assert written == [1]
        assert trio.current_time() - start == pytest.approx(10)


async def test_a_time_of_another_domain_is_an_error_for_the_one_who_asks(autojump_clock):
    """completed() with a time that cannot be compared raises there, and the run goes on."""
    told = []

    async def ask(progress):
        try:
            await progress.completed("tuesday")
        except timely.TimelyError as exc:
            told.append(str(exc))

    async with Stepper(timed(1, 2)) as stepper, trio.open_nursery() as nursery:
        nursery.start_soon(ask, stepper.progress)
        await settle()
        await stepper.step()
        await stepper.step()
        assert await stepper.complete(1)
        assert "cannot be compared" in told[0]
        nursery.cancel_scope.cancel()


class Unseen(Exception):
    """What these tests let fail."""


async def test_an_exception_inside_a_hold_does_not_complete_its_time(autojump_clock):
    """The effect that was owed failed: its time must not look complete, though the block was left."""
    failure = Unseen()

    @ps.sink
    async def broken(upstream, ctx):
        batch = await upstream.ask(1)
        with ctx.hold(batch.time):
            await upstream.ask(1)
            raise failure

    with pytest.raises(Unseen):
        async with ps.pipe(timed(1, 2), broken()).open() as running:
            with pytest.raises(Unseen):
                await running.progress.completed(1)
            await running.progress.completed(0)
            raise failure


async def test_a_hold_left_by_an_exception_that_was_handled_ends_with_the_next_event(autojump_clock):
    """A module that handles what its hold's block raised goes on, and the time completes."""

    @ps.sink
    async def handling(upstream, ctx):
        async for event in ctx.events(upstream):
            try:
                with ctx.hold(event.time):
                    raise Unseen
            except Unseen:
                continue

    gate = trio.Event()

    @ps.source
    async def source(ctx):
        yield ps.Batch(1, ["a"])
        yield ps.Batch(2, ["a"])
        await gate.wait()

    async with ps.pipe(source(), handling()).open() as running:
        await running.progress.completed(1)
        gate.set()


async def test_a_transformer_aborted_inside_a_hold_lets_go_without_trouble(autojump_clock):
    """Ending a generator that is inside its hold raises nothing of its own."""

    @ps.transformer
    async def holding(upstream, ctx):
        batch = await upstream.ask(1)
        with ctx.hold(batch.time):
            yield batch
            while (more := await upstream.ask(1)) is not ps.DONE:
                yield more

    pipeline = ps.pipe(timed(1, 2, 3, 4), holding(), ps.take(2), ps.collect())
    async with pipeline.open() as running:
        assert await running.result() == [1, 2]


async def test_a_failure_below_a_transformer_inside_a_hold_arrives_as_itself(autojump_clock):
    """The hold that its block gives back while the stream fails is not an error, and completes nothing."""

    @ps.transformer
    async def holding(upstream, ctx):
        batch = await upstream.ask(1)
        with ctx.hold(batch.time):
            yield batch
            while (more := await upstream.ask(1)) is not ps.DONE:
                yield more

    def bad(n):
        if n == 3:
            raise Unseen
        return n

    announced = []
    with pytest.raises(Unseen):
        async with ps.pipe(timed(1, 2, 3, 4), holding(), ps.map(bad), ps.collect()).open(limit=1) as running:
            with pytest.raises(Unseen):
                await running.progress.completed(1)
                announced.append(1)
            await running.result()
    assert announced == []


def two_domains():
    """Times of two domains that meet in a merge, which fails."""
    return ps.merge(ps.values([1, 2], time=lambda n: n), ps.values(["a"], time=str)).named("meeting")


@pytest.mark.parametrize("first", ["nobody", "somebody"])
async def test_everything_can_be_asked_after_two_domains_have_met(first):
    """What there is can be told; nothing is complete, and what holds it up is named."""

    @ps.source
    async def meets(ctx):
        with ctx.hold(7):
            yield ps.Batch(7, [7])
            if first == "somebody":
                running.progress.explain(7)
            running._run.scope.sidecar.stop_tracking()
            yield ps.Batch(8, [8])
            told.update(
                frontier=running.progress.frontier(),
                frontiers=running.progress.frontiers(),
                explained=[str(each) for each in running.progress.explain(3, at="above")],
                everything=[str(each) for each in running.progress.pointstamps()],
                done=running.progress.times_done(),
                watched=await anext(running.progress.watch()),
                asked=explain_stall(running._run.scope.sidecar),
            )
            with trio.move_on_after(0.1) as scope:
                await running.progress.completed(-1, at="above")
            told.update(waits=scope.cancelled_caught)

    told = {}
    async with ps.pipe(meets().named("above"), ps.map(str), ps.drain()).open() as running:
        await running.result()
    assert told["frontier"] == Antichain([timely.BEGINNING])
    assert told["frontiers"] == [("drain", Antichain([timely.BEGINNING]))]
    assert told["explained"] == ["above may still produce from 7", "above may still produce from 8"]
    assert told["everything"] == ["above may still produce from 7", "above may still produce from 8"]
    assert told["done"] == 0
    assert told["watched"] == Antichain([timely.BEGINNING])
    assert "nothing in this run can move" in told["asked"]
    assert told["waits"]


async def test_the_failure_comes_where_two_domains_have_met():
    """And the progress of that run can still be asked."""
    with pytest.raises(timely.TimeDomainError, match="times of two domains"):
        async with ps.pipe(two_domains(), ps.drain()).open() as running:
            await running.result()
    progress = running.progress
    for asked in (progress.pointstamps, progress.frontiers, progress.times_done, progress.counters, progress.frontier):
        asked()
    progress.explain(3)
    with pytest.raises(timely.TimeDomainError):
        await progress.completed(3)
    with pytest.raises(timely.TimeDomainError):
        [frontier async for frontier in progress.watch()]
