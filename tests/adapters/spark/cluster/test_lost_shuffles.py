"""Executors are killed at random moments of reads after a shuffle: the result is exact, or a named error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("losing.py")


@pytest.mark.parametrize(("times", "what"), [(6, "executors"), (200, "executors"), (200, "files")])
def test_no_row_is_lost_or_delivered_twice(tmp_path, times, what):
    """With each way to read; a frame with stable rows is read to its end despite a kill."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(times), "1", what],
        capture_output=True,
        text=True,
        check=False,
        timeout=300 * times,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert sum(found["ends"].values()) == times
    assert not [end for end in found["ends"] if "wrong" in end]
    assert found["jobs"] == []
    if times >= 200:
        assert found["ends"]["stable, read: exact after a comparison"]
        assert found["ends"]["stable, time: exact after a comparison"]
        assert found["ends"]["unstable, time: ShuffleRerunError"]
