"""`reduce_by_time`, `reduce_by_key`, `count_by_key`, `aggregate`: when results come, and what goes wrong."""

import pytest
import trio

import pullstream as ps
from pullstream.engine.sidecar.location import Location
from tests.pullstream.common import Unseen, per_time


def refuse(value):
    """Raises for 3."""
    if value == 3:
        raise Unseen
    return value % 2


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
def test_values_left_out_are_counted(eager, limit):
    """With on_error="skip" a value whose function raises leaves no trace but in the counters."""
    source = ps.values([3, 0, 3, 1, 3, 3], time=lambda n: 0)
    for module in (
        ps.reduce_by_key(ps.agg.count(), key=refuse, eager=eager, on_error="skip"),
        ps.reduce_by_key(ps.agg.count(), key=lambda _: 0, eager=eager, on_error="skip"),
        ps.count_by_key(refuse, eager=eager, on_error="skip"),
        ps.reduce_by_time(ps.agg.sum(refuse), eager=eager, on_error="skip"),
    ):

        async def main(module=module):
            async with ps.pipe(source, module, ps.collect()).open(limit=limit) as running:
                return await running.result(), running.progress.counters()[1].skipped

        found, skipped = trio.run(main)
        assert found
        assert skipped == (0 if "lambda" in repr(module) else 4)


def test_a_step_that_raises_leaves_no_key_behind():
    """A key of which every value was left out has no result."""

    def step(state, value):
        raise Unseen

    module = ps.reduce_by_key(ps.Fold(int, step), key=lambda n: n, on_error="skip")
    assert ps.run(ps.pipe(ps.values([1, 2]), module, ps.collect(timed=True))) == []


class Tick(int):
    """A time that counts how often times are compared."""

    compared = 0

    def __lt__(self, other):
        Tick.compared += 1
        return int(self) < int(other)

    def __le__(self, other):
        Tick.compared += 1
        return int(self) <= int(other)

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "count", [ps.reduce_by_time(ps.agg.count()), per_time(lambda _: 1)], ids=["kernel", "generator"]
)
def test_many_open_times_are_not_compared_each_with_each(count):
    """Twice as many open times take about twice as many comparisons, and not four times as many."""
    spent = []
    for size in (200, 400):
        Tick.compared = 0
        late = ps.stamp(Tick, lateness=10**6)
        assert ps.run(ps.pipe(ps.values(range(size)), late, count, ps.collect())) == [1] * size
        spent.append(Tick.compared)
    assert spent[1] < 3 * spent[0], spent


def test_what_a_time_costs_does_not_follow_from_how_many_sources_there_are(monkeypatch):
    """Of many that are merged, not every one is looked at for each time."""
    looks = []
    holds = Location.holds
    monkeypatch.setattr(Location, "holds", lambda location, time: looks.append(location) or holds(location, time))
    sources = [ps.values([number], time=int) for number in range(300)]
    counted = ps.run(ps.pipe(ps.merge(*sources), ps.count_by_key(), ps.collect()))
    assert sorted(counted) == [(number, 1) for number in range(300)]
    assert len(looks) < 10 * len(sources)
