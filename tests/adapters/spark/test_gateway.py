"""Ctrl-C during Spark's own calls, in a program that continues."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import os, signal, threading, time
import trio
import pullstream as ps
from adapters import spark

signal.signal(signal.SIGINT, signal.default_int_handler)
session = spark.session(master="local[2]")
tracker = session.sparkContext.statusTracker()
made = [0]

@ps.source
async def endless(ctx):
    while True:
        await trio.sleep(0.01)
        made[0] += 1
        yield ps.Batch(0, [(n,) for n in range(1000)])

def slowly(batches):
    import time

    for batch in batches:
        time.sleep(0.2)
        yield batch

def until(condition):
    end = time.monotonic() + 100
    while not condition():
        if time.monotonic() > end:
            print("never", flush=True)
            os._exit(1)
        time.sleep(0.05)

def strike(condition, times):
    until(condition)
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)

def interrupted(what, action, condition=lambda: tracker.getActiveJobsIds(), *, times=1):
    thread = threading.Thread(target=strike, args=(condition, times))
    thread.start()
    try:
        action()
        print(what, "came to its end")
    except KeyboardInterrupt:
        print(what, "interrupted", session.range(10).count(), flush=True)
    try:
        thread.join()
    except KeyboardInterrupt:
        thread.join()

rows = session.range(0, 100_000_000, 1, 4).mapInArrow(slowly, "id bigint")
"""

ACTIONS = """
interrupted("count", rows.count)
until(lambda: not tracker.getActiveJobsIds())
interrupted("toArrow", rows.toArrow)
until(lambda: not tracker.getActiveJobsIds())
fed = spark.to_dataframe(endless(), "id BIGINT", session=session)
interrupted("fed", fed.count, lambda: made[0] > 3)
until(lambda: not tracker.getActiveJobsIds())
before = -1
while before != made[0]:
    before = made[0]
    time.sleep(1)
interrupted("twice", rows.count, times=2)
until(lambda: not tracker.getActiveJobsIds())
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
session.stop()
"""

QUERY = """
query = session.readStream.format("rate").load().writeStream.format("noop").start()
until(lambda: query.lastProgress)
batch = query.lastProgress["batchId"]
interrupted("count", rows.count)
interrupted("await", query.awaitTermination, lambda: query.lastProgress["batchId"] > batch + 1)
print(query.exception(), query.isActive)
query.stop()
session.stop()
"""


def said(program):
    """Run a program; return its output, and py4j's lines in its error output."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "ERROR" not in done.stderr
    assert "KeyboardInterrupt" not in done.stderr
    return done.stdout.splitlines()


def test_ctrl_c_in_an_action_cancels_its_jobs():
    """Also jobs that are read from a socket, and a source that feeds them; the next call works."""
    assert said(ACTIONS) == [
        "count interrupted 10",
        "toArrow interrupted 10",
        "fed interrupted 10",
        "twice interrupted 10",
        "True",
    ]


@pytest.mark.slow
def test_ctrl_c_does_not_affect_streaming_queries():
    """The same thread has started them but does not wait for them; a wait for one is interrupted."""
    assert said(QUERY) == ["count interrupted 10", "await interrupted 10", "None True"]
