"""Shuffles recomputed during a read give an exact result or a named error; Spark is simulated. Digests."""

import datetime as dt
import random
import threading
import time
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest

from adapters import spark
from adapters.spark.reading import partitions as reading, reruns
from adapters.spark.reading.arrow_rdd import map_stages
from adapters.spark.reading.partitions import Partitions
from adapters.spark.reading.reruns import digest

pytest.importorskip("pyspark")

ROWS = 400


class Played:
    """A shuffle whose map tasks may run again before any job; if `stable`, they place rows as before."""

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
        monkeypatch.setattr(reading, "job_numbers", lambda session, tag: [tag])
        monkeypatch.setattr(
            reruns, "map_stages", lambda session, jobs: {run for job in jobs for run in self.known[job]}
        )

    # ---- in place of the jobs

    def submit(self, step, *tags):
        self.mine.tag = tags[0] if tags else "open"
        return step()

    def call(self, step):
        return step()

    def check(self):
        pass

    # ---- in place of the RDD

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
def test_rows_placed_elsewhere_are_exact_or_an_error(monkeypatch, seed):
    """Whenever and however often a shuffle is recomputed, no row is lost or delivered twice without an error."""
    try:
        rows = Played(monkeypatch, seed, stable=False, kills=0.02 + 0.005 * seed).rows()
    except spark.ShuffleRerunError:
        return
    assert sorted(rows) == list(range(ROWS))


@pytest.mark.parametrize("seed", range(20))
def test_rows_placed_as_before_are_exact(monkeypatch, seed):
    """They arrive in a different order each time, but the delivered rows compare equal, and the read continues."""
    assert sorted(Played(monkeypatch, seed, stable=True, kills=0.05).rows()) == list(range(ROWS))


@pytest.mark.parametrize(
    ("master", "says"),
    [
        ({}, "has done so again each time it was compared"),
        # In one process only deleted files can cause it, so no digests are kept for a comparison.
        ({"master": "local[2]"}, r"cannot be compared.*df\.checkpoint\(\), or files"),
    ],
)
def test_a_shuffle_that_is_always_recomputed_fails(monkeypatch, master, says):
    played = Played(monkeypatch, 1, stable=True, kills=0.0, **master)
    whole = Partitions(played.frame, played)
    assert whole.next() is not None
    played.kills = 1.0
    with pytest.raises(spark.ShuffleRerunError, match=says):
        while whole.next() is not None:
            pass
    whole.close()


def test_a_rerun_before_the_first_delivery_has_no_effect(monkeypatch):
    """Without adaptive execution, the first jobs run the map tasks, and are then repeated with the new files."""
    played = Played(monkeypatch, 1, stable=False, kills=1.0)

    def once(session, jobs):
        found = {run for job in jobs for run in played.known[job]}
        played.kills = 0.0
        return found

    monkeypatch.setattr(reruns, "map_stages", once)
    assert sorted(played.rows()) == list(range(ROWS))


def test_jobs_without_a_record_count_as_reruns(monkeypatch):
    """A missing record does not prove that no shuffle ran."""
    monkeypatch.setattr(reruns, "PATIENCE", 0.01)
    watched = reruns.Reruns(None)
    watched.look(list)
    assert watched.due


class Record:
    """Spark's record of one job and its stages: each with an attempt, and its submission time or 0."""

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
        # Two jobs missed the same files; the second job ran after the first had made them again.
        ({3: (1, 0), 4: (1, 17)}, {(3, 1)}),
    ],
)
def test_a_map_stage_is_identified_by_its_last_attempt(stages, expected):
    """Even if that attempt had no tasks; the job's last stage is not a map stage."""
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
def test_a_rerun_that_spark_detects_is_recognized_by_its_message(message, expected):
    assert bool(reruns.REFUSED.search(FOUND + message)) is expected


COLUMNS = {
    "whole": pa.array(range(ROWS)),
    "small": pa.array([n % 100 for n in range(ROWS)], pa.int8()),
    "real": pa.array([n / 7 if n % 7 else None for n in range(ROWS)]),
    "text": pa.array([f"row{n}" if n % 5 else None for n in range(ROWS)]),
    "long": pa.array([f"{n}" * 90 for n in range(ROWS)]),
    "large": pa.array([f"{n}" for n in range(ROWS)], pa.large_string()),
    "bytes": pa.array([str(n).encode() for n in range(ROWS)]),
    "flag": pa.array([n % 2 == 0 if n % 3 else None for n in range(ROWS)]),
    "price": pa.array([Decimal(n) for n in range(ROWS)], pa.decimal128(20, 2)),
    "day": pa.array([dt.date(2020, 1, 1 + n % 28) for n in range(ROWS)]),
    "at": pa.array(range(ROWS), pa.timestamp("us", "UTC")),
    "list": pa.array([[str(i) for i in range(n % 4)] if n % 3 else None for n in range(ROWS)]),
    "map": pa.array([[(str(n), n)] for n in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"x": n, "y": [n]} if n % 9 else None for n in range(ROWS)]),
    "nothing": pa.nulls(ROWS),
}
BATCH = pa.record_batch(COLUMNS)


def test_order_and_division_do_not_matter():
    """The digest is the same for rows in any order, in batches of any size, and for slices."""
    places = list(range(ROWS))
    random.Random(1).shuffle(places)
    whole = digest([BATCH])
    assert whole[0] == ROWS
    assert digest([BATCH.take(pa.array(places))]) == whole
    assert digest([BATCH.slice(0, 133), BATCH.slice(133, 0), BATCH.slice(133)]) == whole
    assert digest([]) == (0, 0)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "nothing"])
def test_every_column_counts(name):
    """The digest changes if two rows exchange a value, or if a row is missing."""
    swapped = COLUMNS[name].take(pa.array([1, 0, *range(2, ROWS)]))
    changed = {**COLUMNS, name: swapped}
    assert digest([pa.record_batch(changed)]) != digest([BATCH])
    assert digest([pa.record_batch({name: COLUMNS[name]})]) != digest([pa.record_batch({name: COLUMNS[name]}).slice(1)])


def test_rows_without_columns_are_counted():
    assert digest([pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))])[0] == 3
