"""Folding parts and merging their results equals folding all: the law of `Fold.merge`, for every aggregate."""

import copy
import datetime as dt
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

import pullstream as ps
from pullstream import agg
from tests.sampling import amount


def remainder(n):
    """Many values have the same one, so it matters which of them comes first."""
    return n % 5


FOLDS = {
    "count": agg.count(),
    "sum": agg.sum(),
    "sum of days": agg.sum(lambda n: dt.timedelta(days=int(n)), start=dt.timedelta()),
    "min": agg.min(remainder),
    "max": agg.max(remainder),
    "mean": agg.mean(),
    "median": agg.quantile(0.5),
    "quantile": agg.quantile(0.3, remainder),
    "top": agg.top(3, remainder),
    "count_unique": agg.count_unique(remainder),
    "most_common": agg.most_common(2, remainder),
    "min_by": agg.min_by(remainder),
    "max_by": agg.max_by(remainder),
    "custom": ps.Fold(list, lambda seen, n: [*seen, n], tuple, lambda seen, more: seen + more),
    "several": agg.several(n=agg.count(), top=agg.top(2, remainder), mean=agg.mean()),
}

parts = st.lists(st.lists(st.integers(-50, 50).map(Fraction), max_size=8), min_size=1, max_size=6)


def folded(fold, values):
    state = fold.initial()
    for value in values:
        state = fold.step(state, value)
    return fold.finish(state)


def merged(fold, states):
    return folded(fold.merging(), states)


@pytest.mark.parametrize("name", FOLDS)
@settings(max_examples=amount(15, 60), deadline=None)
@given(parts=parts)
def test_merged_parts_equal_the_whole(name, parts):
    """Wherever the values are divided, with empty parts and ties; merged at once, or in groups first."""
    fold = FOLDS[name]
    parts = [*parts, [Fraction(1)]]
    states = [folded(fold.partial(), part) for part in parts]
    half = len(states) // 2
    on_the_way = fold.merging().partial()
    grouped = [folded(on_the_way, copy.deepcopy(part)) for part in (states[:half], states[half:])]
    whole = folded(fold, [value for part in parts for value in part])
    before = pickle.dumps(states)
    assert merged(fold, states) == merged(fold, grouped) == whole
    assert pickle.dumps(states) == before, "merged states stay unchanged"


def test_several_folds_merge_only_if_each_does():
    assert agg.several(n=agg.count(), own=ps.Fold(int, max)).merge is None


def test_a_mean_leaves_the_values_alone():
    class Box(list):
        def __add__(self, other):
            return Box([*self, *other])

        def __truediv__(self, number):
            return len(self) / number

    values = [Box("a"), Box("bc")]
    assert ps.run(ps.pipe(ps.values(values), ps.reduce_by_time(agg.mean()), ps.collect())) == [1.5]
    assert values == [["a"], ["b", "c"]]
