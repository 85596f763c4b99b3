"""`reduce_by_time`, `reduce_by_key`, `count_by_key`, `aggregate`: when results come, and what goes wrong."""

from functools import partial

import pytest

import pullstream as ps
from tests.pullstream.common import Unseen, per_time


def test_a_step_that_raises_leaves_no_key_behind():
    def step(state, value):
        raise Unseen

    module = ps.reduce_by_key(ps.Fold(int, step), key=lambda n: n, on_error="skip")
    assert ps.run(ps.pipe(ps.values([1, 2]), module, ps.collect(timed=True))) == []


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_an_early_result_that_the_next_step_would_change_is_refused(on_error, limit):
    """One that `finish` copies may stay, and so may a state that no result has."""

    def in_place(seen, n):
        seen.append(n)
        return seen

    def run(module, step=in_place, *finish):
        early = module(ps.Fold(list, step, *finish), key=lambda n: n % 2, eager=True, on_error=on_error)
        return ps.run(ps.pipe(ps.values([1, 2, 3, 4]), early, ps.map(str), ps.collect()), limit=limit)

    for module in (ps.reduce_by_key, partial(ps.sliding, 2, 1), partial(ps.sessions, 2), ps.accumulate):
        with pytest.raises(TypeError, match=r"eager=True: .* in place a list .*Fold\(initial, step, list"):
            run(module)
        results = run(module, lambda seen, n: [*seen, n])
        assert run(module, in_place, list) == results
        assert run(module, lambda seen, n: [*seen, n] if seen else in_place(seen, n)) == results


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
