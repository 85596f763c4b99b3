"""One program for every kind of master: `program.py MASTER FOLDER [PIDS]`; prints its results.

The tests run it in a separate process, because a process has only one Spark context.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import pullstream as ps
from adapters import spark
from tests.adapters.spark.listening import children, listened_by

ROWS = 20_000


def was_sent(row):
    import pullstream

    return "pullstream_packages.zip" in pullstream.__file__


def main(master, folder, pids):
    session = spark.session(
        master=master,
        config={"spark.executor.memory": "512m", "spark.cores.max": "2", "spark.sql.shuffle.partitions": "4"},
    )
    if pids:
        # The executors of the standalone cluster are sent the packages; the others find this checkout.
        for _ in range(2):
            spark.send_packages(session)
    frame = session.range(0, ROWS, 1, 4).selectExpr("id", "id * 7 % 10 AS day", "concat('n', id % 13) AS name")
    results = {}

    counted = ps.pipe(spark.from_dataframe(frame, time="day"), ps.count_by_key(lambda row: row.name))
    results["ordered"] = sorted(ps.run(ps.pipe(counted, ps.collect(timed=True))))
    read = spark.from_dataframe(frame, as_="tuples")
    results["read"] = ps.run(ps.pipe(read, ps.filter(lambda row: row[0] % 1000 == 0), ps.collect()))
    doubled = spark.on_executors(ps.map(lambda row: (row.id * 2, row.name)), schema="id bigint, name string")
    rows = frame.transform(doubled).selectExpr("sum(id)", "max(name)", "count(*)").collect()
    results["on_executors"] = [list(row) for row in rows]
    sent = frame.transform(spark.on_executors(ps.map(was_sent), schema="sent BOOLEAN")).distinct()
    results["sent"] = [row.sent for row in sent.collect()]
    counts = spark.reduce_by_key(frame, ps.agg.count(), key=lambda row: row.name)
    results["reduce_by_key"] = sorted(ps.run(ps.pipe(counts, ps.collect())))
    given = ps.pipe(ps.values(range(ROWS)), ps.map(lambda n: (n, f"n{n % 13}")))
    into = spark.to_dataframe(given, "id BIGINT, name STRING")
    results["to_dataframe"] = sorted(list(row) for row in into.groupBy("name").sum("id").collect())
    days = ps.values([(n,) for n in range(100)], time=lambda row: row[0] // 25)
    results["write_table"] = ps.run(ps.pipe(days, spark.write_table(f"{folder}/days", "n BIGINT")))
    results["written"] = session.read.parquet(f"{folder}/days").agg({"n": "sum"}).first()[0]

    everybody = [pid for top in (os.getpid(), *pids) for pid in children(top)]
    results["listening"] = sorted({address for address, _ in listened_by(everybody)})
    results["executors"] = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    session.stop()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(pid) for pid in sys.argv[3:]])
