"""Keyed state in streams: `on_executors` against a processor by hand (`transformWithState`), and Spark's own windows.

    python -m tests.benchmarks --only spark_keyed -- [keys] [rows a key and window] [windows]

Each micro-batch has all the rows of one window of ten seconds, of every key. A figure is the time of a micro-batch
after the first, the median, and what that is for each key; absolute figures are of this machine, now.
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import pullstream as ps
from adapters import spark

SECOND = 1_000_000
CONFIG = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}


class ByHand(StatefulProcessor):
    """Rows counted in windows of ten seconds, as one would write it."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.counts = handle.getMapState("counts", "ends LONG", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        came: dict[int, int] = {}
        for row in rows:
            end = int(row.at.timestamp()) // 10 * 10 + 10
            came[end] = came.get(end, 0) + 1
        for end, count in came.items():
            known = self.counts.containsKey((end,))
            if not known:
                self.handle.registerTimer(end * 1000)
            self.counts.updateValue((end,), (count + (self.counts.getValue((end,))[0] if known else 0),))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        end = expiredTimerInfo.getExpiryTimeInMs() // 1000
        yield Row(key=key[0], n=self.counts.getValue((end,))[0])
        self.counts.removeKey((end,))

    def close(self) -> None:
        """Nothing is open."""


def arrive(session: Any, folder: Path, keys: int, rows: int, windows: int) -> None:
    """A file for every window."""
    folder.mkdir()
    for window in range(windows):
        at = f"timestamp_micros(1000000000000 + ({10 * window} + id div {keys} * 9 div {rows}) * 1000000) AS at"
        part = folder.parent / "part"
        frame = session.range(keys * rows).selectExpr(f"concat('k', id % {keys}) AS key", at, "id AS value")
        frame.coalesce(1).write.json(str(part))
        next(part.glob("*.json")).rename(folder / f"{window:03}.json")
        shutil.rmtree(part)


def micro_batches(session: Any, name: str, frame: Any, root: Path, keys: int) -> None:
    """Run a query over all files, a window at a time, and print what a micro-batch took."""
    out = root / name.replace(" ", "_")
    writing = frame.writeStream.format("json").option("checkpointLocation", str(out / "state"))
    query = writing.trigger(availableNow=True).start(str(out / "out"))
    query.awaitTermination()
    times = [each["durationMs"]["addBatch"] for each in query.recentProgress if each["numInputRows"]]
    median = statistics.median(times[1:])
    results = session.read.json(str(out / "out")).count()
    each = median / keys
    print(f"{name:<32} {median:>8,.0f} ms a micro-batch {each:>8.2f} ms a key   {results:,} results", flush=True)


def main(keys: int, rows: int, windows: int) -> None:
    session = spark.session(app_name="bench", master="local[2]", config=CONFIG)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        arrive(session, root / "in", keys, rows, windows)

        def stream() -> Any:
            reader = session.readStream.schema("key string, at timestamp, value long").option("maxFilesPerTrigger", 1)
            return reader.json(str(root / "in")).withWatermark("at", "0 seconds")

        counted = spark.on_executors(
            ps.tumbling(10 * SECOND, ps.agg.count()),
            ps.map(lambda window: window.value),
            schema="key string, n long",
            by="key",
            time="at",
        )
        by_hand: Any = stream().groupBy("key")
        window = sql.window("at", "10 seconds")
        frames = {
            "on_executors": stream().transform(counted),
            "by hand": by_hand.transformWithState(ByHand(), "key string, n long", "Append", "EventTime"),
            "Spark's own windows": stream().groupBy("key", window).count().select("key", sql.col("count").alias("n")),
        }
        for name, frame in frames.items():
            micro_batches(session, name, frame, root, keys)
    session.stop()


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *[1000, 20, 5][len(given) :])
