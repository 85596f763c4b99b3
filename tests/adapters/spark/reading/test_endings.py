"""The endings of reading a DataFrame: failures, aborts, slow consumers; nothing is left behind."""

import gc
import os
import random
import threading
import time
from pathlib import Path

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.reading import ordered
from adapters.spark.reading.partitions import SHORT
from tests.adapters.descriptors import opened, opened_files
from tests.adapters.spark.listening import sockets
from tests.programs import wait

pytestmark = pytest.mark.spark


def connections(gateway):
    """This process's TCP sockets, by inode, without those to Java's gateway."""
    own = set(opened())
    return {
        inode
        for _, here, there, inode in sockets()
        if f"socket:[{inode}]" in own and gateway not in {here[1], there[1]}
    }


@pytest.fixture(scope="module")
def warm(session):
    """Run a first Python job, because it opens connections that stay open."""
    session.range(2).mapInArrow(lambda batches: batches, "id long").collect()


@pytest.fixture(autouse=True)
def nothing_left(session, warm, until_idle):
    gateway = session.sparkContext._gateway.gateway_parameters.port
    sockets = connections(gateway)
    threads = set(threading.enumerate())
    yield
    until_idle()
    # A failed iterator of PySpark over partitions forms a cycle with its error.
    wait(lambda: (gc.collect(), connections(gateway) - sockets)[1])
    own = {thread.name for thread in set(threading.enumerate()) - threads}
    assert not {name for name in own if not name.startswith("Trio thread")}


def endless(session, seconds=0.0, partitions=2):
    def function(batches):
        for batch in batches:
            time.sleep(seconds)
            yield batch

    return session.range(0, 10_000_000, 1, partitions).mapInArrow(function, "id long")


@pytest.fixture(params=["arrow", "workers"])
def way(request, monkeypatch):
    """Read Spark's own Arrow data, or, as with a PySpark that lacks it, through Python workers."""
    if request.param == "workers":
        monkeypatch.setattr(ordered, "offered", lambda session: False)


@pytest.mark.usefixtures("way")
class TestFailures:
    def test_an_error_in_one_partition_has_its_text(self, session):
        def function(batches):
            from pyspark import TaskContext

            for batch in batches:
                if TaskContext.get().partitionId() == 2:
                    raise ValueError("row 7 is bad")
                yield batch

        source = spark.from_dataframe(session.range(0, 1000, 1, 4).mapInArrow(function, "id long"))
        with pytest.raises(spark.SparkJobError, match="ValueError: row 7 is bad") as failed:
            ps.run(ps.pipe(source, ps.drain()))
        assert failed.value.raised == "ValueError"
        assert Path(__file__).name in str(failed.value)
        assert "\tat " not in str(failed.value)
        assert "pyspark/worker.py" not in str(failed.value)
        assert len(str(failed.value).splitlines()) < 12
        assert failed.value.__notes__[0].startswith("raised in from_dataframe, composed at ")

    @pytest.mark.sampled
    @pytest.mark.parametrize("how", ["exit", "kill"])
    def test_a_dead_worker_fails_the_stream(self, session, how):
        def function(batches):
            import signal

            from pyspark import TaskContext

            for number, batch in enumerate(batches):
                if TaskContext.get().partitionId() == 1 and number == 3:
                    os._exit(3) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        source = spark.from_dataframe(session.range(0, 200_000, 1, 2).mapInArrow(function, "id long"))
        with pytest.raises(spark.SparkJobError, match="Python worker exited unexpectedly") as failed:
            ps.run(ps.pipe(source, ps.drain()))
        assert "\tat " not in str(failed.value)
        assert "Job aborted due to stage failure" in failed.value.details


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_aborts_at_random_moments_leave_nothing(session, times, until_idle):
    """Sorted or not, while Spark plans, computes or sends: no additional file is open afterwards."""
    chance = random.Random(times)
    frames = [endless(session, seconds=0.002, partitions=200), session.range(0, 3_000_000, 1, 40)]

    async def main():
        at = chance.choice([None, "id"])
        source = spark.from_dataframe(chance.choice(frames), time=at, as_="batches")
        async with ps.pipe(source, ps.drain()).open() as run:
            await trio.sleep(chance.random() ** 2 * 3)
            await run.abort()

    trio.run(main)
    until_idle()
    before = len(opened_files())
    for _ in range(times):
        trio.run(main)
    until_idle()
    wait(lambda: (gc.collect(), len(opened_files()) > before)[1], 60)


def test_a_slow_consumer_occupies_no_slot_and_little_memory(session, tmp_path):
    """Without asks, only some partitions are computed ahead; other jobs get all slots."""
    folder = str(tmp_path)

    def function(batches):
        from pyspark import TaskContext

        Path(f"{folder}/{TaskContext.get().partitionId()}").touch()
        # Slow enough that the next job does not combine several partitions.
        time.sleep(2 * SHORT)
        yield from batches

    df = session.range(0, 400_000, 1, 40).mapInArrow(function, "id long")
    slots = session.sparkContext.defaultParallelism
    counts = []

    @ps.sink
    async def slow(upstream, ctx):
        await upstream.ask(1)
        with trio.fail_after(300):
            while len(counts) < 4 or len(set(counts[-4:])) > 1:
                await trio.sleep(0.2)
                counts.append(len(list(tmp_path.iterdir())))
        assert await trio.to_thread.run_sync(session.range(100).repartition(slots).count) == 100
        await upstream.abort()

    ps.run(ps.pipe(spark.from_dataframe(df, as_="batches"), slow()))
    assert counts[-1] <= 1 + slots


def test_java_keeps_no_delivered_rows(session):
    """Not even for the second that py4j takes to release objects."""
    runtime = session._jvm.java.lang.Runtime.getRuntime()

    def heap():
        runtime.gc()
        return (runtime.totalMemory() - runtime.freeMemory()) >> 20

    def read():
        df = session.range(0, 2_000_000, 1, 8).selectExpr("id", "id * 2 AS twice")
        source = spark.from_dataframe(df, as_="batches")
        return ps.run(ps.pipe(source, ps.reduce(lambda n, batch: n + batch.nbytes, 0))) >> 20

    read()
    before = heap()
    megabytes = read()
    assert megabytes >= 30
    assert heap() - before < megabytes / 2


def test_two_reads_in_lockstep_do_not_wait_for_each_others_slots(session):
    slots = session.sparkContext.defaultParallelism

    def source():
        return spark.from_dataframe(session.range(0, 50_000, 1, 3 * slots), as_="tuples")

    assert ps.run(ps.pipe(ps.zip(source(), source()), ps.reduce(lambda n, _: n + 1, 0))) == 50_000
