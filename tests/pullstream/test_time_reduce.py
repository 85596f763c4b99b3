"""`reduce_by_time`, `reduce_by_key`, `count_by_key`, `aggregate`: when results come, and what goes wrong."""

import pytest

import pullstream as ps
from tests.pullstream.common import Unseen, per_time


def test_a_step_that_raises_leaves_no_key_behind():
    def step(state, value):
        raise Unseen

    module = ps.reduce_by_key(ps.Fold(int, step), key=lambda n: n, on_error="skip")
    assert ps.run(ps.pipe(ps.values([1, 2]), module, ps.collect(timed=True))) == []


class Tick(int):
    """A time that counts how often times are compared."""

    compared = 0

    def __lt__(self, other):
        Tick.compared += 1
        return int(self) < int(other)

    def __le__(self, other):
        Tick.compared += 1
        return int(self) <= int(other)

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "count", [ps.reduce_by_time(ps.agg.count()), per_time(lambda _: 1)], ids=["kernel", "generator"]
)
def test_many_open_times_are_not_compared_each_with_each(count):
    spent = []
    for size in (200, 400):
        Tick.compared = 0
        late = ps.stamp(Tick, lateness=10**6)
        assert ps.run(ps.pipe(ps.values(range(size)), late, count, ps.collect())) == [1] * size
        spent.append(Tick.compared)
    assert spent[1] < 3 * spent[0], spent
