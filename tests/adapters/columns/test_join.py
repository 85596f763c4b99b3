"""Joins of columns equal a comparison of every row with every other, time by time, for keys of every type."""

import datetime as dt
import math
from contextlib import nullcontext
from decimal import Decimal
from importlib import import_module

import pytest
import trio
from hypothesis import HealthCheck, given, settings, strategies as st

import pullstream as ps
from adapters.arrow import ArrowRows
from pullstream.timely import Product
from tests.adapters.columns.kit import columns, in_arrow, pa, pl
from tests.sampling import amount

ROWS = st.lists(
    st.fixed_dictionaries(
        {"time": st.integers(0, 3), "key": st.none() | st.sampled_from("ab"), "at": st.integers(0, 9)}
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: sorted(rows, key=lambda row: row["time"]))


@ps.source
async def table(ctx, rows, name):
    kind = pa.dictionary(pa.int32(), pa.string()) if name == "l" else pa.string()
    schema = pa.schema([("key", kind), ("at", pa.int64()), (name, pa.int64())])
    for time in sorted({row["time"] for row in rows}):
        some = [{**row, name: number} for number, row in enumerate(rows) if row["time"] == time]
        yield ps.Batch(time, ArrowRows(pa.RecordBatch.from_pylist(some, schema), "dicts"))


def expected(left, right, how):
    found = []
    lefts = [{**row, "l": number} for number, row in enumerate(left)]
    rights = [{**row, "r": number} for number, row in enumerate(right)]
    for one in lefts:
        same = [other for other in rights if other["time"] == one["time"] and other["key"] == one["key"] is not None]
        if how in {"semi", "anti"}:
            found += [(one["time"], one["l"])] if bool(same) == (how == "semi") else []
        else:
            found += [(one["time"], one["l"], other["r"]) for other in same]
            found += [(one["time"], one["l"], None)] if how != "inner" and not same else []
    if how == "full":
        matched = {number for _, _, number in found}
        found += [(other["time"], None, other["r"]) for other in rights if other["r"] not in matched]
    return found


def order(row):
    return tuple(-1 if part is None else part for part in row)


@settings(max_examples=amount(40, 1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ROWS,
    ROWS,
    st.sampled_from(["inner", "left", "full", "semi", "anti"]),
    st.sampled_from([1, 7, 4096]),
    st.booleans(),
)
def test_a_join_pairs_equal_keys_at_equal_times(left, right, how, limit, check):
    """Nulls match nothing; every time is joined when it is complete; dictionaries match plain text."""
    joined = columns.join(table(left, "l"), table(right, "r"), on="key", how=how)

    found = ps.run(ps.pipe(joined, ps.collect(timed=True)), limit=limit, check=check)

    rows = [(time, row.get("l"), *([] if how in {"semi", "anti"} else [row.get("r")])) for time, row in found]
    assert [time for time, *_ in rows] == sorted(time for time, *_ in rows)
    assert sorted(rows, key=order) == sorted(expected(left, right, how), key=order)


@settings(max_examples=amount(30, 1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(ROWS, ROWS, st.sampled_from(["backward", "forward", "nearest"]), st.sampled_from([1, 7, 4096]))
def test_asof_joins_of_columns_and_rows_agree(left, right, strategy, limit):
    options = {"how": "asof", "strategy": strategy}
    one, two = table(left, "l"), table(right, "r")
    of_columns = columns.join(one, two, on="key", at="at", **options)
    # A null matches nothing.
    of_rows = ps.join(one, two, on=lambda row: row["key"] or object(), at=lambda row: row["at"], **options)

    found = ps.run(ps.pipe(of_columns, ps.collect(timed=True)), limit=limit)
    pairs = ps.run(ps.pipe(of_rows, ps.collect(timed=True)), limit=limit)

    assert [(time, row["l"], row.get("r")) for time, row in found] == [
        (time, one["l"], other and other["r"]) for time, (one, other) in pairs
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_a_key_without_values_has_the_type_of_the_other_source(turned):
    """At the first time all keys of a source are null, so their type is unknown; later they are text."""
    both = [
        ps.values([{"t": time, "key": key} for time, key in keys], time=lambda row: row["t"])
        for keys in ([(1, None), (2, "a"), (3, None)], [(1, "b"), (2, "a"), (3, "a")])
    ]

    rows = ps.run(ps.pipe(columns.join(*both[:: -1 if turned else 1], on="key", how="left"), ps.collect()), limit=1)

    assert [(row["key"], row["t_right"]) for row in rows] == (
        [("b", None), ("a", 2), ("a", None)] if turned else [(None, None), ("a", 2), (None, None)]
    )


DAYS = [{"day": 1, "k": "a"}, {"day": 2, "k": "a"}, {"day": 3, "k": "b"}]
VALUES = [{"day": 2, "k": "a", "v": 7}, {"day": 4, "k": "c", "v": 8}]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("slow", [None, 0, 1])
@pytest.mark.parametrize("limit", [1, 4096])
@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("inner", (DAYS, VALUES), [(2, "a", 2, 7)]),
        ("semi", (DAYS, VALUES), [(2, "a")]),
        ("anti", (DAYS, VALUES), [(1, "a"), (3, "b")]),
        ("left", (DAYS, VALUES), [(1, "a", None, None), (2, "a", 2, 7), (3, "b", None, None)]),
        ("asof", (DAYS, VALUES), [(1, "a", None), (2, "a", 7), (3, "b", None)]),
        ("full", (DAYS, VALUES), [(1, "a", None, None), (2, "a", 2, 7), (3, "b", None, None), (None, "c", 4, 8)]),
        ("full", (VALUES, DAYS), [(None, "a", None, 1), (2, "a", 7, 2), (None, "b", None, 3), (4, "c", 8, None)]),
        *((how, (DAYS, []), DAYS) for how in ("left", "asof", "full", "anti")),
        *((how, both, []) for both in [(DAYS, []), ([], DAYS)] for how in ("inner", "semi")),
        ("full", ([], DAYS), DAYS),
    ],
)
def test_result_columns_do_not_depend_on_the_first_answer(how, given, expected, slow, limit):
    """Results wait for the columns of a source without rows at the first times, or for its end if it has no rows."""

    @ps.source
    async def rows(ctx, number, rows):
        for row in rows:
            if number == slow:
                await trio.testing.wait_all_tasks_blocked()
            yield ps.Batch(row["day"], [row])

    options = {"at": "day"} if how == "asof" else {}
    joined = columns.join(*(rows(*each) for each in enumerate(given)), on="k", how=how, **options)

    found = ps.run(ps.pipe(joined, ps.collect()), limit=limit)

    assert [tuple(row.values()) for row in found] == [
        tuple(row.values()) if isinstance(row, dict) else row for row in expected
    ]


@pytest.mark.parametrize("how", ["left", "full"])
@pytest.mark.parametrize("fails", [False, True])
def test_complete_times_wait_for_the_first_row_or_the_end(how, fails):
    """Also if the source has advanced past them; a source that fails before its first row has no columns."""
    got = []

    @ps.source
    async def late(ctx):
        ctx.advance(9)
        await trio.testing.wait_all_tasks_blocked()
        assert got == []
        if fails:
            raise ValueError("no more")
        yield ps.Batch(9, [{"k": "d", "v": 1}])

    joined = columns.join(ps.values(DAYS, time=lambda row: row["day"]), late(), on="k", how=how)

    with pytest.raises(ValueError, match="no more") if fails else nullcontext():
        ps.run(ps.pipe(joined, ps.drain(got.append)))

    rows = [{**row, **({} if fails else {"v": None})} for row in DAYS]
    assert got == rows + ([{"day": None, "k": "d", "v": 1}] if how == "full" and not fails else [])


@pytest.mark.parametrize("first", [True, False])
def test_a_source_far_ahead_waits(first, monkeypatch):
    """Memory holds the rows of the open times, and a bounded number of later rows."""
    monkeypatch.setattr(import_module("adapters.columns.join"), "AHEAD", 20)
    given, ahead = [], []

    @ps.source
    async def many(ctx):
        for time in range(60):
            for _ in range(5):
                given.append(time)
                yield ps.Batch(time, [{"key": time}])

    @ps.source
    async def few(ctx):
        for time in range(60):
            ahead.append(len(given) - 5 * time)
            yield ps.Batch(time, [{"key": time}])

    sources = (many(), few()) if first else (few(), many())
    found = len(ps.run(ps.pipe(columns.join(*sources, on="key"), ps.collect()), limit=1))

    assert found == 300
    assert max(ahead) <= 30
    assert given == [time for time in range(60) for _ in range(5)]


def test_unordered_times():
    times = [Product(0, 1), Product(1, 0), Product(1, 1)]
    one, two = (
        [ps.values([{"key": 1, name: repr(time)}], time=lambda _, time=time: time) for time in times] for name in "lr"
    )

    found = ps.run(ps.pipe(columns.join(ps.merge(*one), ps.merge(*two), on="key"), ps.collect(timed=True)))

    assert sorted(found, key=repr) == sorted(
        [(time, {"key": 1, "l": repr(time), "r": repr(time)}) for time in times], key=repr
    )


@pytest.mark.parametrize(
    ("how", "ending", "times"),
    [
        ("inner", 0, [0, 1, 2]),
        ("inner", 1, [0, 1, 2]),
        ("semi", 1, [0, 1, 2]),
        ("left", 0, [0, 1, 2]),
        ("anti", 0, []),
        ("asof", 0, [0, 1, 2]),
    ],
)
def test_it_ends_when_no_result_can_follow(how, ending, times):
    """Once one source has ended, there are no more results, so the other one, which is endless, is aborted."""

    def rows(number):
        count = ps.pipe(ps.integers(), ps.take(3)) if number == ending else ps.integers()
        return ps.pipe(count, ps.stamp(lambda n: n), ps.map(lambda n: {"key": 0, "at": n}))

    joined = columns.join(rows(0), rows(1), on="key", how=how, **{"at": "at"} if how == "asof" else {})
    assert [row["at"] for row in ps.run(ps.pipe(joined, ps.collect()))] == times


MOMENT = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
DECIMAL = pa.decimal128(9, 2)
UTC = pa.timestamp("us", "UTC")


def of_one_column(name, values, kind):
    return in_arrow(pa.record_batch({"k": pa.array(values, kind), name: range(len(values))}))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "asof"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (([Decimal("1.50"), Decimal(2)], DECIMAL), ([Decimal("1.5000")], pa.decimal128(20, 4))),
        (([Decimal(2), Decimal(3)], DECIMAL), ([2], pa.int8())),
        (([5, 6], pa.uint64()), ([-7, 5], pa.int64())),
        (([0.5, 1.0], pa.float32()), ([0.5], pa.float64())),
        (([MOMENT], pa.timestamp("s", "Europe/Paris")), ([MOMENT], pa.timestamp("ns", "Asia/Tokyo"))),
        (([MOMENT.replace(tzinfo=None)], pa.timestamp("ns")), ([MOMENT.replace(tzinfo=None)], pa.timestamp("ms"))),
        (([dt.timedelta(1)], pa.duration("us")), ([dt.timedelta(1)], pa.duration("s"))),
    ],
)
def test_equal_keys_of_two_types_match(one, other, how):
    """Scale, width, unit and zone do not matter; the column keeps its type from the first source."""
    keys = {"how": how, "at": "k"} if how == "asof" else {"how": how, "on": "k"}
    joined = columns.join(of_one_column("l", *one), of_one_column("r", *other), **keys)

    found = ps.run(ps.pipe(joined, columns.collect_table()))

    pairs = [(row["l"], row.get("r")) for row in found.to_dicts() if row["l"] is not None]
    assert pairs[0] == (0, None if how == "semi" else len(other[0]) - 1)
    if how != "full":
        assert found.schema["k"] == pl.from_arrow(pa.table({"k": pa.array([], one[1])})).schema["k"]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (["1"], [1], r"'k' is String in source 1, but Int64 in source 2; .*pl.col\('k'\).cast\(pl.String\)\)"),
        ([1], [1.0], r"'k' is Int64 in source 1, but Float64"),
        ([[1]], pa.array([[1]], pa.list_(pa.int8())), r"'k' is List\(Int64\) in source 1, but List\(Int8\)"),
        ([MOMENT], [MOMENT.replace(tzinfo=None)], r"pl.col\('k'\).dt.replace_time_zone\('UTC'\)"),
        (pa.array([2**55], UTC), pa.array([1], pa.timestamp("ns", "UTC")), r"failed in column 'k'"),
        ([Decimal(10**37)], [Decimal("0.01")], r"failed in column 'k'"),
    ],
)
@pytest.mark.parametrize("keys", [{"on": "k"}, {"how": "asof", "at": "k"}])
def test_an_error_names_incomparable_keys(one, other, why, keys):
    joined = columns.join(
        of_one_column("l", one, getattr(one, "type", None)),
        of_one_column("r", other, getattr(other, "type", None)),
        **keys,
    )

    with pytest.raises(columns.ColumnError, match=f"join, composed .*{why}"):
        ps.run(ps.pipe(joined, ps.drain()))


@pytest.mark.parametrize("strategy", ["backward", "forward", "nearest"])
def test_nan_has_no_asof_match(strategy):
    left = ps.values([{"at": at, "l": number} for number, at in enumerate([math.nan, 5.0, math.nan, 1.0])])
    right = ps.values([{"at": at, "r": at} for at in [9.0, math.nan, 1.0, 5.0, math.nan]])
    of_columns = columns.join(left, right, how="asof", at="at", strategy=strategy)
    of_rows = ps.join(left, right, on=lambda _: 0, how="asof", at=lambda row: row["at"], strategy=strategy)

    found = [(row["l"], row["r"]) for row in ps.run(ps.pipe(of_columns, ps.collect()))]
    pairs = [(one["l"], other and other["r"]) for one, other in ps.run(ps.pipe(of_rows, ps.collect()))]

    assert found == pairs == [(3, 1.0), (1, 5.0), (0, None), (2, None)]
    alone = columns.join(left, ps.empty(), how="asof", at="at", strategy=strategy)
    assert [row["l"] for row in ps.run(ps.pipe(alone, ps.collect()))] == [3, 1, 0, 2]


def test_an_asof_join_without_a_common_time_says_so(caplog):
    one, other = (ps.values([{"at": 1}], time=lambda _, time=time: time) for time in (1, 2))
    ps.run(ps.pipe(columns.join(one, other, how="asof", at="at"), ps.drain()))
    assert "have no time in common" in caplog.text
