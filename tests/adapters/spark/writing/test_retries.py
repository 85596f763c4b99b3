"""Spark retries tasks, which needs a separate session: the error shows the first failure."""

import pytest

from tests.adapters.spark.helpers import ran

pytestmark = pytest.mark.spark

PROGRAM = """
import json, os, signal, threading, time
import pullstream as ps
from adapters import spark

session = spark.session(master="local[2,2]")

def parse(row):
    if row.n == 1234:
        raise ValueError("row 1234 is bad")
    return (row.n,)

def dies(batches):
    for batch in batches:
        os.kill(os.getpid(), signal.SIGKILL)
        yield batch

def frame():
    return spark.to_dataframe(ps.values([(n,) for n in range(5000)]), "n BIGINT")

stage = spark.on_executors(ps.map(parse), schema="n BIGINT")
actions = {
    "count": lambda: frame().transform(stage).count(),
    "from_dataframe": lambda: ps.run(ps.pipe(spark.from_dataframe(frame().transform(stage)), ps.drain())),
    "killed": lambda: frame().mapInArrow(dies, "n BIGINT").count(),
}
found = {}
for name, action in actions.items():
    try:
        action()
    except Exception as exc:
        found[name] = [type(exc).__name__, str(exc), getattr(exc, "raised", None)]

def dies_once(batches):
    from pyspark import TaskContext
    for batch in batches:
        yield batch
        if TaskContext.get().attemptNumber() == 0:
            os.kill(os.getpid(), signal.SIGKILL)

kept = spark.to_dataframe(ps.values(range(50_000)), "n BIGINT", replay=10_000_000)
found["kept"] = kept.mapInArrow(dies_once, "n BIGINT").selectExpr("count(*)", "sum(n)").collect()

released = threading.Event()

@ps.source
async def endless(ctx):
    try:
        while True:
            yield ps.Batch(0, list(range(1000)))
            begun.set()
    finally:
        released.set()

def slowly(batches):
    import time
    for batch in batches:
        time.sleep(0.2)
        yield batch

def act():
    try:
        spark.to_dataframe(endless(), "n BIGINT").mapInArrow(slowly, "n BIGINT").count()
    except Exception as exc:
        found["stopped"] = type(exc).__name__

begun = threading.Event()
action = threading.Thread(target=act, daemon=True)
action.start()
begun.wait(120)
session.stop()
action.join(120)
found["released"] = released.wait(30)
deadline = time.monotonic() + 30

def left():
    return [thread.name for thread in threading.enumerate() if "pullstream" in thread.name]

while left() and time.monotonic() < deadline:
    time.sleep(0.1)
found["left"] = left()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def message():
    return ran(PROGRAM, timeout=300)


@pytest.mark.parametrize("action", ["count", "from_dataframe"])
def test_the_users_error_is_the_error(message, action):
    """Later attempts cannot read the source; their error is the failure of the first attempt."""
    _, text, _ = message[action]
    error, note = text.index("ValueError: row 1234 is bad"), text.index("(Spark then retried the task")
    assert error < note < text.index("can be read once") < text.index(".persist()")
    assert "raised in map(parse)" in text


def test_its_type_is_known(message):
    """The driver's error has the type of the exception on the executor."""
    assert message["from_dataframe"][::2] == ["SparkJobError", "ValueError"]


def test_a_dead_worker_is_the_error(message):
    """The error says that the worker died, not that the user read something twice."""
    text = message["killed"][1]
    assert text.index("Python worker exited unexpectedly") < text.index("can be read once")


def test_kept_rows_are_read_again(message):
    """With `replay`, a retried task gets its rows, each once."""
    assert message["kept"] == [[50_000, 50_000 * 49_999 // 2]]


def test_stopping_the_session_during_a_read_leaves_nothing(message):
    """The action fails, the source is released, and the server's thread ends."""
    assert message["stopped"]
    assert message["released"]
    assert message["left"] == []
