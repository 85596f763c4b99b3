"""Speculation: Spark starts a slow task a second time, beside the first, and no row comes twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("speculating.py")


def test_a_copy_beside_a_slow_task_changes_nothing(cluster, tmp_path):
    """Spark did start one, as it says itself; the rows are exact, each once."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), cluster.url, str(tmp_path / "copied")],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"exact": True, "copied": True, "after": 100}
