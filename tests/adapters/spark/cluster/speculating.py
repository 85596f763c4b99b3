"""A program in which Spark starts a second copy of a slow task: `speculating.py MASTER FILE`; prints the result."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import pullstream as ps
from adapters import spark

ROWS = 80_000
PARTITIONS = 8


def slow(copied):
    """Make a function whose first attempt at the last partition waits, after some rows, for a second attempt."""

    def rows(batches):
        import pathlib
        import time

        from pyspark import TaskContext

        task = TaskContext.get()
        begun = pathlib.Path(copied)
        if task.attemptNumber() > 0:
            begun.touch()
        for batch in batches:
            for start in range(0, batch.num_rows, 2500):
                if start == 5000 and task.partitionId() == 7 and task.attemptNumber() == 0:
                    end = time.monotonic() + 90
                    while not begun.exists() and time.monotonic() < end:
                        time.sleep(0.05)
                    # Give the copy enough time to connect.
                    time.sleep(2)
                yield batch.slice(start, 2500)

    return rows


def main(master, copied):
    settings = {
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    session = spark.session(master=master, config=settings)
    frame = session.range(0, ROWS, 1, PARTITIONS).mapInArrow(slow(copied), "id long")
    source = spark.from_dataframe(frame, as_="tuples")
    rows = ps.run(ps.pipe(source, ps.map(lambda row: row[0]), ps.collect()))
    after = session.range(100).count()
    session.stop()
    print(json.dumps({"exact": sorted(rows) == list(range(ROWS)), "copied": Path(copied).exists(), "after": after}))


if __name__ == "__main__":
    main(*sys.argv[1:])
