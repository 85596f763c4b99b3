"""The cost of handing on buffered values."""

import tracemalloc

import pytest

import pullstream as ps
from tests.pullstream.common import script

MANY = 20_000
"""The number of values that are buffered at one time."""

FIRST = 4_000
"""The number of values in the first ask; later ones are for one value."""


# ---- the cost of one more answer


def again(value):
    """The results of a loop's body for one value: 0 sends many values round."""
    return (ps.Again(number) for number in range(1, MANY + 1)) if value == 0 else [value]


def everything(value):
    return [value for _ in range(MANY)]


BUFFERING = {
    "count_by_key": ps.pipe(ps.values(range(MANY)), ps.count_by_key()),
    "tumbling": ps.pipe(ps.values(range(MANY)), ps.tumbling(10, ps.agg.count(), key=lambda n: n)),
    "sessions": ps.pipe(ps.values(range(MANY)), ps.sessions(10, ps.agg.count(), key=lambda n: n)),
    "sort_by_time": ps.pipe(ps.values(range(MANY)), ps.sort_by_time(lambda n: -n)),
    "batch": ps.pipe(ps.once("a" * MANY), ps.split(size=1)),
    "flat_map": ps.pipe(ps.once(0), ps.flat_map(everything)),
    "flatten beside": ps.pipe(ps.once(list(range(MANY))), ps.flatten(concurrency=2)),
    "group_by": ps.pipe(ps.values(range(MANY)), ps.group_by(lambda _: 0, ps.count_by_key())),
    "loop": ps.pipe(ps.once(0), ps.loop(ps.flat_map(again))),
    "join": ps.join(script(1.0, 0), ps.values(range(MANY)), on=lambda _: 0),
    "left join": ps.join(ps.values(range(MANY)), ps.empty(), on=lambda n: n, how="left"),
    "prefetch": ps.pipe(ps.values(range(MANY)), ps.count_by_key(), ps.prefetch(MANY)),
}


@pytest.mark.parametrize("name", BUFFERING)
async def test_one_more_value_costs_one_value(name, autojump_clock):
    @ps.sink
    async def asking(upstream, ctx):
        got = len((await upstream.ask(FIRST)).values)
        peaks = []
        tracemalloc.start()
        try:
            for _ in range(20):
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                got += len((await upstream.ask(1)).values)
                peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
        ctx.abandon()
        return got, sorted(peaks)[len(peaks) // 2]

    async with ps.pipe(BUFFERING[name], asking()).open(limit=FIRST) as running:
        got, peak = await running.result()
    assert got > 20
    # A list of the remaining values would take 8 bytes for each.
    assert peak < 8 * (MANY - FIRST) / 4
