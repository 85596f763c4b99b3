"""Interrupted starts of a session: by Ctrl-C, or by SIGKILL."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.programs import wait

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


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def struck(folder, number, seconds, *more, env=None):
    """Run a program that is interrupted while Java starts; return its exit code, Java's process and the output."""
    command = [sys.executable, "-c", PROGRAM, str(int(number)), str(seconds), *more]
    # A file, because a leftover Java would keep a pipe open.
    with (folder / "printed").open("w+") as out:
        done = subprocess.run(command, stdout=out, check=False, env=env)
    pid, *printed = (folder / "printed").read_text().splitlines()
    return done.returncode, int(pid), printed


@pytest.mark.slow
def test_ctrl_c_ends_the_java(tmp_path):
    code, pid, printed = struck(tmp_path, signal.SIGINT, 0.5, "again")

    assert printed == ["interrupted -9", "3 True"]
    assert code == 0
    wait(lambda: alive(pid))


DEAF = """#!/bin/sh
case "$*" in
*-XshowSettings*) printf '    java.home = %s\\n    java.specification.version = 21\\n' "$(dirname "$0")/.." >&2;;
*launcher.Main*) printf '\\0\\n'; printf '%s\\0' "$0" run;;
*) exec sleep 1000;;
esac
"""
"""A Java that never watches its standard input."""


@pytest.mark.skipif(os.name == "nt", reason="a shell watches")
def test_java_ends_with_a_program_that_is_killed_at_once(tmp_path):
    """A shell ends Java before Java watches its input, so Java does not run on for seconds."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(DEAF)
    java.chmod(0o755)

    code, pid, printed = struck(tmp_path, signal.SIGKILL, 0.2, env={**os.environ, "JAVA_HOME": str(tmp_path)})

    assert printed == []
    assert code == -signal.SIGKILL
    wait(lambda: alive(pid))


BUSY = """
import pullstream as ps
from adapters import spark

session = spark.session(master="local[2]")
while True:
    ps.run(ps.pipe(spark.from_dataframe(session.range(0, 2_000_000, 1, 8), as_="batches"), ps.drain()))
    session.range(100_000).selectExpr("count(*)").collect()
"""

FIRST_SECONDS = 15.0
"""The range of random interruptions in seconds: BUSY imports, starts Java, and works for a while."""


def javas(leader):
    """The Java processes in the session of a process; the session outlives that process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text(errors="replace").rpartition(")")
            state, *numbers = rest.split()
            if name.endswith("(java") and state != "Z" and int(numbers[2]) == leader:
                found.append(int(stat.parent.name))
    return found


def seconds_until_gone(seconds, number, limit):
    """Interrupt a program after some seconds, and measure until its Java processes have ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", BUSY], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(seconds)
        child.send_signal(number)
        child.wait(120)
        begin = time.monotonic()
        while javas(child.pid) and time.monotonic() - begin < limit:
            time.sleep(0.05)
        assert not javas(child.pid), f"struck after {seconds:.2f} s"
        return time.monotonic() - begin
    finally:
        child.kill()
        for pid in javas(child.pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "times", "limit"),
    [(signal.SIGINT, 1, 120), (signal.SIGKILL, 1, 120), (signal.SIGINT, 100, 5), (signal.SIGKILL, 20, 5)],
)
def test_no_java_is_left_after_an_interruption(number, times, limit):
    """At random moments; the limit of two minutes is for a busy machine, that of five seconds for a quiet one."""
    seed = random.randrange(1_000_000)
    rng = random.Random(seed)
    longest = max(seconds_until_gone(rng.uniform(0, FIRST_SECONDS), number, limit) for _ in range(times))
    print(f"seed {seed}: all gone after {longest:.2f} s at most")
