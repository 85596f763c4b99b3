"""A program for the tests to kill: keyed streams, whose state is in Spark's checkpoint."""

import sys

import pullstream as ps
from adapters import spark
from tests.pullstream.common import totals

SCHEMA = "key string, at timestamp, value long"
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}
SECOND = 1_000_000


def value(row):
    return row.value


TRANSFORMERS = [
    ps.fork(
        ps.pipe(ps.tumbling(5 * SECOND, ps.agg.sum(value)), ps.map(lambda window: ("tumbling", window.value))),
        ps.pipe(ps.sliding(6 * SECOND, 2 * SECOND, ps.agg.count()), ps.map(lambda window: ("sliding", window.value))),
        ps.pipe(ps.sessions(3 * SECOND, ps.agg.max(value)), ps.map(lambda window: ("session", window.value))),
        ps.pipe(ps.reduce_by_time(ps.agg.min(value)), ps.map(lambda least: ("min", least))),
        ps.pipe(ps.accumulate(ps.agg.count()), ps.map(lambda count: ("count", count))),
        ps.pipe(ps.map(value), totals(), ps.map(lambda total: ("total", total))),
    )
]


RESULTS = "key string, at timestamp, kind string, result long"


def keyed(df):
    parts = spark.on_executors(*TRANSFORMERS, schema=RESULTS, by="key", time="at")
    return df.withWatermark("at", "2 seconds").transform(parts)


def landing(session, folder, files=1):
    return session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).json(str(folder))


def main(folder, checkpoint, out):
    session = spark.session(master="local[2]", config=ROCKSDB)
    writing = keyed(landing(session, folder)).writeStream.format("json").option("checkpointLocation", checkpoint)
    writing.trigger(availableNow=True).start(out).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
