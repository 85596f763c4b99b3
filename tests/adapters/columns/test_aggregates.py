"""Aggregates of every type of column, over rows cut into batches anywhere, and keys of every type.

With times out of order: a time that fails in one fold, and memory; for results see `test_random`.
"""

import datetime as dt
import math
import pickle
from decimal import Decimal

import pytest

import pullstream as ps
from tests.adapters.columns.kit import columns, in_arrow, pa, pl

DAY = dt.timedelta(days=1)
MICRO = dt.timedelta(microseconds=1)
HALF = 2**62 * MICRO
NINES = Decimal(9 * 10**36)


def table(cut, kind, keys, values):
    batch = pa.record_batch({"key": keys, "value": pa.array(values, kind)})
    return in_arrow(*(batch.slice(begin, cut) for begin in range(0, len(batch), cut)), form="tuples")


def aggregate(made, rows, together):
    program = ps.pipe(rows, columns.reduce_by_key("key", result=made), ps.collect())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adapters.columns.reducing.TOGETHER", together)
        return ps.run(program)


@pytest.mark.sampled
@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (1, 100), (3, 100), (100, 1)])
@pytest.mark.parametrize(
    ("made", "kind", "values", "results"),
    [
        (columns.sum("value"), pa.int8(), [100, 100, 100, None], [200, 100]),
        (columns.sum("value"), pa.int64(), [2**62, 2**62, 2**62 - 1, -(2**62)], [2**63 - 1, 0]),
        (columns.sum("value"), pa.uint64(), [2**63 - 1, 0, 0, 2**63 - 1], [2**63 - 1, 2**63 - 1]),
        (columns.sum("value"), pa.bool_(), [True, None, True, False], [2, 0]),
        (columns.sum("value"), pa.float32(), [0.5, 0.25, math.inf, 1.0], [math.inf, 1.25]),
        (columns.sum("value"), pa.duration("s"), [DAY, 2 * DAY, None, 3 * DAY], [DAY, 5 * DAY]),
        (columns.sum("value"), pa.duration("us"), [HALF, HALF, HALF - MICRO, -HALF], [2 * HALF - MICRO, 0 * DAY]),
        (columns.sum("value"), pa.decimal128(38, 0), [NINES, NINES, -NINES, 1], [Decimal(0), Decimal(9 * 10**36 + 1)]),
        (columns.sum("value"), pa.decimal128(5, 2), [Decimal("1.50")] * 4, [Decimal("3.00")] * 2),
        (columns.sum("value"), pa.null(), [None] * 4, [0, 0]),
        (columns.min("value"), pa.float64(), [math.nan, math.nan, 2.0, math.nan], [2.0, "nan"]),
        (columns.max("value"), pa.float64(), [-math.inf, None, math.nan, None], [-math.inf, None]),
        (columns.max("value"), pa.int64(), [-(2**63), None, None, 2**63 - 1], [-(2**63), 2**63 - 1]),
        (columns.max("value"), pa.uint8(), [3, 255, 7, 0], [7, 255]),
        (columns.min("value"), pa.string(), ["b", "", None, "a"], ["b", ""]),
        (columns.max("value"), pa.bool_(), [False, None, True, None], [True, None]),
        (columns.min("value"), pa.date32(), [dt.date(2026, 1, 2), None, dt.date(1960, 1, 2), None], None),
        (columns.min("value"), pa.time64("us"), [dt.time(5), None, dt.time(4, 3, 2, 1), None], None),
        (columns.max("value"), pa.duration("us"), [-DAY, None, DAY, None], [DAY, None]),
        (columns.min("value"), pa.decimal128(4, 1), [Decimal("-0.5"), None, Decimal("0.5"), None], None),
        (columns.min("value"), pa.null(), [None] * 4, [None, None]),
        (columns.min("value"), pa.dictionary(pa.int8(), pa.string()), ["b", "c", "a", None], ["a", "c"]),
        (columns.mean("value"), pa.decimal128(4, 1), [Decimal("0.5"), None, Decimal("1.5"), None], [1.0, None]),
        (columns.mean("value"), pa.bool_(), [True, True, False, None], [0.5, 1.0]),
        (columns.variance("value"), pa.int64(), [1, 10**9, 3, None], [2.0, None]),
        (columns.variance("value", 0), pa.int64(), [1, 10**9, 3, None], [1.0, 0.0]),
        (columns.variance("value"), pa.float64(), [1e9 + 1, 1.0, 1e9 + 3, 5.0], [2.0, 8.0]),
        (columns.first("value"), pa.list_(pa.int64()), [None, [1], [2], [3]], [None, [1]]),
        (columns.last("value"), pa.list_(pa.int64()), [[0], [1], None, [3]], [None, [3]]),
        (columns.any("value"), pa.bool_(), [False, None, True, None], [True, False]),
        (columns.all("value"), pa.bool_(), [False, None, True, None], [False, True]),
        (columns.count_unique("value"), pa.string(), ["a", "a", "a", None], [1, 1]),
        (columns.count_unique("value"), pa.float64(), [math.nan, 0.0, math.nan, -0.0], [1, 1]),
        (columns.count_unique("value"), pa.large_list(pa.int64()), [[1, 2], None, [1, 2], [3, 3]], [1, 1]),
        (columns.count_unique("value"), pa.list_(pa.int64()), [[], None, [1, 2], None], [2, 0]),
        (columns.quantile(0.25, "value"), pa.int64(), [9, 7, 1, None], [3.0, 7.0]),
        (columns.quantile(1, "value"), pa.float64(), [math.inf, None, math.inf, None], [math.inf, None]),
        (columns.count("value"), pa.struct([("a", pa.int64())]), [{"a": None}, None, {"a": 1}, None], [2, 0]),
    ],
)
def test_aggregates_of_every_type(made, kind, values, results, sizes):
    """The values of the keys a and b alternate; results are exact wherever the rows are cut.

    The aggregate is pickled, as it is for Spark's executors.
    """
    made = pickle.loads(pickle.dumps(made))
    if results is None:
        results = [min(values[::2]), None]

    cut, together = sizes
    found = dict(aggregate(made, table(cut, kind, list("abab"), values), together))

    assert [found["a"], "nan" if str(found["b"]) == "nan" else found["b"]] == results


FULL = [str(n) for n in range(128)]


@pytest.mark.sampled
@pytest.mark.parametrize("cut", [1, 3, 100])
@pytest.mark.parametrize(
    ("kind", "keys", "counts"),
    [
        (pa.float64(), [0.0, -0.0, math.nan, None, -math.nan, 1.5], [2, 2, 1, 1]),
        (pa.float16(), [0.0, -0.0, math.nan, None, math.nan, 1.5], [2, 2, 1, 1]),
        (pa.int64(), [5, 2**62, None, 5, -(2**63), 2**63 - 1], [2, 1, 1, 1, 1]),
        (pa.int8(), [-128, 127, -128, 0, 127, 127], [2, 3, 1]),
        (pa.uint64(), [2**64 - 1, 0, 2**64 - 1, None, 0, 0], [2, 3, 1]),
        (pa.list_(pa.int64()), [[1], [1, 2], None, [1], [], [None]], [2, 1, 1, 1, 1]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}, {"a": None}, None, {"a": 1}, None, None], [2, 1, 3]),
        (pa.dictionary(pa.int8(), pa.string()), ["b", None, "a", "b", None, "b"], [3, 2, 1]),
        (pa.decimal128(4, 1), [Decimal(1), Decimal(2), Decimal(1), None, None, None], [2, 1, 3]),
        (pa.timestamp("us", "UTC"), [7, 8, 7, None, None, 8], [2, 2, 2]),
        (pa.bool_(), [True, False, None, True, True, None], [3, 1, 2]),
        (pa.null(), [None] * 6, [6]),
        # The same text twice, and a null in a dictionary so full that a null's code would not fit the index type.
        (None, pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 1, 0]), ["a", "b", "a"]), [3, 2, 1]),
        (None, pa.DictionaryArray.from_arrays(pa.array([127, None, *[127] * 4], pa.int8()), FULL), [5, 1]),
    ],
)
def test_keys_of_every_type(kind, keys, counts, cut):
    """Zeros are equal, NaNs are equal, and null is a key; keys are in the order in which they first arrive."""
    keys = keys if kind is None else pa.array(keys, kind)
    found = aggregate(columns.count(), table(cut, pa.int64(), keys, range(6)), 1)

    assert [count for _, count in found] == counts


@pytest.mark.parametrize(
    ("kind", "least", "count"),
    [
        (pa.int8(), -100, 201),
        (pa.uint8(), 0, 256),
        (pa.int16(), -17_000, 34_001),
        (pa.uint16(), 1000, 34_001),
        (pa.int32(), -(2**31), 201),
        (pa.uint32(), 2**32 - 201, 201),
        (pa.int64(), -(2**63), 201),
        (pa.uint64(), 2**63 - 100, 201),
    ],
)
def test_integers_of_every_width_stay_distinct(kind, least, count):
    """The difference of two keys may not fit into their type, in reductions and in windows."""
    keys = range(least, least + count)
    rows = table(count, pa.int64(), pa.array(keys, kind), range(count))
    windows = columns.tumbling(count, "key", at="value", lateness=0, n=columns.count())

    assert aggregate(columns.count(), rows, 2 * count) == [(key, 1) for key in keys]
    assert ps.run(ps.pipe(rows, windows, ps.collect())) == [(0, count, key, 1) for key in keys]


def inverse_of(n):
    if n == 0:
        raise ValueError("no inverse")
    return 1 // n


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize(
    ("first", "values", "of", "why"),
    [
        (1, [2**63 - 1, 1, 1, 1], pl.col("n"), r"s=sum\(.*: a sum does not fit into 64 bits"),
        (MICRO, [HALF, HALF, DAY, DAY], "n", r"s=sum\(.*: a sum does not fit into 64 bits"),
        (Decimal(8), [Decimal(8 * 10**75)] * 4, "n", r"s=sum\(.*: its values are too large to be summed"),
        (1, ["1", "one", "1", "1"], pl.col("n").cast(pl.Int64), "conversion from `str` to `i64` failed"),
        (1, [1, 0, 1, 1], pl.col("n").map_elements(inverse_of, return_dtype=pl.Int64), "no inverse"),
    ],
)
def test_results_before_an_error_are_delivered(first, values, of, why, limit):
    """A time whose sum does not fit, or whose input fails, fails when it is complete, and hides no other time."""
    got = []
    kind = pa.array(values).type
    before = [first if kind != "string" else "1"] * 2
    batch = pa.record_batch({"t": [0, 1, 2, 2, 3, 4], "n": pa.array([*before, *values], kind)})
    table = in_arrow(batch, times=batch.column("t").to_pylist())

    with pytest.raises(ValueError, match=why):
        ps.run(ps.pipe(table, columns.reduce_by_time(s=columns.sum(of)), ps.drain(got.append)), limit=limit)

    assert got == [{"s": first}] * 2


def folds(*parts):
    cells = (zip(*part, strict=True) for part in parts)
    return in_arrow(*(pa.record_batch({"t": times, "n": texts}) for times, texts in cells))


@pytest.mark.parametrize("together", [1, 2, 100])
@pytest.mark.parametrize(
    "parts",
    [
        # The rows of time 2 cannot be aggregated in the first fold, in a later one, or in a later one of its own.
        ([(1, "1"), (2, "x")], [(3, "3"), (2, "2")], [(1, "1"), (3, "3")]),
        ([(1, "1"), (2, "2")], [(3, "3"), (2, "x")], [(1, "1"), (2, "2")]),
        ([(2, "2"), (1, "1")], [(2, "x"), (2, "2")], [(3, "3"), (1, "1")]),
    ],
)
def test_a_time_that_fails_in_one_fold_hides_no_other(parts, together, monkeypatch):
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


def test_results_and_merges_are_not_per_time(monkeypatch):
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
