"""Several complete times are sorted and joined in one query, with the same results as one by one."""

import datetime as dt
import math
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pullstream as ps
from adapters.arrow import ArrowRows
from tests.adapters.columns.kit import columns, in_arrow, pa
from tests.sampling import amount

QUERIED = ("adapters.columns.join", "adapters.columns.per_time")

KEYS = {
    "text": (pa.string(), st.sampled_from("ab")),
    "words": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from("ba")),
    "number": (pa.int64(), st.integers(-2, 2)),
    "small": (pa.int8(), st.integers(-2, 2)),
    "float": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan])),
    "moment": (pa.timestamp("us", "UTC"), st.integers(0, 2).map(lambda n: dt.datetime(2026, 1, 1 + n, tzinfo=dt.UTC))),
    "nothing": (pa.null(), st.none()),
    "struct": (pa.struct({"a": pa.int64()}), st.fixed_dictionaries({"a": st.none() | st.integers(0, 2)})),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 1), max_size=2)),
}


@st.composite
def batches(draw, kinds):
    """Batches of rows at times in any order, whose columns may change their types."""
    made = []
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=4)):
        type_, key = KEYS[kind]
        times = draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
        rows = [
            {"key": draw(st.none() | key), "at": draw(st.none() | st.integers(0, 9)), "n": len(made)} for _ in times
        ]
        schema = pa.schema([("key", type_), ("at", pa.int64()), ("n", pa.int64())])
        made.append((times, pa.RecordBatch.from_pylist(rows, schema)))
    return made


@ps.source
async def table(ctx, batches, form, early):
    with ctx.hold(0) as hold:
        for number, (times, batch) in enumerate(batches):
            hold.downgrade(early * number)
            yield ps.Batch.of([time + early * number for time in times], ArrowRows(batch, form[number % 2]))


MODULES = st.one_of(
    st.builds(
        lambda by, descending: lambda one, _: ps.pipe(one, columns.sort_by_time(*by, descending=descending)),
        st.sampled_from([["key"], ["key"], ["at", "key"], ["key", "at"], ["missing"], ["^k.*$"]]),
        st.booleans(),
    ),
    st.sampled_from(
        [
            *(
                {"on": on, "how": how}
                for on in ("key", ("key", "at"))
                for how in ("inner", "left", "full", "semi", "anti")
            ),
            *(
                {"on": on, "how": "asof", "at": "at", "strategy": s}
                for on in ((), "key")
                for s in ("backward", "nearest")
            ),
            {"on": "missing"},
        ]
    ).map(lambda options: lambda one, other: columns.join(one, other, **options)),
)

SAME = st.sampled_from(sorted(KEYS)).flatmap(lambda kind: st.tuples(*[batches([kind])] * 2))
OTHER = st.tuples(*[batches(["text", "nothing"]) | batches(["number", "small"]) | batches(["float", "number"])] * 2)


def exact(value):
    """A value in a form in which NaN equals itself, and -0.0 is not 0.0."""
    return {name: exact(part) for name, part in value.items()} if isinstance(value, dict) else repr(value)


def outcome(program, limit, *, check):
    found = []
    failure = None
    try:
        ps.run(ps.pipe(program, ps.timed(), ps.drain(found.append)), limit=limit, check=check)
    except ps.PullstreamError as exc:
        failure = str(exc).partition("composed at")[0], str(exc).rpartition(":")[2]
    return [(time, exact(row)) for time, row in found], failure


@settings(max_examples=amount(30, 1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    SAME | OTHER,
    MODULES,
    st.sampled_from([["rows"] * 2, ["rows", "dicts"]]),
    st.sampled_from([0, 3]),
    st.sampled_from([1, 2, 4096]),
)
def test_times_together_equal_times_one_by_one(both, module, form, early, limit):
    """Nulls, NaN, times without rows in a source, types that change or do not match, and failures at their times."""
    program = module(*(table(each, form, early) for each in both))

    together = outcome(program, limit, check=True)

    with pytest.MonkeyPatch.context() as patch:
        for name in QUERIED:
            patch.setattr(import_module(name), "alike", lambda *_: False)
        assert together == outcome(program, limit, check=False)


@pytest.mark.parametrize(
    "module", [lambda one: ps.pipe(one, columns.sort_by_time("n")), lambda one: columns.join(one, one, on="n")]
)
def test_many_complete_times_need_few_queries(module, monkeypatch):
    """One query for as many rows as a batch in columns has, which is sixteen times the limit."""
    sizes, rows_of = [], columns.frames.rows_of
    for name in (*QUERIED, "adapters.columns.together"):
        counted = lambda where, frame, form: sizes.append(len(frame)) or rows_of(where, frame, form)  # noqa: E731
        monkeypatch.setattr(import_module(name), "rows_of", counted)
    times = range(1000)
    rows = in_arrow(pa.record_batch({"n": times}), times=times)

    found = ps.run(ps.pipe(module(rows), ps.collect(timed=True)), limit=10)

    assert found == [(n, {"n": n}) for n in times]
    assert len(sizes) < 100
    assert max(sizes) <= 160
