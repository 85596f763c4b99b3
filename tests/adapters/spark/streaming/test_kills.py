"""`from_streaming`: the result is correct even if the program is killed again and again before commits."""

import random
import time

import pytest

import pullstream as ps
from tests.adapters.spark.helpers import killed
from tests.adapters.spark.streaming.program import counting
from tests.sampling import amount

pytestmark = pytest.mark.spark

SECONDS = {"classic": 1.0, "connect": 3.0}
"""The delay of Spark's commit after the file, in seconds."""


def contents(folder):
    return {path.name: sorted(path.read_text().splitlines()) for path in folder.glob("[0-9]*")}


def killed_before_a_commit(landing, master, seconds, out, journal):
    """Run the program, and kill it when there is a file whose micro-batch is not committed; return its number."""
    before = len(landing.commits)
    goal = before + random.randrange(2)
    arguments = [master, landing.folder, landing.checkpoint, out, seconds, *([journal] if journal else [])]

    def ready():
        return (out / f"{goal}.jsonl").exists() and len(landing.commits) >= goal

    assert killed("streaming.program", *arguments, ready=ready, after=seconds / 3)
    return goal


# The chapter on Spark is killed before a commit by default.
@pytest.mark.slow
@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize("any_session", ["classic", "connect"], indirect=True)
def test_killed_before_the_commit(any_session, journaled, request, landing, tmp_path):
    """An uncommitted micro-batch is processed again, with the same rows: no row is lost or counted twice."""
    kills = amount(1, 20)
    kind = request.node.callspec.params["any_session"]
    master = "local[2]" if kind == "classic" else request.getfixturevalue("server").url
    journal = tmp_path / "journal" if journaled else None
    out, other = tmp_path / "out", tmp_path / "undisturbed"
    landing.arrive(*[n + 3 for n in range(2 * kills + 2)])
    for _ in range(kills):
        goal = killed_before_a_commit(landing, master, SECONDS[kind], out, journal)
        # Java outlives its Python for a moment.
        time.sleep(0.5)
        assert landing.commits == list(range(goal))
    ps.run(counting(landing.source(), out), journal=journal)
    assert landing.commits == list(range(landing.files))

    landing.checkpoint = tmp_path / "another checkpoint"
    ps.run(counting(landing.source(), other))
    assert contents(out) == contents(other)
    assert len(contents(out)) == landing.files
    assert [path for path in out.iterdir() if path.name.startswith(".")] == []
