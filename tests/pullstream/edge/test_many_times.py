"""Multi-time answers at an edge, handed over time by time or whole: what passes, and what is in flight."""

from contextlib import nullcontext

import numpy as np
import pytest
import trio

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.resuming.resuming import drop_in
from tests.pullstream.common import Answers, run
from tests.pullstream.test_whole_and_cut import Rows
from timely import Product, TimeDomainError
from timely.order import minimal


@pytest.mark.parametrize("whole", [False, True])
def test_mixed_time_types_are_refused_by_type_name(whole):
    got = []

    @ps.sink
    async def asks(upstream, ctx):
        while True:
            batch = await (upstream.ask_many(9) if whole else upstream.ask(9))
            got.extend(zip(batch.times, batch.values, strict=True))

    with pytest.raises(TimeDomainError, match=r"4 \(int\) and 'a' \(str\)"):
        run(ps.pipe(Answers(ps.Batch.of([3, 4, "a"], [0, 1, 2])), asks()), check=False)
    assert got == [(3, 0), (4, 1)]


# ---- lanes


TIMES = {
    "out of order": [3, 1, 1, 4, 1, 5, 9, 2, 6, 3],
    "pairs": [Product(0, 1), Product(1, 0), Product(1, 0), Product(2, 2), Product(0, 1), Product(0, 3), Product(4, 0)],
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("how", ["abort", "error", "end"])
@pytest.mark.parametrize("domain", ["out of order", "pairs"])
def test_nothing_passes_after_a_termination(domain, how, other, check):
    """On any lane: values not yet handed over never are, and are no longer in flight (R5)."""
    seen = []

    @ps.transformer
    class Terminates(ps.authoring.Kernel):
        async def produce(self, limit):
            upstream = self.upstream
            lane = upstream.lane() if other else upstream
            seen.append((await upstream.ask(9)).values)
            if how == "end":
                upstream.edge.end_here()
            elif how == "abort":
                await lane.abort()
            else:
                await lane.error(reason)
            try:
                seen.append(await upstream.ask(9))
            except OSError:
                seen.append(ps.DONE)
            seen.append((upstream.edge.rest, set(upstream.arriving())))
            if how == "error":
                raise reason
            return ps.DONE

    reason = OSError("enough")
    with pytest.raises(OSError, match="enough") if how == "error" else nullcontext():
        run(ps.pipe(Rows([(time,) for time in TIMES[domain]]), Terminates(), ps.drain()), check=check)
    # An error leaves the remaining times incomplete; an abort abandons them.
    assert seen == [[(TIMES[domain][0],)], ps.DONE, (None, set(minimal(TIMES[domain][1:]) if how == "error" else ()))]


async def test_an_aborted_lane_wakes_waits_on_its_times(autojump_clock):
    """A lane aborts after another has received the end: what it had in flight is released, though no batch moves."""
    waited = []

    @ps.source
    class Leaves(ps.authoring.Kernel):
        def __init__(self, *sources):
            self.traits = Traits(sources=sources)

        async def produce(self, limit):
            one, two = self.inputs
            kept = await two.ask(9)
            if kept is ps.DONE:
                return ps.DONE
            batch = await one.ask_many(9)
            assert batch == ps.Batch.of([3, 4], [(3,), (4,)])
            assert await one.lane().ask(9) is ps.DONE
            await trio.sleep(1)
            await one.abort()
            await trio.sleep(9)
            return kept

    two = Leaves(Rows([(3,), (4,)]), Rows([(9,)]))
    async with ps.pipe(two, ps.drain()).open() as running:

        async def wait():
            await running.progress.completed(4)
            waited.append(trio.current_time() - began)

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await running.result()
    assert waited == [1.0]


# ---- rights


@pytest.mark.parametrize("form", ["apart", "whole", "one batch each"])
@pytest.mark.parametrize(
    ("times", "given"),
    [([5, 1], [5]), ([1, 5, 2], [5]), ([3, 0, 1, 4], [3]), ([1, 0, 5], []), ([1, 3, 2, 6], [3]), ([0, 2, 4], [4])],
)
def test_times_may_not_go_back_even_if_dropped(form, times, given):
    got, batch = [], ps.Batch.of(times, times)
    source = Answers(*(batch.runs() if form == "one batch each" else [batch]))

    @ps.sink
    async def asks(upstream, ctx):
        drop_in(upstream.edge, lambda time: time < 3)
        while (batch := await (upstream.ask_many(9) if form == "whole" else upstream.ask(9))) is not ps.DONE:
            got.extend(batch.values)

    if times == sorted(times):
        ps.run(ps.pipe(source, asks()))
    else:
        with pytest.raises(ps.errors.CapabilityError, match="went back in time"):
            ps.run(ps.pipe(source, asks()))
    assert got == given


def test_equality_of_batches_of_arrays():
    batch = ps.Batch(1, np.array([1, 2]))
    others = [ps.Batch(1, np.array(values)) for values in ([1, 2], [1, 3], [1], [1, 2, 3])]

    assert [batch == other for other in others] == [True, False, False, False]
