"""Keyed streams through Spark Connect: the same functions, the same results."""

import json

import pytest

import pullstream as ps
from adapters import spark
from tests.adapters.spark.executing.program import ROCKSDB, SECOND

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def stateful(remote):
    """The session, with Spark's state in RocksDB and few partitions."""
    before = {name: remote.conf.get(name) for name in ROCKSDB}
    for name, setting in ROCKSDB.items():
        remote.conf.set(name, setting)
    yield remote
    for name, setting in before.items():
        remote.conf.set(name, setting)


def test_a_stream_for_each_key(stateful, tmp_path):
    """Windows in event time, in a query of the server."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [("a", 1, 5), ("b", 3, 1), ("a", 2, 6), ("a", 14, 7), ("end", 59, 0)]
    lines = [json.dumps({"key": key, "at": f"2026-03-02T10:00:{at:02}Z", "value": value}) for key, at, value in rows]
    (folder / "0.json").write_text("\n".join(lines))
    sums = spark.on_executors(
        ps.tumbling(10 * SECOND, ps.agg.sum(lambda row: row.value)),
        ps.map(lambda window: window.value),
        schema="key string, sum long",
        by="key",
        time="at",
    )
    stream = stateful.readStream.schema("key string, at timestamp, value long").json(str(folder))
    writing = stream.withWatermark("at", "1 second").transform(sums).writeStream.format("json")
    query = writing.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True)
    query.start(str(tmp_path / "out")).awaitTermination()
    found = stateful.read.schema("key string, sum long").json(str(tmp_path / "out")).collect()
    assert sorted(map(tuple, found)) == [("a", 7), ("a", 11), ("b", 1)]
    with pytest.raises(ps.CompositionError, match="goes by a clock"):
        stream.withWatermark("at", "1 second").transform(
            spark.on_executors(ps.debounce(1), schema="key string", by="key", time="at")
        )
