"""Random pipelines, killed at random moments and resumed: what they store is what they would have, undisturbed."""

import random
from itertools import accumulate
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pullstream as ps
from pullstream import agg
from pullstream.journal import keeper
from pullstream.journal.store import Entry


class Killed(BaseException):
    """The process is gone."""


class World:
    """What outlives a run: the journal's contents and what the sinks stored; and when the next run is killed."""

    def __init__(self):
        self.about = {}
        self.sinks = {}
        self.kept = {"memory": {}, "ledger": {}}
        self.stored = {}
        self.writes = 0
        self.left = None

    def step(self):
        """Something happens; from the last step on nothing does."""
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise Killed

    @property
    def dead(self):
        return self.left is not None and self.left <= 0

    def store(self, name):
        """A sink that stores the values of each time under its name, and replaces what was there."""

        def put(time, values):
            self.step()
            self.stored[name, time] = list(values)
            self.step()

        return ps.at_completion(put)

    def slowly(self, seed):
        """Values pass, after some time, and may be the last thing that happens."""
        dice = random.Random(seed)

        async def pass_on(value):
            await trio.sleep(dice.choice([0, 0, 0.001, 0.01]))
            self.step()
            return value

        return ps.map_async(pass_on, 1 + seed % 3)


class Held:
    """The journal's file, held in memory: what is written after the end of the process is lost."""

    world: World

    def __init__(self, path):
        self.path = Path(path)

    def about(self, name):
        return self.world.about.get(name)

    def sinks(self):
        return {node: Entry(entry.frontiers, entry.result) for node, entry in self.world.sinks.items()}

    def memory(self, table, node):
        return dict(self.world.kept[table].get(node, {}))

    def write(self, record):
        world = self.world
        if world.dead:
            return
        world.about.update(record.about)
        world.sinks.update(record.sinks)
        world.writes += bool(record.sinks)
        for table, changed in (("memory", record.memory), ("ledger", record.ledger)):
            for node, changes in changed.items():
                here = world.kept[table].setdefault(node, {})
                for key, value in changes.items():
                    here.pop(key, None) if value is None else here.__setitem__(key, value)

    def close(self):
        pass


def by_time(values):
    return ps.values(values, time=lambda value: value[0])


def number(value):
    """A number for whatever a module gives."""
    if isinstance(value, ps.Window):
        return value.start * 31 + number(value.value)
    if isinstance(value, (tuple, list)):
        return sum(number(part) * factor for factor, part in enumerate(value, 1))
    return value


def step(*modules):
    return ps.pipe(*modules, ps.map(number))


STEPS = {
    "filter": lambda: ps.filter(lambda n: n % 3),
    "flat_map": lambda: ps.flat_map(lambda n: [n, n + 1]),
    "scan": lambda: ps.scan(ps.agg.sum()),
    "scan, by function": lambda: ps.scan(lambda a, b: (3 * a + b) % 1009, 0),
    "unique": lambda: ps.unique(lambda n: n % 7),
    "unique, bound": lambda: ps.unique(lambda n: n % 7, bound=3),
    "non_unique": lambda: ps.non_unique(lambda n: n % 5),
    "several": lambda: step(ps.scan(agg.count()), ps.unique(lambda n: n % 11), ps.scan(agg.sum())),
    "skip": lambda: ps.skip(5),
    "skip while": lambda: ps.skip(lambda n: n % 5 < 3),
    "take": lambda: ps.take(15),
    "take_times": lambda: ps.take_times(4),
    "running": lambda: ps.running(agg.sum()),
    "running, by key": lambda: step(ps.running(agg.count(), lambda n: n % 3)),
    "reduce_by_key": lambda: step(ps.reduce_by_key(lambda n: n % 3, agg.sum())),
    "distinct": lambda: ps.distinct(lambda n: n % 4),
    "sort": lambda: ps.sort_by_time(lambda n: -n),
    "batch": lambda: step(ps.batch(2)),
    "window": lambda: step(ps.window(3, 2)),
    "delay": lambda: ps.delay(2),
    "restamp": lambda: ps.restamp(lambda time: time // 2),
    "tumbling": lambda: step(ps.tumbling(3, agg.sum())),
    "sliding": lambda: step(ps.sliding(4, 2, agg.sum())),
    "sessions": lambda: step(ps.sessions(2, agg.sum()), ps.sort_by_time(lambda window: window.start)),
    "sessions, by key": lambda: step(
        ps.sessions(3, agg.sum(), key=lambda n: n % 3), ps.sort_by_time(lambda window: (window.start, window.value))
    ),
    "fork": lambda: ps.pipe(ps.fork(ps.map(lambda n: n + 1), ps.delay(3)), ps.sort_by_time(lambda n: n)),
    "by hand": lambda: totals(),
    "loop": lambda: ps.pipe(
        ps.loop(ps.map(lambda n: ps.Again(n // 2) if n % 2 == 0 and n else n)), ps.sort_by_time(lambda n: n)
    ),
}


@ps.transformer
async def totals(upstream, ctx):
    """What has come so far, in a memory of its own."""
    memory = ctx.memory
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                *_, memory.at(time)["total"] = states = list(accumulate(values, initial=memory.get("total", 0)))
                yield ps.Batch(time, states[1:])


def source(kind, rows):
    """Numbers at times in order, from one source or several."""
    value = ps.map(lambda row: row[1])
    if kind == "one":
        return ps.pipe(by_time(rows), value)
    half = len(rows) // 2
    if kind == "merged":
        return ps.pipe(ps.merge(by_time(rows[::2]), by_time(rows[1::2])), value, ps.sort_by_time(lambda n: n))
    if kind == "epochs":
        return ps.pipe(ps.values([row[1] for row in rows]), ps.epochs(3))
    within = 2 if kind == "joined within" else None
    left, right = by_time(rows[::2]), by_time(sorted(rows[1::2] + rows[:half]))
    joined = ps.join(left, right, on=lambda row: row[1] % 3, within=within, how="left" if half % 2 else "inner")
    return ps.pipe(
        joined, ps.map(lambda pair: pair[0][1] * 7 + (pair[1][1] if pair[1] else 0)), ps.sort_by_time(lambda n: n)
    )


def pipeline(world, plan):
    """The pipeline of a plan, every time the same."""
    kind, rows, above, branches, seed = plan
    head = ps.pipe(source(kind, rows), world.slowly(seed), *[STEPS[name]() for name in above])
    sinks = [
        ps.pipe(world.slowly(seed + number), *[STEPS[name]() for name in steps], world.store(number))
        for number, steps in enumerate(branches)
    ]
    results = [ps.pipe(ps.map(number), ps.collect()), ps.reduce(lambda a, b: (a * 5 + b) % 997, 0), ps.tally()]
    return ps.pipe(head, ps.tee(*sinks, results[seed % 3], lag=seed % 4))


def run(world, plan, *, limit=4096, journal=True, kill=None):
    """One run; its result, or None if it was killed."""
    world.left = kill

    async def main():
        async with pipeline(world, plan).open(limit=limit, journal="held" if journal else None) as running:
            return await running.result()

    try:
        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    except BaseException:
        if kill is None or not world.dead:
            raise
        return None


PLANS = st.tuples(
    st.sampled_from(["one", "merged", "joined", "joined within", "epochs"]),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), min_size=4, max_size=24).map(sorted),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=2),
    st.lists(st.lists(st.sampled_from(sorted(STEPS)), max_size=2), min_size=1, max_size=2),
    st.integers(0, 11),
)


def resumed_outcome(plan, kills, limits):
    """What was stored, and the result, of a run that was killed again and again."""
    world = Held.world = World()
    result = None
    for number, kill in enumerate([*kills, None]):
        result = run(world, plan, limit=limits[number % len(limits)], kill=kill)
        if result is not None:
            break
    return world.stored, result


def undisturbed_outcome(plan):
    world = World()
    result = run(world, plan, journal=False)
    return world.stored, result


@pytest.fixture(autouse=True)
def held(monkeypatch):
    monkeypatch.setattr(keeper, "Store", Held)


def check(plan, kills, limits):
    try:
        expected = undisturbed_outcome(plan)
    except (ps.CapabilityError, ps.PullstreamError):
        return
    try:
        found = resumed_outcome(plan, kills, limits)
    except ps.JournalError as exc:
        assert "came after" in str(exc), exc
        return
    assert found == expected


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLANS, st.lists(st.integers(1, 60), max_size=6), st.sampled_from([[1], [2], [7], [4096], [1, 4096, 2]]))
def test_a_killed_run_has_the_outcome_of_an_undisturbed_one(plan, kills, limits):
    """Whatever a pipeline is made of, and whenever it is killed, it comes to the same in the end."""
    check(plan, kills, limits)
