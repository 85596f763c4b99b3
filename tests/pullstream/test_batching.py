"""Batching is invisible: whatever the limit, the same values, the same calls in the same order, the same failure."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pullstream as ps
from tests.sampling import amount

LIMITS = (1, 2, 7, 1024)


class Boom(Exception):
    pass


class Program:
    """A chain of modules whose functions keep a record of their calls, and one of which may raise."""

    def __init__(self, stages, raising) -> None:
        self.stages = stages
        self.raising = raising
        self.calls: dict[int, list[Any]] = {}
        self.asked: list[int] = []

    def called(self, number, value):
        self.calls.setdefault(number, []).append(value)
        if self.raising is not None and self.raising == (number, len(self.calls[number])):
            raise Boom(number)

    def module(self, number, kind, argument):
        def mapped(value):
            self.called(number, value)
            return value + argument

        def kept(value):
            self.called(number, value)
            return value % (argument + 1) != 0

        def several(value):
            self.called(number, value)
            return [value + n for n in range(argument % 4)]

        async def mapped_later(value):
            return mapped(value)

        def key(value):
            self.called(number, value)
            return value % 3

        return {
            "map": lambda: ps.map(mapped),
            "filter": lambda: ps.filter(kept),
            "flat_map": lambda: ps.flat_map(several),
            "take": lambda: ps.take(argument * 2),
            "take_times": lambda: ps.take_times(argument),
            "map_async": lambda: ps.map_async(mapped_later, 1),
            "reduce_by_key": lambda: ps.pipe(
                ps.reduce_by_key(ps.Fold(int, lambda total, value: total + value), key=key), ps.map(sum)
            ),
        }[kind]()

    def run(self, source, limit):
        modules = [self.module(number, kind, argument) for number, (kind, argument) in enumerate(self.stages)]
        values: list[Any] = []
        failure = None
        try:
            ps.run(ps.pipe(source, *modules, ps.drain(values.append)), limit=limit)
        except Boom as exc:
            failure = exc.args
        return values, failure


KINDS = ("map", "filter", "flat_map", "take", "take_times", "map_async", "reduce_by_key")
stages = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5)), min_size=1, max_size=4)
sources = st.tuples(st.integers(0, 25), st.integers(1, 6)).map(
    lambda pair: ps.values(range(pair[0]), time=lambda value: value // pair[1])
)
raising = st.none() | st.tuples(st.integers(0, 3), st.integers(1, 12))


def same_at_every_limit(source, stages, raising):
    # Of two modules that wait for completions, one below the other, the lower hears of a time's completion and of the
    # failure that follows it in an order that is a matter of scheduling.
    assume(raising is None or sum(kind in ("reduce_by_key", "take_times") for kind, _ in stages) <= 1)
    by_completion = {"take_times", "map_async"} <= {kind for kind, _ in stages}
    first = Program(stages, raising)
    expected = first.run(source, 1)
    for limit in LIMITS[1:]:
        program = Program(stages, raising)
        assert program.run(source, limit) == expected, f"other values or another failure at limit {limit}"
        for number, calls in first.calls.items():
            seen = program.calls.get(number, [])
            # A larger limit may show one thing: upstream works up to a batch ahead of what ends the stream. Where that
            # is a completion, calls in tasks of their own are as far as the scheduler has let them come.
            known = len(calls) if not by_completion else min(len(calls), len(seen))
            assert seen[:known] == calls[:known], f"other calls of stage {number} at limit {limit}"
            if expected[1] is None and not any(kind.startswith("take") for kind, _ in stages):
                assert seen == calls


@settings(max_examples=amount(30, 120), deadline=None)
@given(sources, stages, raising)
def test_batching_is_invisible(source, stages, raising):
    """Random chains deliver the same at limits 1, 2, 7 and 1024, also when a callable raises."""
    same_at_every_limit(source, stages, raising)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("modules", "most"),
    [
        ([ps.take(3)], 3),
        ([ps.map(str), ps.take(3)], 3),
        ([ps.filter(lambda n: True), ps.take(3)], 3),
        ([ps.flat_map(lambda n: [n]), ps.take(3)], 3),
        ([ps.map_batches(list), ps.take(3)], 3),
        ([ps.take(3), ps.map(str), ps.take(9)], 3),
    ],
)
def test_demand_never_grows_on_its_way_up(counting, probe, modules, most, limit):
    """take(3) asks for no more than 3 altogether, through whatever is above it, and the source gives no more."""
    result = ps.run(ps.pipe(counting(probe, 99), *modules, ps.collect()), limit=limit)
    assert len(result) == 3
    assert max(probe.asked) <= min(most, limit)
    assert sum(probe.asked) >= 3
    assert probe.balanced


async def test_nothing_is_produced_that_was_not_asked_for(edge, counting, probe):
    """A source is asked as often as the sink asks, and not before it does (R2)."""
    async with edge(ps.pipe(counting(probe, 99), ps.map(str), ps.map_batches(list))) as reader:
        assert probe.asked == []
        await reader.ask(2)
        assert probe.asked == [2]
        await reader.ask(1)
        assert probe.asked == [2, 1]


async def test_concurrent_calls_ask_for_no_more_than_was_asked_for(edge, counting, probe, autojump_clock):
    """map_async has under way what was asked for, not its concurrency (R2)."""
    started = []

    async def call(value):
        started.append(value)
        return value

    async with edge(ps.pipe(counting(probe, 99), ps.map_async(call, 8))) as reader:
        await reader.ask(2)
        assert len(started) <= 2
        assert sum(probe.asked) <= 2
