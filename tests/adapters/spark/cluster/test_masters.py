"""The same program with every kind of master: the results are equal, and only the expected addresses listen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("program.py")


def ran(master, folder, pids=()):
    """Run the program from a folder in which this project cannot be imported."""
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


def test_a_local_master(local):
    """The results are those of plain arithmetic, and only the loopback listens."""
    assert local["listening"] == ["127.0.0.1"]
    assert local["on_executors"] == [[19_999 * 20_000, "n9", 20_000]]
    assert local["read"] == [[n, n * 7 % 10, f"n{n % 13}"] for n in range(0, 20_000, 1000)]
    assert sum(total for _, total in local["to_dataframe"]) == 19_999 * 10_000
    assert (local["write_table"], local["written"]) == ([0, 1, 2, 3], 4950)


def test_executor_processes_of_a_local_cluster(local, tmp_path):
    """`local-cluster` has two executor processes."""
    same(ran("local-cluster[2,1,1024]", tmp_path), local, 2)


def test_a_standalone_cluster(local, cluster, tmp_path):
    """With a master and two workers, by the master's URL: all listen only on the loopback."""
    same(ran(cluster.url, tmp_path, cluster.pids), local, 2)
