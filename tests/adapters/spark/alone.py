"""The tests that need a separate program: Ctrl-C, retried tasks, memory, a stopped session, and failed starts.

    python -m tests.adapters.spark.alone    # all but memory and queries
    python -m tests.adapters.spark.alone memory 1000000 8000000 rows

It prints its findings as JSON. All parts share one Java, because each takes seconds to start.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import trio

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import QUICK_WORKERS, settings
from tests.sampling import amount


def first(session):
    rows = session.range(1000).selectExpr("id % 10 AS day", "id")
    frame = rows.mapInArrow(lambda batches: batches, rows.schema)
    rows = ps.run(ps.pipe(spark.from_dataframe(frame, time="day"), ps.collect()))
    assert rows == sorted(rows, key=lambda row: row.day)
    return [len(rows), *map(session.conf.get, ("spark.sql.session.timeZone", "spark.driver.host", "spark.ui.enabled"))]


def until(condition, seconds=100):
    """Wait; after too long, end the program, because no exception would reach the right thread."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            print("never", flush=True)
            os._exit(1)
        time.sleep(0.05)


def slowly(batches):
    for batch in batches:
        time.sleep(0.2)
        yield batch


@ps.source
async def endless(ctx, made, released):
    try:
        while True:
            await trio.sleep(0.01)
            made.append(len(made))
            yield ps.Batch(0, list(range(1000)))
    finally:
        released.set()


def interrupted(session, action, condition=None, times=1):
    """Press Ctrl-C once an action runs; return the number of rows that the next action counts."""
    tracker = session.sparkContext.statusTracker()

    def strike():
        until(condition or tracker.getActiveJobsIds)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.02)

    thread = threading.Thread(target=strike)
    thread.start()
    found = "not interrupted"
    try:
        action()
    except KeyboardInterrupt:
        found = session.range(10).count()
    try:
        thread.join()
    except KeyboardInterrupt:
        thread.join()
    until(lambda: not tracker.getActiveJobsIds())
    return found


def interrupts(session):
    rows = session.range(0, 100_000_000, 1, 4).mapInArrow(slowly, "id bigint")
    made, released = [], threading.Event()
    fed = spark.to_dataframe(endless(made, released), "id BIGINT", session=session)
    return [
        interrupted(session, rows.toArrow, times=2),
        interrupted(session, fed.count, lambda: len(made) > 3),
        released.wait(60),
        signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    ]


def queries(session):
    query = session.readStream.format("rate").load().writeStream.format("noop").start()
    until(lambda: query.lastProgress)
    rows = session.range(0, 100_000_000, 1, 4).mapInArrow(slowly, "id bigint")
    batch = query.lastProgress["batchId"]
    found = [
        interrupted(session, rows.count),
        interrupted(session, query.awaitTermination, lambda: query.lastProgress["batchId"] > batch + 1),
    ]
    found += [query.exception(), query.isActive]
    query.stop()
    return found


def parse(row):
    if row.n == 1234:
        raise ValueError("row 1234 is bad")
    return (row.n,)


def dies(batches):
    for batch in batches:
        os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def fails_once(how, where, after):
    """Return a function that fails in the first attempt at a partition, after some batches."""

    def function(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        for count, batch in enumerate(batches):
            if task.partitionId() == where and count == after and task.attemptNumber() == 0:
                if how == "raise":
                    raise ValueError("the first attempt")
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return function


def retries(session):
    stage = spark.on_executors(ps.map(parse), schema="n BIGINT")
    found = {}
    for name, action in {
        "count": lambda frame: frame.transform(stage).count(),
        "from_dataframe": lambda frame: ps.run(ps.pipe(spark.from_dataframe(frame.transform(stage)), ps.drain())),
        "killed": lambda frame: frame.mapInArrow(dies, "n BIGINT").count(),
    }.items():
        try:
            action(spark.to_dataframe(ps.values([(n,) for n in range(5000)]), "n BIGINT"))
        except Exception as exc:
            found[name] = [type(exc).__name__, str(exc), getattr(exc, "raised", None)]
    kept = spark.to_dataframe(ps.values(range(50_000)), "n BIGINT", replay=10_000_000)
    found["kept"] = kept.mapInArrow(fails_once("kill", 0, 1), "n BIGINT").selectExpr("count(*)", "sum(n)").collect()
    found["complete"] = []
    with settings(session, {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}):
        for how in amount(["raise"], ["raise", "kill"]):
            frame = session.range(0, 40_000, 1, 4).mapInArrow(fails_once(how, 2, 5), "id long")
            rows = ps.run(ps.pipe(spark.from_dataframe(frame), ps.collect()))
            found["complete"].append(sorted(row.id for row in rows) == list(range(40_000)))
    return {**found, "jobs": list(session.sparkContext.statusTracker().getActiveJobsIds())}


def memory(session, small=500_000, large=2_000_000, how="batches"):
    """Read two numbers of rows; return the peaks of this process's memory, in MB (Linux)."""
    peaks = []
    for rows in (int(small), int(large)):
        columns = "id", "id * 7919 % 365 AS day", "repeat(md5(string(id)), 4) AS text"
        # Partitions of the same size for both numbers, because some partitions are computed ahead.
        frame = session.range(0, rows, 1, rows // 12_500).selectExpr(*columns)
        if how == "streaming":
            folder = tempfile.mkdtemp()
            session.conf.set("spark.sql.files.maxPartitionBytes", "4m")
            frame.write.parquet(f"{folder}/in")
            stream = session.readStream.schema(frame.schema).parquet(f"{folder}/in")
            source = spark.from_streaming(stream, checkpoint=f"{folder}/checkpoint", trigger="availableNow")
        else:
            source = spark.from_dataframe(frame, **({"time": "day"} if how == "ordered" else {"as_": how}))
        Path("/proc/self/clear_refs").write_text("5")  # The peak begins again.
        if how == "batches":
            source = ps.pipe(source, ps.flat_map(lambda batch: range(batch.num_rows)))
        assert ps.run(ps.pipe(source, ps.reduce(lambda n, row: n + 1, 0))) == rows
        peaks.append(int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
    return peaks


def stopped(session):
    made, released, error = [], threading.Event(), []

    def act():
        try:
            spark.to_dataframe(endless(made, released), "n BIGINT").mapInArrow(slowly, "n BIGINT").count()
        except Exception as exc:
            error.append(type(exc).__name__)

    def left():
        return [thread.name for thread in threading.enumerate() if "pullstream" in thread.name]

    action = threading.Thread(target=act, daemon=True)
    action.start()
    until(lambda: made)
    session.stop()
    action.join(120)
    end = time.monotonic() + 30
    while left() and time.monotonic() < end:
        time.sleep(0.1)
    return {"error": error, "released": released.wait(30), "left": left()}


ROOT = Path(__file__).parents[3]
WITHOUT_PYSPARK = """
import json, sys
sys.modules["pyspark"] = None
from adapters import spark
try:
    spark.session()
except Exception as exc:
    print(json.dumps([type(exc).__name__, str(exc)]))
"""


def failed_starts(_):
    """Start sessions that fail: a used port, a wrong setting, and a missing package."""
    found = {}

    def attempt(happened, **how):
        try:
            spark.session(**how)
        except Exception as exc:
            found[happened] = [type(exc).__name__, str(exc)]

    with socket.create_server(("127.0.0.1", 0)) as other:
        used = {"spark.driver.port": str(other.getsockname()[1]), "spark.port.maxRetries": "0"}
        attempt("a port of Spark's is in use", master="local[1]", config=used)
    wrong = {"spark.executor.memory": "1m", "spark.driver.port": "0"}
    attempt("a setting is wrong", master="local[1]", config=wrong)
    printed = subprocess.run([sys.executable, "-c", WITHOUT_PYSPARK], cwd=ROOT, capture_output=True, check=True).stdout
    found["a package is missing"] = json.loads(printed)
    return found


def main(name=None, *arguments):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = spark.session(master="local[2,2]", config=QUICK_WORKERS)
    if name:
        print(json.dumps(globals()[name](session, *arguments)))
        session.stop()
        return
    found = {"first": first(session)}
    print("a first job has ended", file=sys.stderr, flush=True)
    found["interrupts"] = interrupts(session)
    print("interrupts have ended", file=sys.stderr, flush=True)
    print(json.dumps({**found, **{part.__name__: part(session) for part in (retries, stopped, failed_starts)}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
