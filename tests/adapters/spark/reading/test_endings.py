"""How the pushed route ends with Spark: failures on either side, aborts, slow consumers; and nothing is left."""

import os
import threading
import time

import pytest
import trio

import pullstream as ps
from adapters import spark
from tests.adapters.spark.listening import listened_by

pytestmark = pytest.mark.spark


def mapped(session, function, rows=80_000, partitions=4):
    """A DataFrame made by a function of Arrow batches."""
    return session.range(0, rows, 1, partitions).mapInArrow(function, "id long")


def slowly(batches):
    import time

    for batch in batches:
        for row in range(0, batch.num_rows, 100):
            time.sleep(0.05)
            yield batch.slice(row, 100)


@pytest.fixture
def nothing_left(session, seconds_until_idle):
    """No job, no socket, no thread more than before; the session is usable."""
    session.range(5).count()

    def listening():
        return listened_by([os.getpid()])

    def threads():
        # Those that trio and the bridge to Java keep for the next who needs one are not the stream's.
        return {t for t in threading.enumerate() if not t.name.startswith(("Trio", "Thread-"))}

    before = listening(), threads()
    yield
    assert seconds_until_idle() < 2
    assert (listening(), threads()) == before
    assert session.range(5).count() == 5


@pytest.mark.usefixtures("nothing_left")
class TestFailures:
    def test_a_python_error_in_one_partition(self, session):
        """It fails the stream, with its type, its message and the user's line."""

        def bad(batches):
            for batch in batches:
                if 70_000 in batch.column(0).to_pylist():
                    raise ValueError("row 70,000 is bad")
                yield batch

        with pytest.raises(spark.SparkJobError, match="ValueError: row 70,000 is bad") as caught:
            ps.run(ps.pipe(spark.from_dataframe(mapped(session, bad)), ps.collect()))
        assert caught.value.raised == "ValueError"
        assert os.path.basename(__file__) in str(caught.value)  # noqa: PTH119

    def test_a_worker_that_is_killed(self, session):
        """It dies between two batches, without a word to anybody."""

        def dies(batches):
            import os

            for batch in batches:
                yield batch
                if batch.column(0)[0].as_py() >= 60_000:
                    os._exit(3)

        with pytest.raises(spark.SparkJobError, match="Python worker exited unexpectedly"):
            ps.run(ps.pipe(spark.from_dataframe(mapped(session, dies)), ps.collect()))

    def test_a_consumer_that_fails(self, session):
        """Its exception is the run's, the same object; Spark is not to blame."""
        failure = KeyError("mine")

        def strict(row):
            if row.id % 1000 == 500:
                raise failure

        with pytest.raises(KeyError) as caught:
            ps.run(ps.pipe(spark.from_dataframe(mapped(session, slowly, rows=8000)), ps.map(strict), ps.drain()))
        assert caught.value is failure


@pytest.mark.usefixtures("nothing_left")
class TestAborts:
    @pytest.mark.parametrize("route", ["pushed", "ordered"])
    def test_in_the_middle(self, session, route):
        """The job is gone in a second, though its tasks would have gone on for long."""
        seen = []

        async def main():
            source = spark.from_dataframe(mapped(session, slowly, rows=8000), route=route)
            async with ps.pipe(source, ps.tap(seen.append), ps.drain()).open() as running:
                with trio.fail_after(20):
                    while not seen:  # noqa: ASYNC110 - Spark does not say
                        await trio.sleep(0.01)
                start = time.monotonic()
                await running.abort()
                return time.monotonic() - start

        assert trio.run(main) < 2
        assert 0 < len(seen) < 8000

    def test_before_the_first_batch(self, session):
        """Tasks that have connected, and made nothing yet, are cancelled."""

        def never(batches):
            import time

            time.sleep(60)
            yield from batches

        async def main():
            async with ps.pipe(spark.from_dataframe(mapped(session, never)), ps.drain()).open() as running:
                tracker = session.sparkContext.statusTracker()
                with trio.fail_after(20):
                    while not tracker.getActiveJobsIds():  # noqa: ASYNC110 - Spark does not say
                        await trio.sleep(0.01)
                await trio.sleep(0.3)
                start = time.monotonic()
                await running.abort()
                return time.monotonic() - start

        assert trio.run(main) < 2

    def test_a_slow_consumer_makes_the_tasks_wait(self, session, tmp_path):
        """While it takes its time with the first rows, they come to a stop, when Spark's own pipes are full."""
        made = tmp_path / "made"
        text = str(made)

        def noted(batches):
            import pyarrow as pa

            megabyte = pa.record_batch({"pad": pa.array([b"x" * 1000] * 1000)})
            for _ in batches:
                for _ in range(1000):
                    with open(text, "ab") as file:  # noqa: PTH123
                        file.write(b".")
                    yield megabyte

        @ps.sink
        async def slow(upstream, ctx):
            await upstream.ask(1)
            before = -1
            with trio.fail_after(20):
                while (now := made.stat().st_size) != before:
                    before = now
                    await trio.sleep(1)
            return now

        frame = session.range(0, 2, 1, 2).mapInArrow(noted, "pad binary")
        assert ps.run(ps.pipe(spark.from_dataframe(frame, as_="batches"), slow())) < 500
