"""`from_streaming`: failures on either side, aborts, stops, and going on after each."""

import shutil
import signal
import threading
import time
from unittest import mock

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.streaming.query import Interrupted, Query

pytestmark = pytest.mark.spark


def by_time(timed):
    found = {}
    for at, row in timed:
        found.setdefault(at, []).append(row.number)
    return found


@pytest.fixture
def rest(landing):
    """What the next run with the same checkpoint has, by time; it takes all files at once, if Spark lets it."""
    return lambda: by_time(ps.run(ps.pipe(landing.source(landing.frame(files=100)), ps.collect(timed=True))))


class TestFailures:
    def test_a_failing_consumer_leaves_its_micro_batch_uncommitted(self, landing, rest):
        """The user's own exception ends the run; the restart begins with the rows of that micro-batch, and no other."""
        landing.arrive(2, 2, 2, 5, 2, 2)
        boom = ValueError("boom")

        def fail(row):
            if row.number == 8:
                raise boom
            return row

        with pytest.raises(ValueError, match="boom") as caught:
            ps.run(ps.pipe(landing.source(), ps.map(fail), ps.collect()))
        assert caught.value is boom
        assert boom.__notes__ == [n for n in boom.__notes__ if "raised in map(" in n]
        assert landing.commits == [0, 1, 2]
        assert landing.offsets == [0, 1, 2, 3]
        assert rest() == {3: [6, 7, 8, 9, 10], 4: [11, 12, 13, 14]}
        assert landing.commits == [0, 1, 2, 3, 4]

    def test_a_failing_sink_too(self, landing, rest, capfd):
        """A sink that fails as its time completes has not had its effect; and nothing is logged of it."""
        landing.arrive(1, 1)

        @ps.sink
        async def fails(upstream, ctx):
            async for event in ctx.events(upstream):
                match event:
                    case ps.Batch(at):
                        ctx.notify_at(at)
                    case ps.Completed():
                        raise OSError("the disk is full")

        with pytest.raises(OSError, match="disk is full"):
            ps.run(ps.pipe(landing.source(), fails()))
        assert landing.commits == []
        assert capfd.readouterr() == ("", "")
        assert rest() == {0: [0], 1: [1]}

    def test_a_bad_file_fails_the_stream(self, landing):
        """Spark's error is told in its essence, after what came before has been delivered; nothing is committed."""
        landing.arrive(2)
        landing.put('{"number": "seven"}')
        seen = []
        source = landing.source(landing.frame(mode="FAILFAST"))
        with pytest.raises(spark.SparkStreamError, match="Cannot parse the field name 'number'") as caught:
            ps.run(ps.pipe(source, ps.map(seen.append), ps.drain()))
        assert "\tat org." not in str(caught.value)
        assert len(seen) == 2
        assert landing.commits == [0]

    def test_a_failing_function_of_sparks_fails_the_stream(self, landing):
        """What a user's function in Spark raises is in the message."""
        from pyspark.sql import functions as sql

        @sql.udf("long")
        def fail(number):
            if number == 3:
                raise ZeroDivisionError("three is not allowed")
            return number

        landing.arrive(3, 2)
        df = landing.frame().select(fail("number").alias("number"))
        with pytest.raises(spark.SparkStreamError, match="ZeroDivisionError: three is not allowed"):
            ps.run(ps.pipe(landing.source(df), ps.drain()))
        assert landing.commits == [0]

    def test_a_failure_of_the_stream_can_be_dealt_with(self, landing):
        """`catch` has it, as it has any other."""
        landing.arrive(2)
        landing.put("nonsense")
        source = landing.source(landing.frame(mode="FAILFAST"), as_="tuples")
        rows = ps.run(ps.pipe(source, ps.catch(lambda exc: [type(exc).__name__]), ps.collect()))
        assert rows == [(0, "a"), (1, "b"), "SparkStreamError"]

    def test_a_query_that_cannot_begin_says_why(self, landing):
        """A plan that cannot be run as a stream is refused by Spark, at the first ask."""
        landing.arrive(1)
        source = landing.source(landing.frame().groupBy("key").count())
        with pytest.raises(spark.SparkStreamError, match="(?i)output mode"):
            ps.run(ps.pipe(source, ps.collect()))

    def test_a_failure_of_the_query_is_told_without_its_plan(self, session, landing):
        """What Spark adds, the whole plan of it, is in the details."""
        landing.arrive(1)
        ps.run(ps.pipe(landing.source(), ps.drain()))
        landing.arrive(1)
        twice = landing.frame().union(landing.frame())
        with pytest.raises(spark.SparkStreamError, match="and now there are \\[2\\] sources") as caught:
            ps.run(ps.pipe(landing.source(twice), ps.drain()))
        assert "Logical Plan" in caught.value.details
        assert "=== Streaming Query" not in str(caught.value)
        assert "Logical Plan" not in str(caught.value)

    def test_a_query_that_somebody_else_stops_is_no_end(self, session, landing):
        """Whoever stops the query leaves the stream unfinished, and that is said."""
        landing.arrive(2, 2)

        def stop(row):
            if row.number > 0:
                return row
            threading.Thread(target=session.streams.active[0].stop, daemon=True).start()
            return row

        async def linger(row):
            await trio.sleep(0.5)

        with pytest.raises(spark.SparkStreamError, match="stopped elsewhere"):
            ps.run(ps.pipe(landing.source(), ps.map(stop), ps.map_async(linger, 1), ps.drain()), limit=1)
        assert landing.commits == []

    def test_one_that_is_stopped_just_before_a_commit_is_no_end(self, landing, monkeypatch):
        """All of the micro-batch was complete here, and Spark has not committed it any more."""
        landing.arrive(2)
        hand_over = Query.hand_over

        def stopped(query, df, batch):
            hand_over(query, df, batch)
            threading.Thread(target=query._query.stop, daemon=True).start()
            while query._query.isActive:
                time.sleep(0.01)
            raise Interrupted

        monkeypatch.setattr(Query, "hand_over", stopped)
        with pytest.raises(spark.SparkStreamError, match="stopped elsewhere"):
            ps.run(ps.pipe(landing.source(), ps.drain()))
        assert landing.commits == []

    def test_a_second_run_on_the_same_checkpoint_ends_the_first(self, landing):
        """Spark gives a checkpoint to the query that comes last: the one before fails, and says why."""
        landing.arrive(2, 2)
        source = landing.source(trigger=None)

        async def main():
            async with ps.pipe(source, ps.drain()).open() as first:
                while landing.commits != [0, 1]:  # noqa: ASYNC110 - a folder tells nobody
                    await trio.sleep(0.01)
                async with ps.pipe(landing.source(), ps.collect()).open() as second:
                    assert await second.result() == []
                await first.result()

        with pytest.raises(spark.SparkStreamError, match="same checkpoint"):
            trio.run(main)


class TestStopping:
    def test_nothing_is_started_before_the_first_ask(self, landing):
        """A stream that nobody reads from has no query, and leaves no checkpoint."""
        landing.arrive(1)
        assert ps.run(ps.pipe(landing.source(), ps.take(0), ps.collect())) == []
        assert not landing.checkpoint.exists()

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("wait", [0.0, 0.02, 0.2])
    def test_an_abort_before_the_first_micro_batch(self, landing, wait):
        """However early it comes, an abort is confirmed soon, and leaves no query."""

        async def main():
            async with ps.pipe(landing.source(trigger=None), ps.drain()).open() as running:
                await trio.sleep(wait)
                start = time.monotonic()
                await running.abort()
                return time.monotonic() - start

        assert trio.run(main) < 3

    def test_an_abort_while_spark_works_on_the_first(self, landing, until_idle):
        """The job of the micro-batch is cancelled."""
        from pyspark.sql import functions as sql

        @sql.udf("long")
        def dawdle(number):
            time.sleep(0.05)
            return number

        landing.arrive(1000)
        df = landing.frame().select(dawdle("number").alias("number"))

        async def main():
            async with ps.pipe(landing.source(df), ps.drain()).open() as running:
                with trio.fail_after(300):
                    while not landing.session.sparkContext.statusTracker().getActiveJobsIds():  # noqa: ASYNC110
                        await trio.sleep(0.01)
                await trio.sleep(0.3)
                start = time.monotonic()
                await running.abort()
                return time.monotonic() - start

        assert trio.run(main) < 3
        until_idle()
        assert landing.commits == []

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("rows", [2, 20_000])
    def test_an_abort_while_the_body_waits(self, landing, rest, rows, capfd):
        """Whether the rest of its rows is not wanted, or what they lead to not complete, the body is woken at once."""
        landing.arrive(2, rows, 2)
        stuck = trio.Event()

        async def stay(row):
            if row.number >= 2:
                stuck.set()
                await trio.sleep_forever()

        async def main():
            async with ps.pipe(landing.source(), ps.map_async(stay, 1), ps.drain()).open() as running:
                await stuck.wait()
                await trio.sleep(0.2)
                start = time.monotonic()
                await running.abort()
                return time.monotonic() - start

        assert trio.run(main) < 1.5
        assert landing.commits == [0]
        assert capfd.readouterr() == ("", "")
        assert {at: len(numbers) for at, numbers in rest().items()} == {1: rows, 2: 2}

    def test_enough_is_enough(self, landing, rest):
        """`take` ends the stream in the middle of a micro-batch, which is not committed."""
        landing.arrive(2, 3, 2)
        assert len(ps.run(ps.pipe(landing.source(trigger=None), ps.take(3), ps.collect()))) == 3
        assert landing.commits == [0]
        assert rest() == {1: [2, 3, 4], 2: [5, 6]}

    def test_an_interrupt_ends_the_query_uncommitted(self, landing, rest):
        """Ctrl-C ends the run in order."""
        landing.arrive(2, 2)

        def interrupt(row):
            if row.number == 2:
                signal.raise_signal(signal.SIGINT)
            return row

        async def stay(row):
            if row.number >= 2:
                await trio.sleep_forever()

        with pytest.raises(KeyboardInterrupt):
            ps.run(ps.pipe(landing.source(), ps.map(interrupt), ps.map_async(stay, 1), ps.drain()), limit=1)
        assert landing.commits == [0]
        assert rest() == {1: [2, 3]}

    def test_a_query_that_is_being_stopped_is_waited_for(self):
        """It says that it is over while its body still runs, whose connection must not be taken from it."""
        over = threading.Event()

        class Stopping:
            id, isActive, _jsq = "", False, mock.Mock(**{"lastProgress.return_value": None})  # noqa: N815 - pyspark's

            def awaitTermination(self, timeout=None):  # noqa: N802 - pyspark's
                return timeout is not None or over.wait(5)

            def stop(self):
                over.wait(5)

        spec = mock.Mock(**{"start.return_value": Stopping(), "ends": True})
        query = Query(spec, print, spark.StreamStatus())
        query._connection = connection = mock.Mock()
        running = threading.Thread(target=query.run)
        running.start()
        running.join(0.1)
        assert running.is_alive()
        assert not connection.socket.shutdown.called
        over.set()
        running.join(5)
        assert connection.socket.shutdown.called


class TestGoingOn:
    @pytest.mark.parametrize("trigger", [None, "100 milliseconds"])
    def test_what_arrives_later_comes(self, landing, trigger):
        """Without an end, the stream goes on with every file, and `finish` ends it when all is committed."""
        landing.arrive(1)
        seen = []

        async def main():
            pipeline = ps.pipe(landing.source(trigger=trigger), ps.tap(seen.append), ps.collect(timed=True))
            async with pipeline.open() as running:
                for count in range(1, 4):
                    with trio.fail_after(300):
                        while len(seen) < count:  # noqa: ASYNC110 - the list tells nobody
                            await trio.sleep(0.01)
                    if count < 3:
                        landing.arrive(1)
                await running.finish()
                return await running.result()

        assert by_time(trio.run(main)) == {0: [0], 1: [1], 2: [2]}
        assert landing.commits == [0, 1, 2]

    def test_finish_gives_the_micro_batch_under_way_as_a_whole(self, landing, rest):
        """It is not cut short, and it is committed; what comes after it is left for the next run."""
        landing.arrive(2, 20_000, 2)

        async def main():
            under_way = trio.Event()

            def look(row):
                if row.number >= 2:
                    under_way.set()

            pipeline = ps.pipe(landing.source(), ps.tap(look), ps.collect(timed=True))
            async with pipeline.open(limit=10) as running:
                await under_way.wait()
                await running.finish()
                return await running.result()

        assert {at: len(numbers) for at, numbers in by_time(trio.run(main)).items()} == {0: 2, 1: 20_000}
        assert landing.commits == [0, 1]
        assert rest() == {2: [20_002, 20_003]}

    def test_finish_before_anything_was_asked(self, landing):
        """Then there is no query at all."""
        landing.arrive(1)

        @ps.sink
        async def late(upstream, ctx):
            await trio.sleep(0.1)
            return await upstream.ask()

        async def main():
            async with ps.pipe(landing.source(), late()).open() as running:
                await running.finish()
                return await running.result()

        assert trio.run(main) is ps.DONE
        assert not landing.checkpoint.exists()


class TestJournals:
    def test_a_state_goes_on(self, landing, tmp_path):
        """With a journal it goes on in the next run, and after a failure, as if there had been but one."""
        landing.arrive(2, 2)
        wrong = [True]

        def total(count, row):
            if row.number == 5 and wrong:
                raise ValueError(wrong.pop())
            return count + row.number

        def run():
            pipeline = ps.pipe(landing.source(), ps.scan(total, 0), ps.collect(timed=True))
            return ps.run(pipeline, journal=tmp_path / "journal")

        first = [(0, 0), (0, 1), (1, 3), (1, 6)]
        assert run() == first
        landing.arrive(2, 1)
        with pytest.raises(ValueError, match="True"):
            run()
        assert run() == [*first, (2, 10), (2, 15), (3, 21)]
        assert landing.commits == [0, 1, 2, 3]

    def test_what_is_done_is_committed_unread(self, landing, tmp_path):
        """A micro-batch that is in the journal, and that Spark has not committed, is not read again."""
        landing.arrive(2, 2, 2)
        seen = []
        pipeline = ps.pipe(landing.source(), ps.tap(seen.append), ps.drain())
        ps.run(pipeline, journal=tmp_path / "journal")
        (landing.checkpoint / "commits" / "2").unlink()
        (landing.checkpoint / "commits" / ".2.crc").unlink()
        seen.clear()
        ps.run(pipeline, journal=tmp_path / "journal")
        assert seen == []
        assert landing.commits == [0, 1, 2]

    def test_a_journal_and_a_checkpoint_belong_together(self, landing, tmp_path):
        """One without the other, or an old one, is refused and named, and nothing is committed; both go on."""
        journal, checkpoint = tmp_path / "journal", landing.checkpoint
        pipeline = ps.pipe(landing.source(), ps.scan(lambda count, _: count + 1, 0), ps.collect())
        for step, rows in (("old", [1]), ("kept", [1, 1])):
            landing.arrive(*rows)
            ps.run(pipeline, journal=journal)
            shutil.copytree(checkpoint, tmp_path / step / "checkpoint")
            shutil.copy(journal, tmp_path / step)
        landing.arrive(1)

        def put_back(journal_of, checkpoint_of):
            journal.unlink(missing_ok=True)
            shutil.rmtree(checkpoint)
            if journal_of is not None:
                shutil.copy(tmp_path / journal_of / "journal", journal)
            if checkpoint_of is not None:
                shutil.copytree(tmp_path / checkpoint_of / "checkpoint", checkpoint)

        for journal_of, checkpoint_of, why in (
            (None, "kept", "has committed micro-batch 2, which the journal"),
            ("old", "kept", "has committed micro-batch 2, which the journal"),
            ("kept", None, "is a different or new one since the journal"),
            ("kept", "old", "begins with micro-batch 1, but the journal"),
        ):
            put_back(journal_of, checkpoint_of)
            before = landing.commits
            with pytest.raises(ps.errors.JournalError, match=why) as caught:
                ps.run(pipeline, journal=journal)
            assert f" {journal} " in str(caught.value)
            assert f" {checkpoint} " in str(caught.value)
            assert landing.commits == before
        put_back("kept", "kept")
        assert ps.run(pipeline, journal=journal) == [1, 2, 3, 4]

    def test_a_sink_that_has_had_enough_holds_no_commit_up(self, landing, tmp_path):
        """Its result is in the journal, and the other sinks go on, in this run and in the next."""
        pipeline = ps.pipe(landing.source(), ps.map(lambda row: row.number), ps.tee(ps.first(), ps.collect()))
        for files in (2, 3):
            landing.arrive(*[1] * (files - landing.files))
            assert ps.run(pipeline, journal=tmp_path / "journal") == (0, list(range(files)))
            assert landing.commits == list(range(files))

    def test_finishing_leaves_what_is_not_in_the_journal(self, landing, tmp_path):
        """A run that is finished records nothing more, so nothing more is committed; the next run has it again."""
        landing.arrive(2, 20_000, 2)
        seen = []

        async def main():
            under_way = trio.Event()

            def look(row):
                seen.append(row.number)
                if row.number >= 2:
                    under_way.set()

            pipeline = ps.pipe(landing.source(), ps.tap(look).named("look"), ps.drain())
            async with pipeline.open(limit=10, journal=tmp_path / "journal") as running:
                await under_way.wait()
                await running.finish()

        trio.run(main)
        assert landing.commits == [0]
        assert seen == list(range(20_002))


class TestTimesBelow:
    def test_times_within_a_micro_batch_nest(self, landing):
        """Nested event times complete with their micro-batch, however late they are."""
        landing.arrive(5, 5)
        stamped = ps.stamp(lambda row: row.number // 2, lateness=10, nest=True)
        pipeline = ps.pipe(landing.source(), stamped, ps.count_by_key(lambda row: "n"), ps.collect(timed=True))
        assert ps.run(pipeline) == [
            ((0, 0), ("n", 2)), ((0, 1), ("n", 2)), ((0, 2), ("n", 1)),
            ((1, 2), ("n", 1)), ((1, 3), ("n", 2)), ((1, 4), ("n", 2)),
        ]  # fmt: skip
        assert landing.commits == [0, 1]

    @pytest.mark.parametrize("module", [ps.stamp(lambda row: 1), ps.stamp_epochs(2)])
    def test_times_of_their_own_are_refused(self, landing, module):
        """Nothing could say when all of a micro-batch is done with; the module is named, and nothing started."""
        landing.arrive(1)
        with pytest.raises(ps.CompositionError, match=r"(stamp|stamp_epochs), composed .* its own times .*nest=True"):
            ps.run(ps.pipe(landing.source(), module, ps.drain()))
        assert not landing.checkpoint.exists()

    def test_what_can_complete_only_with_the_next_micro_batch_is_refused(self, landing, tmp_path):
        """A window over two micro-batches waits for the second, which waits for the first."""
        landing.arrive(1)
        pipeline = ps.pipe(landing.source(), ps.sliding(2, 1), ps.count_by_key(lambda row: "n"), ps.collect())
        with pytest.raises(ps.CompositionError, match=r"sliding.* below from_streaming.* only after later ones"):
            ps.run(pipeline, journal=tmp_path / "journal")
        assert not landing.checkpoint.exists()

    def test_what_waits_for_the_next_micro_batch_stalls(self, landing, rest):
        """Where only running shows it, the stall is explained, and nothing committed."""
        landing.arrive(1, 1, 1)

        @ps.transformer
        async def two_by_two(upstream, ctx):
            async for batch in ctx.batches(upstream):
                with ctx.hold(batch.time):
                    following = await upstream.ask(1)
                yield ps.Batch(batch.time, [batch, following])

        with pytest.raises(ps.StalledError, match=r"(?s)everything that 0 leads to is complete.*two_by_two holds 0"):
            ps.run(ps.pipe(landing.source(), two_by_two(), ps.collect()))
        assert landing.commits == []
        assert rest() == {0: [0], 1: [1, 2]}

    def test_a_state_that_would_be_lost_is_refused(self, landing):
        """A running total needs a journal, which is said before anything is started."""
        landing.arrive(1)
        pipeline = ps.pipe(landing.source(), ps.scan(lambda total, row: total + 1, 0), ps.collect())
        with pytest.raises(ps.CompositionError, match=r"scan.* keeps state between micro-batches.*journal="):
            ps.run(pipeline)
        assert not landing.checkpoint.exists()

    def test_a_source_inside_a_module_is_refused(self, landing):
        """There it could not know what its micro-batches lead to."""
        landing.arrive(1)
        pipeline = ps.pipe(ps.values([1]), ps.map(lambda _: landing.source()), ps.flatten(), ps.drain())
        with pytest.raises(ps.CompositionError, match="is opened inside another module"):
            ps.run(pipeline)

    def test_merged_streams_commit_each_for_itself(self, session, landing, tmp_path):
        """Two queries are two clocks; each is committed as its own rows are done with."""
        from tests.adapters.spark.streaming.conftest import Landing

        other_root = tmp_path / "other"
        other_root.mkdir()
        other = Landing(session, other_root)
        landing.arrive(2, 2)
        other.arrive(3)
        rows = ps.run(ps.pipe(ps.merge(landing.source(), other.source()), ps.collect()))
        assert len(rows) == 7
        assert (landing.commits, other.commits) == ([0, 1], [0])
