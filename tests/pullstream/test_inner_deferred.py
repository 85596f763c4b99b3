"""deferred: places for modules that are known later."""

import pickle
from itertools import product

import pytest
import trio

import pullstream as ps


class Boom(Exception):
    """What a handle is failed with."""


KINDS = ("source", "transformer", "sink")


def place(kind, source):
    """A pipeline with a deferred module of this kind, the handle, and what it is to be resolved with."""
    handle = ps.deferred(kind)
    match kind:
        case "source":
            return ps.pipe(handle, ps.map(str), ps.collect()), handle, source
        case "transformer":
            return ps.pipe(source, handle, ps.collect()), handle, ps.map(str)
        case _:
            return ps.pipe(source, handle), handle, ps.pipe(ps.map(str), ps.collect())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 2, 4096])
async def test_waits_until_it_is_resolved(kind, limit, counting, probe, autojump_clock):
    """Nothing is opened before; then it is as if the module had stood there from the beginning."""
    pipeline, handle, module = place(kind, counting(probe, 4))
    async with pipeline.open(limit=limit) as running:
        await trio.sleep(5)
        assert probe.acquired == 0
        handle.resolve(module)
        assert await running.result() == ["0", "1", "2", "3"]
    assert probe.balanced
    with pytest.raises(ps.PullstreamError, match="already resolved or failed"):
        handle.resolve(module)
    async with pipeline.open(limit=limit) as running:
        assert await running.result() == ["0", "1", "2", "3"]


@pytest.mark.parametrize("kind", KINDS)
async def test_resolved_before_it_is_opened(kind, counting, probe):
    """What is known at the opening is not waited for."""
    pipeline, handle, module = place(kind, counting(probe, 2))
    handle.resolve(module)
    async with pipeline.open() as running:
        assert await running.result() == ["0", "1"]


@pytest.mark.parametrize("kind", KINDS)
async def test_fails(kind, counting, probe, autojump_clock):
    """What it is failed with is the stream's failure, as it is, and nothing was opened."""
    pipeline, handle, _ = place(kind, counting(probe, 2))
    boom = Boom()
    with pytest.raises(Boom) as caught:
        async with pipeline.open() as running:
            await trio.sleep(1)
            handle.fail(boom)
            await running.result()
    assert caught.value is boom
    assert probe.acquired == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_an_abort_does_not_wait(kind, counting, probe, autojump_clock):
    """It is confirmed at once, and a resolve after it opens nothing."""
    pipeline, handle, module = place(kind, counting(probe, 2))
    start = trio.current_time()
    async with pipeline.open() as running:
        await trio.sleep(1)
        await running.abort()
        handle.resolve(module)
        await trio.sleep(1)
    assert trio.current_time() - start == 2
    assert probe.acquired == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_belongs_to_one_run(kind, counting, probe):
    """A second opening and pickling are refused by name; so is what it cannot be resolved with."""
    pipeline, handle, _ = place(kind, counting(probe, 2))
    async with pipeline.open() as running:
        with pytest.raises(ps.errors.ReuseError, match=f"deferred {kind}"):
            async with pipeline.open():
                pass
        await running.abort()
    with pytest.raises(TypeError, match=f"deferred {kind}"):
        pickle.dumps(handle)
    for wrong in (7, ps.pipe(ps.integers(), ps.collect())):
        with pytest.raises(ps.CompositionError, match=f"must be resolved with a {kind}"):
            handle.resolve(wrong)


def test_kinds():
    """There are three."""
    with pytest.raises(ps.CompositionError, match="'duplex'"):
        ps.deferred("duplex")


@pytest.mark.parametrize("kind", KINDS)
async def test_times_pass_in_and_out(kind, autojump_clock):
    """Inside, completions come as they do outside, and outside nothing completes before it has inside."""

    @ps.source
    async def days(ctx):
        for day in range(4):
            await trio.sleep(1)
            yield ps.Batch(day, [day, day])

    @ps.sink
    async def slowly(upstream, ctx):
        got = []
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    ctx.notify_at(time)
                    got.extend(values)
                case ps.Completed(time):
                    await trio.sleep(0.25)
                    got.append((time, trio.current_time() - start))
        return got

    counts = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda _: "n")
    handle = ps.deferred(kind)
    handle.resolve({"source": ps.pipe(days(), counts), "transformer": counts, "sink": ps.pipe(counts, slowly())}[kind])
    parts = {"source": (handle, slowly()), "transformer": (days(), handle, slowly()), "sink": (days(), handle)}[kind]
    seen = []
    async with ps.pipe(*parts).open() as running, trio.open_nursery() as nursery:
        start = trio.current_time()

        async def wait(day):
            await running.progress.completed(day)
            seen.append((day, trio.current_time() - start))

        for day in range(4):
            nursery.start_soon(wait, day)
        result = await running.result()
    pairs = [row for row in result if row[0] != "n"]
    assert pairs == [(0, 2.25), (1, 3.25), (2, 4.25), (3, 4.5)]
    assert sorted(seen) == [(0, 2.25), (1, 3.25), (2, 4.25), (3, 4.5)]


WAYS = ("abort", "error", "cancel", "upstream fails", "ends early")


@pytest.mark.parametrize("cell", list(product(("source", "transformer"), WAYS, range(4), [1, 2])))
async def test_every_ending(cell, counting, probe, edge, autojump_clock):
    """What was opened is released once, told why; failures are passed as they are."""
    kind, way, position, limit = cell
    boom, reason = Boom(), KeyError("enough")
    source = counting(probe, 3, delay=1, failure=boom if way == "upstream fails" else None)
    inside = ps.take(position) if way == "ends early" else ps.map(lambda value: value)
    handle = ps.deferred(kind)
    handle.resolve(ps.pipe(source, inside) if kind == "source" else inside)
    outcome = None
    async with edge(handle if kind == "source" else ps.pipe(source, handle)) as reader:
        values = []
        try:
            while True:
                if way == "cancel" and len(values) >= position:
                    with trio.move_on_after(0.5):
                        assert await reader.ask(limit) is ps.DONE
                    break
                if way in {"abort", "error"} and len(values) >= position:
                    await (reader.abort() if way == "abort" else reader.error(reason))
                    break
                batch = await reader.ask(limit)
                if batch is ps.DONE:
                    break
                values.extend(batch.values)
        except Boom as exc:
            outcome = exc
        assert probe.balanced
    assert outcome is (boom if way == "upstream fails" else None)
    if way == "error" and probe.acquired and not probe.ended:
        assert probe.reasons == [reason]
    if way == "ends early":
        assert values == list(range(position))
