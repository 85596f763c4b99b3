"""An executor that is killed in the middle of a stream: each way ends as it says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("killing.py")


@pytest.fixture
def outcome(cluster, tmp_path):
    """How the program ends."""

    def ran(way):
        done = subprocess.run(
            [sys.executable, str(PROGRAM), cluster.url, way, *map(str, cluster.pids)],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert found.pop("killed")
        assert found.pop("after") == 100
        return found

    return ran


@pytest.mark.parametrize("way", ["sorted", "read"])
def test_what_hands_on_whole_partitions_is_exact(outcome, way):
    """Spark computes what was lost again, and nobody notices: no row is lost, none comes twice."""
    assert outcome(way) == {"rows": 400_000, "exact": True}


def test_a_source_cannot_be_read_from_its_beginning_again(outcome):
    """The task that Spark tries again would miss what the killed one had taken: the action fails, and says why."""
    found = outcome("into")
    assert "its reader went away before the end" in found["text"]
