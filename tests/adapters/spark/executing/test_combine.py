"""`reduce_by_key` on the executors: its results equal the driver's and Spark's own, as times complete."""

import datetime as dt
import pickle
from collections import Counter
from importlib.util import find_spec

import pyarrow as pa
import pytest

import pullstream as ps
from adapters import spark
from adapters.spark.executing import combining
from pullstream.authoring import Site
from tests.adapters.spark.helpers import on_both

pytestmark = pytest.mark.spark

ROWS, DAYS = 3_000, 10


@pytest.fixture
def frame(chosen):
    return chosen.range(0, ROWS, 1, 3).selectExpr(
        "id", "date_add(date'2013-01-01', cast(id * 7 % 10 AS int)) AS day", "concat('k', id % 6) AS k"
    )


def by_k(row):
    return row.k


STATISTICS = {
    "n": ps.agg.count(),
    "sum": ps.agg.sum(lambda row: row.id),
    "mean": ps.agg.mean(lambda row: row.id),
    "least": ps.agg.min(lambda row: row.id),
    "median": ps.agg.quantile(0.5, lambda row: row.id),
    "distinct": ps.agg.count_unique(lambda row: row.id),
}
SKETCHES = {
    "about the median": ps.agg.quantile(0.5, lambda row: row.id, approximate=True),
    "about so many": ps.agg.count_unique(lambda row: row.id, approximate=True),
    "common": ps.agg.most_common(1, lambda row: row.day.day, approximate=True),
}
"""Folds that are exact for few values, even when merged: each key has rows in three partitions."""


class Tally:
    def __init__(self):
        self.n = 0

    def add(self, batch):
        self.n += batch.num_rows
        return self

    def merge(self, other):
        self.n += other.n
        return self


def results(source):
    return ps.run(ps.pipe(source, ps.collect(timed=True)))


@on_both
def test_the_result_equals_the_drivers(frame):
    fold = ps.agg.several(**STATISTICS, **(SKETCHES if find_spec("datasketches") else {}))
    found = results(spark.reduce_by_key(frame, fold, key=by_k, time="day"))
    driver = ps.pipe(spark.from_dataframe(frame, time="day"), ps.reduce_by_key(fold, key=by_k))
    assert sorted(found, key=repr) == sorted(results(driver), key=repr)
    days = [day for day, _ in found]
    assert days == sorted(days)
    assert days[0] == dt.date(2013, 1, 1)


def test_every_row_is_folded_once(frame, tmp_path):
    """Even though Spark samples the states before it sorts them."""
    folder = str(tmp_path)

    def noted(row):
        import os
        from pathlib import Path

        with Path(f"{folder}/{os.getpid()}").open("a") as file:
            file.write("x")
        return row.k

    assert len(results(spark.reduce_by_key(frame, ps.agg.count(), key=noted, time="day"))) > DAYS
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == ROWS


def test_spark_sorts_states_not_rows(frame):
    """A partition is folded while it is read."""
    source = spark.reduce_by_key(frame, ps.agg.count(), key=by_k, time="day")
    plan = source.modules[0].args[0].frame._jdf.queryExecution().optimizedPlan().toString()
    sorts, folds = plan.index("Sort"), plan.index("MapInArrow")
    assert sorts < folds
    assert "Sort" not in plan[folds:]


def test_states_are_emitted_in_portions(monkeypatch):
    """An executor keeps no more rows, however many keys and times there are; emitted states are merged."""
    monkeypatch.setattr(combining, "ROWS", 300)
    batches = [
        pa.record_batch({"n": list(range(begin, begin + 100)), "time": [n % 7 for n in range(100)]})
        for begin in range(0, 1000, 100)
    ]
    schema = pa.schema([("time", pa.int64()), ("states", pa.binary())])
    plan = combining.CombiningPlan(ps.agg.count(), _third, "tuples", ("n",), "time", schema, Site.here())
    left = list(combining.run(pickle.dumps(plan), iter(batches)))
    assert len(left) == 4
    counts = Counter()
    for part in left:
        for row in part.to_pylist():
            for key, count in pickle.loads(row["states"]):
                counts[row["time"], key] += count
    assert counts == Counter((n % 100 % 7, n % 3) for n in range(1000))


def _third(row):
    return row[0] % 3


def test_arrow_batches_are_folded_into_a_user_defined_state(frame):
    """A class that executors cannot import is sent with the functions, and is the same class when states return."""
    fold = ps.Fold(Tally, Tally.add, lambda tally: (type(tally) is Tally, tally.n), Tally.merge)
    found = results(spark.reduce_by_key(frame, fold, key=lambda _: "all", time="day", as_="batches"))
    assert [result for _, result in found] == [("all", (True, ROWS // DAYS))] * DAYS


def test_an_error_in_the_key_function_is_raised(frame):
    with pytest.raises(spark.SparkJobError, match="by zero") as caught:
        results(spark.reduce_by_key(frame, ps.agg.count(), key=lambda row: 1 // (row.id - 77), time="day"))
    assert caught.value.raised == "ZeroDivisionError"
    message = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "raised in reduce_by_key, composed at" in message
    assert "raised in reduce_by_key[executors], composed at" in message
    assert "from_dataframe" not in message


def test_a_null_time_is_reported_with_its_column(session):
    frame = session.sql("SELECT * FROM VALUES (1, 'a'), (NULL, 'b') AS t(`the.day`, k)")
    with pytest.raises(spark.SparkJobError, match=r"no time in 1 of the next \d rows: 'the\.day' is null") as caught:
        results(spark.reduce_by_key(frame, ps.agg.count(), key=by_k, time="the.day"))
    assert "raised in reduce_by_key, composed at" in str(caught.value)


def test_a_state_that_cannot_be_pickled_has_its_own_error(frame):
    """It does not blame a module of the user."""
    fold = ps.Fold(lambda: (n for n in ()), lambda state, _: state, merge=lambda state, _: state)
    with pytest.raises(spark.SparkJobError, match="cannot pickle 'generator' object") as caught:
        results(spark.reduce_by_key(frame, fold, key=by_k, time="day"))
    assert "raised in reduce_by_key, composed at" in str(caught.value)
