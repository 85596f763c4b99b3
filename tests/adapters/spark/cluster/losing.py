"""A program that loses executors' results during reads: `losing.py TIMES SEED WHAT`; prints how the reads ended.

An executor is killed (WHAT is "executors"), or the files of its map tasks are deleted ("files": this is faster, because
no other executor has to start). Spark runs these tasks again: `stable` frames place rows as before, `unstable` ones do
not. No Python runs on the executors, because it would take longer to start than a read.
"""

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import pullstream as ps
from adapters import spark
from adapters.spark.reading import partitions
from tests.adapters.spark.listening import children
from tests.programs import wait

ROWS = 60_000
EXECUTORS = 2

SALTS = {
    "stable": "id * 7919 % 1009 AS salt",
    # A value that differs in each evaluation; `rand()` repeats its values in a retried task.
    "unstable": "CAST(1009 * CAST(reflect('java.lang.Math', 'random') AS DOUBLE) AS BIGINT) AS salt",
}

SLOWLY = "IF(id % 1000 = 0, reflect('java.lang.Thread', 'sleep', 20L), '') AS slept"


def executors():
    for pid in children(os.getpid()):
        with suppress(OSError):
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def all_there(session):
    """Wait until the driver knows all executors; Spark replaces a killed one."""
    known = session.sparkContext._jsc.sc().getExecutorMemoryStatus
    wait(lambda: len(list(executors())) < EXECUTORS or known().size() <= EXECUTORS)


def kill(session, victim):
    os.kill(list(executors())[victim], signal.SIGKILL)


def delete(session, victim):
    files = Path(session.conf.get("spark.local.dir")).glob("**/blockmgr-*/*/shuffle_*")
    of = sorted({file.parents[1] for file in files})
    for file in of[victim % len(of)].glob("*/shuffle_*") if of else ():
        file.unlink(missing_ok=True)


class Killer:
    """Cause one loss: after a number of rows, or after some seconds."""

    def __init__(self, lose, chance):
        self.lose, self.victim = lose, chance.randrange(EXECUTORS)
        self.rows = chance.randrange(1, ROWS) if chance.random() < 0.75 else None
        self.timer = threading.Timer(chance.uniform(0, 2), self.kill)
        self.killed = False

    def __enter__(self):
        if self.rows is None:
            self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()

    def kill(self):
        self.killed = True
        self.lose(self.victim)

    def saw(self, number):
        if number == self.rows:
            self.kill()


def comparisons():
    """Count the comparisons of delivered rows with a second read."""
    counted, compare = Counter(), partitions.Partitions._compare

    def counting(whole):
        counted["all"] += bool(whole._delivered)
        compare(whole)

    partitions.Partitions._compare = counting
    return counted


def source(session, chance):
    kind, way = chance.choice(list(SALTS)), chance.choice(["read", "time", "streaming"])
    rows = session.range(0, ROWS, 1, 8)
    if way == "streaming":
        folder = tempfile.mkdtemp()
        rows.write.parquet(folder + "/in")
        rows = session.readStream.schema("id BIGINT").parquet(folder + "/in")
    frame = rows.selectExpr("id", SALTS[kind])
    name = f"{kind}, {way}"
    if way == "time":
        return name, spark.from_dataframe(frame, time="salt", as_="tuples")
    frame = frame.repartition(6, "salt").selectExpr("id", SLOWLY)
    if way == "read":
        return name, spark.from_dataframe(frame, as_="tuples")
    return name, spark.from_streaming(frame, checkpoint=f"{folder}/checkpoint", trigger="availableNow", as_="tuples")


def read(session, lose, chance, compared):
    """Read with a loss in between; return the outcome, or None if the read ended before the loss."""
    name, rows = source(session, chance)
    all_there(session)
    found, before = [], compared["all"]
    # A slow consumer, so that the last partitions are not read before the first one is delivered.
    pause = chance.choice([0.0, 0.02])

    def seen(row):
        found.append(row[0])
        killer.saw(len(found))
        if len(found) % 1000 == 0:
            time.sleep(pause)

    try:
        with Killer(partial(lose, session), chance) as killer:
            ps.run(ps.pipe(rows, ps.drain(seen)))
    except spark.ShuffleRerunError:
        end, lost = "ShuffleRerunError", 0
    else:
        end, lost = "exact after a comparison" if compared["all"] > before else "exact", ROWS - len(set(found))
    if (twice := len(found) - len(set(found))) or lost:
        return f"{name}: wrong, although {end}: {lost} rows lost, {twice} twice"
    return f"{name}: {end}" if killer.killed else None


def main(times, seed, what):
    chance = random.Random(seed)
    settings = {
        "spark.executor.memory": "512m",
        # Executors must start fast, because each kill waits for another one.
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "6",
        # By default Spark would put so few rows into one partition.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.local.dir": tempfile.mkdtemp(),
        # No limit, because these kills are intended.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    session = spark.session(master=f"local-cluster[{EXECUTORS},1,1024]", config=settings)
    ends, compared = Counter(), comparisons()
    begin = time.monotonic()
    while ends.total() < times:
        end = read(session, {"executors": kill, "files": delete}[what], chance, compared)
        ends += Counter(filter(None, [end]))
        print(f"{ends.total()}, {time.monotonic() - begin:.0f} s: {end}", file=sys.stderr, flush=True)
    jobs = list(session.sparkContext.statusTracker().getActiveJobsIds())
    assert session.range(100).count() == 100
    session.stop()
    print(json.dumps({"ends": ends, "jobs": jobs}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
