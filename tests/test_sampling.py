"""The sample of a matrix that runs by default: every value of every parameter, and the same cases every time."""

from itertools import product

from tests.sampling import amount, sample


def matrix(**sizes):
    return [dict(zip(sizes, case, strict=True)) for case in product(*map(range, sizes.values()))]


def test_every_value_is_there():
    """Also where one parameter has as many values as another, or twice as many."""
    for sizes in ({"a": 5}, {"a": 2, "b": 4}, {"a": 3, "b": 3, "c": 2}, {"a": 4, "b": 6}):
        cases = matrix(**sizes)
        kept = sample(cases)
        assert len(kept) == max(sizes.values())
        for name, size in sizes.items():
            assert {cases[number][name] for number in kept} == set(range(size))


def test_a_size_spreads_the_cases():
    """From the first value on, as far from each other as they can be."""
    assert sample(matrix(a=100), 4) == {0, 25, 50, 75}
    assert sample(matrix(a=3), 7) == {0, 1, 2}
    assert len(sample(matrix(a=2, b=3), 5)) == 5


def test_gaps_are_passed_over():
    """Of a matrix with gaps the nearest cases are taken."""
    cases = [case for case in matrix(a=4, b=4) if case["a"] != case["b"]]
    kept = sample(cases)
    assert len(kept) == 4
    assert {cases[number]["a"] for number in kept} == {0, 1, 2, 3}


def test_pairs_vary():
    """Two parameters with two values each are not always both the first, or both the second."""
    cases = matrix(a=8, b=2, c=2)
    assert {(cases[number]["b"], cases[number]["c"]) for number in sample(cases)} == set(product((0, 1), repeat=2))


def test_an_amount_depends_on_who_runs_it(monkeypatch):
    """Short by default."""
    monkeypatch.delenv("PULLSTREAM_FULL", raising=False)
    assert amount(2, 20) == 2
    monkeypatch.setenv("PULLSTREAM_FULL", "1")
    assert amount(2, 20) == 20
