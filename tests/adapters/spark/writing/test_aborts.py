"""Spark's reads are aborted at any moment, and programs that it reads are killed: nothing is left over or lost."""

import os
import random
import tempfile
import threading
import time

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.writing.server import server_for
from tests.adapters.descriptors import opened_files
from tests.adapters.spark.helpers import killed
from tests.adapters.spark.listening import listened_by
from tests.adapters.spark.writing.program import DAYS, ROWS, into_files
from tests.programs import wait
from tests.sampling import amount

pytestmark = pytest.mark.spark


class Endless:
    def __init__(self, pause):
        self.pause = pause
        self.opened = self.released = 0

    def source(self):
        @ps.source
        async def endless(ctx):
            self.opened += 1
            try:
                time = 0
                while True:
                    time += 1
                    yield ps.Batch(time, list(range(1000)))
                    await trio.sleep(self.pause)
            finally:
                self.released += 1

        return endless()

    def unreleased(self):
        return self.opened - self.released


def cancelled(session, source, moment):
    tag = f"abort-{moment}"

    def act():
        session.sparkContext.addJobTag(tag)
        with pytest.raises(Exception, match=r"cancel|can be read once"):
            spark.to_dataframe(source, "n BIGINT", session=session).count()

    action = threading.Thread(target=act)
    action.start()
    time.sleep(moment)
    while action.is_alive():
        # Spark forgets a cancellation that precedes its job.
        session.sparkContext.cancelJobsWithTag(tag)
        action.join(0.2)


def withdrawn(session, source, moment):
    handle = spark.register_source("withdrawn", source, "n BIGINT", session=session)

    def act():
        with pytest.raises(Exception, match=r"withdrawn|closed the connection|can be read once"):
            session.read.format("pullstream").load("withdrawn").count()

    action = threading.Thread(target=act)
    action.start()
    time.sleep(moment)
    handle.close()
    action.join()


def limited(session, source, moment):
    rows = spark.to_dataframe(source, "n BIGINT", session=session).limit(1 + int(moment * 5000)).collect()
    assert len(rows) == 1 + int(moment * 5000)


def stopped(session, source, moment):
    with (
        tempfile.TemporaryDirectory() as folder,
        spark.register_source("stopped", source, "n BIGINT", session=session),
    ):
        frame = session.readStream.format("pullstream").option("maxRowsPerBatch", 2000).load("stopped")
        query = frame.writeStream.format("noop").option("checkpointLocation", folder).start()
        time.sleep(moment)
        query.stop()


def test_aborts_at_some_moments(session, until_idle):
    chance = random.Random(1)
    server = server_for(session)
    listens, files = listened_by([os.getpid()]), set(opened_files())
    ways = [cancelled, withdrawn, limited, stopped]
    for number in range(amount(4, 100)):
        endless = Endless(chance.choice([0.0, 0.05]))
        ways[number % len(ways)](session, endless.source(), chance.uniform(0, amount(0.5, 1.5)))
        wait(endless.unreleased)
        assert endless.opened <= 1
    until_idle()
    # Only the tasks that listen and that check for a stopped session are left.
    wait(lambda: len(server._nursery.child_tasks) > 2)
    assert [thread.name for thread in threading.enumerate()].count("pullstream server") == 1
    assert listened_by([os.getpid()]) == listens
    assert set(opened_files()) == files


def numbered(folder):
    return {path.name for path in folder.glob("[0-9]*")} if folder.exists() else set()


def kill(folder):
    """Run the program, and kill it in a micro-batch: as it is planned, read, written, or committed."""
    log = folder / "checkpoint" / random.choice(["offsets", "commits"])
    goal = len(numbered(log)) + random.randrange(1, 3)
    assert killed("writing.program", folder, ready=lambda: len(numbered(log)) >= goal, after=0.3)
    # Java outlives its Python for a moment.
    time.sleep(0.5)


@pytest.mark.slow
def test_killed_and_continued(session, tmp_path):
    """No row is lost or written twice: another program continues with Spark's checkpoint and the journal."""
    for _ in range(amount(1, 10)):
        kill(tmp_path)
    commits = len(numbered(tmp_path / "checkpoint" / "commits"))
    into_files(session, tmp_path)
    assert len(numbered(tmp_path / "checkpoint" / "commits")) > commits
    rows = sorted((row.day, row.n) for row in session.read.parquet(str(tmp_path / "rows")).collect())
    assert rows == [(day, day * ROWS + n) for day in range(DAYS) for n in range(ROWS)]
