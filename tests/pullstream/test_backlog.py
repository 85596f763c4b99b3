"""Values that are owed: their order, their times, what is held for them, and what it costs to hand them on."""

import random
import tracemalloc

import pytest
import trio

import pullstream as ps
from pullstream.engine.edge.backlog import Backlog
from timely import Antichain, Product

MANY = 20_000
"""So many values are owed at one time, ..."""

FIRST = 4_000
"""... so many are asked for at first, and then one at a time."""


class Copied(list):
    """A list that counts how many of its values were copied out of it."""

    copied = 0

    def __getitem__(self, key):
        values = super().__getitem__(key)
        if isinstance(key, slice):
            Copied.copied += len(values)
            return Copied(values)
        return values


class Held:
    """Stands for a module, and for its place."""

    def __init__(self):
        self.location = self
        self.held = []

    def hold(self, time):
        self.held.append(time)

    def drop(self, time):
        self.held.remove(time)


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_each_value_is_copied_once(limit, monkeypatch):
    """However often values are taken from what is owed, each is copied at most once."""
    monkeypatch.setattr(Copied, "copied", 0)
    backlog = Backlog()
    backlog.put(ps.Batch(0, Copied(range(MANY))))
    while backlog:
        backlog.take(limit)
    assert Copied.copied <= MANY


@pytest.mark.parametrize("new", [lambda rng: rng.randrange(9), lambda rng: Product(rng.randrange(3), rng.randrange(3))])
@pytest.mark.parametrize("seed", range(25))
def test_what_is_owed_at_many_times_is_held_at_the_least_of_them(seed, new):
    """As much as is left of it, and nothing else: what that may complete is what it may, value by value."""
    rng = random.Random(seed)
    owner = Held()
    backlog = Backlog(owner)
    put, taken = [], []
    for number in range(200):
        if rng.random() < 0.4:
            times = [new(rng) for _ in range(rng.randrange(1, 9))]
            values = [(number, n) for n in range(len(times))]
            backlog.put(ps.Batch.of(times, values) if rng.random() < 0.8 else ps.Batch(times[0], values[:1]))
            put += list(zip(times, values, strict=True))[: backlog.left - len(put) + len(taken)]
        elif backlog:
            limit = rng.randrange(1, 12)
            batch = backlog.take(limit)
            assert len(batch.values) == min(limit, len(put) - len(taken))
            taken += zip(batch.times, batch.values, strict=True)
        assert taken == put[: len(taken)]
        assert backlog.left == len(put) - len(taken)
        assert Antichain(owner.held) == Antichain(time for time, _ in put[len(taken) :])
        if backlog:
            assert (backlog.first, backlog.last) == (put[len(taken)][0], put[-1][0])
    backlog.drop()
    assert not backlog
    assert not owner.held


def test_the_first_ending_counts_and_comes_after_the_values():
    """Until there is one, there is no answer; a failure is raised, as often as it is asked for."""
    backlog = Backlog()
    assert backlog.answer(9) is None
    backlog.put(ps.Batch(1, "ab"))
    backlog.end(failure := LookupError("gone"))
    backlog.end()
    assert backlog.answer(9) == ps.Batch(1, "ab")
    for _ in range(2):
        with pytest.raises(LookupError) as raised:
            backlog.answer(9)
        assert raised.value is failure
    backlog.put(ps.Batch(2, "c"))
    backlog.drop()
    with pytest.raises(LookupError):
        backlog.answer(9)


# ---- what one more answer costs


def again(value):
    """The values that a loop's body makes of one: 0 goes round many times."""
    return (ps.Again(number) for number in range(1, MANY + 1)) if value == 0 else [value]


@ps.source
async def later(ctx):
    await trio.sleep(1)
    yield 0


def everything(value):
    return [value for _ in range(MANY)]


COUNTING = ps.Fold(int, lambda count, _: count + 1)

OWING = {
    "count_by_key": ps.pipe(ps.values(range(MANY)), ps.count_by_key()),
    "reduce_by_key": ps.pipe(ps.values(range(MANY)), ps.reduce_by_key(COUNTING, key=lambda n: n)),
    "accumulate": ps.pipe(ps.values(range(MANY)), ps.accumulate(COUNTING, key=lambda n: n)),
    "tumbling": ps.pipe(ps.values(range(MANY)), ps.tumbling(10, COUNTING, key=lambda n: n)),
    "sliding": ps.pipe(ps.values(range(MANY)), ps.sliding(10, 10, COUNTING, key=lambda n: n)),
    "sessions": ps.pipe(ps.values(range(MANY)), ps.sessions(10, COUNTING, key=lambda n: n)),
    "sort_by_time": ps.pipe(ps.values(range(MANY)), ps.sort_by_time(lambda n: -n)),
    "aggregate": ps.pipe(ps.values(range(MANY)), ps.aggregate(key=lambda n: n, n=ps.agg.count())),
    "batch": ps.pipe(ps.once("a" * MANY), ps.split(size=1)),
    "flat_map": ps.pipe(ps.once(0), ps.flat_map(everything)),
    "flatten beside": ps.pipe(ps.once(list(range(MANY))), ps.flatten(concurrency=2)),
    "group_by": ps.pipe(ps.values(range(MANY)), ps.group_by(lambda _: 0, ps.count_by_key())),
    "loop": ps.pipe(ps.once(0), ps.loop(ps.flat_map(again))),
    "join": ps.join(later(), ps.values(range(MANY)), on=lambda _: 0),
    "left join": ps.join(ps.values(range(MANY)), ps.empty(), on=lambda n: n, how="left"),
    "prefetch": ps.pipe(ps.values(range(MANY)), ps.count_by_key(), ps.prefetch(MANY)),
}


@pytest.mark.parametrize("name", OWING)
async def test_one_more_value_costs_one_value(name, autojump_clock):
    """Whoever owes many values at one time answers one more without copying the rest."""

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

    async with ps.pipe(OWING[name], asking()).open(limit=FIRST) as running:
        got, peak = await running.result()
    assert got > 20
    # The values that are left take 8 bytes each in a list of their own.
    assert peak < 8 * (MANY - FIRST) / 4


def test_a_part_at_one_time_of_what_is_owed_at_many_is_a_batch_of_one_time():
    """However little is asked for at a time, nothing at one time is taken for values at many."""
    backlog = Backlog()
    backlog.put(ps.Batch.of([1, 1, 2, 3, 3], "abcde"))

    taken = [backlog.take(limit) for limit in (1, 2, 1, 9)]
    assert [batch.uniform for batch in taken] == [True, False, True, True]
    assert taken == [
        ps.Batch(1, "a"),
        ps.Batch.of([1, 2], "bc"),
        ps.Batch(3, "d"),
        ps.Batch(3, "e"),
    ]


@ps.sink
async def uniform(upstream, ctx):
    """Whether the answers are of one time."""
    came = []
    while (batch := await upstream.ask_many(100)) is not ps.DONE:
        came.append(batch.uniform)
    return came


ONE_TIME = {
    "filter": ps.filter(lambda n: n == 2),
    "batches": ps.map_batches(lambda values: [n for n in values if n == 2]),
    "flat_map": ps.flat_map(lambda n: [n] if n == 2 else []),
    "stamp": ps.pipe(ps.filter(lambda n: n < 4), ps.map_time(lambda _: 0), ps.stamp(lambda _: 2)),
    "map_time": ps.map_time(lambda _: 2),
    "unique_by_time": ps.unique_by_time(lambda n: 1 // (n == 2), on_error="skip"),
}


@pytest.mark.parametrize("name", ONE_TIME)
def test_what_is_left_at_one_time_is_answered_as_a_batch_of_one_time(name):
    """Of values at many times those that come out at one are no batch of many, which would cost more below."""
    assert set(ps.run(ps.pipe(ps.values(range(5), time=lambda n: n), ONE_TIME[name], uniform()))) == {True}
