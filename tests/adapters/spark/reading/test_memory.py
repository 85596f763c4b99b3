"""The driver's memory does not grow with the number of rows; measured in a separate program."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import pullstream as ps
from adapters import spark

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

session = spark.session(master="local[2]")

def read(rows):
    columns = "id", "id * 7919 % 365 AS day", "repeat(md5(string(id)), 4) AS text"
    # As many rows to a partition, whatever the number: some partitions are ahead of what is read.
    frame = session.range(0, rows, 1, rows // 12_500).selectExpr(*columns)
    options = {"time": "day"} if sys.argv[3] == "ordered" else {"as_": sys.argv[3]}
    source = spark.from_dataframe(frame, **options)
    if sys.argv[3] == "batches":
        source = ps.pipe(source, ps.flat_map(lambda batch: range(batch.num_rows)))
    seen = ps.run(ps.pipe(source, ps.reduce(lambda n, row: n + 1, 0)))
    assert seen == rows, seen
    return peak()

small, large = int(sys.argv[1]), int(sys.argv[2])
print(read(small), read(large))
session.stop()
"""


def peaks(small, large, how):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(small), str(large), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize(
    ("small", "large", "how", "most"),
    [
        # Both numbers are larger than what is read ahead: some jobs of 30 MB, or less on a slow machine.
        (1_000_000, 4_000_000, "batches", 150),
        pytest.param(1_000_000, 8_000_000, "batches", 150, marks=pytest.mark.slow),
        pytest.param(1_000_000, 4_000_000, "rows", 150, marks=pytest.mark.slow),
        # Spark sorts into partitions of about 25 MB.
        pytest.param(500_000, 4_000_000, "ordered", 150, marks=pytest.mark.slow),
    ],
)
def test_many_times_the_rows_need_no_more_memory(small, large, how, most):
    """A row needs about 300 bytes in Python and 140 in Arrow: if rows were kept, the difference would be a gigabyte."""
    first, second = peaks(small, large, how)
    print(f"{how}: peak of the driver's Python: {first:.0f} MB for {small} rows, {second:.0f} MB for {large}")
    assert second - first < most


LARGE = """
import sys
import pullstream as ps
from adapters import spark

session = spark.session(master="local[2]", config={"spark.driver.memory": "2g"})
rows = 1_440_000
columns = "id", "id * 0.5 AS half", "rpad(cast(id AS string), 188, 'x') AS text"
frame = session.range(0, 3 * rows, 1, 3).selectExpr(*columns)
source = spark.from_dataframe(frame, as_="batches")
seen = ps.run(ps.pipe(source, ps.reduce(lambda n, batch: n + batch.num_rows, 0)))
assert seen == 3 * rows, seen
session.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_partitions_of_300_mb_are_read_with_2_gb():
    """One after the other, because two do not fit."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
