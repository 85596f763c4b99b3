"""`stamp`, `stamp_epochs`, `map_time`, `delay`: which times they give, when these complete, and failures."""

import datetime as dt
import math
import re
from zoneinfo import ZoneInfo

import pytest
import trio

import pullstream as ps
from pullstream.timely import BEGINNING
from tests.pullstream.common import Unseen, completions, raises_at, script, until_failure, with_times


async def when_complete(pipeline, *times):
    """When, after the start, each time was complete."""
    async with pipeline.open() as running:
        return await completions(running, times)


def test_a_value_that_goes_back_is_named_in_an_error(limit):
    stream = ps.pipe(ps.values([1, 2, 5, 4]), ps.stamp(lambda n: n).named("clock"))
    words = r"clock, composed at .*test_time_stamping.py.*4 is at 4, but 5 came before.*lateness"
    assert until_failure(ps.errors.CapabilityError, stream, match=words, limit=limit)[0] == [1, 2, 5]


def within(rows, bound):
    """The numbers that are in time, and those that are late."""
    fine, late, latest = [], [], None
    for n in rows:
        (late if latest is not None and n < latest - bound else fine).append(n)
        latest = n if latest is None else max(latest, n)
    return fine, late


ROWS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]


@pytest.mark.parametrize("bound", [0, 1, 4, 100])
def test_late_values_follow_their_policy(limit, bound):
    fine, late = within(ROWS, bound)
    aside = []

    async def main():
        stamped = ps.stamp(lambda n: n, lateness=bound, late="drop")
        async with ps.pipe(ps.values(ROWS), stamped, ps.collect(timed=True)).open(limit=limit) as running:
            return await running.result(), running.progress.counters()[1].skipped

    assert trio.run(main) == ([(n, n) for n in fine], len(late))
    to_sink = ps.stamp(lambda n: n, lateness=bound, late=ps.drain(aside.append))
    assert with_times(ps.values(ROWS), to_sink, limit=limit) == [(n, n) for n in fine]
    assert aside == late
    if late:
        with pytest.raises(ps.errors.CapabilityError, match=f"too late: {late[0]} is at {late[0]}"):
            with_times(ps.values(ROWS), ps.stamp(lambda n: n, lateness=bound), limit=limit)


class Byte(int):
    """A number that wraps around, as NumPy's do."""

    def __sub__(self, other):
        return Byte(int(self) - other & 255)


@pytest.mark.parametrize(
    ("times", "bound"),
    [
        ([Byte(5), Byte(3), Byte(20), Byte(9)], 10),
        ([dt.date(1, 1, 5), dt.date.min, dt.date(1, 2, 5), dt.date(1, 1, 9)], dt.timedelta(10)),
    ],
    ids=["bytes", "dates"],
)
def test_no_value_is_late_near_the_first_time(times, bound):
    stamped = ps.stamp(lambda time: time, lateness=bound, late="drop")
    assert with_times(ps.values(times), stamped) == [(time, time) for time in times[:3]]


@pytest.mark.parametrize(
    "stamping",
    [
        lambda moments: ps.values(moments, time=lambda moment: moment),
        lambda moments: ps.pipe(ps.values(moments), ps.stamp(lambda moment: moment)),
        lambda moments: ps.pipe(ps.values(moments), ps.stamp(lambda moment: moment, lateness=dt.timedelta(0))),
    ],
    ids=["values", "stamp", "lateness"],
)
def test_the_hour_that_a_zones_clock_shows_twice(stamping):
    """Python compares by the clock: the advice is UTC; sorting or more lateness helps only times out of order."""
    first = dt.datetime(2026, 10, 25, 2, 50, tzinfo=ZoneInfo("Europe/Berlin"))
    again = first.replace(minute=0, fold=1)
    with pytest.raises(ps.errors.CapabilityError, match=r"an hour twice.*time\.astimezone\(UTC\)"):
        with_times(stamping([first, again]))
    with pytest.raises(ps.errors.CapabilityError, match=r"Sort|Allow more lateness"):
        with_times(stamping([first, again.replace(fold=0)]))
    moments = [moment.astimezone(dt.UTC) for moment in (first, again)]
    assert with_times(stamping(moments)) == [(moment, moment) for moment in moments]


async def test_with_lateness_times_complete_behind_the_latest(autojump_clock):
    source = script(ps.Batch(0, [1]), 1.0, ps.Batch(0, [3]), 1.0, ps.Batch(0, [2]), 1.0, ps.Batch(0, [5]), 1.0)
    stamped = ps.stamp(lambda n: n, lateness=2)
    assert await when_complete(ps.pipe(source, stamped, ps.drain()), 0, 1, 2, 3, 5) == {0: 1, 1: 3, 2: 3, 3: 4, 5: 4}


@pytest.mark.parametrize(
    "source",
    [
        ps.values([3.0, math.nan, 5.0], time=lambda n: n),
        ps.values([math.nan, 5.0], time=lambda n: n),
        ps.pipe(ps.values([3.0, math.nan]), ps.stamp(lambda n: n)),
        ps.pipe(ps.values([3.0, math.nan]), ps.stamp(lambda n: n, lateness=1)),
        ps.pipe(ps.values([math.nan]), ps.stamp(lambda n: n)),
        ps.pipe(ps.values([math.nan, 3.0]), ps.stamp(lambda n: n, lateness=1, late="drop")),
        ps.pipe(ps.values([3.0, math.nan]), ps.stamp(lambda n: n, lateness=1, late="drop")),
        ps.values([math.nan], time=lambda n: n),
        ps.values([1.0, math.nan], time=lambda n: (0, n)),
        ps.values([math.nan], time=lambda n: (0, n)),
        script(ps.Batch(math.nan, [1])),
        ps.pipe(ps.values([1.0, 2.0], time=lambda n: n), ps.map_time(lambda n: math.nan if n > 1 else n)),
    ],
)
def test_a_time_that_is_not_a_number_cannot_be_ordered(source):
    with pytest.raises(ps.errors.CapabilityError, match="NaN cannot be ordered") as caught:
        ps.run(ps.pipe(source, ps.drain()))
    assert not re.search("Sort|monotone", str(caught.value))
    assert "Allow more lateness" not in str(caught.value)


def test_a_second_time_is_refused_with_advice():
    source = ps.values([1, 2], time=lambda n: n)
    for module in (ps.stamp(lambda n: n), ps.stamp_epochs(1), ps.stamp_epochs(seconds=1)):
        with pytest.raises(
            ps.errors.CapabilityError, match=r"already has several: 1 and 2.*nest=True.*map_time\(lambda _: 0\)"
        ):
            with_times(source, module)
        assert [value for _, value in with_times(source, ps.pipe(ps.map_time(lambda _: 0), module))] == [1, 2]


async def test_times_complete_upstream_are_complete_when_nested(autojump_clock):
    parts = ps.Batch(1, [3]), ps.Batch(1, [5]), ps.Completed(2), ps.Completed(4), ps.Batch(4, [0])
    source = script(*(step for part in parts for step in (part, 1.0)))
    pipeline = ps.pipe(source, ps.stamp(lambda n: n, nest=True), ps.drain())
    times = (1, 2), (1, 4), (1, 9), (2, 9), (3, 0), (4, 0)
    assert await when_complete(pipeline, *times) == dict(zip(times, (0, 1, 2, 3, 3, 5), strict=True))


def test_epochs(limit):
    source = ps.values([1, 1, 2, 2, 2, 1])

    def numbers(module):
        return [time for time, _ in with_times(source, module, limit=limit)]

    assert numbers(ps.stamp_epochs(1)) == [0, 1, 2, 3, 4, 5]
    assert numbers(ps.stamp_epochs(4)) == [0, 0, 0, 0, 1, 1]
    assert numbers(ps.stamp_epochs(begin=lambda n: n == 1)) == [0, 1, 1, 1, 1, 2]
    assert numbers(ps.stamp_epochs(begin=lambda n: n == 2)) == [0, 0, 1, 2, 3, 3]
    assert numbers(ps.stamp_epochs(key=lambda n: n)) == [0, 0, 1, 1, 1, 2]


async def test_an_epoch_is_complete_with_its_last_value(autojump_clock):
    source = script(ps.Batch(0, ["a", "b"]), 1.0, ps.Batch(0, "c"), 1.0)
    assert await when_complete(ps.pipe(source, ps.stamp_epochs(2), ps.drain()), 0, 1) == {0: 0, 1: 2}
    by_key = ps.pipe(source, ps.stamp_epochs(key=lambda c: c < "c"), ps.drain())
    assert await when_complete(by_key, 0, 1) == {0: 1, 1: 2}


async def test_epochs_of_the_clock_end_without_values(autojump_clock):
    source = script(ps.Batch(0, "a"), 1.5, ps.Batch(0, "b"), 2.0, ps.Batch(0, "c"), 0.25)
    pipeline = ps.pipe(source, ps.stamp_epochs(seconds=1), ps.drain())
    assert await when_complete(pipeline, 0, 1, 2, 3) == {0: 1, 1: 2, 2: 3, 3: 3.75}
    collected = ps.pipe(source, ps.stamp_epochs(seconds=1), ps.collect(timed=True))
    assert await ps.arun(collected) == [(0, "a"), (1, "b"), (3, "c")]


def test_restamp_fails_for_a_time_without_values():
    with pytest.raises(ZeroDivisionError):
        with_times(
            script(ps.Batch(1, "a"), ps.Completed(2), 0.0), ps.map_time(lambda n: 1 // (n - 2)), ps.count_by_key()
        )


async def test_a_watch_fails_with_a_function_of_times(autojump_clock):
    """It does not go back to the beginning, although nothing is known about times any more."""
    source = script(1.0, ps.Batch(0, "a"), 1.0, ps.Batch(1, "b"), 1.0, ps.Batch(2, "c"))
    found, ended = [], []
    with pytest.raises(Unseen):
        async with ps.pipe(source, ps.map_time(raises_at(2, Unseen())), ps.drain()).open() as running:
            try:
                async for frontier in running.progress.watch():
                    found += frontier
            except BaseException as exc:
                ended.append(type(exc))
                raise
    assert found == [BEGINNING, 0, 1]
    assert ended == [Unseen]


@pytest.mark.parametrize("others", [ps.filter(lambda _: False), ps.delay(1), ps.map_time(lambda n: n // 30)])
async def test_a_branch_that_goes_back_in_time_holds_its_own_times(others, autojump_clock):
    """Minutes of seconds on one branch of a fork: they complete when the seconds do, not with the other branch."""
    seconds = script(*(step for n in (60, 61, 62) for step in (ps.Batch(n, [n]), 1.0)))
    minutes = ps.fork(ps.map_time(lambda second: second // 60), others)
    counts = ps.pipe(seconds, minutes, ps.count_by_key(lambda _: "n"), ps.collect(timed=True))
    async with counts.open() as running:
        assert (1, ("n", 3)) in await running.result()
