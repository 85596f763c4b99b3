"""Executors killed at random moments of reads behind a shuffle: exact, or an error by name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("losing.py")


@pytest.mark.parametrize(("times", "what"), [(6, "executors"), (200, "executors"), (200, "files")])
def test_no_row_is_lost_or_comes_twice(tmp_path, times, what):
    """Whatever is read, and in whichever way; and a frame that is the same each time can be read through a kill."""
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
