"""Windows in event time: their contents, when they are emitted, and which times are complete meanwhile."""

import collections
import contextlib
import functools
import itertools
import math
import weakref
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import trio
from hypothesis import given, settings, strategies as st

import pullstream as ps
from pullstream.conformance.ready import resolved
from pullstream.modules.windows import sessions
from tests.pullstream.common import Together, answer, delayed, run, script
from tests.sampling import amount
from timely import Product, TimeDomainError

SIZE, EVERY, GAP = 4, 3, 3
COUNT = ps.agg.count()


def second(row):
    """The key of a row (time, key, number)."""
    return row[1]


# ---- plain Python


def grid(time, size, every):
    """The windows that a time is in."""
    first = -(-(time - size + 1) // every)
    return [(k * every, k * every + size) for k in range(first, time // every + 1)]


def on_grid(rows, size, every):
    """The rows of each window."""
    table = collections.defaultdict(list)
    for row in rows:
        for window in grid(row[0], size, every):
            table[window].append(row)
    return table


def in_sessions(rows, gap):
    """The bounds and rows of each session, for rows of one key."""
    found = []
    for row in sorted(rows, key=lambda row: row[0]):
        if found and row[0] < found[-1][1]:
            found[-1][1] = row[0] + gap
            found[-1][2].append(row)
        else:
            found.append([row[0], row[0] + gap, [row]])
    return [((start, end), rows) for start, end, rows in found]


def by_key(rows):
    """The rows of each key."""
    return {key: [row for row in rows if second(row) == key] for key in set(map(second, rows))}


def windows(kind, rows):
    """The (start, end) of each window and its rows, in plain Python."""
    if kind == "sessions":
        return in_sessions(rows, GAP)
    size, every = {"tumbling": (SIZE, SIZE), "sliding": (SIZE, EVERY), "gaps": (EVERY, SIZE)}[kind]
    return list(on_grid(rows, size, every).items())


MODULES = {
    "tumbling": functools.partial(ps.tumbling, SIZE),
    "sliding": functools.partial(ps.sliding, SIZE, EVERY),
    "gaps": functools.partial(ps.sliding, EVERY, SIZE),
    "sessions": functools.partial(ps.sessions, GAP),
}


# ---- sources, delays and schedules at random


rows_of_one = st.lists(st.tuples(st.integers(-5, 12), st.sampled_from("abc"), st.integers(0, 99)), max_size=12)
cases = st.tuples(
    st.lists(rows_of_one.map(lambda rows: sorted(rows, key=lambda row: row[0])), min_size=1, max_size=3).map(tuple),
    st.sampled_from([1, 2, 7, 4096]),
    st.integers(0, 1000),
)


def merged(case):
    """The rows of all sources."""
    return [*itertools.chain(*case[0])]


def ran(case, module):
    """The (time, value) results of a module for a case: rows of some sources, a limit and a seed."""
    each, limit, seed = case
    sources = [delayed(rows, seed + number) for number, rows in enumerate(each)]
    return run(ps.pipe(ps.merge(*sources), module, ps.collect(timed=True)), limit, seed=seed)


def of_every_kind(test):
    """Run a test with random cases for every kind of windows."""
    random_cases = settings(max_examples=amount(15, 60), deadline=None)(given(case=cases)(test))
    return pytest.mark.parametrize("kind", MODULES)(random_cases)


@of_every_kind
def test_rows_of_windows(kind, case):
    """The rows of each window, at its end, ends in order; rows of one source in their original order."""
    found = ran(case, MODULES[kind]())
    assert [time for time, _ in found] == sorted(time for time, _ in found)
    assert all(time == window.end for time, window in found)
    expected = [(*bounds, rows) for bounds, rows in windows(kind, merged(case))]
    results = [(window.start, window.end, window.value) for _, window in found]
    if len(case[0]) == 1:
        assert results == expected
    assert [(*bounds, sorted(rows)) for *bounds, rows in results] == sorted(
        ((*bounds, sorted(rows)) for *bounds, rows in expected), key=lambda each: each[1]
    )


@pytest.mark.sampled(2)
@of_every_kind
def test_keys(kind, case):
    """The list, or a fold's result, of every key and window; each key has its own sessions."""
    for module, of in ((MODULES[kind](key=second), sorted), (MODULES[kind](COUNT, key=second), len)):
        found = ran(case, module)
        expected = {
            (*bounds, key): of(some)
            for key, rows in by_key(merged(case)).items()
            for bounds, some in windows(kind, rows)
        }
        results = {(window.start, window.end, window.value[0]): window.value[1] for _, window in found}
        assert {key: sorted(value) if of is sorted else value for key, value in results.items()} == expected
        assert len(found) == len(expected)


@of_every_kind
def test_eager_results(kind, case):
    """With `eager` each row is followed by the result so far of each of its windows; final results come, too."""
    found = ran(case, MODULES[kind](COUNT, eager=True))
    seen = collections.Counter((window.start, window.value) for _, window in found)
    expected = collections.Counter()
    for (start, _), rows in windows(kind, merged(case)):
        expected.update((start, number + 1) for number in range(len(rows)))
        expected[start, len(rows)] += 1
    assert seen == expected
    assert all(time == window.end for time, window in found)


# ---- completeness


def test_rows_outside_windows_get_no_key(limit):
    times = [0, 25, 4, 17, 21, 9]
    rows = ps.pipe(ps.values(times), ps.stamp(int, lateness=100))
    counts = ps.sliding(5, 20, ps.agg.count(), key={0: "a", 4: "b", 21: "a"}.__getitem__)
    counted = ps.run(ps.pipe(rows, counts, ps.collect()), limit=limit)
    assert [(window.start, window.value) for window in counted] == [(0, ("a", 1)), (0, ("b", 1)), (20, ("a", 1))]


WAITING = [
    ps.tumbling(5),
    ps.sliding(5, 5),
    ps.sessions(4),
    ps.group_by(lambda _: 0, ps.count_by_key()),
    resolved("transformer", ps.count_by_key()),
]


@pytest.mark.parametrize("module", WAITING, ids=str)
async def test_a_window_is_emitted_when_its_end_is_reached(module, autojump_clock):
    """As soon as the source reaches the window's end, though it may still emit values there; also in inner streams."""

    reaches = script(ps.Batch(1, ["a"]), 1.0, ps.Completed(5), 9.0)
    moments = []
    await ps.arun(ps.pipe(reaches, module, ps.drain(lambda _: moments.append(trio.current_time()))))
    assert moments == [1]


@pytest.mark.parametrize(
    ("options", "first", "then"),
    # It may still have another key, or be left out: then the session ends at 4.
    [({}, 5, 7), ({"key": len}, 4, 7), ({"fold": ps.agg.count(), "on_error": "skip"}, 4, 7)],
)
async def test_a_waiting_value_is_in_the_open_session(options, first, then, autojump_clock):
    """So the session's end is held no longer. The other input can bring values from 1, and later from 3 on."""
    one, other = ps.pushable(9), ps.pushable(9)
    async with ps.pipe(ps.merge(one, other), ps.sessions(4, **options), ps.drain()).open() as running:
        for pushed in (one, other):
            await pushed.push("a", time=0)
        other.advance(1)
        await trio.testing.wait_all_tasks_blocked()
        await one.push("b", time=3)
        await trio.testing.wait_all_tasks_blocked()
        assert running.progress.frontier(at="sessions") == ps.timely.Antichain([first])
        other.advance(3)
        await trio.testing.wait_all_tasks_blocked()
        assert running.progress.frontier(at="sessions") == ps.timely.Antichain([then])
        await running.abort()


@pytest.mark.parametrize("small", [2, 20])
def test_waiting_values_are_not_sorted_again_per_batch(small, monkeypatch):
    lengths = []
    monkeypatch.setattr(
        sessions, "sorted", lambda places, key: (lengths.append(len(places)), sorted(places, key=key))[1], raising=False
    )
    times = [number * 7919 % 2000 for number in range(2000)]
    assert len(ps.run(ps.pipe(Together(times, small), ps.sessions(1), ps.collect()))) == 2000
    assert sum(lengths) < 20 * 2000


class Large:
    """A value that takes much memory."""


def test_a_waiting_value_does_not_keep_its_batch():
    alive = weakref.WeakSet()

    @ps.source
    async def times(ctx):
        held = contextlib.ExitStack()
        for time in range(0, 1000, 10):
            with held:
                later = contextlib.ExitStack()
                later.enter_context(ctx.hold(time))
            held, values = later, [Large() for _ in range(10)]
            alive.update(values)
            yield ps.Batch.of([*range(time, time + 9), 10**6 + time], values)
            del values
            assert len(alive) < 500
        held.close()

    assert (
        sum(window.value for window in ps.run(ps.pipe(times(), ps.sessions(2, ps.agg.count()), ps.collect()))) == 1000
    )


@pytest.mark.parametrize("failing", range(3))
def test_a_key_that_fails_in_times_out_of_order(failing):
    rows = [(time, "bca".index(letter) - failing) for time, letter in [(5, "b"), (3, "c"), (7, "a")]]
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row[0], lateness=60))

    with pytest.raises(ZeroDivisionError):
        ps.run(ps.pipe(source, ps.sliding(10, 5, COUNT, key=lambda row: 1 // row[1]), ps.collect()))


# ---- times


AWARE = datetime(2026, 3, 1, 10, 20, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("time", "size", "start", "end"),
    [
        (7, 5, 5, 10),
        (-1, 5, -5, 0),
        (0.3, 0.1, 0.2, 0.3),
        (7, 2.5, 5.0, 7.5),
        (Fraction(7, 2), 1, 3, 4),
        (Decimal("-7.5"), Decimal(2), -8, -6),
        (np.int64(-1), 5, -5, 0),
        (date(2026, 3, 1), timedelta(days=1), date(2026, 3, 1), date(2026, 3, 2)),
        (AWARE, timedelta(hours=1), AWARE.replace(minute=0), AWARE.replace(hour=11, minute=0)),
        (NAIVE, timedelta(hours=2), NAIVE.replace(minute=0), NAIVE.replace(hour=12, minute=0)),
    ],
)
def test_times_and_durations(time, size, start, end):
    source = ps.values(["x"], time=lambda _: time)
    (window,) = ps.run(ps.pipe(source, ps.tumbling(size), ps.collect()))
    assert window.value == ["x"]
    assert window.start <= time < window.end
    assert (window.start, window.end) == (pytest.approx((start, end)) if isinstance(time, float) else (start, end))
    (window,) = ps.run(ps.pipe(source, ps.sliding(size, size), ps.collect()))
    assert window.start <= time < window.end
    (window,) = ps.run(ps.pipe(source, ps.sessions(size), ps.collect()))
    assert (window.start, window.end) == (time, time + size)


@settings(max_examples=amount(50, 200), deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_floats_are_in_their_windows(time, size, every):
    source = ps.values(["x"], time=lambda _: time)
    (window,) = ps.run(ps.pipe(source, ps.tumbling(size), ps.collect()))
    assert window.start <= time < window.end
    if size / every < 50:
        found = ps.run(ps.pipe(source, ps.sliding(size, every), ps.collect()))
        assert all(window.start <= time < window.end for window in found)
        assert abs(len(found) - size / every) < 1 + 1e-6


def test_an_origin_moves_the_grid():
    days = [date(2026, 3, 1) + timedelta(days=n) for n in range(8)]  # the first is a Sunday
    weeks = ps.tumbling(timedelta(days=7), COUNT, origin=date(2026, 1, 5))
    found = ps.run(ps.pipe(ps.values(days, time=lambda day: day), weeks, ps.collect()))
    assert found == [
        ps.Window(date(2026, 2, 23), date(2026, 3, 2), 1),
        ps.Window(date(2026, 3, 2), date(2026, 3, 9), 7),
    ]
    (window,) = ps.run(ps.pipe(ps.values([7], time=lambda n: n), ps.tumbling(10, origin=5), ps.collect()))
    assert (window.start, window.end) == (5, 15)


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize(
    "time", [Product(1, 2), "monday", (1, 2), math.inf, frozenset([1]), AWARE, date(2026, 3, 1), 1e300]
)
def test_unplaceable_times_are_refused(kind, time, caplog):
    outcomes = []

    async def wait(running):
        outcomes.append(await answer(running.progress.completed, time))

    name = "sliding" if kind == "gaps" else kind
    pipeline = ps.pipe(ps.values(["x", "y"], time=lambda _: time), MODULES[kind](), ps.collect())
    fix = "Leave out" if isinstance(time, float) else "(map_time|Pass a timedelta)"
    with pytest.raises(TimeDomainError, match=f"{name}.*{fix}") as caught:
        ps.run(pipeline, beside=wait, check="strict")
    assert outcomes in ([], [None], [caught.value])
    assert caplog.messages == []


@pytest.mark.parametrize("kind", MODULES)
async def test_the_holder_of_an_unplaceable_time_is_explained(kind, autojump_clock):
    pushed = ps.pushable(1)
    async with ps.pipe(pushed, MODULES[kind](), ps.collect()).open() as running:
        pushed.advance("monday")
        (blocking,) = running.progress.explain("monday")
        assert (blocking.holder, blocking.time) == ("pushable", "monday")
        pushed.end()
        assert await running.result() == []
