"""Answers of many times at an edge: given out one time after another, or whole; what passes, and what is in flight."""

import pytest

import pullstream as ps
from pullstream.resuming.resuming import drop_in
from tests.pullstream.common import run
from timely import TimeDomainError


def many(times):
    return ps.Batch.of(list(times), list(range(len(times))))


def by_hand(function, *above, check=False, limit=4096):
    """Let a sink's function ask; gives what it returns."""
    return run(ps.pipe(*above, ps.sink(function)()), limit, check=check)


def pairs(batch):
    return list(zip(batch.times, batch.values, strict=True))


@pytest.mark.parametrize("whole", [False, True])
def test_times_of_two_kinds_are_refused_by_what_they_are(whole):
    """What came before them is answered first."""

    @ps.source
    class Mixed(ps.authoring.Kernel):
        async def produce(self, limit):
            return many([3, 4, "a"])

    got = []

    async def asks(upstream, ctx):
        while True:
            got.extend(pairs(await (upstream.ask_many(9) if whole else upstream.ask(9))))

    with pytest.raises(TimeDomainError, match=r"4 \(int\) and 'a' \(str\)"):
        by_hand(asks, Mixed())
    assert got == [(3, 0), (4, 1)]


# ---- rights


@pytest.mark.parametrize("form", ["apart", "whole", "one batch each"])
@pytest.mark.parametrize(
    ("times", "given"),
    [([5, 1], [5]), ([1, 5, 2], [5]), ([3, 0, 1, 4], [3]), ([1, 0, 5], []), ([1, 3, 2, 6], [3]), ([0, 2, 4], [4])],
)
def test_times_may_not_go_back_whether_they_are_dropped_or_not(form, times, given):
    """What comes before the one that does is answered (R8)."""
    got = []

    @ps.source
    class Given(ps.authoring.Kernel):
        def __init__(self):
            batch = ps.Batch.of(times, times)
            self.answers = list(batch.runs()) if form == "one batch each" else [batch]

        async def produce(self, limit):
            return self.answers.pop(0) if self.answers else ps.DONE

    @ps.sink
    async def asks(upstream, ctx):
        drop_in(upstream.edge, lambda time: time < 3)
        while (batch := await (upstream.ask_many(9) if form == "whole" else upstream.ask(9))) is not ps.DONE:
            got.extend(batch.values)

    if times == sorted(times):
        ps.run(ps.pipe(Given(), asks()))
    else:
        with pytest.raises(ps.errors.CapabilityError, match="went back in time"):
            ps.run(ps.pipe(Given(), asks()))
    assert got == given
