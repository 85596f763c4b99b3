"""Random programs give the same with columns as with rows: values, times, order and completions."""

import datetime as dt
import math
from decimal import Decimal
from statistics import fmean, median, variance

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pullstream as ps
from adapters.arrow import ArrowRows
from pullstream.errors import CapabilityError
from tests.adapters.columns.kit import columns, pa, pl
from tests.sampling import amount

UTC = dt.UTC
SCHEMA = pa.schema(
    [
        ("time", pa.int64()),
        ("key", pa.dictionary(pa.int32(), pa.string())),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us", "Europe/Paris")),
        ("parts", pa.list_(pa.struct([("a", pa.int32())]))),
        ("id", pa.int64()),
    ]
)
INTS = st.none() | st.integers(-5, 5) | st.sampled_from([2**53 + 1, -(2**53) - 1])
# Sums of these are exact, in any order.
FLOATS = st.none() | st.integers(-8, 8).map(lambda n: n / 4)
ROWS = st.fixed_dictionaries(
    {
        "time": st.integers(0, 4),
        "key": st.none() | st.sampled_from("abc"),
        "n": INTS,
        "x": FLOATS | st.just(math.nan),
        "price": st.none() | st.integers(-500, 500).map(lambda cents: Decimal(cents) / 100),
        "at": st.none() | st.integers(0, 2**50).map(lambda n: dt.datetime.fromtimestamp(n / 1e6, UTC)),
        "parts": st.none()
        | st.lists(st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 3)}), max_size=2),
    }
)


@ps.source
async def table(ctx, rows, cuts, form, timed=True):
    times = [row["time"] if timed else 0 for row in rows]
    whole = pa.RecordBatch.from_pylist(rows, SCHEMA)
    begin = 0
    for end in [*sorted(cuts), len(rows)]:
        end = min(end, len(rows))
        part = ArrowRows(whole.slice(begin, end - begin), form)
        for number, time in enumerate(times[begin:end]):
            if not number or time != times[begin + number - 1]:
                after = next((at for at in range(begin + number, end) if times[at] != time), end)
                yield ps.Batch(time, part[number : after - begin])
        begin = end


@ps.transformer
async def seen(upstream, ctx, ids):
    while (batch := await upstream.ask(ctx.limit)) is not ps.DONE:
        ids += [get(row, "id") for row in batch.values]
        yield batch


def merged(rows, cuts, form):
    """Two sources with ordered times, merged, so that the times of the result go back and forth."""
    first = len(rows) // 3
    return ps.merge(*(table(sorted(part, key=time_of), cuts, form) for part in (rows[:first], rows[first:])))


def stamped(stamp):
    """Rows out of order that get their times from a column."""
    return lambda rows, cuts, form: ps.pipe(table(rows, cuts, form, timed=False), stamp)


def time_of(row):
    return get(row, "time")


SOURCES = {
    "in order": lambda rows, cuts, form: table(sorted(rows, key=time_of), cuts, form),
    "merged": merged,
    "stamped by a column": stamped(columns.stamp("time", lateness=4)),
    "stamped by rows": stamped(ps.stamp(time_of, lateness=4)),
}


@ps.transformer
async def noted(upstream, ctx, events):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                if time not in events["met"]:
                    events["met"].append(time)
                    ctx.notify_at(time)
                yield ps.Batch(time, values)
            case ps.Completed(time):
                events["complete"].append(time)


def get(row, name):
    return row[name] if isinstance(row, dict) else getattr(row, name)


def put(row, **more):
    return {**row, **more} if isinstance(row, dict) else {**row._asdict(), **more}


def known(rows, name="n"):
    """The values of a column without nulls."""
    return [value for row in rows if (value := get(row, name)) is not None]


def over_seven(function, least=1):
    """A function of the numbers modulo seven, if there are enough."""

    def call(rows):
        found = [n % 7 for n in known(rows)]
        return function(found) if len(found) >= least else None

    return call


SEVEN = pl.col("n") % 7
AGGREGATES = {
    "size": (columns.count(), len),
    "count": (columns.count("n"), lambda rows: len(known(rows))),
    "sum": (columns.sum("n"), lambda rows: sum(known(rows))),
    "total": (columns.sum("price"), lambda rows: sum(known(rows, "price"))),
    "least": (columns.min("n"), lambda rows: min(known(rows), default=None)),
    "latest": (columns.max("at"), lambda rows: max(known(rows, "at"), default=None)),
    "mean": (columns.mean(SEVEN), over_seven(fmean)),
    "variance": (columns.variance(SEVEN), over_seven(variance, least=2)),
    "first": (columns.first("price"), lambda rows: get(rows[0], "price")),
    "last": (columns.last("key"), lambda rows: get(rows[-1], "key")),
    "any": (columns.any(pl.col("n") > 3), lambda rows: any(n > 3 for n in known(rows))),
    "all": (columns.all(pl.col("n") > 0), lambda rows: all(n > 0 for n in known(rows))),
    "unique": (columns.count_unique("n"), lambda rows: len(set(known(rows)))),
    "median": (columns.quantile(0.5, SEVEN), over_seven(median)),
}


def listed():
    return ps.Fold(list, lambda rows, row: [*rows, row])


def result(rows, names):
    return {name: AGGREGATES[name][1](rows) for name in names}


def by_key(names):
    rows = ps.pipe(
        ps.reduce_by_key(listed(), key=lambda row: get(row, "key")),
        ps.map(lambda pair: {"key": pair[0], **result(pair[1], names)}),
    )
    return rows, columns.reduce_by_key("key", **{name: AGGREGATES[name][0] for name in names})


def by_time(names):
    rows = ps.pipe(ps.reduce_by_time(listed()), ps.map(lambda rows: result(rows, names)))
    return rows, columns.reduce_by_time(**{name: AGGREGATES[name][0] for name in names})


def twice(row):
    n = get(row, "n")
    return put(row, n2=None if n is None else 2 * n + 1)


STEPS = {
    "filter": (lambda: ps.filter(lambda row: (get(row, "n") or 0) > 0), lambda: columns.filter(pl.col("n") > 0)),
    "keys": (
        lambda: ps.filter(lambda row: get(row, "key") == "a"),
        lambda: columns.filter(pl.col("key").cast(pl.String) == "a"),
    ),
    "nulls": (
        lambda: ps.filter(lambda row: get(row, "price") is not None),
        lambda: columns.filter(pl.col("price").is_not_null()),
    ),
    "with": (lambda: ps.map(twice), lambda: columns.with_columns(n2=2 * pl.col("n") + 1)),
    "take": (lambda: ps.take(9), lambda: ps.take(9)),
    "skip": (lambda: ps.skip(2), lambda: ps.skip(2)),
    "times": (lambda: ps.take_times(3), lambda: ps.take_times(3)),
    "prefetch": (lambda: ps.prefetch(5), lambda: ps.prefetch(5)),
    "rows": (lambda: ps.map(lambda row: row), lambda: ps.map(lambda row: row)),
}

SOME = st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, max_size=4, unique=True)
OTHERS = [
    (
        # It does not wait until a time is complete.
        ps.pipe(ps.unique_by_time(lambda row: get(row, "key")), ps.sort_by_time(lambda _: 0)),
        columns.distinct("key"),
    ),
    (
        ps.pipe(ps.filter(lambda row: get(row, "n") is not None), ps.sort_by_time(lambda row: get(row, "n"))),
        ps.pipe(columns.filter(pl.col("n").is_not_null()), columns.sort_by_time("n")),
    ),
    (
        ps.pipe(ps.reduce_by_time(listed()), ps.map(lambda rows: {"rows": len(rows)})),
        columns.per_time(lambda rows: rows.select(rows=pl.len().cast(pl.Int64))),
    ),
]
ENDS = SOME.map(by_key) | SOME.map(by_time) | st.sampled_from(OTHERS)


def plain(value):
    """A value in a form to compare: NaN equals itself, and rows are dicts."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else pytest.approx(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def outcome(source, program, limit, *, check):
    """The values with their times, and the order of times and completions; or the error for a late row."""
    events = {"met": [], "complete": []}
    try:
        found = ps.run(ps.pipe(source, program, noted(events), ps.collect(timed=True)), limit=limit, check=check)
    except CapabilityError:
        return CapabilityError
    return [(time, plain(row)) for time, row in found], events


@settings(max_examples=amount(30, 2000), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(ROWS, max_size=24).map(lambda rows: [{**row, "id": number} for number, row in enumerate(rows)]),
    st.tuples(st.sampled_from(sorted(SOURCES)), st.lists(st.integers(0, 24), max_size=12)),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=3),
    ENDS,
    st.tuples(
        st.sampled_from(["rows", "dicts"]),
        st.sampled_from([1, 7, 4096]),
        st.booleans(),
        st.sampled_from([1, 3, 6, columns.reducing.TOGETHER]),
    ),
)
def test_columns_equal_rows(rows, given, steps, end, run):
    """Nulls, NaN, decimals, zoned times, dictionaries, nested types, arbitrary cuts and every limit.

    Times may go back and forth. Few rows are aggregated together, and few partial results kept apart.
    """
    (kind, cuts), (by_rows, by_columns), (form, limit, check, together) = given, end, run
    ids = []
    source = SOURCES[kind](rows, cuts, form)
    if kind == "merged":
        source = ps.pipe(source, seen(ids))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns.reducing, "TOGETHER", together)
        found = outcome(source, ps.pipe(*(STEPS[step][1]() for step in steps), by_columns), limit, check=check)

    # The order in which rows of several sources arrive is not determined.
    arrived = [rows[number] for number in ids] if kind == "merged" else rows
    again = SOURCES["in order" if kind == "in order" else "stamped by rows"](arrived, [], form)
    assert found == outcome(again, ps.pipe(*(STEPS[step][0]() for step in steps), by_rows), 4096, check=False)
