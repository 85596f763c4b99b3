"""Programs that the Spark tests run, and tests that ask the same of classic sessions and of Spark Connect."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

on_both = pytest.mark.usefixtures("any_session")
"""Run a test with a classic session and, among the slow tests, through Spark Connect; see `chosen`."""


def ran(program, *arguments, timeout=280, cwd=None):
    """Run a program, given as a path or as text; return the last line that it prints, read as JSON."""
    command = [str(program)] if isinstance(program, Path) else ["-c", program]
    command = [sys.executable, *command, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def killed(module, *arguments, ready, after, java=False):
    """Kill a module of these tests up to `after` seconds after `ready()`; False if it had finished before.

    Java outlives a killed Python for a moment, unless it is killed as well, with `java`.
    """
    command = [sys.executable, "-m", f"tests.adapters.spark.{module}", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=java
    )
    try:
        deadline = time.monotonic() + 300
        while not ready():
            if process.poll() is not None:
                assert process.returncode == 0, process.communicate()[0].decode()
                return False
            assert time.monotonic() < deadline, "the program was never ready to be killed"
            time.sleep(0.005)
        time.sleep(random.random() * after)
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if java else process.kill()
        process.communicate()
