"""The change feed of a table, read as a DataFrame, gives the table."""

import pytest

import pullstream as ps
from adapters import spark
from pullstream.incremental import change_of, integrate

pytestmark = pytest.mark.spark

FEED = [
    (1, "tea", 3, "insert", 0),
    (2, "rye", 2, "insert", 0),
    (1, "tea", 3, "update_preimage", 1),
    (1, "tea", 4, "update_postimage", 1),
    (3, "oats", 1, "insert", 2),
    (2, "rye", 2, "delete", 3),
]


@pytest.mark.parametrize("as_", ["rows", "dicts"])
def test_a_change_feed_gives_each_version_of_the_table(session, as_):
    """With rows of a DataFrame in any order."""
    columns = "id int, item string, price int, _change_type string, _commit_version long"
    feed = session.createDataFrame(FEED[::-1], columns).selectExpr("*", "timestamp'2026-03-02' AS _commit_timestamp")
    source = spark.from_dataframe(feed, time="_commit_version", as_=as_)
    tables = ps.run(ps.pipe(source, ps.map(change_of), integrate(), ps.collect(timed=True)))
    assert [(version, sorted(table)) for version, table in tables] == [
        (0, [(1, "tea", 3), (2, "rye", 2)]),
        (1, [(1, "tea", 4), (2, "rye", 2)]),
        (2, [(1, "tea", 4), (2, "rye", 2), (3, "oats", 1)]),
        (3, [(1, "tea", 4), (3, "oats", 1)]),
    ]
    assert change_of(feed.first()) == ((2, "rye", 2), -1)
