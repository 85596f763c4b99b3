"""What a micro-batch costs as a time: latency against Spark's own foreachBatch, and rows a second.

    python -m tests.benchmarks --only spark_streaming -- [ROWS]

Latency is from one micro-batch to the next, of 1,000 rows each, over a query whose body does nothing and over one
whose body fetches the rows with toArrow(); ratios are of medians, of queries run in turns. Throughput is of ROWS rows
(1,000,000), 500,000 to a micro-batch, as tuples and as Arrow batches, over a body that fetches them with toArrow().
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pullstream as ps
from adapters import spark

REPEATS = 3
BATCHES = 12
SCHEMA = "number long, real double, text string, at timestamp"

Body = Callable[[Any, int], None]


class Files:
    """A folder of Parquet files, each a micro-batch."""

    def __init__(self, session: Any, root: Path, files: int, rows: int) -> None:
        self.session, self.root, self.folder, self.runs = session, root, root / f"{files}x{rows}", 0
        for number in range(files):
            columns = ("id AS number", "id / 7 AS real", "cast(id AS string) AS text", "timestamp_seconds(id) AS at")
            frame = session.range(number * rows, (number + 1) * rows, 1, 2).selectExpr(*columns)
            frame.coalesce(1).write.parquet(str(self.folder / f"{number:04}"))

    def stream(self) -> Any:
        """The stream of them, and a checkpoint of its own."""
        self.runs += 1
        reader = self.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(f"{self.folder}/*"), self.root / f"checkpoint {self.runs}"

    def own(self, body: Body) -> None:
        """Spark's own query."""
        frame, checkpoint = self.stream()
        writer = frame.writeStream.foreachBatch(body).option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    def source(self, as_: Any = "tuples") -> ps.Source[Any]:
        """Ours."""
        frame, checkpoint = self.stream()
        return spark.from_streaming(frame, checkpoint=checkpoint, trigger="availableNow", as_=as_)


def between(run: Callable[[Callable[[], None]], None]) -> float:
    """The median time, in milliseconds, from one note to the next; the first ones are for warming up."""
    notes: list[float] = []
    run(lambda: notes.append(time.perf_counter()))
    return statistics.median(b - a for a, b in pairwise(notes[3:])) * 1000


@ps.sink
async def noting(upstream: ps.Reader[Any], ctx: ps.Context, note: Callable[[], None]) -> None:
    """Note when a time is complete."""
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(number):
                ctx.notify_at(number)
            case ps.Completed():
                note()


def latency(files: Files) -> None:
    """From one micro-batch to the next."""
    found: dict[str, list[float]] = {"empty body": [], "toArrow() in the body": [], "from_streaming": []}
    for _ in range(REPEATS):
        found["empty body"].append(between(lambda note: files.own(lambda df, batch: note())))
        found["toArrow() in the body"].append(
            between(lambda note: files.own(lambda df, batch: (df.toArrow(), note())[1]))
        )
        found["from_streaming"].append(between(lambda note: ps.run(ps.pipe(files.source(), noting(note)))))
    empty = statistics.median(found["empty body"])
    for name, times in found.items():
        middle = statistics.median(times)
        print(f"{name:40} {middle:8.0f} ms a micro-batch   {middle - empty:+6.0f} ms   {middle / empty:.2f} x")


def throughput(files: Files, rows: int) -> None:
    """Rows a second."""

    def seconds(run: Callable[[], object]) -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    pairs: list[tuple[float, float, float]] = []
    for _ in range(2):
        own = seconds(lambda: files.own(lambda df, batch: df.toArrow()))
        tuples = seconds(lambda: ps.run(ps.pipe(files.source(), ps.drain())))
        batches = seconds(lambda: ps.run(ps.pipe(files.source("batches"), ps.drain())))
        pairs.append((own, tuples, batches))
    for name, column in (("toArrow() in the body", 0), ("from_streaming, tuples", 1), ("from_streaming, batches", 2)):
        took = min(pair[column] for pair in pairs)
        ratio = statistics.median(pair[0] / pair[column] for pair in pairs)
        print(f"{name:40} {rows / took:12,.0f} rows/s   {ratio:.2f} of toArrow()")


def main() -> None:
    """Both."""
    rows = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    session = spark.session()
    with tempfile.TemporaryDirectory() as folder:
        latency(Files(session, Path(folder), BATCHES, 1000))
        throughput(Files(session, Path(folder), max(1, rows // 500_000), 500_000), rows)
    session.stop()


if __name__ == "__main__":
    main()
