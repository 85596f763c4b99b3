"""The same program on every kind of master, with the same results; and who listens where."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("program.py")


def ran(master, folder, pids=()):
    """What the program finds, from a folder in which nothing of this project can be imported."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), master, str(folder), *map(str, pids)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return ran("local[*]", tmp_path_factory.mktemp("local"))


def same(found, local, executors):
    assert found.pop("executors") == executors
    assert found.pop("listening") == local["listening"]
    assert found == {key: value for key, value in local.items() if key not in {"executors", "listening"}}


def test_alone(local):
    """On this machine alone the results are what arithmetic says, and only the loopback is listened on."""
    assert local["listening"] == ["127.0.0.1"]
    assert local["on_executors"] == [[19_999 * 20_000, "n9", 20_000]]
    assert local["read"] == [[n, n * 7 % 10, f"n{n % 13}"] for n in range(0, 20_000, 1000)]
    assert sum(total for _, total in local["to_dataframe"]) == 19_999 * 10_000
    assert (local["write_table"], local["written"]) == ([0, 1, 2, 3], 4950)


def test_executors_of_their_own_in_one_program(local, tmp_path):
    """`local-cluster` has two executors, each a process."""
    same(ran("local-cluster[2,1,1024]", tmp_path), local, 2)


def test_a_standalone_cluster(local, cluster, tmp_path):
    """A master and two workers, by the master's URL: nothing of theirs, and of the driver's, leaves the loopback."""
    same(ran(cluster.url, tmp_path, cluster.pids), local, 2)
