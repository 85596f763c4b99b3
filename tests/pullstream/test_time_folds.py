"""Modules that fold or collect per time: when results are emitted, how often, and failures."""

from functools import partial

import pytest
import trio

import pullstream as ps
from pullstream.modules.folds.fold import CHECKS
from tests.pullstream.common import Together, broken, per_time
from tests.pullstream.counting import Looked
from timely import Product


def test_running_refuses_unordered_times():
    """A state is carried to the next time, so there must be one."""

    source = Together([Product(0, 1), Product(1, 0)], 1)
    with pytest.raises(ps.errors.CapabilityError, match=r"accumulate.*Product\(.*have no order.*map_time"):
        ps.run(ps.pipe(source, ps.accumulate(ps.agg.count()), ps.collect()))


def test_a_step_that_raises_leaves_no_key_behind():
    module = ps.reduce_by_key(ps.Fold(int, broken), key=lambda n: n, on_error="skip")
    assert ps.run(ps.pipe(ps.values([1, 2]), module, ps.collect(timed=True))) == []


async def test_an_effect_completes_its_time_when_it_is_done(autojump_clock):
    start, calls = trio.current_time(), []

    async def store(time, values):
        await trio.sleep(3)
        calls.append((time, values, trio.current_time() - start))

    source = ps.values([0, 1, 2], time=lambda n: n // 2)
    async with ps.pipe(source, ps.at_completion(store)).open() as running:
        await running.progress.completed(0)
        assert trio.current_time() - start == 3
        assert await running.result() is None
    assert calls == [(0, [0, 1], 3), (1, [2], 6)]


@pytest.mark.parametrize(
    "count", [ps.reduce_by_time(ps.agg.count()), per_time(lambda _: 1)], ids=["kernel", "generator"]
)
def test_many_open_times_are_not_all_compared_pairwise(count):
    spent = []
    for size in (200, 400):
        Looked.times = 0
        late = ps.stamp(Looked, lateness=10**6)
        assert ps.run(ps.pipe(ps.values(range(size)), late, count, ps.collect())) == [1] * size
        spent.append(Looked.times)
    assert spent[1] < 3 * spent[0], spent


# ---- a state that is emitted as a result must not be changed in place by the next step


def scanned(fold, **options):
    """With a function and an initial state, unless the fold has a `finish`."""
    plain = fold.finish is ps.Fold(int, max).finish
    return ps.scan(fold.step, fold.initial(), **options) if plain else ps.scan(fold, **options)


KEYED = {"key": lambda _: "key"}
EMITTING = {
    "scan": ps.scan,
    "scan of a function": scanned,
    "scan inside": lambda fold, **options: ps.group_by(lambda _: 0, ps.scan(fold, **options)),
    "accumulate": ps.accumulate,
    "accumulate by key": partial(ps.accumulate, **KEYED),
    "accumulate, eager": partial(ps.accumulate, eager=True, **KEYED),
    "reduce_by_key": partial(ps.reduce_by_key, eager=True, **KEYED),
    "sliding": partial(ps.sliding, 2, 1, eager=True, **KEYED),
    "sessions": partial(ps.sessions, 2, eager=True, **KEYED),
}


def appended(seen, n):
    seen.append(n)
    return seen


def replaced(seen, n):
    return [*seen, n]


def left_alone(seen, n):
    return seen if n in seen else [*seen, n]


def begun_in_place(seen, n):
    """It changes only a state that is in no result."""
    return [*seen, n] if seen else appended(seen, n)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("name", EMITTING)
def test_a_result_that_the_next_step_would_change_is_refused(name, on_error, limit):
    def run(initial, step, *finish):
        rows = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (2, 2)]
        timed = ps.pipe(ps.values(rows, time=lambda row: row[0]), ps.map(lambda row: row[1]))
        module = EMITTING[name](ps.Fold(initial, step, *finish), on_error=on_error)
        return ps.run(ps.pipe(timed, module, ps.map(str), ps.collect()), limit=limit)

    with pytest.raises(TypeError, match=r": .* in place a list .*Fold\(initial, step, list"):
        run(list, appended)
    with pytest.raises(TypeError, match=r"in place a dict .*Fold\(initial, step, dict"):
        run(dict, lambda counts, n: counts.update(all=counts.get("all", 0) + 1) or counts)
    with pytest.raises(TypeError, match="in place a set"):
        # A step may return the same state for a while before it changes it.
        run(set, lambda seen, n: seen.add(n) or seen)
    assert run(list, replaced) == run(list, appended, list) == run(list, begun_in_place)
    assert run(list, left_alone) == run(list, left_alone, list)


@pytest.mark.parametrize("module", [ps.scan, ps.accumulate])
def test_changes_downstream_are_not_blamed_on_the_step(module, limit):
    new = ps.pipe(module(ps.Fold(list, lambda _, n: [n])), ps.tap(lambda state: state.append("read")))
    stream = ps.values(range(3), time=lambda n: n)
    assert ps.run(ps.pipe(stream, new, ps.collect()), limit=limit) == [[n, "read"] for n in range(3)]


def test_a_value_whose_step_raises_changes_nothing(limit):
    left = ps.scan(lambda seen, n: [*seen, 1 // n] if n < 2 else seen, [], on_error="skip")
    assert ps.run(ps.pipe(ps.values([0, 1, 0, 2, 0, 1]), left, ps.collect()), limit=limit) == [[1], [1], [1, 1]]


@pytest.mark.parametrize("module", [ps.scan, ps.accumulate, partial(ps.reduce_by_time, eager=True)])
def test_a_state_that_is_never_replaced_is_checked_a_few_times(module):
    """The cost of each check grows with the state."""
    looks = []

    class State(set):
        def __iter__(self):
            looks.append(self)
            return super().__iter__()

    source = ps.values(range(1000), time=lambda n: n if module is ps.accumulate else 0)
    ps.run(ps.pipe(source, module(ps.Fold(State, lambda state, _: state)), ps.drain()))
    assert len(looks) == 2 * CHECKS
