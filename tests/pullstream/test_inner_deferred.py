"""`deferred`: places for modules that are known later.

The conformance grid tests their endings.
"""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import Unseen
from timely import BEGINNING, Antichain

KINDS = ("source", "transformer", "sink")


def place(kind, source):
    """A pipeline with a deferred module of this kind, its handle, and the module to resolve it with."""
    handle = ps.deferred(kind)
    match kind:
        case "source":
            return ps.pipe(handle, ps.map(str), ps.collect()), handle, source
        case "transformer":
            return ps.pipe(source, handle, ps.collect()), handle, ps.map(str)
        case _:
            return ps.pipe(source, handle), handle, ps.pipe(ps.map(str), ps.collect())


@pytest.mark.parametrize("kind", KINDS)
async def test_waits_until_it_is_resolved(kind, limit, counting, probe, autojump_clock):
    """Nothing is opened before; then the run is as if the module had been there from the beginning."""
    pipeline, handle, module = place(kind, counting(probe, 4))
    async with pipeline.open(limit=limit) as running:
        await trio.sleep(5)
        assert probe.acquired == 0
        handle.resolve(module)
        assert await running.result() == ["0", "1", "2", "3"]
    assert probe.balanced
    with pytest.raises(ps.PullstreamError, match="already resolved or failed"):
        handle.resolve(module)
    assert await ps.arun(pipeline, limit=limit) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("kind", KINDS)
async def test_it_ends_unresolved(kind, counting, probe, autojump_clock):
    """Its failure fails the stream, as the same object; an abort does not wait, and resolving it then opens nothing."""
    pipeline, handle, _ = place(kind, counting(probe, 2))
    boom, start = Unseen(), trio.current_time()
    with pytest.raises(Unseen) as caught:
        async with pipeline.open() as running:
            await trio.sleep(1)
            handle.fail(boom)
            await running.result()
    assert caught.value is boom
    pipeline, handle, module = place(kind, counting(probe, 2))
    async with pipeline.open() as running:
        await running.abort()
        handle.resolve(module)
        await trio.sleep(1)
    assert trio.current_time() - start == 2
    assert probe.acquired == 0


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("early", [True, False], ids=["looked at before", "not looked at before"])
async def test_what_is_not_known_yet_may_be_at_an_earlier_time(early, kind, autojump_clock):
    given, handle = ps.pushable(9), ps.deferred(kind)
    by_ten, collect = ps.map_time(lambda second: second // 10), ps.collect(timed=True)
    pipeline = ps.pipe(given, handle) if kind == "sink" else ps.pipe(given, handle, collect)
    async with pipeline.open() as running:
        given.advance(18)
        await trio.testing.wait_all_tasks_blocked()
        assert not early or running.progress.frontier() == Antichain([BEGINNING])
        handle.resolve(ps.pipe(by_ten, collect) if kind == "sink" else by_ten)
        await given.push("a", time=19)
        await trio.testing.wait_all_tasks_blocked()
        await running.progress.completed(0)
        given.advance(20)
        await running.progress.completed(1)
        given.end()
        assert await running.result() == [(1, "a")]
