"""Spark reads a registered source as a stream, and the program is killed again and again: Spark's result is correct."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.adapters.spark.writing.program import DAYS, ROWS, into_files

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[4]


def numbered(folder):
    return {path.name for path in folder.glob("[0-9]*")} if folder.exists() else set()


def killed(folder):
    """Run the program, and kill it during a micro-batch: when it is planned, read, written, or committed."""
    checkpoint = folder / "checkpoint"
    log = random.choice(["offsets", "commits"])
    goal = len(numbered(checkpoint / log)) + random.randrange(1, 3)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.spark.writing.program", str(folder)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 240
        while len(numbered(checkpoint / log)) < goal:
            assert process.poll() is None, process.communicate()[0].decode()
            assert time.monotonic() < deadline, "no micro-batch came"
            time.sleep(0.005)
        time.sleep(random.random() * 0.3)
        process.kill()
    finally:
        process.kill()
        process.communicate()
    # Java outlives its Python for a moment.
    time.sleep(0.5)


def check(session, folder, kills):
    """Kill it a number of times, let it finish, and check that each row is there once."""
    for _ in range(kills):
        killed(folder)
    commits = len(numbered(folder / "checkpoint" / "commits"))
    into_files(session, folder)
    assert len(numbered(folder / "checkpoint" / "commits")) > commits
    rows = sorted((row.day, row.n) for row in session.read.parquet(str(folder / "rows")).collect())
    assert rows == [(day, day * ROWS + n) for day in range(DAYS) for n in range(ROWS)]


@pytest.mark.slow
def test_killed_and_continued(session, tmp_path):
    """No row is lost or written twice: another program continues with Spark's checkpoint and the journal."""
    check(session, tmp_path, 1)


@pytest.mark.slow
def test_killed_ten_times(session, tmp_path):
    """However often it is killed."""
    check(session, tmp_path, 10)
