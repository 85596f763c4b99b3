"""catch_up: the old values, the mark, the new ones; no gap, nothing lost, bounded; endings."""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, after_a_moment


@pytest.mark.parametrize("capacity", [1, 2, 100])
@pytest.mark.parametrize("sync", [None, ps.Batch(0, ["-", "-"])])
def test_old_then_new(limit, capacity, sync):
    new = ps.values(range(10, 20), time=lambda n: n // 3)
    source = ps.catch_up(range(7), new, capacity=capacity, sync=sync)
    expected = [(0, n) for n in range(7)] + [(0, "-")] * (2 if sync else 0) + [(n // 3, n) for n in range(10, 20)]
    pipeline = ps.pipe(source, ps.collect(timed=True))
    assert ps.run(pipeline, limit=limit) == ps.run(pipeline, limit=limit) == expected


NEW = {
    "alone": lambda new: new,
    "merged": lambda new: ps.merge(ps.empty(), ps.merge(new, ps.empty())),
    "through calls": lambda new: ps.pipe(new, *[ps.map_async(after_a_moment, 2)] * 3),
    "inside": lambda new: ps.pipe(ps.once(None), ps.flat_map(lambda _: ps.pipe(new, ps.prefetch(1), ps.prefetch(1)))),
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", NEW)
def test_there_is_no_gap(name, seed):
    """New values are subscribed to before any old one is read, whatever order tasks run in."""
    events, snapshot = ["a", "b"], []
    listeners = []

    def register(emit):
        listeners.append(emit)
        if snapshot:
            emit.end()

    def read():
        # Events right after the snapshot reach only those who are already listening.
        snapshot.extend(events)
        for emit in listeners:
            emit("c")
            emit.end()
        yield from snapshot

    trio._core._run._r.seed(seed)
    old = ps.flat_map(lambda _: read())
    source = ps.catch_up(ps.pipe(ps.once(None), old), NEW[name](ps.from_callback(register)))
    assert ps.run(ps.pipe(source, ps.collect())) == ["a", "b", "c"]


@pytest.mark.parametrize("which", ["old", "new"])
async def test_failures_follow_earlier_values(which, counting, new_probe, autojump_clock):
    old, new = new_probe(), new_probe()
    failure = Unseen()
    source = ps.catch_up(
        counting(old, 3, delay=1, timed=True, failure=failure if which == "old" else None),
        counting(new, 2 if which == "new" else 5000, failure=failure if which == "new" else None),
    )
    got = []
    with pytest.raises(Unseen) as caught:
        async with ps.pipe(source, ps.drain(got.append)).open():
            pass
    assert caught.value is failure
    assert got == ([0, 1, 2] if which == "old" else [0, 1, 2, 0, 1])
    assert old.balanced
    assert new.balanced
    assert old.acquired == new.acquired == 1
    assert (old if which == "new" else new).ended == (which == "new")
    assert new.reasons == [failure]
