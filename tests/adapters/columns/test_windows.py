"""Stamps and windows over a time column equal those of rows, including late rows and completions."""

import datetime as dt
import random
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pullstream as ps
from adapters.arrow import ArrowRows
from tests.adapters.columns.kit import aggregate_together, answers, columns, in_arrow, pa, pl
from tests.adapters.columns.test_aggregates import inverse_of
from tests.adapters.columns.test_random import AGGREGATES, get, listed, outcome, plain, result
from tests.sampling import amount

NAMES = ["size", "count", "sum", "total", "least", "first", "last", "unique", "median", "variance"]
KINDS = {
    "int": (pa.int64(), lambda n: n),
    "date": (pa.date32(), lambda n: dt.timedelta(days=n)),
    "timestamp": (pa.timestamp("ms", "Europe/Paris"), lambda n: n * 1000),
}
ROW = st.fixed_dictionaries(
    {
        "t": st.integers(-20, 40),
        "key": st.none() | st.sampled_from("ab"),
        "n": st.none() | st.integers(-3, 3),
        "price": st.none() | st.integers(-3, 3),
    }
)


def table(rows, cuts, kind):
    schema = pa.schema([("t", pa.int32()), ("key", pa.string()), ("n", pa.int64()), ("price", pa.decimal128(9, 2))])
    whole = pa.RecordBatch.from_pylist(rows, schema)
    times = whole.column("t") if kind == "date" else whole.column("t").cast(pa.int64())
    whole = whole.set_column(0, "t", times.cast(KINDS[kind][0]))
    ends = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
    return in_arrow(*(whole.slice(begin, end - begin) for begin, end in pairwise(ends)))


def by_rows(kind, shape, keys, options):
    stamp = ps.stamp(lambda row: row["t"], **options)
    if shape[0] == "stamp":
        return stamp
    numbers = [KINDS[kind][1](number) for number in shape[1:]]
    by_key = {"key": lambda row: get(row, "key")} if keys else {}
    window = getattr(ps, shape[0])(*numbers, listed(), **by_key)

    def made(window):
        name, rows = window.value if keys else (None, window.value)
        return {"start": window.start, "end": window.end, **({"key": name} if keys else {}), **result(rows, NAMES)}

    return ps.pipe(stamp, window, ps.map(made))


def by_columns(kind, shape, keys, options):
    if shape[0] == "stamp":
        return columns.stamp("t", **options)
    named = {name: AGGREGATES[name][0] for name in NAMES}
    numbers = [KINDS[kind][1](number) for number in shape[1:]]
    return getattr(columns, shape[0])(*numbers, *(["key"] if keys else []), at="t", **options, **named)


@settings(max_examples=amount(30, 2000), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(ROW, max_size=16),
    st.tuples(
        st.lists(st.integers(0, 16), max_size=8),
        st.sampled_from([1, 7, 4096]),
        st.booleans(),
        st.sampled_from([1, 3, 6, columns.windows.TOGETHER]),
    ),
    st.sampled_from(sorted(KINDS)),
    st.one_of(
        st.tuples(st.just("tumbling"), st.integers(1, 12)),
        st.tuples(st.just("sliding"), st.integers(1, 12), st.integers(1, 12)),
        st.tuples(st.just("sessions"), st.integers(1, 12)),
        st.just(("stamp",)),
    ),
    st.tuples(st.booleans(), st.integers(0, 60), st.sampled_from(["drop", "error", "sink"])),
)
def test_windows_of_columns_equal_rows(rows, run, kind, shape, options):
    """Tumbling, sliding (with gaps, too), sessions and rows alone, with and without keys, and with late rows.

    Few rows are aggregated together, so that windows have parts of several folds.
    """
    (cuts, limit, check, together), (keys, lateness, late) = run, options
    aside = {"rows": [], "columns": []}

    def given(name):
        sink = ps.drain(lambda row: aside[name].append(plain(row)))
        return {"lateness": KINDS[kind][1](lateness), "late": sink if late == "sink" else late}

    expected = outcome(table(rows, [], kind), by_rows(kind, shape, keys, given("rows")), 4096, check=False)
    with pytest.MonkeyPatch.context() as patch:
        aggregate_together(patch, together)
        found = outcome(table(rows, cuts, kind), by_columns(kind, shape, keys, given("columns")), limit, check=check)

    assert found == expected
    assert aside["columns"] == aside["rows"]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [("tumbling", 7), ("sliding", 9, 6), ("sessions", 2)])
@pytest.mark.parametrize("limit", [7, 100, 4096])
def test_many_rows_in_batches_of_any_size(shape, limit):
    """Windows close in the middle of batches, and rows that wait extend sessions that are due."""
    dice = random.Random(shape[1])
    rows = [
        {"t": at // 3 - dice.randint(0, 12), "key": dice.choice("abc"), "n": dice.randint(0, 9), "price": at}
        for at in range(1000)
    ]
    options = {"lateness": 9, "late": "drop"}

    expected = outcome(table(rows, [], "int"), by_rows("int", shape, True, options), 4096, check=False)

    assert len(expected[0]) > 100
    assert outcome(table(rows, [], "int"), by_columns("int", shape, True, options), limit, check=False) == expected


def at(*times, **options):
    return ps.values([{"t": time} for time in times], **options)


@pytest.mark.parametrize(
    ("make", "rows", "times"),
    [
        (partial(columns.tumbling, 10, at="t", n=columns.count()), [(0, 1), (20, 2), (40, 1)], [30, 40]),
        (partial(columns.stamp, "t"), [(5,), (25,), (24,), (40,)], [23, 38]),
    ],
)
def test_late_rows_stay_in_columns(make, rows, times):
    late = []

    found = ps.run(ps.pipe(at(5, 25, 3, 24, 1, 40, 31), make(lateness=2, late=answers(late)), ps.collect()), check=True)

    assert [tuple(row[name] for name in ("start", "n", "t") if name in row) for row in found] == rows
    assert [(batch.time, type(batch.values)) for batch in late] == [(time, ArrowRows) for time in times]
    assert [row for batch in late for row in batch.values] == [{"t": 3}, {"t": 1}, {"t": 31}]


def parted(*parts):
    return in_arrow(*(pa.record_batch({"t": times, "n": column}) for times, column in parts))


@pytest.mark.sampled(28)
@pytest.mark.parametrize("shape", ["tumbling", "sessions"])
@pytest.mark.parametrize(
    "run", [(1, 0, 99), (4096, 0, 99), (1, 20, 99), (4096, 20, 1), (4096, 20, 99), (1, 100, 1), (4096, 100, 2)]
)
@pytest.mark.parametrize(
    ("made", "parts", "why"),
    [
        (columns.sum("n"), [([1, 21, 22, 41], [2**62] * 4)], "a sum does not fit into 64 bits"),
        (columns.sum(pl.col("n").cast(pl.Int64)), [([1, 21, 22, 41, 99], [*"12x4x"])], "conversion from `str`"),
        (columns.sum(pl.col("n").map_elements(inverse_of, pl.Int64)), [([1, 22, 23], [1, 0, 1])], "no inverse"),
        (columns.min("n"), [([1, 21], [1, 2]), ([22, 41], [*"xy"])], "has values without a common type"),
        (columns.min("n"), [([1, 21], [1, 2**60 + 1]), ([22, 41], [0.5, 1.5])], "has values without a common type"),
        (columns.sum("n"), [([1], [1]), ([22, 41], [*"xy"])], "common type|sum\\(\\) needs numbers"),
        (
            columns.sum("n"),
            [([1], [1]), ([22, 41], [dt.timedelta(1)] * 2)],
            "common type|it had integers",
        ),
    ],
)
def test_windows_before_a_failing_one_are_delivered(made, parts, why, shape, run):
    """A failing window does not affect windows that ended before it, even if all are emitted together.

    This includes a failure while partial results are merged.
    """
    limit, lateness, together = run
    aggregated = getattr(columns, shape)(10, at="t", lateness=lateness, n=made)
    found = []

    with pytest.MonkeyPatch.context() as patch, pytest.raises(ValueError, match=why):
        aggregate_together(patch, together)
        ps.run(ps.pipe(parted(*parts), aggregated, ps.drain(found.append)), limit=limit)

    assert [row["start"] for row in found] == [parts[0][0][0] if shape == "sessions" else 0]


@pytest.mark.parametrize("limit", [1, 4096])
def test_a_session_that_a_failing_row_extends_is_not_delivered(limit):
    """It would lack the row; sessions of other keys that ended before the row are delivered."""
    rows = ps.values([{"t": t, "key": key, "n": n} for t, key, n in [(1, "a", "1"), (12, "b", "2"), (19, "b", "x")]])
    sums = columns.sessions(10, "key", at="t", lateness=50, n=columns.sum(pl.col("n").cast(pl.Int64)))
    found = []

    with pytest.raises(columns.ColumnError, match="conversion from `str`"):
        ps.run(ps.pipe(rows, sums, ps.drain(found.append)), limit=limit)

    assert found == [{"start": 1, "end": 11, "key": "a", "n": 1}]


DAY = dt.date(2026, 1, 1)


def of_types(*parts):
    return in_arrow(*(pa.record_batch({"t": pa.array([number], kind)}) for number, kind in parts))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((7, pa.int64()), (8, pa.timestamp("ns"))),
        ((DAY, pa.date32()), (8, pa.timestamp("us"))),
        ((7, pa.timestamp("us")), (8, pa.timestamp("us", "UTC"))),
        ((7, pa.timestamp("us")), ("noon", pa.string())),
    ],
)
def test_the_type_of_the_times_must_not_change(first, then):
    """A count of nanoseconds must not become a number without a unit; earlier rows are delivered."""
    got = []

    with pytest.raises(columns.ColumnError, match=r"stamp, .*'t' is (.*, but it was .* in earlier rows|string; times)"):
        ps.run(ps.pipe(of_types(first, then), columns.stamp("t"), ps.drain(got.append)))

    assert got == [{"t": first[0]}]


@pytest.mark.parametrize(
    ("parts", "times"),
    [
        ([(1, pa.int8()), (2, pa.uint64()), (3, pa.int64())], [1, 2, 3]),
        ([(7, pa.timestamp("s")), (8_000_000_999, pa.timestamp("ns"))], [7_000_000, 8_000_000]),
        ([(DAY, pa.date32()), (DAY.replace(day=2), pa.date64())], [DAY, DAY.replace(day=2)]),
    ],
)
def test_times_of_one_kind_may_differ_in_width(parts, times):
    found = ps.run(ps.pipe(of_types(*parts), columns.stamp("t"), ps.collect(timed=True)))

    assert [time for time, _ in found] == times
