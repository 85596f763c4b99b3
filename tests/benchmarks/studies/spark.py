"""Spark beside its own ways: reading frames, a micro-batch as a time, and keyed state in streams.

    python -m tests.benchmarks --only spark_reading -- [--rows N ...] [--master 'local-cluster[4,1,1024]']
    python -m tests.benchmarks --only spark_streaming
    python -m tests.benchmarks --only spark_keyed -- [--keys N]

Ways run in turns, the first round to warm up; figures are medians, ratios are medians of the rounds' ratios.
"""

import argparse
import gc
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import Row
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import pullstream as ps
from adapters import spark
from adapters.spark.reading.partitions import Partitions
from tests.benchmarks.workloads.sparks import COLUMNS

SECOND = 1_000_000
CONFIG = {
    # toArrow() has all rows in Java at once, which Spark would refuse above a gigabyte.
    "spark.driver.memory": "4g",
    "spark.driver.maxResultSize": "0",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}


def in_turns(ways, rounds=5):
    """Run each way, a function of nothing that returns what counts; print medians and ratios to the first."""
    found = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            gc.collect()
            figure = way()
            if turn:
                found[name].append(figure)
    base = next(iter(found.values()))
    for name, figures in found.items():
        ratio = statistics.median(own / other for own, other in zip(figures, base, strict=True))
        print(f"  {name:32} {statistics.median(figures):14,.1f}   x {ratio:.2f}", flush=True)


# ---- reading

FRAMES = {
    "narrow": COLUMNS,
    "wide": tuple(f"concat('row', id + {n}) AS text{n}" if n % 2 else f"id * {n + 1} AS number{n}" for n in range(20)),
    "shuffled": COLUMNS,
    "slow": (*COLUMNS[:2], "sha2(sha2(sha2(cast(id AS string), 512), 512), 512) AS text", COLUMNS[3]),
}


@contextmanager
def watching(*, at_all):
    """Do not look for shuffles that run again, or look and make digests of all that comes."""
    plan = Partitions._open

    def changed(reading):
        plan(reading)
        assert reading._reruns is not None, "it is behind a shuffle"
        reading._digests = at_all
        if not at_all:
            reading._reruns = None

    with patch.object(Partitions, "_open", changed):
        yield


def reading(session, given):
    """Rows a second of each way to bring a frame's rows to the driver; what is left in Java at the end."""
    for name, columns in FRAMES.items():
        for rows in given.rows:
            frame = session.range(0, rows, 1, 16).selectExpr(*columns)
            frame = frame.repartition(16, "id") if name == "shuffled" else frame

            def count(form="batches", frame=frame):
                lengths = ps.map_batches(lambda values: [sum(map(len, values)) if form == "batches" else len(values)])
                return ps.run(ps.pipe(spark.from_dataframe(frame, as_=form), lengths, ps.reduce(int.__add__, 0)))

            def watched(at_all, count=count):
                with watching(at_all=at_all):
                    return count()

            def rate(way, rows=rows):
                start = time.perf_counter()
                assert way() == rows
                return rows / (time.perf_counter() - start)

            # A query of its own each time, as ours are: the same one would find what its last run has shuffled.
            ways = {"toArrow()": lambda frame=frame: frame.select("*").toArrow().num_rows, "batches": count}
            if name == "shuffled":
                ways["batches, unwatched"] = lambda watched=watched: watched(at_all=False)
                ways["batches, watched, compared"] = lambda watched=watched: watched(at_all=True)
            else:
                ways |= {form: lambda form=form, count=count: count(form) for form in ("tuples", "rows", "dicts")}
            print(f"{name}, {rows:,} rows: rows a second")
            in_turns({way: lambda call=call, rate=rate: rate(call) for way, call in ways.items()})
            runtime = session._jvm.java.lang.Runtime.getRuntime()
            runtime.gc()
            print(f"  left in Java: {(runtime.totalMemory() - runtime.freeMemory()) >> 20} MB")


# ---- streams


@ps.sink
async def noting(upstream, ctx, note):
    """Note when a time is complete."""
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(number):
                ctx.notify_at(number)
            case ps.Completed():
                note()


def streaming(session, given):
    """Milliseconds from one micro-batch of 1,000 rows to the next, over a query whose body does nothing."""
    with tempfile.TemporaryDirectory() as made:
        root, checkpoints = Path(made), iter(range(1_000))
        for number in range(12):
            frame = session.range(number * 1000, (number + 1) * 1000, 1, 1).selectExpr(*COLUMNS)
            frame.write.parquet(str(root / "in" / f"{number:04}"))
        schema = "id long, value double, text string, at timestamp"

        def stream():
            reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            return reader.parquet(f"{root}/in/*"), root / f"checkpoint {next(checkpoints)}"

        def own(body):
            frame, checkpoint = stream()
            writer = frame.writeStream.foreachBatch(body).option("checkpointLocation", str(checkpoint))
            writer.trigger(availableNow=True).start().awaitTermination()

        def here(note):
            frame, checkpoint = stream()
            source = spark.from_streaming(frame, checkpoint=checkpoint, trigger="availableNow", as_="tuples")
            ps.run(ps.pipe(source, noting(note)))

        def between(run):
            notes = []
            run(lambda: notes.append(time.perf_counter()))
            return statistics.median(after - before for before, after in pairwise(notes[3:])) * 1000

        print("milliseconds a micro-batch")
        in_turns(
            {
                "empty body": lambda: between(lambda note: own(lambda df, batch: note())),
                "toArrow() in the body": lambda: between(lambda note: own(lambda df, n: (df.toArrow(), note())[1])),
                "from_streaming": lambda: between(here),
            },
            rounds=3,
        )


class ByHand(StatefulProcessor):
    """Rows counted in windows of ten seconds, as one would write it."""

    def init(self, handle):
        self.handle = handle
        self.counts = handle.getMapState("counts", "ends LONG", "n LONG")

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803 - Spark's names
        came = {}
        for row in rows:
            end = int(row.at.timestamp()) // 10 * 10 + 10
            came[end] = came.get(end, 0) + 1
        for end, count in came.items():
            known = self.counts.containsKey((end,))
            if not known:
                self.handle.registerTimer(end * 1000)
            self.counts.updateValue((end,), (count + (self.counts.getValue((end,))[0] if known else 0),))
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):  # noqa: N802, N803
        end = expiredTimerInfo.getExpiryTimeInMs() // 1000
        yield Row(key=key[0], n=self.counts.getValue((end,))[0])
        self.counts.removeKey((end,))

    def close(self):
        """Nothing is open."""


def keyed(session, given):
    """Each micro-batch has all rows of a window of ten seconds, of every key: milliseconds after the first."""
    with tempfile.TemporaryDirectory() as made:
        root, keys = Path(made), given.keys
        (root / "in").mkdir()
        for window in range(5):
            at = f"timestamp_micros(1000000000000 + ({10 * window} + id div {keys} * 9 div 20) * 1000000) AS at"
            frame = session.range(keys * 20).selectExpr(f"concat('k', id % {keys}) AS key", at, "id AS value")
            frame.coalesce(1).write.json(str(root / "part"))
            next((root / "part").glob("*.json")).rename(root / "in" / f"{window:03}.json")
            shutil.rmtree(root / "part")

        def stream():
            reader = session.readStream.schema("key string, at timestamp, value long").option("maxFilesPerTrigger", 1)
            return reader.json(str(root / "in")).withWatermark("at", "0 seconds")

        counted = spark.on_executors(
            ps.tumbling(10 * SECOND, ps.agg.count()),
            ps.map(lambda window: window.value),
            schema="key string, n long",
            by="key",
            time="at",
        )
        by_hand = stream().groupBy("key")
        window = sql.window("at", "10 seconds")
        for name, frame in {
            "Spark's own windows": stream().groupBy("key", window).count().select("key", sql.col("count").alias("n")),
            "on_executors": stream().transform(counted),
            "by hand": by_hand.transformWithState(ByHand(), "key string, n long", "Append", "EventTime"),
        }.items():
            out = root / name
            writing = frame.writeStream.format("json").option("checkpointLocation", str(out / "state"))
            query = writing.trigger(availableNow=True).start(str(out / "out"))
            query.awaitTermination()
            took = [each["durationMs"]["addBatch"] for each in query.recentProgress if each["numInputRows"]]
            median, results = statistics.median(took[1:]), session.read.json(str(out / "out")).count()
            print(f"  {name:24} {median:8,.0f} ms, {median / keys:.2f} ms a key   {results:,} results", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    session = spark.session(app_name="bench", master=given.master, config=CONFIG)
    studies = {"spark_reading": reading, "spark_streaming": streaming, "spark_keyed": keyed}
    studies[given.study](session, given)
    session.stop()


if __name__ == "__main__":
    sys.exit(main())
