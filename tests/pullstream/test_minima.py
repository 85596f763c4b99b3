"""Minimal elements of partially ordered times, from each place on: correct, and with few comparisons."""

import pullstream as ps
from pullstream.engine.sidecar.minima import Minima
from pullstream.engine.sidecar.sidecar import Sidecar
from tests.pullstream.common import Together
from tests.pullstream.counting import Looked
from timely import Product

MANY = 120


def test_each_pair_of_times_is_compared_at_most_once():
    times = [Product(Looked(place), Looked(MANY - place)) for place in range(MANY)]
    Looked.times = 0
    minima = Minima(ps.Batch.of(times, times))
    assert [len(minima.at(place)) for place in range(MANY + 1)] == list(range(MANY, -1, -1))
    # Each pair in both directions, and each direction in up to two parts.
    assert Looked.times <= 2 * MANY * MANY


def test_handing_out_times_singly_changes_one_count_each(monkeypatch):
    changes = []

    def watched(sidecar, update):
        def watching(place, time, delta):
            changes.append((time, delta))
            update(place, time, delta)

        sidecar.update = watching

    monkeypatch.setattr(Sidecar, "switched", watched)
    taken = []

    @ps.sink
    async def one_by_one(upstream, ctx):
        await upstream.ask(MANY)
        while (batch := await upstream.ask(MANY)) is not ps.DONE:
            taken.extend(batch.values)

    ps.run(ps.pipe(Together([Product(place, MANY - place) for place in range(MANY)]), one_by_one()))
    assert len(taken) == MANY - 1
    assert MANY <= len(changes) <= 10 * MANY


def test_prefetch_takes_unordered_times_a_few_at_a_time():
    """Whatever its capacity, as each time of an answer may have to be compared with all others."""
    count = 1000
    times = [Product(Looked(place), Looked(count - place)) for place in range(count)]
    Looked.times = 0
    assert ps.run(ps.pipe(Together(times), ps.prefetch(10 * count), ps.collect())) == list(range(count))
    assert Looked.times < count * count
