"""batch and window: groups of values at one time, by count and by the clock."""

from itertools import groupby

import more_itertools
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

import pullstream as ps

LIMITS = (1, 2, 7, 4096)
limits = st.sampled_from(LIMITS)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30)
FILL = object()


@ps.source
async def at(ctx, moments):
    """Gives each (clock, time, value) when its clock has come."""
    with ctx.hold(0):
        for clock, time, value in moments:
            await trio.sleep_until(clock)
            yield ps.Batch(time, [value])


@ps.source
async def mixed(ctx, given):
    """Gives (time, value) pairs in any order of times; none is complete before the end."""
    with ctx.hold(0):
        for time, value in given:
            yield ps.Batch(time, [value])


def timed(source, *modules, limit=4096):
    return ps.run(ps.pipe(source, *modules, ps.collect(timed=True)), limit=limit)


def by_time(given):
    """The values of each time, in the order of times."""
    return {time: [value for _, value in group] for time, group in groupby(sorted(given, key=first), key=first)}


def first(pair):
    return pair[0]


def windows(values, count, step):
    """more_itertools.windowed, without what it fills up with."""
    filled = more_itertools.windowed(values, count, fillvalue=FILL, step=step) if values else ()
    return [[value for value in window if value is not FILL] for window in filled]


# ---- by count


@settings(deadline=None)
@given(pairs, st.integers(1, 5), limits)
def test_batch_is_chunked_within_each_time(given, count, limit):
    """The lists of a time are its values in chunks; no list is empty, and none spans times."""
    given = sorted(given, key=first)
    expected = [
        (time, chunk) for time, values in by_time(given).items() for chunk in more_itertools.chunked(values, count)
    ]
    source = ps.pipe(ps.values(given, time=first), ps.map(lambda pair: pair[1]))
    assert timed(source, ps.batch(count), limit=limit) == expected


@settings(deadline=None)
@given(pairs, st.integers(1, 5), st.integers(1, 6), limits)
def test_window_is_windowed_within_each_time(given, count, step, limit):
    """The windows of a time are those of more_itertools.windowed, without fillers."""
    given = sorted(given, key=first)
    expected = [(time, window) for time, values in by_time(given).items() for window in windows(values, count, step)]
    source = ps.pipe(ps.values(given, time=first), ps.map(lambda pair: pair[1]))
    assert timed(source, ps.windowed(count, step), limit=limit) == expected


@settings(deadline=None)
@given(pairs, st.integers(1, 4), limits)
def test_times_that_come_mixed_are_kept_apart(given, count, limit):
    """Each time has its own groups, whatever comes between; what is left comes least time first."""
    for module, expected in (
        (ps.batch(count), lambda values: list(more_itertools.chunked(values, count))),
        (ps.windowed(count, 1), lambda values: windows(values, count, 1)),
    ):
        answers = timed(mixed(given), module, limit=limit)
        assert by_time(answers) == {time: expected(values) for time, values in by_time(given).items()}
        assert answers == timed(mixed(given), module, limit=1)


@ps.source
class Hasty(ps.authoring.Kernel[str]):
    """Says soon after each answer that nothing more comes at its time."""

    def __init__(self):
        self.times = iter((1, 2))

    async def produce(self, limit):
        time = next(self.times, None)
        if time is None:
            await trio.sleep_forever()
        self.run.spawn(self.advance, time + 1)
        return ps.Batch(time, ["a"])

    async def advance(self, time):
        await trio.lowlevel.checkpoint()
        self.location.advance(time)


@pytest.mark.parametrize("module", [ps.batch(3), ps.windowed(3, 3)])
async def test_what_has_not_been_looked_at_is_in_flight(module, edge):
    """To acknowledge a group is not to acknowledge the batch that is waiting behind it."""
    async with edge(ps.pipe(Hasty(), module)) as reader:
        assert await reader.ask(5) == ps.Batch(1, [["a"]])
        await trio.testing.wait_all_tasks_blocked()
        reader.ack()
        assert [*reader.edge.location.frontier] == [2]
        assert await reader.ask(5) == ps.Batch(2, [["a"]])
        await trio.testing.wait_all_tasks_blocked()
        reader.ack()
        assert [*reader.edge.location.frontier] == [3]


@pytest.mark.parametrize("limit", LIMITS)
def test_values_before_a_failure_come_first(limit, counting, probe):
    """A batch that was begun is delivered before the failure; a window that is not whole is not."""
    for module, expected in ((ps.batch(2), [[0, 1], [2]]), (ps.windowed(2, 2), [[0, 1]])):
        values = []
        source = counting(probe, 3, failure=ValueError("above"))
        with pytest.raises(ValueError, match="above"):
            ps.run(ps.pipe(source, module, ps.drain(values.append)), limit=limit)
        assert values == expected


# ---- by the clock


async def heard(edge, *parts, limit=9):
    """When what came, and what: (seconds since the first ask, values)."""
    start = trio.current_time()
    answers = []
    async with edge(ps.pipe(*parts)) as reader:
        while (answer := await reader.ask(limit)) is not ps.DONE:
            answers.append((trio.current_time() - start, answer.time, list(answer.values)))
    return answers


async def test_a_batch_comes_so_long_after_its_first_value(edge, autojump_clock):
    """The seconds count from a list's first value, and need no next one; the count ends a list sooner."""
    source = at([(1, 0, "a"), (2, 0, "b"), (9, 0, "c"), (10, 0, "d"), (11, 0, "e"), (12, 0, "f")])
    assert await heard(edge, source, ps.batch(3, seconds=5)) == [
        (6, 0, [["a", "b"]]),
        (11, 0, [["c", "d", "e"]]),
        (12, 0, [["f"]]),
    ]


async def test_the_clock_waits_for_no_source_inside_a_stream(edge, autojump_clock):
    """A slow source inside a quick one keeps no list waiting either."""
    slow = at([(0, 0, "a"), (20, 0, "b")])
    assert await heard(edge, ps.values([slow]), ps.flatten(), ps.batch(seconds=5)) == [
        (5, 0, [["a"]]),
        (20, 0, [["b"]]),
    ]


async def test_a_batch_without_a_count_goes_by_the_clock(edge, autojump_clock):
    """By the clock alone every value is in one list."""
    source = at([(n, 0, n) for n in range(7)])
    assert await heard(edge, source, ps.batch(seconds=2.5)) == [
        (2.5, 0, [[0, 1, 2]]),
        (5.5, 0, [[3, 4, 5]]),
        (6, 0, [[6]]),
    ]


async def test_what_a_full_batch_leaves_counts_anew(edge, autojump_clock):
    """What came with the value that filled a list arrived then, and not with that list's first value."""

    @ps.source
    async def source(ctx):
        yield ps.Batch(0, ["a", "b"])
        await trio.sleep(4)
        yield ps.Batch(0, ["c", "d"])
        await trio.sleep(50)

    assert await heard(edge, source(), ps.batch(3, seconds=5)) == [(4, 0, [["a", "b", "c"]]), (9, 0, [["d"]])]


async def test_a_deadline_comes_before_what_arrives_with_it(edge, autojump_clock):
    """A value that arrives in the moment in which a list is due is in the next one."""
    source = at([(0, 0, "a"), (5, 0, "b"), (5, 0, "c")])
    assert await heard(edge, source, ps.batch(seconds=5)) == [(5, 0, [["a"]]), (5, 0, [["b", "c"]])]


async def test_the_clock_of_a_batch_is_that_of_its_time(edge, autojump_clock):
    """Each time has its own list, and its own deadline."""
    source = at([(0, 0, "a"), (1, 1, "b"), (2, 0, "c"), (20, 1, "d")])
    assert await heard(edge, source, ps.batch(seconds=5)) == [
        (5, 0, [["a", "c"]]),
        (6, 1, [["b"]]),
        (20, 1, [["d"]]),
    ]


async def test_a_clocked_window_fires_on_the_clock(edge, autojump_clock):
    """A window comes when its time is up, not with the next value, and not at all when it is empty."""
    source = at([(1, 0, "a"), (2, 0, "b"), (41, 0, "c"), (42, 0, "d")])
    assert await heard(edge, source, ps.windowed(seconds=10)) == [(11, 0, [["a", "b"]]), (42, 0, [["c", "d"]])]


async def test_sliding_windows_by_the_clock(edge, autojump_clock):
    """Every tick shows what arrived within the seconds before it; the ticks count from the first value."""
    source = at([(0, 0, "a"), (3, 0, "b"), (4, 0, "c"), (11, 0, "d")])
    assert await heard(edge, source, ps.windowed(seconds=4, every=2)) == [
        (2, 0, [["a"]]),
        (4, 0, [["a", "b"]]),
        (6, 0, [["b", "c"]]),
        (8, 0, [["c"]]),
        (11, 0, [["d"]]),
    ]


async def test_windows_with_gaps_by_the_clock(edge, autojump_clock):
    """With windows shorter than their distance, what arrives between two of them is in none."""
    source = at([(0, 0, "a"), (3, 0, "b"), (4, 0, "c"), (9, 0, "d"), (11, 0, "e")])
    assert await heard(edge, source, ps.windowed(seconds=2, every=5)) == [(5, 0, [["b", "c"]]), (10, 0, [["d"]])]


async def test_a_window_by_the_clock_is_not_repeated_at_the_end(edge, autojump_clock):
    """When its time is complete what a window has shown is not shown again, unless something came since."""
    shown = [(2, 0, [["a"]]), (4, 0, [["a"]])]
    assert await heard(edge, ending(5, ps.Batch(0, ["a"])), ps.windowed(seconds=9, every=2)) == shown


@ps.source
async def ending(ctx, seconds, batch):
    """One batch, and the end so many seconds later."""
    yield batch
    await trio.sleep(seconds)


async def test_windows_of_times_do_not_mix_on_the_clock(edge, autojump_clock):
    """At a tick every time has a window of its own."""
    source = at([(0, 0, "a"), (1, 1, "b"), (2, 0, "c"), (30, 1, "d")])
    assert await heard(edge, source, ps.windowed(seconds=5)) == [
        (5, 0, [["a", "c"]]),
        (5, 1, [["b"]]),
        (30, 1, [["d"]]),
    ]


async def test_a_window_is_bounded(edge, counting, probe, autojump_clock):
    """When a window holds `capacity` values upstream is asked for no more before the next tick."""
    start = trio.current_time()
    async with edge(ps.pipe(counting(probe, 99), ps.windowed(seconds=10, capacity=4))) as reader:
        assert await reader.ask(3) == ps.Batch(0, [[0, 1, 2, 3]])
        assert trio.current_time() - start == 10
        assert sum(probe.asked) == 4
        assert await reader.ask(3) == ps.Batch(0, [[4, 5, 6, 7]])


async def test_a_slow_asker_gets_the_windows_that_were_due(edge, autojump_clock):
    """What was due while nobody asked comes with the next asks, in order, as it would have."""
    source = at([(0, 0, "a"), (1, 0, "b"), (50, 0, "c")])
    async with edge(ps.pipe(source, ps.windowed(seconds=4, every=2))) as reader:
        assert await reader.ask(1) == ps.Batch(0, [["a", "b"]])
        await trio.sleep(60)
        assert await reader.ask(9) == ps.Batch(0, [["a", "b"]])
        assert await reader.ask(9) == ps.Batch(0, [["c"]])
        assert await reader.ask(9) is ps.DONE
