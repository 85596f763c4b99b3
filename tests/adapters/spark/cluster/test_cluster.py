"""Programs on a Spark cluster: the same results with every master, lost executors and lost shuffles."""

from pathlib import Path

import pytest

from tests.adapters.spark.helpers import ran

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    return ran(HERE / "program.py", "local[*]", folder, cwd=folder)


def same(found, local, **different):
    assert found == {**local, **different}


def test_a_local_master(local):
    assert local["listening"] == ["127.0.0.1"]
    assert local["on_executors"] == [[19_999 * 20_000, "n9", 20_000]]
    assert local["read"] == [[n, n * 7 % 10, f"n{n % 13}"] for n in range(0, 20_000, 1000)]
    assert sum(total for _, total in local["to_dataframe"]) == 19_999 * 10_000
    assert local["sent"] == [False]
    assert local["reduce_by_key"] == [[f"n{n}", len(range(n, 20_000, 13))] for n in (0, 1, 10, 11, 12, *range(2, 10))]
    assert (local["write_table"], local["written"]) == ([0, 1, 2, 3], 4950)


def test_executor_processes_of_a_local_cluster(local, tmp_path):
    """`local-cluster` has two executor processes; this project cannot be imported from their folder."""
    same(ran(HERE / "program.py", "local-cluster[2,1,1024]", tmp_path, cwd=tmp_path), local, executors=2)


def test_a_standalone_cluster(local, cluster, tmp_path):
    same(ran(HERE / "program.py", cluster.url, tmp_path, *cluster.pids, cwd=tmp_path), local, executors=2, sent=[True])


@pytest.mark.parametrize(("times", "what"), [(6, "executors"), (200, "executors"), (200, "files")])
def test_lost_shuffles(tmp_path, times, what):
    """However rows are read, none is lost or delivered twice; a frame with stable rows is read despite a kill."""
    found = ran(HERE / "losing.py", times, 1, what, timeout=300 * times, cwd=tmp_path)
    print(found)
    assert sum(found["ends"].values()) == times
    assert not [end for end in found["ends"] if "wrong" in end]
    assert found["jobs"] == []
    if times >= 200:
        assert found["ends"]["stable, read: exact after a comparison"]
        assert found["ends"]["stable, time: exact after a comparison"]
        assert found["ends"]["unstable, time: ShuffleRerunError"]
