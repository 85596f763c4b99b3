"""A session that is struck while its Java starts: by Ctrl-C, or by what no program survives."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import os, signal, subprocess, sys, time, types
from pyspark import java_gateway
from adapters import spark
from adapters.spark.starting import Starting

number = int(sys.argv[1])
started = []

def launched(self, *args, **kwargs):
    begin(self, *args, **kwargs)
    if "spark-submit" in str(args[0]):
        started.append(self)

begin, subprocess.Popen.__init__ = subprocess.Popen.__init__, launched

def struck(seconds):
    # Where PySpark waits for Java.
    java_gateway.time = time
    time.sleep(float(sys.argv[2]))
    print(started[0].pid, flush=True)
    os.kill(os.getpid(), number)

java_gateway.time = types.SimpleNamespace(sleep=struck)
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    spark.session(master="local[1]")
except KeyboardInterrupt:
    print("interrupted", started[0].returncode, flush=True)
if "again" in sys.argv:
    before = signal.getsignal(signal.SIGINT)
    print(spark.session(master="local[1]").range(3).count(), before is signal.default_int_handler)
"""


def ended(pid, limit=120):
    """Whether a process comes to its end; the limit is for a machine however busy."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def struck(folder, number, seconds, *more):
    """What a program says that is struck while Java starts, and the process that it had started."""
    command = [sys.executable, "-c", PROGRAM, str(int(number)), str(seconds), *more]
    # Not a pipe, whose end would wait for a Java that was left behind.
    with (folder / "said").open("w+") as out:
        done = subprocess.run(command, stdout=out, check=False)
    pid, *said = (folder / "said").read_text().splitlines()
    return done.returncode, int(pid), said


def test_ctrl_c_ends_the_java(tmp_path):
    """One KeyboardInterrupt, with the process ended; and a session can be started after it."""
    code, pid, said = struck(tmp_path, signal.SIGINT, 0.5, "again")

    assert said == ["interrupted -9", "3 True"]
    assert code == 0
    assert ended(pid)


def test_java_ends_with_a_program_that_is_killed(tmp_path):
    """It watches its standard input as soon as it has started, and finds that this has ended."""
    code, pid, said = struck(tmp_path, signal.SIGKILL, 0.5)

    assert said == []
    assert code == -signal.SIGKILL
    assert ended(pid)
