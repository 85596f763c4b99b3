"""A program that loses executors in the midst of reads behind a shuffle: `losing.py KILLS SEED`; says how reads ended.

An executor takes its map tasks' files along, and Spark runs these tasks again: in `stable` frames they place rows as
before, in `unstable` ones elsewhere.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import pullstream as ps
from adapters import spark
from tests.adapters.spark.listening import children

ROWS = 60_000
SCHEMA = "id bigint, salt bigint"


def executors(top=None):
    """The executors' Java processes, below this one."""
    for pid in children(top or os.getpid()):
        with suppress(OSError):
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def both_there():
    """Wait until there are two; Spark begins another where one was killed."""
    until = time.monotonic() + 300
    while len(list(executors())) < 2:
        assert time.monotonic() < until, "Spark does not begin another executor"
        time.sleep(0.2)


def salted(batches):
    """What is not the same twice."""
    import os

    import pyarrow as pa

    for batch in batches:
        salt = pa.array([int.from_bytes(os.urandom(3), "big") for _ in range(batch.num_rows)], pa.int64())
        yield pa.RecordBatch.from_arrays([batch.column(0), salt], ["id", "salt"])


def slowly(batches):
    """Rows that take their time, so that there is some to be killed in."""
    import time

    for batch in batches:
        for start in range(0, batch.num_rows, 1000):
            time.sleep(0.01)
            yield batch.slice(start, 1000)


def source(session, chance):
    """One of the ways to read, and one of the frames."""
    stable, way = chance.random() < 0.5, chance.choice(["read", "time", "streaming"])
    rows = session.range(0, ROWS, 1, 8)
    if way == "streaming":
        folder = tempfile.mkdtemp()
        rows.write.parquet(folder + "/in")
        rows = session.readStream.schema("id BIGINT").parquet(folder + "/in")
    frame = rows.selectExpr("id", "id * 7919 % 1009 AS salt") if stable else rows.mapInArrow(salted, SCHEMA)
    name = f"{'stable' if stable else 'unstable'}, {way}"
    if way == "time":
        return name, spark.from_dataframe(frame.mapInArrow(slowly, SCHEMA), time="salt", as_="tuples")
    frame = frame.repartition(6, "salt").mapInArrow(slowly, SCHEMA)
    if way == "read":
        return name, spark.from_dataframe(frame, as_="tuples")
    return name, spark.from_streaming(frame, checkpoint=f"{folder}/checkpoint", trigger="availableNow", as_="tuples")


def read(session, chance):
    """Read with a kill in the midst; how it ended."""
    both_there()
    session.range(1000).repartition(4).count()
    name, rows = source(session, chance)
    found, goal = [], chance.randrange(1, ROWS)

    def seen(row):
        found.append(row[0])
        if len(found) == goal:
            os.kill(chance.choice(list(executors())), signal.SIGKILL)

    end = "wrong"
    try:
        ps.run(ps.pipe(rows, ps.drain(seen)))
    except spark.ShuffleRerunError:
        end = "ShuffleRerunError"
    else:
        if sorted(found) == list(range(ROWS)):
            end = "exact"
    # Whatever it ended with, no row came twice.
    return name, end if len(set(found)) == len(found) else "wrong"


def main(kills, seed):
    chance = random.Random(seed)
    settings = {
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "6",
        # So few rows would be sorted into one partition.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
        # Those that this kills are no fault of the cluster's.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    session = spark.session(master="local-cluster[2,1,1024]", config=settings)
    ends = Counter()
    for turn in range(kills):
        name, end = read(session, chance)
        ends[f"{name}: {end}"] += 1
        print(f"{turn}: {name}: {end}", file=sys.stderr, flush=True)
    jobs = list(session.sparkContext.statusTracker().getActiveJobsIds())
    session.stop()
    print(json.dumps({"ends": ends, "jobs": jobs}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
