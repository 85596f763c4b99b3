"""Keyed streams in Spark: queries compared with one run, kills, and restarts."""

import json
import random
import time
from collections import defaultdict
from itertools import chain, pairwise
from typing import NamedTuple

import pytest

import pullstream as ps
from adapters import spark
from tests.adapters.spark.executing.program import RESULTS, ROCKSDB, SECOND, TRANSFORMERS, keyed, landing
from tests.adapters.spark.helpers import killed, on_both, settings
from tests.adapters.spark.streaming.conftest import Landing
from tests.sampling import amount

pytestmark = pytest.mark.spark

EPOCH = 1_000_000
END = 100_000
DELAY = 2
"""The delay of the watermark in seconds."""


@pytest.fixture
def stateful(chosen):
    with settings(chosen, {**ROCKSDB, "spark.sql.shuffle.partitions": amount("1", "2")}):
        yield chosen


class Arrivals:
    def __init__(self, root, seed, files):
        self.landing = Landing(None, root)
        dice = random.Random(seed)
        self.files = []
        for number in range(files):
            seconds = range(max(1, 3 * number - 6), 3 * number + 8)
            self.files.append([(dice.choice("abcd"), dice.choice(seconds), dice.randrange(9)) for _ in range(12)])
        # A row that is always late, and a last row, which completes all others.
        self.files.append([("a", 0, 5), ("end", END, 0)])

    def arrive(self, first=0, end=None):
        """Write the files from `first` up to `end`."""
        for rows in self.files[first:end]:
            lines = [json.dumps({"key": key, "at": stamp(at), "value": value}) for key, at, value in rows]
            self.landing.put("\n".join(lines))

    def in_time(self, batches):
        """The rows that Spark does not drop, by key; Spark drops by the watermark of the previous micro-batch."""
        known, dropped = defaultdict(list), 0
        latest = [max((at for file in batch for _, at, _ in self.files[file]), default=-EPOCH) for batch in batches]
        for number, batch in enumerate(batches):
            late = max(latest[: max(0, number - 1)], default=-EPOCH) - DELAY
            for key, at, value in chain.from_iterable(self.files[file] for file in batch):
                if at > late:
                    known[key].append((at, value))
                else:
                    dropped += 1
        assert dropped > 0, "no row is late"
        return known


class Row(NamedTuple):
    value: int
    at: int


def stamp(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH + second))


def batches_of(checkpoint):
    """The numbers of the files in each micro-batch, from Spark's own log.

    Each has one file, with two exceptions. If the query is killed after its source has logged a file but before Spark
    has planned it, the next micro-batch has two. A query of all available files ends with a micro-batch without files.
    """
    plans = checkpoint / "offsets"
    ends = [
        json.loads((plans / str(number)).read_text().splitlines()[2])["logOffset"]
        for number in range(sum(path.name.isdigit() for path in plans.iterdir()))
    ]
    return [range(before + 1, end + 1) for before, end in pairwise([-1, *ends])]


def in_one_run(arrivals, checkpoint):
    """The results of one run per key, without those that Spark has not completed at the end."""
    found = []
    for key, known in arrivals.in_time(batches_of(checkpoint)).items():
        rows = [Row(value, (EPOCH + at) * SECOND) for at, value in sorted(known, key=lambda row: row[0])]
        source = ps.values(rows, time=lambda row: row.at)
        made = ps.run(ps.pipe(source, *TRANSFORMERS, ps.collect(timed=True)))
        found += [(key, at, *pair) for at, pair in made if at < (EPOCH + END - DELAY) * SECOND]
    return sorted(found)


def written(session, out):
    micros = "unix_micros(cast(at AS timestamp)) AS at"
    rows = session.read.schema(RESULTS).json(str(out)).selectExpr("key", micros, "kind", "result")
    return sorted(map(tuple, rows.collect()))


def started(frame, checkpoint, out):
    writing = frame.writeStream.format("json").option("checkpointLocation", str(checkpoint))
    return writing.trigger(availableNow=True).start(str(out))


def read_all(session, arrivals, root):
    started(keyed(landing(session, arrivals.landing.folder)), root / "state", root / "out").awaitTermination()


@on_both
def test_keyed_streams_equal_one_run(stateful, tmp_path):
    """Windows, folds, running folds, a user's transformer; several keys per micro-batch, late rows, and a restart."""
    arrivals = Arrivals(tmp_path, 1, 2)
    arrivals.arrive(end=2)
    read_all(stateful, arrivals, tmp_path)
    begun = written(stateful, tmp_path / "out")
    arrivals.arrive(2)
    read_all(stateful, arrivals, tmp_path)
    whole = in_one_run(arrivals, tmp_path / "state")
    assert written(stateful, tmp_path / "out") == whole
    assert 0 < len(begun) < len(whole)


@pytest.mark.slow
def test_state_moves_to_other_partitions(stateful, tmp_path):
    manager = getattr(type(stateful), "_streamingCheckpointManager", None)
    if manager is None:
        pytest.skip("from PySpark 4.2 on")
    arrivals = Arrivals(tmp_path, 2, 5)
    arrivals.arrive(end=3)
    read_all(stateful, arrivals, tmp_path)
    stateful._streamingCheckpointManager.repartition(str(tmp_path / "state"), 5)
    arrivals.arrive(3)
    read_all(stateful, arrivals, tmp_path)
    # By file name: the files' own log has no entry for a micro-batch that wrote only state.
    assert written(stateful, tmp_path / "out" / "*.json") == in_one_run(arrivals, tmp_path / "state")


@on_both
def test_the_instants_of_a_repeated_hour_are_different_keys(stateful, tmp_path):
    """Although in Spark's worker they are equal datetimes of one time zone."""
    arrived = Landing(None, tmp_path)
    seconds = [1_762_061_400, 1_762_065_000]
    arrived.put("\n".join(json.dumps({"at": stamp(0), "value": second}) for second in seconds))
    with settings(stateful, {"spark.sql.session.timeZone": "America/New_York"}):
        frame = landing(stateful, arrived.folder).withWatermark("at", "0 seconds")
        frame = frame.selectExpr("timestamp_seconds(value) AS hour", "at")
        given = ps.map(lambda row: (row.hour,))
        keys = spark.on_executors(given, schema="hour timestamp, given long", by="hour", time="at")
        started(frame.transform(keys), tmp_path / "state", tmp_path / "out").awaitTermination()
        found = stateful.read.schema("hour timestamp, given long").json(str(tmp_path / "out"))
        rows = sorted(map(tuple, found.selectExpr("unix_micros(hour)", "given").collect()))
    assert rows == [(second * SECOND, second * SECOND) for second in seconds]


def committed(root):
    return [path.name for path in (root / "state" / "commits").glob("*") if path.name.isdigit()]


@pytest.mark.slow
def test_killed_and_restarted(stateful, tmp_path):
    """The state of every key is in Spark's checkpoint."""
    state, out, kills = tmp_path / "state", tmp_path / "out", amount(1, 20)
    arrivals = Arrivals(tmp_path, kills, 4 * kills + 2)
    arrivals.arrive()

    def ready():
        return len(committed(tmp_path)) >= goal

    for _ in range(kills):
        goal = len(committed(tmp_path)) + 1
        # On a fast machine the program may have ended already.
        killed("executing.program", arrivals.landing.folder, state, out, ready=ready, after=1, java=True)
    read_all(stateful, arrivals, tmp_path)
    assert written(stateful, out) == in_one_run(arrivals, state)
