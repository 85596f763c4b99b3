"""A branch, a source, a key or a module in a row costs the same among many as among few.

Costs are counted, not timed: the lines that Python runs. Each turn of a loop or a comprehension counts as a line.
"""

import io
import sys
from functools import partial

import pytest
import trio

import pullstream as ps
from pullstream.metrics import metrics
from tests.pullstream.common import after
from tests.pullstream.counting import run_in_order
from timely import Product, tracker

pytestmark = pytest.mark.usefixtures("no_clocks")

FEW = 40
MORE = 1.04
"""The cost of one more among many, as a multiple of its cost among few. The order of tasks varies a little."""


def lines(module, beside=None):
    """The number of lines that a run executes, of a pipeline or of a source that is read to its end."""
    count = 0

    def traced(frame, event, arg):
        nonlocal count
        if event == "line":
            count += 1
        return traced

    async def main():
        pipeline = module if isinstance(module, ps.Pipeline) else ps.pipe(module, ps.drain())
        async with pipeline.open(beside=beside) as running:
            await running.result()

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        run_in_order(main)
    finally:
        sys.settrace(before)
    return count


@ps.source
async def waiting(ctx, number):
    """Values one by one, at different moments in each source."""
    for value in range(2):
        await trio.sleep(1 + number / 1000)
        yield value


@ps.source
async def counting(ctx, count):
    """So many numbers, one by one."""
    for number in range(count):
        await trio.sleep(1)
        yield number


def late(number):
    return ps.map_async(after(1 + number / 1000), 2)


def times(count, time=int):
    return ps.values(range(count), time=time)


def failing(value):
    raise ValueError(value)


def each(count, make):
    return [make(number) for number in range(count)]


def folds():
    return ps.pipe(ps.count_by_key(), ps.drain())


def into_groups(count, group):
    """Each value at a time of its own, in a group of its own, with a fold below that awaits each time."""
    return ps.pipe(times(count), ps.group_by(int, group), ps.count_by_key(lambda _: 0))


SHAPES = {
    "merge of sources that wait": lambda n: ps.merge(*each(n, waiting)),
    "merge of folds": lambda n: ps.merge(*each(n, lambda i: ps.pipe(waiting(i), ps.count_by_key()))),
    "fold of a merge": lambda n: ps.pipe(ps.merge(*each(n, waiting)), ps.count_by_key()),
    "combine_latest": lambda n: ps.combine_latest(*each(n, lambda i: ps.pipe(waiting(i), ps.take(1)))),
    "zip": lambda n: ps.zip(*each(n, waiting)),
    "merge_sorted": lambda n: ps.merge_sorted(*each(n, waiting)),
    "partition": lambda n: ps.pipe(
        counting(n), ps.partition(lambda number: number, dict(enumerate(each(n, lambda _: ps.drain()))))
    ),
    "fork": lambda n: ps.pipe(times(3), ps.fork(*each(n, late))),
    "Product times": lambda n: ps.pipe(times(n, lambda number: Product(number, number)), ps.count_by_key()),
    "sets as times": lambda n: ps.pipe(times(n, lambda number: frozenset(range(number))), ps.count_by_key()),
    "stamps in open times": lambda n: ps.pipe(
        ps.values(range(n)), ps.stamp(int, lateness=n), ps.stamp(int, nest=True), ps.count_by_key()
    ),
    "throttle of open times": lambda n: ps.pipe(counting(n), ps.stamp(int, lateness=n), ps.throttle(n)),
    "sample of open times": lambda n: ps.pipe(counting(n), ps.stamp(int, lateness=n), ps.sample(n)),
    "batch of open times": lambda n: ps.pipe(counting(n), ps.stamp(int, lateness=n), ps.batch(seconds=n)),
    "tee of folds": lambda n: ps.pipe(times(3), ps.tee(*each(n, lambda _: folds()))),
    "tee of sinks that wait": lambda n: ps.pipe(times(3), ps.tee(*each(n, lambda i: ps.pipe(late(i), ps.drain())))),
    "flatten side by side": lambda n: ps.pipe(ps.values(each(n, waiting)), ps.flatten(concurrency=n)),
    "flatten": lambda n: ps.pipe(ps.values(each(n, lambda _: ps.values([1]))), ps.flatten()),
    "concat": lambda n: ps.concat(*each(n, lambda _: ps.once(1))),
    "folds in a row": lambda n: ps.pipe(times(3), *each(n, lambda _: ps.count_by_key())),
    "sessions in a row": lambda n: ps.pipe(times(3), *each(n, lambda _: ps.sessions(1))),
    "sessions in a row that fail": lambda n: ps.pipe(
        times(3), *each(n, lambda _: ps.sessions(1)), ps.map(failing), ps.catch(lambda _: [])
    ),
    "loops in a row": lambda n: ps.pipe(times(3), *each(n // 4, lambda _: ps.loop(ps.map(str)))),
    "group_by": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.map(str))),
    "group_by that ends": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.take(1))),
    "group_by of folds": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.count_by_key())),
    "group_by of streams": lambda n: into_groups(n, ps.prefetch(1)),
    "group_by of windows that stay open": lambda n: into_groups(n, ps.sessions(10 * n)),
    "group_by of groups": lambda n: into_groups(n, ps.group_by(str, ps.prefetch(1))),
    "group_by with a function": lambda n: into_groups(n, lambda _: ps.pipe(ps.prefetch(1), ps.tumbling(10 * n))),
    "group_by with a function, later": lambda n: into_groups(n, lambda _: ps.pipe(ps.prefetch(1), ps.delay(1))),
}


def one_more_costs_the_same(made):
    """Compare one more among many with one more among few; `made(count)` are the arguments of `lines`."""
    few, twice, four_times = [lines(*made(count)) for count in (FEW, 2 * FEW, 4 * FEW)]
    return (four_times - twice) / 2 <= (twice - few) * MORE


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SHAPES)
def test_one_more_costs_the_same_among_many(name):
    assert one_more_costs_the_same(lambda count: [SHAPES[name](count)])


def grouped(depth):
    inner = ps.map(str)
    for _ in range(depth):
        inner = ps.group_by(int, inner)
    return ps.pipe(ps.values([1]), inner)


def test_groups_within_groups_do_not_double_the_cost():
    assert lines(grouped(12)) < 4 * lines(grouped(6))


async def waits_for_all(waits, running):
    """Wait for many times, or at many places, at once, each in its own task."""
    async with trio.open_nursery() as nursery:
        for time, *at in waits:
            nursery.start_soon(running.progress.completed, time, *at)


class Meter:
    """Replaces a meter, and its counters and gauges."""

    def __getattr__(self, name):
        return lambda *_: self


BESIDE = {
    "tasks that wait for times": lambda n: (
        ps.pipe(times(n), ps.map_async(after(1), 1)),
        partial(waits_for_all, [(time,) for time in range(n)]),
    ),
    "tasks that wait at places": lambda n: (
        ps.pipe(times(3), ps.map_async(after(1), 1), *each(n, lambda i: ps.count_by_key().named(str(i)))),
        partial(waits_for_all, [(2, str(place)) for place in range(n)]),
    ),
    "metrics of sources with names": lambda n: (
        ps.merge(*each(n, lambda i: ps.once(i).named(str(i)))),
        metrics(Meter()),
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_one_more_costs_the_same_beside_many(name):
    assert one_more_costs_the_same(BESIDE[name])


@pytest.fixture
def planned(monkeypatch):
    """The numbers of places in the plans that trackers make."""
    planned = []
    make_plan = tracker.make_plan

    def watched(*args):
        plan = make_plan(*args)
        planned.append(len(plan.jump))
        return plan

    monkeypatch.setattr(tracker, "make_plan", watched)
    return planned


def test_the_end_of_a_member_plans_only_its_upstream(planned):
    number = 300
    assert ps.run(ps.pipe(ps.merge(*[ps.empty()] * number), ps.collect())) == []
    assert sum(planned) < 12 * number


@pytest.mark.parametrize("options", [{}, {"trace": io.StringIO()}], ids=["checked", "traced, too"])
def test_a_checked_run_plans_for_all_edges_at_once(planned, options):
    number = 50
    tee = ps.tee(*[ps.collect() for _ in range(number)])
    assert ps.run(ps.pipe(ps.values([1]), tee), check=True, **options) == ([1],) * number
    assert sum(planned) < 12 * number
