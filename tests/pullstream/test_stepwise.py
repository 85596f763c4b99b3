"""If nothing waits, modules check between steps which times are complete: no task for an ask, no time read ahead."""

from functools import partial

import pytest

import pullstream as ps
from tests.pullstream.common import READY, per_time
from tests.pullstream.counting import count


def numbers(count, begin=0, step=1):
    return ps.values(range(begin, count, step), time=lambda n: n)


def counts(number):
    return [ps.count_by_key() for _ in range(number)]


SHAPES = {
    "five in a row": lambda n: ps.pipe(numbers(n), *counts(5)),
    "with stages between": lambda n: ps.pipe(
        numbers(n),
        ps.count_by_key(),
        ps.map(str),
        ps.filter(bool),
        ps.unique_by_time(),
        ps.filter_not(bool),
        ps.count_by_key(),
    ),
    "new times": lambda n: ps.pipe(
        numbers(n),
        ps.count_by_key(),
        ps.map_time(lambda time: time),
        ps.timed(),
        ps.scan(lambda _, pair: pair[0], 0),
        ps.count_by_key(),
        ps.map_time(lambda _: 0),
        ps.stamp(lambda pair: pair[0], lateness=1, late="drop"),
        ps.count_by_key(),
    ),
    "after a wait": lambda n: ps.pipe(numbers(n), per_time(), ps.count_by_key(), per_time(), ps.batch(2)),
    "merge, and two": lambda n: ps.pipe(ps.merge(numbers(n, 0, 2), numbers(n, 1, 2)), *counts(2)),
}


def through(make, count):
    return ps.pipe(numbers(count), make())


SHAPES |= {name: partial(through, make) for name, make in READY.items()}


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", SHAPES)
def test_times_start_no_tasks(name, no_clocks):
    def begun(number):
        async def run():
            await ps.arun(ps.pipe(SHAPES[name](number), ps.drain()))
            return 0

        return count(run).tasks

    assert abs(begun(120) - begun(40)) < 20
