"""batch and window: groups of values at one time, by count and by the clock."""

from collections import Counter
from itertools import groupby

import more_itertools
import pytest
import trio
import trio.testing
from hypothesis import given, settings, strategies as st

import pullstream as ps
from pullstream.modules.grouping.batch import _Row
from tests.pullstream.common import script, with_times
from tests.sampling import amount

limits = st.sampled_from([1, 2, 7, 4096])
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30)
FILL = object()


@ps.source
async def at(ctx, moments):
    """Emits each (clock, time, value) at its clock."""
    with ctx.hold(0):
        for clock, time, value in moments:
            await trio.sleep_until(clock)
            yield ps.Batch(time, [value])


@ps.source
async def mixed(ctx, given):
    """Emits (time, value) pairs in any order of times; none is complete before the end."""
    with ctx.hold(0):
        for time, value in given:
            yield ps.Batch(time, [value])


def by_time(given):
    """The values of each time, in the order of times."""
    return {time: [value for _, value in group] for time, group in groupby(sorted(given, key=first), key=first)}


def first(pair):
    return pair[0]


def windows(values, count, step):
    """more_itertools.windowed, without its fill values."""
    filled = more_itertools.windowed(values, count, fillvalue=FILL, step=step) if values else ()
    return [[value for value in window if value is not FILL] for window in filled]


# ---- by count


@settings(deadline=None, max_examples=amount(30, 300))
@given(pairs, st.integers(1, 5), st.integers(1, 6), limits)
def test_groups_of_each_time_equal_more_itertools(given, count, step, limit):
    in_order = ps.pipe(ps.values(sorted(given, key=first), time=first), ps.map(lambda pair: pair[1]))
    for module, groups in (
        (ps.batch(count), lambda values: more_itertools.chunked(values, count)),
        (ps.windowed(count, step), lambda values: windows(values, count, step)),
    ):
        expected = [(time, group) for time, values in by_time(given).items() for group in groups(values)]
        assert with_times(in_order, module, limit=limit) == expected
        answers = with_times(mixed(given), module, limit=limit)
        assert by_time(answers) == by_time(expected)
        assert answers == with_times(mixed(given), module, limit=1)


# ---- by the clock


def letters(*clocks, times=None):
    """The letters a, b, ... at these clocks."""
    return at([(clock, times[n] if times else 0, "abcdef"[n]) for n, clock in enumerate(clocks)])


TWO_TIMES = [0, 1, 0, 1]
CLOCKED = {
    "after some seconds, or by count": (
        letters(1, 2, 9, 10, 11, 12),
        ps.batch(3, seconds=5),
        "6 ab, 11 cde, 12 f",
    ),
    "a slow source inside": (ps.pipe(ps.values([letters(0, 20)]), ps.flatten()), ps.batch(seconds=5), "5 a, 20 b"),
    "only by the clock": (letters(0, 1, 2, 3, 4, 5), ps.batch(seconds=2.5), "2.5 abc, 5 def"),
    "the rest of a full list starts anew": (
        script(ps.Batch(0, ["a", "b"]), 4.0, ps.Batch(0, ["c", "d"]), 50.0),
        ps.batch(3, seconds=5),
        "4 abc, 9 d",
    ),
    "due before what arrives then": (letters(0, 5, 5), ps.batch(seconds=5), "5 a, 5 bc"),
    "a list for each time": (letters(0, 1, 2, 20, times=TWO_TIMES), ps.batch(seconds=5), "5 ac, 6 b at 1, 20 d at 1"),
    "no empty window": (letters(1, 2, 41, 42), ps.windowed(seconds=10), "11 ab, 42 cd"),
    "sliding": (letters(0, 3, 4, 11), ps.windowed(seconds=4, every=2), "2 a, 4 ab, 6 bc, 8 c, 11 d"),
    "with gaps": (letters(0, 3, 4, 9, 11), ps.windowed(seconds=2, every=5), "5 bc, 10 d"),
    "not shown again at the end": (script("a", 5.0), ps.windowed(seconds=9, every=2), "2 a, 4 a"),
    "a window for each time": (
        letters(0, 1, 2, 30, times=TWO_TIMES),
        ps.windowed(seconds=5),
        "5 ac, 5 b at 1, 30 d at 1",
    ),
}
"""Sources, modules, and results: the seconds since the first ask, the group, and its time unless that is 0."""


@pytest.mark.parametrize("name", CLOCKED)
async def test_groups_by_the_clock(name, edge, autojump_clock):
    """The seconds count from the first value; a group does not wait for a next value, and is at its time."""
    source, module, expected = CLOCKED[name]
    start, found = trio.current_time(), []
    async with edge(ps.pipe(source, module)) as reader:
        while (answer := await reader.ask(9)) is not ps.DONE:
            at = f" at {answer.time}" if answer.time else ""
            found += [f"{trio.current_time() - start:g} {''.join(group)}{at}" for group in answer.values]
    assert ", ".join(found) == expected


async def test_a_window_is_bounded(edge, counting, probe, autojump_clock):
    start = trio.current_time()
    async with edge(ps.pipe(counting(probe, 99), ps.windowed(seconds=10, capacity=4))) as reader:
        assert await reader.ask(3) == ps.Batch(0, [[0, 1, 2, 3]])
        assert trio.current_time() - start == 10
        assert sum(probe.asked) == 4
        assert await reader.ask(3) == ps.Batch(0, [[4, 5, 6, 7]])


async def test_a_value_that_arrives_at_a_tick_is_in_the_next_windows(autojump_clock):
    """However the moments of the two are rounded."""
    for every, periods in ((0.1, 1), (0.1, 2), (0.3, 3), (1 / 3, 1), (0.7, 5)):
        source, sliding = ps.interval(every), ps.windowed(seconds=periods * every, every=every)
        async with ps.pipe(source, ps.take(50), sliding, ps.collect()).open() as running:
            counts = Counter(value for window in await running.result() for value in window)
        assert [counts[value] for value in range(45)] == [periods] * 45


async def test_a_value_that_misses_a_tick_is_in_the_next_window(autojump_clock):
    slowly = ps.pipe(ps.values("abcdefg"), ps.tap(lambda _: autojump_clock.jump(2)))
    async with ps.pipe(slowly, ps.windowed(seconds=5), ps.map("".join), ps.collect()).open(limit=1) as running:
        assert await running.result() == ["abc", "de", "fg"]


async def test_a_slow_consumer_gets_the_due_windows(edge, autojump_clock):
    source = at([(0, 0, "a"), (1, 0, "b"), (50, 0, "c")])
    async with edge(ps.pipe(source, ps.windowed(seconds=4, every=2))) as reader:
        assert await reader.ask(1) == ps.Batch(0, [["a", "b"]])
        await trio.sleep(60)
        assert await reader.ask(9) == ps.Batch(0, [["a", "b"]])
        assert await reader.ask(9) == ps.Batch(0, [["c"]])
        assert await reader.ask(9) is ps.DONE


def test_the_cost_of_a_value_does_not_depend_on_the_number_of_open_times(monkeypatch):
    """An ask must not look at the values kept for all of them."""
    looks, of = [], _Row.__len__
    monkeypatch.setattr(_Row, "__len__", lambda row: looks.append(row) or of(row))
    values = ps.pipe(ps.values(range(200)), ps.stamp(lambda n: -n, lateness=200))

    ps.run(ps.pipe(values, ps.batch(2), ps.drain()), limit=1)

    assert len(looks) < 2000
