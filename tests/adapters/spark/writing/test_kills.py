"""Spark reads a registered source as a stream, and the program is killed again and again: Spark's result is correct."""

import random
import time

import pytest

from tests.adapters.spark.helpers import killed
from tests.adapters.spark.writing.program import DAYS, ROWS, into_files
from tests.sampling import amount

pytestmark = pytest.mark.spark


def numbered(folder):
    return {path.name for path in folder.glob("[0-9]*")} if folder.exists() else set()


def kill(folder):
    """Run the program, and kill it in a micro-batch: as it is planned, read, written, or committed."""
    log = folder / "checkpoint" / random.choice(["offsets", "commits"])
    goal = len(numbered(log)) + random.randrange(1, 3)
    assert killed("writing.program", folder, ready=lambda: len(numbered(log)) >= goal, after=0.3)
    # Java outlives its Python for a moment.
    time.sleep(0.5)


@pytest.mark.slow
def test_killed_and_continued(session, tmp_path):
    """No row is lost or written twice: another program continues with Spark's checkpoint and the journal."""
    for _ in range(amount(1, 10)):
        kill(tmp_path)
    commits = len(numbered(tmp_path / "checkpoint" / "commits"))
    into_files(session, tmp_path)
    assert len(numbered(tmp_path / "checkpoint" / "commits")) > commits
    rows = sorted((row.day, row.n) for row in session.read.parquet(str(tmp_path / "rows")).collect())
    assert rows == [(day, day * ROWS + n) for day in range(DAYS) for n in range(ROWS)]
