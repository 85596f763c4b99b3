"""Times that go back and forth: a time that fails in some fold, and memory; for results see `test_random`."""

import pytest

import pullstream as ps
from tests.adapters.columns.kit import columns, in_arrow, pa, pl


def folds(*parts):
    cells = (zip(*part, strict=True) for part in parts)
    return in_arrow(*(pa.record_batch({"t": times, "n": texts}) for times, texts in cells))


@pytest.mark.parametrize("together", [1, 2, 100])
@pytest.mark.parametrize(
    "parts",
    [
        # The rows of time 2 cannot be aggregated in the first fold, in a later one, or in a later one that is its own.
        ([(1, "1"), (2, "x")], [(3, "3"), (2, "2")], [(1, "1"), (3, "3")]),
        ([(1, "1"), (2, "2")], [(3, "3"), (2, "x")], [(1, "1"), (2, "2")]),
        ([(2, "2"), (1, "1")], [(2, "x"), (2, "2")], [(3, "3"), (1, "1")]),
    ],
)
def test_a_time_that_fails_in_some_fold_hides_no_other(parts, together, monkeypatch):
    monkeypatch.setattr(columns.reducing, "TOGETHER", together)
    got = []
    numbers = columns.reduce_by_time(s=columns.sum(pl.col("n").cast(pl.Int64)), n=columns.count())
    program = ps.pipe(folds(*parts), columns.stamp("t", lateness=9), numbers, ps.drain(got.append))

    with pytest.raises(columns.ColumnError, match="conversion from `str` to `i64` failed"):
        ps.run(program)

    assert got == [{"s": 2, "n": 2}]


def test_the_rows_of_complete_times_are_not_kept(monkeypatch):
    monkeypatch.setattr(columns.reducing, "TOGETHER", 8)
    kept = []
    fold = columns.reducing._Reducing._fold

    def measured(module, *wanted):
        fold(module, *wanted)
        kept.append(sum(len(each.table) for each in module._folds))

    monkeypatch.setattr(columns.reducing._Reducing, "_fold", measured)
    parts = [[(part, str(n)) for n in range(10)] for part in range(90)]
    counts = columns.reduce_by_key("n", count=columns.count())

    found = ps.run(ps.pipe(folds(*parts), columns.stamp("t", lateness=1), counts, ps.collect(timed=True)))

    assert len(found) == 900
    assert len(kept) == 90
    assert max(kept) <= 60


def test_a_time_more_costs_neither_results_nor_a_merge(monkeypatch):
    """The results of a fold are computed together, and open times are merged when there are twice as many."""
    calls = []

    def counted(name):
        work = getattr(columns.reducing._Reducing, name)
        monkeypatch.setattr(columns.reducing._Reducing, name, lambda *given: calls.append(name) or work(*given))

    monkeypatch.setattr(columns.reducing, "TOGETHER", 8)
    counted("_results")
    counted("_merge")
    source = folds(*([(10 * part + n, str(n)) for n in range(10)] for part in range(50)))
    counts = columns.reduce_by_time(n=columns.count())

    assert len(ps.run(ps.pipe(source, columns.stamp("t", lateness=999), counts, ps.collect()))) == 500
    assert calls.count("_merge") < 10
    assert calls.count("_results") < 50
