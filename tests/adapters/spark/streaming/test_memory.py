"""Java's memory during a stream: the data of a micro-batch is released; measured in a separate program."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, tempfile, time
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
print(rows >= batches * 10_000, *heaps)
session.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("batches", "most"), [(40, 15), pytest.param(2000, 60, marks=pytest.mark.slow)])
def test_the_heap_does_not_grow(batches, most):
    """A micro-batch has about 0.9 MB: if kept, 30 of them would be 27 MB, and 1,500 would not fit in the heap.

    Spark's own records of the last thousand jobs and queries take a few kilobytes each.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(batches)], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    whole, before, after = done.stdout.split()
    print(f"{batches} micro-batches: {float(before):.0f} MB, then {float(after):.0f} MB")
    assert whole == "True"
    assert float(after) - float(before) < most
