"""`from_dataframe` through Spark Connect: a program of its own, since a process has one kind of session."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import json, os, sys, time
import trio
import pullstream as ps
from adapters import spark
from adapters.spark.java import java_home
from pyspark.sql import SparkSession, functions as sql

os.environ["JAVA_HOME"] = str(java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
session = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = session.range(0, 30_000, 1, 6).selectExpr("id", "id % 5 AS five", "concat('row', id) AS text")
found = {}

def read(frame, *parts, **options):
    return ps.run(ps.pipe(spark.from_dataframe(frame, **options), *parts, ps.collect()))

found["rows"] = read(frame, as_="tuples") == [tuple(row) for row in frame.collect()]
counted = ps.pipe(spark.from_dataframe(frame, time="five"), ps.count_by_key(lambda row: row.five))
found["times"] = ps.run(ps.pipe(counted, ps.collect(timed=True)))
negative = read(frame, time=-sql.col("five"))
found["sorted"] = [row.five for row in negative] == sorted((row.five for row in negative), reverse=True)
late = ps.pipe(spark.from_dataframe(frame, time="five", lateness=5), ps.collect(timed=True))
found["late"] = all(time == row.five for time, row in ps.run(late))
found["few"] = [row.id for row in read(frame, ps.take(3))]

def failing(batches):
    raise ValueError("the user's own text")
    yield

failed = frame.mapInArrow(failing, "id long")
bad = frame.selectExpr("1 / (id - 7) AS bad")
for name, act in {
    "java": lambda: read(bad),
    "python": lambda: read(failed),
    "pushed": lambda: read(frame, route="pushed"),
    "clock": lambda: read(frame, time="five", clock="partition"),
    "into": lambda: spark.to_dataframe(ps.values([1]), "n BIGINT", session=session),
}.items():
    try:
        act()
    except Exception as exc:
        found[name] = f"{type(exc).__name__} {exc}"

def slow(batches):
    import time
    for batch in batches:
        time.sleep(60)
        yield batch

source = spark.from_dataframe(frame.select("id").mapInArrow(slow, "id long"))

async def abort():
    async with ps.pipe(source, ps.drain()).open() as running:
        await trio.sleep(4)
        await running.abort()

trio.run(abort)
found["after"] = session.range(100).count()
session.stop()
print(json.dumps(found))
"""


def test_what_it_can_and_what_it_refuses(tmp_path):
    """Rows and times are Spark's own, in order; failures and aborts end as elsewhere; what has no way is said."""
    pytest.importorskip("grpc")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"]
    assert found["times"] == [[n, [n, 6000]] for n in range(5)]
    assert found["sorted"]
    assert found["late"]
    assert found["few"] == [0, 1, 2]
    assert found["java"].startswith("SparkJobError")
    assert "DIVIDE_BY_ZERO" in found["java"]
    assert "ValueError: the user's own text" in found["python"]
    assert "which has the ordered route only" in found["pushed"]
    assert "leave out clock=" in found["clock"]
    assert "needs a classic session" in found["into"]
    assert found["after"] == 100
