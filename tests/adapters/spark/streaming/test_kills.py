"""`from_streaming`: the result is correct even if the program is killed again and again before commits."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pullstream as ps
from tests.adapters.spark.streaming.program import counting

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[4]
SECONDS = 1.0
"""The delay of Spark's commit after the file, in seconds."""


def contents(folder):
    return {path.name: sorted(path.read_text().splitlines()) for path in folder.glob("[0-9]*")}


def killed_before_a_commit(landing, out, journal=None):
    """Run the program, and kill it when there is a file whose micro-batch is not committed; return its number."""
    options = [str(journal)] if journal else []
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.spark.streaming.program",
         str(landing.folder), str(landing.checkpoint), str(out), str(SECONDS), *options],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        before = len(landing.commits)
        goal = before + random.randrange(2)
        deadline = time.monotonic() + 120
        while not (out / f"{goal}.jsonl").exists() or goal < before or len(landing.commits) < goal:
            assert process.poll() is None, process.communicate()[0].decode()
            assert time.monotonic() < deadline, "no file came"
            time.sleep(0.005)
        time.sleep(random.random() * SECONDS / 3)
        process.kill()
    finally:
        process.kill()
        process.communicate()
    return goal


def check(landing, tmp_path, kills, journal=None):
    """Kill it a number of times, let it finish, and compare with an undisturbed run."""
    out, other = tmp_path / "out", tmp_path / "undisturbed"
    landing.arrive(*[n + 3 for n in range(2 * kills + 2)])
    for _ in range(kills):
        goal = killed_before_a_commit(landing, out, journal)
        # Java outlives its Python for a moment.
        time.sleep(0.5)
        assert landing.commits == list(range(goal))
    ps.run(counting(landing.source(), out), journal=journal)
    assert landing.commits == list(range(landing.files))

    landing.checkpoint = tmp_path / "another checkpoint"
    ps.run(counting(landing.source(), other))
    assert contents(out) == contents(other)
    assert len(contents(out)) == landing.files
    assert [path for path in out.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
def test_killed_before_the_commit(landing, tmp_path):
    """An uncommitted micro-batch is processed again, with the same rows: the result is the same."""
    check(landing, tmp_path, 1)


def test_killed_before_the_commit_with_a_journal(landing, tmp_path):
    """The same with a journal."""
    check(landing, tmp_path, 1, tmp_path / "journal")


@pytest.mark.slow
def test_killed_twenty_times(landing, tmp_path):
    """However often it is killed there, no row is lost or counted twice."""
    check(landing, tmp_path, 20)
