"""Speculation: Spark runs a copy of a slow task, and no row is delivered twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("speculating.py")


def test_a_speculative_copy_changes_nothing(cluster, tmp_path):
    """Spark reports that it started a copy; each row is delivered once."""
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
