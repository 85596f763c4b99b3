"""A program whose executors are killed during a read: `killing.py MASTER WAY PIDS`; prints how it ended."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import pullstream as ps
from adapters import spark
from tests.adapters.spark.listening import children

ROWS = 400_000
PARTITIONS = 8


def executors(pids):
    """The Java processes of the executors, which are children of the workers."""
    for top in pids:
        for pid in children(top):
            with suppress(OSError):
                if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    yield pid


class Killer:
    """Kills once: one executor when two have sent rows, or all of them when there are any."""

    def __init__(self, pids, *, every=False):
        self.pids, self.every, self.seen, self.killed = pids, every, set(), False

    def __call__(self, row):
        self.seen.add(row[0] * PARTITIONS // ROWS)
        if not self.killed and (self.every or len(self.seen) > 1):
            self.killed = True
            for pid in [*executors(self.pids)][: None if self.every else 1]:
                os.kill(pid, signal.SIGKILL)


def read(session, killer, **how):
    frame = session.range(0, ROWS, 1, PARTITIONS).selectExpr("id", "id * 3 AS triple")
    source = spark.from_dataframe(frame, as_="tuples", **how)
    pipeline = ps.pipe(source, ps.tap(killer), ps.map(lambda row: row[1]), ps.collect())
    rows = ps.run(pipeline)
    return {"rows": len(rows), "exact": sorted(rows) == [n * 3 for n in range(ROWS)]}


def into(session, killer):
    given = ps.pipe(ps.values([(n,) for n in range(ROWS)]), ps.tap(lambda row: row[0] > ROWS // 2 and killer(row)))
    return {"rows": spark.to_dataframe(given, "id BIGINT").count()}


def main(master, way, pids):
    session = spark.session(
        master=master, config={"spark.executor.memory": "512m", "spark.cores.max": "2", "spark.task.maxFailures": "4"}
    )
    # Wait for both executors before the read.
    session.range(1000).repartition(4).count()
    killer = Killer(pids, every=way == "into")
    ways = {
        "sorted": lambda: read(session, killer, time="id"),
        "read": lambda: read(session, killer),
        "into": lambda: into(session, killer),
    }
    try:
        outcome = ways[way]()
    except Exception as exc:
        outcome = {"error": type(exc).__name__, "text": str(exc)}
    outcome["killed"] = killer.killed
    outcome["after"] = session.range(100).count()
    session.stop()
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(pid) for pid in sys.argv[3:]])
