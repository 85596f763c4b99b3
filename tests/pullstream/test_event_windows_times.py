"""Windows in event time: the times they take, and those that they refuse."""

import functools
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
import trio
from hypothesis import given, settings, strategies as st

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
