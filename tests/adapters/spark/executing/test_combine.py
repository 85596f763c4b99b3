"""`reduce_by_key` on the executors: the driver's result and Spark's own, as times complete."""

import datetime as dt

import pytest

import pullstream as ps
from adapters import spark

pytestmark = pytest.mark.spark

DAYS = 10


@pytest.fixture
def frame(session):
    """Rows over ten days, mixed in three partitions."""
    return session.range(0, 10_000, 1, 3).selectExpr(
        "id", "date_add(date'2013-01-01', cast(id * 7 % 10 AS int)) AS day", "concat('k', id % 6) AS k"
    )


def by_k(row):
    return row.k


STATISTICS = ps.agg.several(
    n=ps.agg.count(),
    sum=ps.agg.sum(lambda row: row.id),
    mean=ps.agg.mean(lambda row: row.id),
    least=ps.agg.min(lambda row: row.id),
    median=ps.agg.quantile(0.5, lambda row: row.id),
    distinct=ps.agg.distinct(lambda row: row.id % 100),
)


class Tally:
    """A state of a class that only this test knows."""

    def __init__(self):
        self.n = 0

    def add(self, _):
        self.n += 1
        return self

    def merge(self, other):
        self.n += other.n
        return self


def results(source):
    return ps.run(ps.pipe(source, ps.collect(timed=True)))


def test_it_is_sparks_own_result(frame):
    """Sums per key and day, as groupBy gives them."""
    total = ps.agg.sum(lambda row: row.id)
    found = results(spark.reduce_by_key(frame, by_k, total, time="day"))
    own = frame.groupBy("day", "k").sum("id").collect()
    assert {(day, key): value for day, (key, value) in found} == {(row[0], row[1]): row[2] for row in own}
    assert len(found) == len(own)


def test_it_is_the_drivers_result(frame):
    """What the same fold gives where every row comes to the driver; days in order."""
    found = results(spark.reduce_by_key(frame, by_k, STATISTICS, time="day"))
    driver = ps.pipe(spark.from_dataframe(frame, time="day"), ps.reduce_by_key(by_k, STATISTICS))
    assert sorted(found, key=repr) == sorted(results(driver), key=repr)
    days = [day for day, _ in found]
    assert days == sorted(days)
    assert days[0] == dt.date(2013, 1, 1)


def test_without_a_time_everything_is_at_one(frame):
    """The whole frame by key."""
    found = results(spark.reduce_by_key(frame, by_k, ps.agg.count()))
    assert sorted(found) == sorted((0, (row[0], row[1])) for row in frame.groupBy("k").count().collect())


def test_a_state_may_be_of_a_class_of_ones_own(frame):
    """Classes that no executor could import travel with the functions, and are the same when they come back."""
    fold = ps.Fold(Tally, Tally.add, lambda tally: (type(tally) is Tally, tally.n), Tally.merge)
    found = results(spark.reduce_by_key(frame, lambda _: "all", fold, time="day"))
    assert [result for _, result in found] == [("all", (True, 1000))] * DAYS


def test_batches_are_folded_as_well(frame):
    """With Arrow batches a key is a batch's."""
    rows = ps.agg.sum(lambda batch: batch.num_rows)
    found = results(spark.reduce_by_key(frame, lambda _: "all", rows, time="day", as_="batches"))
    assert [result for _, result in found] == [("all", 1000)] * DAYS


def test_a_fold_that_cannot_be_merged_is_refused(frame):
    """When composing, with what to do."""
    with pytest.raises(ps.CompositionError, match=r"test_combine\.py:\d+.*merge="):
        spark.reduce_by_key(frame, by_k, ps.Fold(int, lambda n, _: n + 1), time="day")
    with pytest.raises(ps.CompositionError, match="has no column for time='dya'"):
        spark.reduce_by_key(frame, by_k, ps.agg.count(), time="dya")


def test_a_failure_of_the_keys_function_is_the_users(frame):
    """With its type and where it was."""
    with pytest.raises(spark.SparkJobError, match="by zero") as caught:
        results(spark.reduce_by_key(frame, lambda row: 1 // (row.id - 77), ps.agg.count(), time="day"))
    assert caught.value.raised == "ZeroDivisionError"
