"""An executor is killed in the middle of a stream: each kind of stream ends as documented."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("killing.py")


@pytest.fixture
def outcome(cluster, tmp_path):
    """Run the program, and return how it ended."""

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
def test_delivery_of_whole_partitions_is_exact(outcome, way):
    """Spark recomputes the lost partitions: no row is lost, and none is delivered twice."""
    assert outcome(way) == {"rows": 400_000, "exact": True}


def test_a_source_cannot_be_read_again_from_its_beginning(outcome):
    """A retried task would miss the rows that the killed one had taken: the action fails with the reason."""
    found = outcome("into")
    assert "its reader went away before the end" in found["text"]
