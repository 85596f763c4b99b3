"""Memory does not grow with the number of rows or micro-batches; measured in separate programs."""

import sys

import pytest

from tests.adapters.spark.helpers import ran

pytestmark = pytest.mark.spark

READING = """
import resource, sys
import pullstream as ps
from adapters import spark

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

session = spark.session(master="local[2]")

def read(rows):
    columns = "id", "id * 7919 % 365 AS day", "repeat(md5(string(id)), 4) AS text"
    # As many rows to a partition, whatever the number: some partitions are ahead of what is read.
    frame = session.range(0, rows, 1, rows // 12_500).selectExpr(*columns)
    options = {"time": "day"} if sys.argv[3] == "ordered" else {"as_": sys.argv[3]}
    source = spark.from_dataframe(frame, **options)
    if sys.argv[3] == "batches":
        source = ps.pipe(source, ps.flat_map(lambda batch: range(batch.num_rows)))
    seen = ps.run(ps.pipe(source, ps.reduce(lambda n, row: n + 1, 0)))
    assert seen == rows, seen
    return peak()

small, large = int(sys.argv[1]), int(sys.argv[2])
print([read(small), read(large)])
session.stop()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize(
    ("small", "large", "how", "most"),
    [
        # Both numbers are larger than what is read ahead: some jobs of 30 MB, or less on a slow machine.
        (1_000_000, 4_000_000, "batches", 150),
        pytest.param(1_000_000, 8_000_000, "batches", 150, marks=pytest.mark.slow),
        pytest.param(1_000_000, 4_000_000, "rows", 150, marks=pytest.mark.slow),
        # Spark sorts into partitions of about 25 MB.
        pytest.param(500_000, 4_000_000, "ordered", 150, marks=pytest.mark.slow),
    ],
)
def test_many_times_the_rows_need_no_more_memory(small, large, how, most):
    """A row needs about 300 bytes in Python and 140 in Arrow: if rows were kept, the difference would be a gigabyte."""
    first, second = ran(READING, small, large, how, timeout=300)
    print(f"{how}: peak of the driver's Python: {first:.0f} MB for {small} rows, {second:.0f} MB for {large}")
    assert second - first < most


LARGE = """
import sys
import pullstream as ps
from adapters import spark

session = spark.session(master="local[2]", config={"spark.driver.memory": "2g"})
rows = 1_440_000
columns = "id", "id * 0.5 AS half", "rpad(cast(id AS string), 188, 'x') AS text"
frame = session.range(0, 3 * rows, 1, 3).selectExpr(*columns)
source = spark.from_dataframe(frame, as_="batches")
seen = ps.run(ps.pipe(source, ps.reduce(lambda n, batch: n + batch.num_rows, 0)))
assert seen == 3 * rows, seen
session.stop()
print(seen)
"""


@pytest.mark.slow
def test_partitions_of_300_mb_are_read_with_2_gb():
    """One after the other, because two do not fit."""
    assert ran(LARGE, timeout=600) == 3 * 1_440_000


MICRO_BATCH = """
import json, resource, sys
import pullstream as ps
from adapters import spark

rows, folder = int(sys.argv[1]), sys.argv[2]
session = spark.session(master="local[2]", config={"spark.driver.memory": "1g"})
frame = session.range(0, rows, 1, 16).selectExpr("id AS number", "id / 7 AS real", "cast(id AS string) AS text")
frame.write.parquet(f"{folder}/{rows}")
stream = session.readStream.schema(frame.schema).parquet(f"{folder}/{rows}")
source = spark.from_streaming(stream, checkpoint=f"{folder}/checkpoint {rows}", trigger="availableNow", as_="tuples")
found = ps.run(ps.pipe(source, ps.map(lambda row: row[0]), ps.reduce(lambda total, number: total + number, 0)))
print(json.dumps([found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))
session.stop()
"""


@pytest.mark.slow
def test_memory_does_not_depend_on_the_micro_batch(tmp_path):
    """The driver's Python needs no more memory for a micro-batch of two million rows than for one of 500,000."""
    small, large = (ran(MICRO_BATCH, rows, tmp_path, timeout=600) for rows in (500_000, 2_000_000))
    assert small[0] == 500_000 * 499_999 // 2
    assert large[0] == 2_000_000 * 1_999_999 // 2
    assert large[1] - small[1] < 40, (small, large)


STREAMING = """
import json, sys, tempfile, time
import pullstream as ps
from adapters import spark

batches = int(sys.argv[1])
session = spark.session(master="local[2]")
java = session._jvm.java.lang

def heap():
    # What Java collects is let go of here, too, by a thread that is message so.
    for _ in range(3):
        java.System.gc()
        time.sleep(0.3)
    return (java.Runtime.getRuntime().totalMemory() - java.Runtime.getRuntime().freeMemory()) / 1e6

stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10_000).load().repartition(2, "value")
source = spark.from_streaming(stream, checkpoint=tempfile.mkdtemp(), as_="batches")

@ps.sink
async def looking(upstream, ctx):
    rows, heaps, seen = 0, [], set()
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            rows += sum(batch.num_rows for batch in event.values)
            if event.time in (batches // 4, batches) and event.time not in seen:
                seen.add(event.time)
                heaps.append(heap())
            if event.time == batches:
                return rows, heaps

rows, heaps = ps.run(ps.pipe(source, looking()))
print(json.dumps([rows >= batches * 10_000, *heaps]))
session.stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "most"), [(40, 15), pytest.param(2000, 60, marks=pytest.mark.slow)])
def test_the_heap_does_not_grow(batches, most):
    """A micro-batch has about 0.9 MB: if kept, 30 of them would be 27 MB, and 1,500 would not fit in the heap.

    Spark's own records of the last thousand jobs and queries take a few kilobytes each.
    """
    whole, before, after = ran(STREAMING, batches, timeout=1800)
    print(f"{batches} micro-batches: {before:.0f} MB, then {after:.0f} MB")
    assert whole is True
    assert after - before < most
