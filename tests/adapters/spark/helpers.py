"""Functions to run programs, and a mark for tests of both classic sessions and Spark Connect."""

import json
import os
import random
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.programs import printed, started
from tests.sampling import FULL

on_both = pytest.mark.usefixtures("any_session")
"""Run a test with a classic session and, among the slow tests, through Spark Connect; see `chosen`."""


QUICK_WORKERS = {
    "spark.python.daemon.module": "tests.adapters.spark.workers",
    # A worker continues when its task is cancelled; Spark would wait two more seconds before killing it.
    "spark.python.task.killTimeout": "10ms",
}
"""Default settings of sessions; the full run uses Python workers as users do."""
if FULL in os.environ:
    QUICK_WORKERS = {}


@contextmanager
def settings(session, changed):
    before = {name: session.conf.get(name, None) for name in changed}
    for name, value in changed.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)


def ran(program, *arguments, timeout=280, cwd=None):
    """Run a program, given as a path or as text; return the last line that it prints, read as JSON."""
    command = [program] if isinstance(program, Path) else ["-c", program]
    return json.loads(printed(*command, *arguments, timeout=timeout, cwd=cwd).splitlines()[-1])


def killed(program, *arguments, ready, after, java=False):
    """Kill a program, a module of these tests or text, up to `after` seconds after `ready()`; False if it ended before.

    Java outlives a killed Python for a moment, unless `java` kills it as well.
    """
    how = {"stderr": subprocess.STDOUT, "start_new_session": java}
    command = ["-c", program] if "\n" in program else ["-m", f"tests.adapters.spark.{program}"]
    process = started(*command, *arguments, **how)
    try:
        deadline = time.monotonic() + 300
        while not ready():
            if process.poll() is not None:
                assert process.returncode == 0, process.communicate()[0]
                return False
            assert time.monotonic() < deadline, "the program was never ready to be killed"
            time.sleep(0.005)
        time.sleep(random.random() * after)
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if java else process.kill()
        process.communicate()
