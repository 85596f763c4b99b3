"""Java's memory while a stream goes on: what a micro-batch brought is not kept; measured in a program of its own."""

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
    # What Java collects is let go of here, too, by a thread that is told so.
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
def test_the_heap_stays_as_it_is(batches, most):
    """A micro-batch brings some 0.9 MB: kept, 30 of them would be 27 MB, and 1,500 more than the heap has.

    What Spark itself notes of jobs and queries, of the last thousand, is a few kilobytes each.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(batches)], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    whole, before, after = done.stdout.split()
    print(f"{batches} micro-batches: {float(before):.0f} MB, then {float(after):.0f} MB")
    assert whole == "True"
    assert float(after) - float(before) < most
