"""on_error=sink: failed values go to a sink beside, which is one of the run's."""

import pickle

import pytest
import trio

import pullstream as ps

LIMITS = (1, 2, 7, 4096)


class Boom(Exception):
    pass


class Aside(Exception):
    pass


def checked(value):
    if value % 2:
        raise Boom(value)
    return value


@pytest.fixture
def notes():
    return []


def noting(notes):
    """A sink that keeps (time, value) of what it is given."""

    @ps.sink
    async def note(upstream, ctx):
        async for batch in ctx.batches(upstream):
            assert all(isinstance(failed.error, Boom) for failed in batch.values)
            notes.extend((batch.time, failed.value) for failed in batch.values)

    return note()


def module_of(name, sink):
    async def later(value):
        await trio.lowlevel.checkpoint()
        return checked(value)

    return {
        "map": lambda: ps.map(checked, on_error=sink),
        "filter": lambda: ps.filter(lambda n: checked(n) >= 0, on_error=sink),
        "tap": lambda: ps.tap(checked, on_error=sink),
        "map_async": lambda: ps.map_async(later, 2, on_error=sink),
        "flat_map": lambda: ps.flat_map(lambda n: [checked(n)], on_error=sink),
        "take": lambda: ps.take(lambda n: checked(n) < 99, on_error=sink),
    }[name]()


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ["map", "filter", "tap", "map_async", "flat_map", "take"])
def test_failed_values_go_beside_at_their_times(name, limit, notes):
    """The sink gets each failed value at its time, in order; the others go on as with "skip"."""
    source = ps.values(range(9), time=lambda n: n // 3)
    pipeline = ps.pipe(source, module_of(name, noting(notes)), ps.collect(timed=True))
    assert ps.run(pipeline, limit=limit) == [(n // 3, n) for n in range(0, 9, 2)]
    assert notes == [(n // 3, n) for n in range(1, 9, 2)]


def test_drain_diverts_too(notes):
    """A sink that calls a function can divert as well."""
    ps.run(ps.pipe(ps.values(range(4)), ps.drain(checked, on_error=noting(notes))))
    assert notes == [(0, 1), (0, 3)]


def test_the_error_names_its_module():
    """What is diverted has a note of the module that raised."""
    errors = []
    sink = ps.drain(lambda failed: errors.append(failed.error))
    ps.run(ps.pipe(ps.values([1]), ps.map(checked, on_error=sink), ps.drain()))
    assert errors[0].__notes__[0].startswith("raised in map(checked")
    assert __file__ in errors[0].__notes__[0]


async def test_back_pressure(edge, counting, probe, autojump_clock):
    """While the sink beside is busy with one batch, the source is asked for one more value at most."""

    @ps.sink
    async def slow(upstream, ctx):
        async for _ in ctx.batches(upstream):
            await trio.sleep(10)

    start = trio.current_time()
    async with edge(ps.pipe(counting(probe, 99), ps.map(lambda n: checked(2 * n + 1), on_error=slow()))) as reader:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.ask, 1)
            await trio.sleep(35)
            assert 3 <= sum(probe.asked) <= 5
            await reader.abort()
        assert trio.current_time() - start == 35


async def test_completion_waits_for_the_sink_beside(autojump_clock):
    """A time is complete when the sink beside has dealt with its failed values, too."""
    done = []

    @ps.sink
    async def slow(upstream, ctx):
        async for batch in ctx.batches(upstream):
            await trio.sleep(10)
            done.append(batch.time)

    source = ps.values(range(4), time=lambda n: n // 2)
    async with ps.pipe(source, ps.map(checked, on_error=slow()), ps.collect()).open() as running:
        await trio.sleep(1)
        assert [str(blocking) for blocking in running.progress.explain(0)] == ["slow has not acknowledged a batch at 0"]
        await running.progress.completed(0)
        assert done == [0]
        await running.progress.completed(1)
        assert done == [0, 1]
        assert await running.result() == [0, 2]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_sink_beside_that_fails_fails_the_run(limit, counting, probe):
    """Its exception arrives as itself, the source is told, and everything is released."""

    def refuse(failed):
        raise Aside(failed.value)

    with pytest.raises(Aside) as raised:
        ps.run(ps.pipe(counting(probe, 9), ps.map(checked, on_error=ps.drain(refuse)), ps.collect()), limit=limit)
    assert raised.value.args == (1,)
    assert raised.value.__notes__[0].startswith("raised in drain")
    assert len(raised.value.__notes__) == 1
    assert probe.balanced
    assert probe.reasons == ([raised.value] if not probe.ended else [None])


async def test_a_sink_beside_that_fails_while_the_source_is_slow(counting, probe, autojump_clock):
    """The failure does not wait for the source: its outstanding ask is answered with it."""

    @ps.sink
    async def refuses(upstream, ctx):
        await upstream.ask(1)
        await trio.sleep(1)
        raise Aside

    start = trio.current_time()

    @ps.source
    async def slow(ctx):
        yield 1
        await trio.sleep_forever()

    with pytest.raises(Aside):
        async with ps.pipe(slow(), ps.map(checked, on_error=refuses()), ps.collect()).open() as running:
            await running.result()
    assert trio.current_time() - start == 1


@pytest.mark.parametrize("limit", LIMITS)
def test_a_sink_beside_that_ends_early_leaves_the_rest(limit):
    """The main stream goes on without it, and what fails afterwards is left out, and counted."""
    kept = []
    sink = ps.pipe(ps.take(1), ps.drain(lambda failed: kept.append(failed.value)))

    async def main():
        async with ps.pipe(ps.values(range(8)), ps.map(checked, on_error=sink), ps.collect()).open(limit=limit) as run:
            assert await run.result() == [0, 2, 4, 6]
            return sum(row.skipped for row in run.counters())

    assert trio.run(main) <= 3
    assert kept == [1]


@pytest.mark.parametrize("limit", LIMITS)
def test_when_the_source_fails_what_was_diverted_has_come(limit, counting, probe, notes):
    """The sink beside gets what failed before, and then the failure."""
    endings = []

    @ps.sink
    async def note(upstream, ctx):
        try:
            async for batch in ctx.batches(upstream):
                notes.extend(failed.value for failed in batch.values)
        except ValueError as exc:
            endings.append(exc)
            raise

    failure = ValueError("above")
    with pytest.raises(ValueError, match="above") as raised:
        ps.run(
            ps.pipe(counting(probe, 4, failure=failure), ps.map(checked, on_error=note()), ps.collect()), limit=limit
        )
    assert notes == [1, 3]
    assert raised.value is failure
    assert endings == [failure]


@pytest.mark.parametrize("limit", LIMITS)
def test_when_enough_is_taken_the_sink_beside_ends(limit, counting, probe, notes):
    """Below take the stream ends: the sink beside gets what failed before, and its end."""
    pipeline = ps.pipe(counting(probe, 99), ps.map(checked, on_error=noting(notes)), ps.take(3), ps.collect())
    assert ps.run(pipeline, limit=limit) == [0, 2, 4]
    assert [value for _, value in notes][:2] == [1, 3]
    assert probe.balanced


@pytest.mark.parametrize("way", ["abort", "cancel"])
async def test_an_aborted_run_completes_nothing_beside(way, counting, probe, autojump_clock):
    """An abort from outside abandons the sink beside as it does the other."""
    ends = []

    @ps.sink
    async def note(upstream, ctx):
        try:
            async for _ in ctx.batches(upstream):
                await trio.sleep(3)
        except trio.Cancelled:
            ends.append("cancelled")
            raise
        ends.append("end")

    source = counting(probe, 99, delay=2)
    with trio.move_on_after(7 if way == "cancel" else 100):
        async with ps.pipe(source, ps.map(checked, on_error=note()), ps.collect()).open() as running:
            await trio.sleep(7)
            await running.abort()
            with pytest.raises(ps.errors.Abandoned):
                await running.progress.completed(0)
    assert ends == ["cancelled"]
    assert probe.balanced


def test_sinks_beside_sinks_beside(notes):
    """A sink beside may divert itself."""

    def again(failed):
        raise Boom(failed)

    inner = []
    sink = ps.drain(again, on_error=ps.drain(lambda failed: inner.append(failed.value.value)))
    both = ps.pipe(ps.map(checked, on_error=sink), ps.map(lambda n: checked(n + n // 2), on_error=noting(notes)))
    assert ps.run(ps.pipe(ps.values(range(5)), both, ps.collect())) == [0, 6]
    assert inner == [1, 3]
    assert [value for _, value in notes] == [2]


def test_a_blueprint_that_diverts_is_data():
    """It can be run again, shown and pickled."""
    module = ps.map(int, on_error=ps.drain())
    assert "drain()" in repr(module)
    assert pickle.loads(pickle.dumps(module)) == module
    again = pickle.loads(pickle.dumps(ps.pipe(ps.values(["1", "x"]), module, ps.collect())))
    assert ps.run(again) == ps.run(again) == [1]


def test_only_a_sink_is_a_place_to_divert_to():
    """A source, a transformer or a pipeline is refused."""
    for wrong in (ps.empty(), ps.map(str), ps.pipe(ps.empty(), ps.drain()), [].append):
        with pytest.raises(ps.CompositionError, match="or a sink"):
            ps.map(int, on_error=wrong)
