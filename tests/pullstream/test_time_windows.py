"""`tumbling`, `sliding`, `sessions`: where windows end, when they are complete, and what is left of them."""

import datetime as dt

import pytest
import trio

import pullstream as ps
import timely
from pullstream.time.event_windows import _Sessions

LIMITS = pytest.mark.parametrize("limit", [1, 2, 7, 4096])
COUNT = ps.reduce_by_time(ps.agg.count())


def timed(source, *modules, limit=4096):
    """The (time, value) pairs that come."""
    return ps.run(ps.pipe(source, *modules, ps.collect(timed=True)), limit=limit)


@ps.source
async def moving(ctx, *steps):
    """Yields a value at a time that is a number, or moves its clock to a ("to", time); each takes a second."""
    for step in steps:
        if isinstance(step, tuple):
            ctx.advance(step[1])
        else:
            yield ps.Batch(step, [step])
        await trio.sleep(1)


def test_windows_of_dates():
    """A size of a timedelta; weeks begin where they are told to."""
    days = [dt.date(2013, 1, day) for day in (1, 2, 6, 7, 13)]
    week = dt.timedelta(weeks=1)
    by_week = timed(ps.values(days, time=lambda day: day), ps.tumbling(week, origin=dt.date(1970, 1, 5)), COUNT)
    assert by_week == [(dt.date(2013, 1, 7), 3), (dt.date(2013, 1, 14), 2)]
    moments = [dt.datetime(2013, 1, 1, 0, minute, tzinfo=dt.UTC) for minute in (0, 14, 15, 50)]
    source = ps.values(moments, time=lambda moment: moment)
    quarters = timed(source, ps.tumbling(dt.timedelta(minutes=15)), COUNT)
    assert [(end.minute, count) for end, count in quarters] == [(15, 2), (30, 1), (0, 1)]
    halves = timed(source, ps.sliding(dt.timedelta(minutes=30), dt.timedelta(minutes=15)), COUNT)
    assert [(end.minute, count) for end, count in halves] == [(15, 2), (30, 3), (45, 1), (0, 1), (15, 1)]
    with pytest.raises(TypeError, match="whole days"):
        timed(ps.values(days, time=lambda day: day), ps.tumbling(dt.timedelta(hours=5)))


def test_windows_of_fractions_and_negative_times():
    """Windows are counted in both directions from the origin, and sizes need not be whole."""
    source = ps.values([-3, -0.5, 0, 0.5, 2.75], time=lambda n: n)
    assert timed(source, ps.tumbling(0.5)) == [(-2.5, -3), (0.0, -0.5), (0.5, 0), (1.0, 0.5), (3.0, 2.75)]
    assert timed(source, ps.tumbling(2, origin=1)) == [(-1, -3), (1, -0.5), (1, 0), (1, 0.5), (3, 2.75)]


@pytest.mark.parametrize("windows", [ps.tumbling(2), ps.sliding(2, 1), ps.sessions(2)])
def test_times_that_are_no_numbers(windows):
    """What cannot be computed with is an error, and no completion."""
    with pytest.raises((TypeError, timely.TimelyError), match=r"str|cannot add"):
        timed(ps.values(["a"], time=lambda text: text), windows, COUNT)


@LIMITS
def test_a_value_comes_once_for_each_window(limit):
    """In every window its values stay in order."""
    found = timed(ps.values([0, 1, 1, 2], time=lambda n: n), ps.sliding(2, 1), limit=limit)
    for end, inside in {1: [0], 2: [0, 1, 1], 3: [1, 1, 2], 4: [2]}.items():
        assert [value for time, value in found if time == end] == inside


async def test_a_window_is_complete_when_its_times_are(autojump_clock):
    """Its end being reached is enough, with a value or without; and an empty window completes as well."""
    for windows, when in (
        (ps.tumbling(5), {5: 2, 10: 3, 15: 3, 20: 3, 25: 4, 30: 4}),
        (ps.sliding(10, 5), {5: 2, 10: 3, 15: 3, 20: 3, 25: 4, 30: 4}),
    ):
        heard, start = {}, trio.current_time()
        source = moving(1, 4, ("to", 5), ("to", 20))
        async with ps.pipe(source, windows, COUNT, ps.drain()).open() as running, trio.open_nursery() as nursery:

            async def wait(time, running=running, heard=heard, start=start):
                await running.progress.completed(time)
                heard[time] = trio.current_time() - start

            for time in when:
                nursery.start_soon(wait, time)
        assert heard == when


async def test_a_session_comes_as_soon_as_nothing_can_prolong_it(autojump_clock):
    """A clock that moves to its end is enough."""
    heard, start = [], trio.current_time()
    note = ps.map(lambda value: heard.append((value, trio.current_time() - start)))
    source = moving(1, 3, ("to", 5), ("to", 6), 6, 20)
    async with ps.pipe(source, ps.sessions(3), note, ps.drain()).open() as running:
        await running.progress.completed(6)
        assert trio.current_time() - start == 3
        await running.result()
    assert heard == [(1, 3), (3, 3), (6, 5), (20, 6)]


def test_a_late_value_joins_two_sessions():
    """Between two that were apart, within the input's lateness."""
    stamped = ps.stamp(lambda n: n, lateness=10)
    whole = ps.reduce_by_time(ps.Fold(list, lambda kept, n: [*kept, n]))
    assert timed(ps.values([1, 7, 4, 20]), stamped, ps.sessions(4), whole) == [(11, [1, 4, 7]), (24, [20])]
    assert timed(ps.values([1, 7, 20]), stamped, ps.sessions(4), whole) == [(5, [1]), (11, [7]), (24, [20])]
    assert timed(ps.values([1, 5]), stamped, ps.sessions(4), whole) == [(5, [1]), (9, [5])]


@pytest.mark.parametrize("limit", [1, 4096])
def test_nothing_is_left_of_sessions(limit, monkeypatch):
    """Ten thousand times of changing keys: what is kept is what is open."""
    sizes, kernels = [], set()
    given = _Sessions.receive

    def receive(self, time, values):
        given(self, time, values)
        kernels.add(self)
        sizes.append(max(len(self._open), len(self._due), len(self._requests), len(self._owed), len(self.seat.held)))

    monkeypatch.setattr(_Sessions, "receive", receive)
    source = ps.values(range(10_000), time=lambda n: n)
    assert ps.run(ps.pipe(source, ps.sessions(3, lambda n: n // 50), ps.tally()), limit=limit) == 10_000
    (kernel,) = kernels
    assert max(sizes) <= 4
    assert not any((kernel._open, kernel._due, kernel._requests, kernel._owed, kernel.seat.held))


def test_bad_arguments_are_refused_when_composing():
    """Each names the module, and what it needs."""
    hour = dt.timedelta(hours=1)
    for make, told in (
        (lambda: ps.tumbling(0), r"tumbling.*positive"),
        (lambda: ps.tumbling("x"), "positive"),
        (lambda: ps.sliding(2, 0), "every"),
        (lambda: ps.sliding(2, 3), "in none"),
        (lambda: ps.sliding(2, hour), "in none"),
        (lambda: ps.sessions(-hour), "sessions"),
        (lambda: ps.sessions(1, 3), "key"),
    ):
        with pytest.raises(ps.CompositionError, match=told):
            make()
