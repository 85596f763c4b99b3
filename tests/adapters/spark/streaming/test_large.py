"""`from_streaming` with many rows."""

import json
import subprocess
import sys

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCHEMA = "number long, real double, text string"

MEMORY = """
import json, resource, sys
import pullstream as ps
from adapters import spark

rows, folder = int(sys.argv[1]), sys.argv[2]
session = spark.session(master="local[2]", config={"spark.driver.memory": "1g"})
frame = session.range(0, rows, 1, 16).selectExpr("id AS number", "id / 7 AS real", "cast(id AS string) AS text")
frame.write.parquet(f"{folder}/{rows}")
stream = session.readStream.schema(frame.schema).parquet(f"{folder}/{rows}")
source = spark.from_streaming(stream, checkpoint=f"{folder}/checkpoint {rows}", trigger="availableNow", as_="tuples")
found = ps.run(ps.pipe(source, ps.map(lambda row: row[0]), ps.reduce(lambda total, number: total + number, 0)))
print(json.dumps([found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))
session.stop()
"""


def program(text, *args):
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, args)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_five_million_rows(session, tmp_path):
    """Every row of ten micro-batches arrives once, unchanged, in the order of its file, at the time of its file."""
    for number in range(10):
        columns = ("id AS number", "id / 7 AS real", "cast(id AS string) AS text")
        frame = session.range(number * 500_000, (number + 1) * 500_000, 1, 1).selectExpr(*columns)
        frame.write.parquet(str(tmp_path / "landing" / f"{number:04}"))
    stream = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/landing/*")
    source = spark.from_streaming(stream, checkpoint=tmp_path / "checkpoint", trigger="availableNow", as_="tuples")
    seen = 0

    def check(row):
        nonlocal seen
        assert row == (seen, seen / 7, str(seen))
        seen += 1
        return row[0] // 500_000

    found = ps.run(ps.pipe(source, ps.map(check), ps.count_by_key(), ps.collect(timed=True)))
    assert found == [(number, (number, 500_000)) for number in range(10)]
    assert seen == 5_000_000


def test_memory_does_not_depend_on_the_micro_batch(tmp_path):
    """The driver's Python needs no more memory for a micro-batch of two million rows than for one of 500,000."""
    small, large = (json.loads(program(MEMORY, rows, tmp_path)) for rows in (500_000, 2_000_000))
    assert small[0] == 500_000 * 499_999 // 2
    assert large[0] == 2_000_000 * 1_999_999 // 2
    assert large[1] - small[1] < 40, (small, large)
