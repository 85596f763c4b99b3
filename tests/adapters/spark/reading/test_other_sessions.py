"""Sessions that need a separate program: lost files, stopped sessions."""

import pytest

from tests.adapters.spark.helpers import ran

pytestmark = pytest.mark.spark

BEGIN = """
import json, os, sys, time
import trio
import pullstream as ps
from adapters import spark

found = {}

def message(source):
    try:
        # A busy machine may take its time to stop a session; what is message of it is the question here.
        ps.run(ps.pipe(source, ps.drain()), release_timeout=120)
    except ps.PullstreamError as exc:
        return f"{type(exc).__name__}: {exc}"

def ids(source):
    return sorted(row.id for row in ps.run(ps.pipe(source, ps.collect())))
"""

OVERLAPPING = """
import glob, tempfile, threading
from adapters.spark.reading.arrow_rdd import ArrowRdd, job_numbers
from adapters.spark.reading.jobs import Jobs
from adapters.spark.reading.reruns import Reruns

folder, gates = tempfile.mkdtemp(), tempfile.mkdtemp()
session = spark.session(master="local[2]", config={"spark.local.dir": folder, "spark.ui.enabled": "false"})

def held(batches):
    # The job for partition 1 has not ended when that for partition 2 begins.
    import os, time
    from pyspark import TaskContext
    place = TaskContext.get().partitionId()
    for batch in batches:
        open(f"{gates}/{place}", "w").close()
        while place == 1 and not os.path.exists(f"{gates}/2"):
            time.sleep(0.01)
        yield batch

rdd, jobs = ArrowRdd(session.range(0, 1000, 1, 4).repartition(4).mapInArrow(held, "id long")), Jobs(session)
for file in glob.glob(folder + "/**/shuffle_*", recursive=True):
    os.remove(file)
first = threading.Thread(target=jobs.submit, args=(lambda: rdd.read([1]), "first"))
first.start()
while not os.path.exists(f"{gates}/1"):
    time.sleep(0.01)
jobs.submit(lambda: rdd.read([2]), "second")
first.join()
for tag in ("first", "second"):
    reruns = Reruns(session)
    reruns.look(lambda: job_numbers(session, tag))
    found[tag] = reruns.due
print(json.dumps(found))
session.stop()
"""

STOPPED = """
import tempfile, threading

def stopped(make):
    # A session that ends in another thread, when the run is in the midst of its rows.
    session = spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
    folder = tempfile.mkdtemp()
    ended = threading.Event()

    def stop():
        session.stop()
        ended.set()

    def see(row):
        if row.id == 30_000:
            threading.Thread(target=stop).start()
        return row

    answer = message(make(session, ps.map(see), folder))
    assert ended.wait(60)
    return answer

def rows(session):
    return session.range(0, 5_000_000, 1, 8)

def streaming(session, folder):
    rows(session).write.parquet(folder + "/in")
    frame = session.readStream.schema("id BIGINT").parquet(folder + "/in")
    return spark.from_streaming(frame, checkpoint=folder + "/checkpoint", trigger=trigger)

found["dataframe"] = stopped(lambda session, see, folder: ps.pipe(spark.from_dataframe(rows(session)), see))
for trigger in (None, "availableNow"):
    found[f"streaming {trigger}"] = stopped(
        lambda session, see, folder: ps.pipe(streaming(session, folder), see)
    )

@ps.source
async def late(ctx, session, table):
    # Its rows come from elsewhere; only what it writes with is stopped.
    async def slowly(n):
        if n == 3:
            threading.Thread(target=session.stop).start()
        await trio.sleep(0.3)
        return (n,)
    numbers = ps.pipe(ps.values(range(12), time=lambda n: n), ps.map_async(slowly, 1))
    async with ps.pipe(numbers, table).open() as running:
        yield await running.result()

session = spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
found["write_table"] = message(late(session, spark.write_table(tempfile.mkdtemp(), "id BIGINT", session=session)))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_recomputed_shuffle_is_detected_although_another_job_begins():
    """Each job that shares the stage resets Spark's record of it, including its count of tasks."""
    assert ran(BEGIN + OVERLAPPING) == {"first": True, "second": True}


@pytest.mark.slow
def test_a_session_that_is_stopped_during_a_run_is_named():
    """Whichever error Spark or PySpark raises then, ours says what happened, and what to do."""
    found = ran(BEGIN + STOPPED)
    assert len(found) == 4
    for route, error in found.items():
        kind = "SparkStreamError" if route.startswith("streaming") else "SparkJobError"
        assert error is not None, route
        assert error.startswith(f"{kind}: "), route
        assert "its session was stopped: use another, for example spark.session(), and make" in error, route
        assert len(error.splitlines()) <= 2, error
