"""`approximate=True`: close to the exact result, small, and the same however the values are divided and moved."""

import datetime as dt
import pickle
import random
import subprocess
import sys

import pytest

import pullstream as ps
from pullstream import agg

pytest.importorskip("datasketches")


def of(fold, values):
    return ps.run(ps.pipe(ps.values(values), ps.reduce(fold)))


def merged(fold, parts):
    """The result of merging states that were folded separately and pickled."""
    states = [pickle.loads(pickle.dumps(of(fold.partial(), part))) for part in parts]
    return of(fold.merging(), states)


DICE = random.Random(1)
NUMBERS = [DICE.gauss(0, 1) for _ in range(50_000)]
PARTS = [NUMBERS[:1], NUMBERS[1:20_000], NUMBERS[20_000:]]


@pytest.mark.parametrize("q", [0, 0.01, 0.5, 0.9, 1])
@pytest.mark.parametrize("together", [True, False])
def test_quantiles(q, together):
    """The rank of the result is at most 2 % off, a generous bound."""
    fold = agg.quantile(q, approximate=True)
    found = of(fold, NUMBERS) if together else merged(fold, PARTS)

    rank = sum(number <= found for number in NUMBERS) / len(NUMBERS)
    assert abs(rank - q) < 0.02
    assert found in NUMBERS


def test_quantiles_of_few_values_are_exact():
    days = [dt.date(2020, 1, day) for day in (3, 1, 2)]
    assert of(agg.quantile(0.5, approximate=True), days) == days[2]
    assert of(agg.quantile(1, len, approximate=True), ["a", "abc"]) == 3
    with pytest.raises(ValueError, match="no values, so there is no quantile"):
        of(agg.quantile(0.5, approximate=True), [])


@pytest.mark.parametrize("number", [0, 1, 100, 100_000])
def test_distinct_values(number):
    fold = agg.count_unique(approximate=True)
    values = [n % number for n in range(2 * number)] if number else []

    assert abs(of(fold, values) - number) <= 0.04 * number
    assert abs(merged(fold, [values, values[::2], []]) - number) <= 0.04 * number


def test_equal_values_are_counted_once():
    fold = agg.count_unique(approximate=True)
    assert of(fold, [1, 1.0, True, "1", (1, "a"), (1, "a"), None, 0.5, 2**70, dt.date(2020, 1, 1)]) == 7
    with pytest.raises(TypeError, match="cannot be counted with approximate=True"):
        of(fold, [object()])


def test_distinct_values_are_the_same_in_other_processes():
    program = (
        "import pickle, sys, pullstream as ps; fold = ps.agg.count_unique(approximate=True).partial();"
        "state = ps.run(ps.pipe(ps.values([(n, str(n)) for n in range(1000)]), ps.reduce(fold)));"
        "sys.stdout.buffer.write(pickle.dumps(state))"
    )
    theirs = pickle.loads(subprocess.run([sys.executable, "-c", program], check=True, stdout=-1).stdout)
    fold = agg.count_unique(approximate=True)
    ours = of(fold.partial(), [(n, str(n)) for n in range(1000)])
    assert abs(of(fold.merging(), [theirs, ours]) - 1000) < 40


def frequent():
    values = [n for n in range(1, 30) for _ in range(n * 100)] + list(range(1000, 20_000))
    random.Random(2).shuffle(values)
    return values


def test_frequent_values():
    """Counts are at most 0.09 % of all values too high."""
    values = frequent()
    fold = agg.most_common(5, approximate=True)
    exact = of(agg.most_common(5), values)
    assert exact == [(n, n * 100) for n in (29, 28, 27, 26, 25)]

    for found in (of(fold, values), merged(fold, [values[:10], values[10:40_000], values[40_000:]])):
        assert [value for value, _ in found] == [29, 28, 27, 26, 25]
        assert all(
            0 <= count - right <= 0.0009 * len(values) for (_, count), (_, right) in zip(found, exact, strict=True)
        )
    assert of(fold, []) == []


def test_a_state_is_small():
    values = list(range(200_000))
    for fold, bytes_ in (
        (agg.quantile(0.5, approximate=True), 40_000),
        (agg.count_unique(approximate=True), 20_000),
        (agg.most_common(3, approximate=True), 120_000),
    ):
        assert len(pickle.dumps(of(fold.partial(), values))) < bytes_


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketches", None)
    for make in (agg.count_unique, lambda **o: agg.quantile(0.5, **o), lambda **o: agg.most_common(3, **o)):
        with pytest.raises(ps.errors.SketchesMissing, match=r"pip install 'pullstream\[sketches\]'"):
            make(approximate=True)
