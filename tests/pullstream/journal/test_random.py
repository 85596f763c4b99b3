"""Random pipelines, killed at random moments and resumed: what they store is what they would have, undisturbed."""

from itertools import accumulate

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pullstream as ps
from pullstream import agg
from pullstream.engine.sidecar.consequences import Consequences
from pullstream.engine.sidecar.cut import Cut
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.memory import Memory
from tests.sampling import amount


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


@ps.transformer
async def totals(upstream, ctx):
    """What has come so far, in a memory of its own."""
    memory = ctx.memory
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                *_, memory.at(time)["total"] = states = list(accumulate(values, initial=memory.get("total", 0)))
                yield ps.Batch(time, states[1:])


STEPS = {
    "filter": lambda: ps.filter(lambda n: n % 3),
    "flat_map": lambda: ps.flat_map(lambda n: [n, n + 1]),
    "scan": lambda: ps.scan(ps.agg.sum()),
    "scan, by function": lambda: ps.scan(lambda a, b: (3 * a + b) % 1009, 0),
    "unique": lambda: ps.unique(lambda n: n % 7),
    "unique, capacity": lambda: ps.unique(lambda n: n % 7, capacity=3),
    "duplicates": lambda: ps.duplicates(lambda n: n % 5),
    "several": lambda: step(ps.scan(agg.count()), ps.unique(lambda n: n % 11), ps.scan(agg.sum())),
    "skip": lambda: ps.skip(5),
    "skip while": lambda: ps.skip(lambda n: n % 5 < 3),
    "take": lambda: ps.take(15),
    "take_times": lambda: ps.take_times(4),
    "accumulate": lambda: ps.accumulate(agg.sum()),
    "accumulate, by key": lambda: step(ps.accumulate(agg.count(), key=lambda n: n % 3)),
    "reduce_by_key": lambda: step(ps.reduce_by_key(agg.sum(), key=lambda n: n % 3)),
    "unique_by_time": lambda: ps.unique_by_time(lambda n: n % 4),
    "sort": lambda: ps.sort_by_time(lambda n: -n),
    "batch": lambda: step(ps.batch(2)),
    "windowed": lambda: step(ps.windowed(3, 2)),
    "delay": lambda: ps.delay(2),
    "map_time": lambda: ps.map_time(lambda time: time // 2),
    "tumbling": lambda: step(ps.tumbling(3, agg.sum())),
    "sliding": lambda: step(ps.sliding(4, 2, agg.sum())),
    "sessions": lambda: step(ps.sessions(2, agg.sum()), ps.sort_by_time(lambda window: window.start)),
    "sessions, by key": lambda: step(
        ps.sessions(3, agg.sum(), key=lambda n: n % 3), ps.sort_by_time(lambda window: (window.start, window.value))
    ),
    "fork": lambda: ps.pipe(ps.fork(ps.map(lambda n: n + 1), ps.delay(3)), ps.sort_by_time(lambda n: n)),
    "by hand": totals,
    "loop": lambda: ps.pipe(
        ps.loop(ps.map(lambda n: ps.Again(n // 2) if n % 2 == 0 and n else n)), ps.sort_by_time(lambda n: n)
    ),
}


def source(kind, rows):
    """Numbers at times in order, from one source or several."""
    value = ps.map(lambda row: row[1])
    if kind == "one":
        return ps.pipe(by_time(rows), value)
    half = len(rows) // 2
    if kind == "merged":
        return ps.pipe(ps.merge(by_time(rows[::2]), by_time(rows[1::2])), value, ps.sort_by_time(lambda n: n))
    if kind == "epochs":
        return ps.pipe(ps.values([row[1] for row in rows]), ps.stamp_epochs(3))
    within = 2 if kind == "joined within" else None
    left, right = by_time(rows[::2]), by_time(sorted(rows[1::2] + rows[:half]))
    joined = ps.join(left, right, on=lambda row: row[1] % 3, within=within, how="left" if half % 2 else "inner")
    return ps.pipe(
        joined, ps.map(lambda pair: pair[0][1] * 7 + (pair[1][1] if pair[1] else 0)), ps.sort_by_time(lambda n: n)
    )


def appended(seen, value):
    """The step of a fold that changes its state in place."""
    seen.append(value)
    return seen


def pipeline(world, plan):
    """The pipeline of a plan, every time the same."""
    kind, rows, above, branches, seed = plan
    head = ps.pipe(source(kind, rows), world.slowly(seed), *[STEPS[name]() for name in above])
    sinks = [
        ps.pipe(world.slowly(seed + number), *[STEPS[name]() for name in steps], world.store(number))
        for number, steps in enumerate(branches)
    ]
    results = [
        ps.pipe(ps.map(number), ps.collect()),
        ps.reduce(lambda a, b: (a * 5 + b) % 997, 0),
        ps.pipe(ps.map(number), ps.reduce(ps.Fold(list, appended, tuple))),
    ]
    return ps.pipe(head, ps.tee(*sinks, results[seed % 3], capacity=seed % 4))


PLANS = st.tuples(
    st.sampled_from(["one", "merged", "joined", "joined within", "epochs"]),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), min_size=4, max_size=24).map(sorted),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=2),
    st.lists(st.lists(st.sampled_from(sorted(STEPS)), max_size=2), min_size=1, max_size=2),
    st.integers(0, 11),
)


def resumed_outcome(world, plan, kills, limits):
    """What was stored, and the result, of a run that was killed again and again."""
    result = None
    for number, kill in enumerate([*kills, None]):
        result = world.run(pipeline(world, plan), limit=limits[number % len(limits)], kill=kill)
        if result is not None:
            break
    return world.stored, result


def undisturbed_outcome(world, plan):
    """The same of a run that nothing happened to, and that had no journal."""
    result = world.run(pipeline(world, plan), journal=False)
    return world.stored, result


KILLS = st.lists(st.integers(1, 60), max_size=6)
LIMITS = st.sampled_from([[1], [2], [7], [4096], [1, 4096, 2]])


@settings(max_examples=amount(15, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLANS, KILLS, LIMITS)
def test_a_killed_run_has_the_outcome_of_an_undisturbed_one(new_world, plan, kills, limits):
    """Whatever a pipeline is made of, and whenever it is killed, it comes to the same in the end."""
    assert resumed_outcome(new_world(), plan, kills, limits) == undisturbed_outcome(new_world(), plan)


@pytest.mark.slow
@settings(max_examples=4000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLANS, KILLS, LIMITS)
def test_many_killed_runs_have_the_outcome_of_undisturbed_ones(new_world, plan, kills, limits):
    """The same, for many more."""
    assert resumed_outcome(new_world(), plan, kills, limits) == undisturbed_outcome(new_world(), plan)


def too_early(take):
    return lambda self, done: take(self, lambda _: True)


BREAKS = {
    "sinks are given again what they have": lambda patch: patch(
        Cut, "input_done", lambda self, location, time: location not in self._sinks and input_done(self, location, time)
    ),
    "what is folded already is folded again": lambda patch: patch(Location, "remembers", property(lambda _: False)),
    "memory is saved too early": lambda patch: patch(Memory, "take", too_early(Memory.take)),
    "memory is never saved": lambda patch: patch(Memory, "take", lambda self, done: {}),
    "one sink is enough": lambda patch: patch(Cut, "_complete", lambda self, reached: complete(self, reached[:1])),
    "windows are over when the first is": lambda patch: patch(
        Consequences, "_through", without_lasting(Consequences._through)
    ),
}
"""Ways to break the rule."""

input_done, complete = Cut.input_done, Cut._complete

WINDOWS = ("one", [(n, n) for n in range(16)], ["sliding"], [[]], 1)
TOTALS = ("one", [(n, n) for n in range(16)], ["scan"], [["accumulate"], ["filter", "sort"]], 3)
PAIRS = ("joined within", sorted((n % 12, n) for n in range(20)), [], [["delay"], ["scan"]], 5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_rule_is_found(new_world, monkeypatch, how):
    """If times were dropped, or memories saved, by another rule, killing would change what comes."""
    plans = [WINDOWS, TOTALS, PAIRS]
    expected = [undisturbed_outcome(new_world(), plan) for plan in plans]
    BREAKS[how](monkeypatch.setattr)
    found = (
        resumed_outcome(new_world(), plan, [kill] * 5, limits)
        for plan in plans
        for kill in (5, 12, 19, 26)
        for limits in ([1], [4096])
    )
    assert any(outcome not in expected for outcome in found)


def without_lasting(through):
    def short(location, number, time):
        traits, location.traits = location.traits, attrs.evolve(location.traits, lasting=None)
        try:
            return through(location, number, time)
        finally:
            location.traits = traits

    return staticmethod(short)
