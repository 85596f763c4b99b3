"""Windows in event time: the times they take, what they refuse, and how they end."""

import contextlib
import functools
import math
import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import pullstream as ps
from tests.sampling import amount
from timely import Product, TimeDomainError

COUNT = ps.agg.count()
MODULES = {
    "tumbling": functools.partial(ps.tumbling, 4),
    "sliding": functools.partial(ps.sliding, 4, 3),
    "gaps": functools.partial(ps.sliding, 3, 4),
    "sessions": functools.partial(ps.sessions, 3),
}


class Oops(Exception):
    """What these tests raise."""


# ---- times


AWARE = datetime(2026, 3, 1, 10, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "size", "start", "end"),
    [
        (7, 5, 5, 10),
        (-1, 5, -5, 0),
        (0.3, 0.1, 0.2, 0.3),
        (7, 2.5, 5.0, 7.5),
        (Fraction(7, 2), 1, 3, 4),
        (Decimal("-7.5"), Decimal(2), -8, -6),
        (date(2026, 3, 1), timedelta(days=1), date(2026, 3, 1), date(2026, 3, 2)),
        (AWARE, timedelta(hours=1), AWARE.replace(minute=0), AWARE.replace(hour=11, minute=0)),
        (
            AWARE.replace(tzinfo=None, hour=0),
            timedelta(hours=2),
            datetime(2026, 3, 1),  # noqa: DTZ001 - naive on purpose
            datetime(2026, 3, 1, 2),  # noqa: DTZ001 - naive on purpose
        ),
    ],
)
def test_times_and_durations(time, size, start, end):
    """Numbers of all kinds, dates and datetimes; windows start at multiples of the size."""
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
    """However division rounds: a time is in every window that comes of it, and windows side by side have no gap."""
    source = ps.values(["x"], time=lambda _: time)
    (window,) = ps.run(ps.pipe(source, ps.tumbling(size), ps.collect()))
    assert window.start <= time < window.end
    if size / every < 50:
        found = ps.run(ps.pipe(source, ps.sliding(size, every), ps.collect()))
        assert all(window.start <= time < window.end for window in found)
        assert abs(len(found) - size / every) < 1 + 1e-6


def test_an_origin_moves_the_grid():
    """Weeks that start on Mondays; hours that start at half past."""
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
@pytest.mark.parametrize("waits", [False, True])
def test_times_without_a_place_are_refused(kind, time, waits):
    """Partially ordered, not to be added to, or too far away: by name, whether anybody waits or not."""
    told = []

    async def main():
        pipeline = ps.pipe(ps.values(["x", "y"], time=lambda _: time), MODULES[kind](), ps.collect())

        async def wait(progress):
            try:
                await progress.completed(time)
            except TimeDomainError as exc:
                told.append(exc)

        async with pipeline.open(check="strict") as running, trio.open_nursery() as nursery:
            if waits:
                nursery.start_soon(wait, running.progress)
            await running.result()

    name = "sliding" if kind == "gaps" else kind
    with pytest.raises(TimeDomainError, match=rf"{name}.*map_time") as caught:
        try:
            trio.run(main)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
    assert told in ([], [caught.value])


# ---- endings


def refuse(row):
    """A key that raises for 10."""
    if row == 10:
        raise Oops
    return row % 2


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
def test_what_was_over_comes_before_a_failure(kind, eager, limit):
    """A callable that raises: the windows that were over are delivered, no others, and the source is told (R8)."""
    results = []
    rows = list(range(40))
    module = MODULES[kind](key=refuse, eager=eager)
    source = ps.values(rows, time=lambda n: n)
    with pytest.raises(Oops):
        ps.run(ps.pipe(source, module, ps.drain(results.append)), limit=limit)
    before = ps.pipe(ps.values(rows[:10], time=lambda n: n), MODULES[kind](key=refuse, eager=eager), ps.collect())
    expected = [window for window in ps.run(before) if window.end <= 10 or eager]
    if eager:
        assert results
        assert all(window in expected for window in results)
    else:
        assert results == expected


@pytest.mark.parametrize("kind", MODULES)
async def test_resources_are_balanced_in_every_ending(kind, probe, counting, autojump_clock):
    """Aborted, failed from above, ended: the source is released once, and its reason reaches it."""
    del autojump_clock
    for sink, failure in ((ps.first(), None), (ps.collect(), Oops()), (ps.collect(), None)):
        each = type(probe)()
        pipeline = ps.pipe(counting(each, 30, delay=0.1, failure=failure, timed=True), MODULES[kind](), sink)
        expected = contextlib.nullcontext() if failure is None else pytest.raises(Oops)
        with expected:
            async with pipeline.open(check="strict") as running:
                await running.result()
        assert each.acquired == 1
        assert each.balanced


def test_blueprints_are_reusable():
    """The same at every run, and after pickling."""
    for make in MODULES.values():
        pipeline = ps.pipe(ps.values(range(9), time=int), make(COUNT, key=str), ps.collect())
        expected = ps.run(pipeline)
        assert ps.run(pipeline) == expected
        assert ps.run(pickle.loads(pickle.dumps(pipeline))) == expected


def test_bad_arguments_are_refused_when_composing():
    """Each names the module and says what to give."""

    async def later(value):
        return value

    for make, told in (
        (lambda: ps.tumbling(0), "tumbling.*positive number.*size"),
        (lambda: ps.tumbling(timedelta()), "tumbling.*size"),
        (lambda: ps.tumbling("1h"), "timedelta"),
        (lambda: ps.tumbling(True), "tumbling.*size"),
        (lambda: ps.tumbling(math.inf), "tumbling.*size"),
        (lambda: ps.sliding(5, -1), "sliding.*every"),
        (lambda: ps.sliding(None, 1), "sliding.*size"),
        (lambda: ps.sessions(math.nan), "sessions.*gap"),
        (lambda: ps.sessions(3, sum), "sessions.*Fold"),
        (lambda: ps.sessions(3, key=later), "sessions.*map_async"),
        (lambda: ps.tumbling(3, key=3), "tumbling.*key"),
    ):
        with pytest.raises(ps.CompositionError, match=told):
            make()
