"""The sample of a matrix that runs by default: every value of every parameter, and the same cases every time."""

from itertools import product

from tests.sampling import sample


def matrix(**sizes):
    return [dict(zip(sizes, case, strict=True)) for case in product(*map(range, sizes.values()))]


def test_every_value_occurs():
    """Even if one parameter has as many values as another, or twice as many."""
    for sizes in ({"a": 5}, {"a": 2, "b": 4}, {"a": 3, "b": 3, "c": 2}, {"a": 4, "b": 6}):
        cases = matrix(**sizes)
        kept = sample(cases)
        assert len(kept) == max(sizes.values())
        for name, size in sizes.items():
            assert {cases[number][name] for number in kept} == set(range(size))
