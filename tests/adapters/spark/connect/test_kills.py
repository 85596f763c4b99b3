"""`from_streaming` through Spark Connect: the result is correct even if the program is killed before commits."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pullstream as ps
from tests.adapters.spark.streaming.conftest import Landing
from tests.adapters.spark.streaming.program import counting

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[4]
SECONDS = 3.0
"""The delay of Spark's commit after the file, in seconds."""


def contents(folder):
    return {path.name: sorted(path.read_text().splitlines()) for path in folder.glob("[0-9]*")}


def killed_before_a_commit(landing, url, out, journal):
    """Run the program, and kill it when there is a file whose micro-batch is not committed; return its number."""
    options = [str(journal)] if journal else []
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.spark.connect.program",
         url, str(landing.folder), str(landing.checkpoint), str(out), str(SECONDS), *options],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        before = len(landing.commits)
        goal = before + random.randrange(2)
        deadline = time.monotonic() + 300
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


@pytest.mark.parametrize(
    ("kills", "journaled"),
    [(1, True), pytest.param(20, False, marks=pytest.mark.slow), pytest.param(20, True, marks=pytest.mark.slow)],
)
def test_killed_before_the_commit(remote, server, tmp_path, kills, journaled):
    """An uncommitted micro-batch is processed again, with the same rows: the result is the same."""
    landing = Landing(remote, tmp_path)
    journal = tmp_path / "journal" if journaled else None
    out, other = tmp_path / "out", tmp_path / "undisturbed"
    landing.arrive(*[n + 3 for n in range(2 * kills + 2)])
    for _ in range(kills):
        goal = killed_before_a_commit(landing, server.url, out, journal)
        # No program is left that could allow the commit.
        assert landing.commits == list(range(goal))
    ps.run(counting(landing.source(), out), journal=journal)
    assert landing.commits == list(range(landing.files))

    landing.checkpoint = tmp_path / "another checkpoint"
    ps.run(counting(landing.source(), other))
    assert contents(out) == contents(other)
    assert len(contents(out)) == landing.files
    assert [path for path in out.iterdir() if path.name.startswith(".")] == []
