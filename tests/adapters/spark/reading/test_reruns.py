"""Shuffles that are computed again in the midst of a read: exact, or an error by name; Spark is played here."""

import random
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

from adapters import spark
from adapters.spark.reading import partitions as reading
from adapters.spark.reading import reruns
from adapters.spark.reading.arrow_rdd import map_stages
from adapters.spark.reading.partitions import Partitions

pytest.importorskip("pyspark")

ROWS = 400


class Played:
    """A shuffle whose map tasks may run again before any job; where they are `stable`, they place rows as before."""

    def __init__(self, monkeypatch, seed, *, stable, master="local-cluster[2,1,1024]", kills=0.2, partitions=12):
        self.chance = random.Random(seed)
        self.stable, self.kills, self.partitions = stable, kills, partitions
        self.shuffled, self.tag = True, "run"
        self.evaluation = 0
        self.known = {}
        self.turn = threading.Lock()
        self.mine = threading.local()
        context = SimpleNamespace(defaultParallelism=3, master=master)
        self.frame = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
        monkeypatch.setattr(reading, "ArrowRdd", lambda frame: self)
        monkeypatch.setattr(reading, "heap", lambda context: 1 << 30)
        monkeypatch.setattr(reruns, "job_numbers", lambda session, tag: [tag])
        monkeypatch.setattr(
            reruns, "map_stages", lambda session, jobs: {run for job in jobs for run in self.known[job]}
        )

    # ---- what stands for the jobs

    def submit(self, step, *tags):
        self.mine.tag = tags[0] if tags else "open"
        return step()

    def call(self, step):
        return step()

    def check(self):
        pass

    # ---- what stands for the RDD

    def read(self, span):
        with self.turn:
            ran = self.chance.random() < self.kills
            self.evaluation += ran
            evaluation = 0 if self.stable else self.evaluation
            order = random.Random(self.evaluation)
            self.known[self.mine.tag] = {(self.evaluation, 0)} if ran else set()
        time.sleep(0.0002 * self.chance.random())
        found = []
        for partition in span:
            rows = [n for n in range(ROWS) if hash((evaluation, n)) % self.partitions == partition]
            order.shuffle(rows)
            found.append(pa.record_batch({"n": pa.array(rows, pa.int64()), "s": pa.array([str(n) for n in rows])}))
        return [batch for batch in found if batch.num_rows]

    def rows(self):
        whole = Partitions(self.frame, self)
        try:
            rows = []
            while (batch := whole.next()) is not None:
                rows += batch.column("n").to_pylist()
            return rows
        finally:
            whole.close()


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_are_placed_elsewhere_are_exact_or_an_error(monkeypatch, seed):
    """Whenever a shuffle runs again, and however often: no row is lost, and none comes twice, without an error."""
    try:
        rows = Played(monkeypatch, seed, stable=False, kills=0.02 + 0.005 * seed).rows()
    except spark.ShuffleRerunError:
        return
    assert sorted(rows) == list(range(ROWS))


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_placed_as_before_are_exact(monkeypatch, seed):
    """Though they come in another order each time, what was handed on is found to be the same, and the read goes on."""
    assert sorted(Played(monkeypatch, seed, stable=True, kills=0.05).rows()) == list(range(ROWS))


def test_a_shuffle_that_always_runs_again_is_given_up(monkeypatch):
    """What is never seen to be the same is not gone on with for ever."""
    played = Played(monkeypatch, 1, stable=True, kills=0.0)
    whole = Partitions(played.frame, played)
    assert whole.next() is not None
    played.kills = 1.0
    with pytest.raises(spark.ShuffleRerunError, match="has done so again each time it was compared"):
        while whole.next() is not None:
            pass
    whole.close()


def test_before_anything_was_handed_on_it_is_harmless(monkeypatch):
    """Without adaptive execution the first jobs run the map tasks; they begin anew, on what these have made."""
    played = Played(monkeypatch, 1, stable=False, kills=1.0)

    def once(session, jobs):
        found = {run for job in jobs for run in played.known[job]}
        played.kills = 0.0
        return found

    monkeypatch.setattr(reruns, "map_stages", once)
    assert sorted(played.rows()) == list(range(ROWS))


def test_in_one_process_it_is_an_error_at_once(monkeypatch):
    """There only deleted files make a shuffle run again: nothing is noted that it could be compared with."""
    played = Played(monkeypatch, 3, stable=True, kills=0.0, master="local[2]")
    whole = Partitions(played.frame, played)
    assert whole.next() is not None
    played.kills = 1.0
    with pytest.raises(spark.ShuffleRerunError, match=r"cannot be compared.*df\.checkpoint\(\), or files"):
        while whole.next() is not None:
            pass
    whole.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "pullstream reading"]


def test_jobs_that_spark_knows_nothing_of_are_not_taken_for_harmless(monkeypatch):
    """A record of jobs that lags behind says nothing of a shuffle, and not that there was none."""
    monkeypatch.setattr(reruns, "PATIENCE", 0.01)
    monkeypatch.setattr(reruns, "job_numbers", lambda session, tag: [])
    watched = reruns.Reruns(None)
    watched.look("tag")
    assert watched.due


class Record:
    """Spark's record of one job, and of its stages: an attempt each, and when it was submitted, or 0."""

    def __init__(self, stages):
        self.stages = stages
        session = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(statusTracker=lambda: self)))
        self.session = session

    def getJobInfo(self, job):  # noqa: N802 - Java's
        del job
        status = SimpleNamespace(toString=lambda: "SUCCEEDED")
        return SimpleNamespace(status=lambda: status, stageIds=lambda: [*self.stages])

    def getStageInfo(self, number):  # noqa: N802 - Java's
        attempt, submitted = self.stages[number]
        return SimpleNamespace(currentAttemptId=lambda: attempt, submissionTime=lambda: submitted)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ({3: (0, 0), 4: (0, 17)}, set()),
        ({3: (0, 16), 4: (0, 17)}, {(3, 0)}),
        ({3: (1, 16), 4: (1, 17)}, {(3, 1)}),
        # Two jobs had missed the same files, one of them when they had been made again for the other.
        ({3: (1, 0), 4: (1, 17)}, {(3, 1)}),
    ],
)
def test_a_map_stage_that_ran_is_known_by_its_last_attempt(stages, expected):
    """Also where that one had nothing to do; the last stage of all is the job's own."""
    assert map_stages(Record(stages).session, [1]) == expected


FOUND = "org.apache.spark.SparkException: Job aborted due to stage failure: "


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("cannot rollback a running result stage, please re-run the query to ensure data correctness", True),
        ("A shuffle map stage with indeterminate output was failed and retried. However, Spark cannot rollback", True),
        ("Task 2 in stage 12.0 failed 4 times: ValueError: rollback of an indeterminate transaction", False),
        ("ResultStage 4 has failed the maximum allowable number of times: 4", False),
    ],
)
def test_what_spark_notices_within_a_job_is_known_by_its_words(message, expected):
    """And a word of the user's own is not taken for it."""
    assert reruns.refused(FOUND + message) is expected
