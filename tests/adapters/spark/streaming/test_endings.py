"""`from_streaming`: failures on either side, aborts, stops, kills, and continuing after each of them."""

import random
import shutil
import threading
import time
from functools import partial
from unittest import mock

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.streaming.query import Interrupted, Query
from tests.adapters.spark.helpers import killed, on_both, settings
from tests.adapters.spark.streaming.conftest import Landing
from tests.adapters.spark.streaming.program import counting
from tests.programs import until
from tests.sampling import amount

pytestmark = pytest.mark.spark


def by_time(timed):
    found = {}
    for at, row in timed:
        found.setdefault(at, []).append(row.number)
    return found


@pytest.fixture
def rest(landing):
    """The rows of the next run with the same checkpoint, by time; all new files form one micro-batch."""
    return lambda: by_time(ps.run(ps.pipe(landing.source(landing.frame(files=100)), ps.collect(timed=True))))


@on_both
def test_a_failing_consumer_leaves_its_micro_batch_uncommitted(landing, rest):
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


def test_a_bad_file_fails_the_stream(landing):
    landing.arrive(2)
    landing.put('{"number": "seven"}')
    seen = []
    source = landing.source(landing.frame(mode="FAILFAST"))
    with pytest.raises(spark.SparkStreamError, match="Cannot parse the field name 'number'") as caught:
        ps.run(ps.pipe(source, ps.map(seen.append), ps.drain()))
    assert "\tat org." not in str(caught.value)
    assert len(seen) == 2
    assert landing.commits == [0]


@pytest.mark.parametrize(
    ("frame", "message", "details"),
    [
        (lambda frame: frame.groupBy("key").count(), "(?i)output mode", "STREAMING_OUTPUT_MODE"),
        (lambda frame: frame.union(frame), "and now there are \\[2\\] sources", "Logical Plan"),
    ],
)
def test_a_failed_query_explains_without_its_plan(landing, frame, message, details):
    landing.arrive(1)
    ps.run(ps.pipe(landing.source(), ps.drain()))
    landing.arrive(1)
    with pytest.raises(spark.SparkStreamError, match=message) as caught:
        ps.run(ps.pipe(landing.source(frame(landing.frame())), ps.drain()))
    assert details in caught.value.details
    assert "=== Streaming Query" not in str(caught.value)
    assert "Logical Plan" not in str(caught.value)


@on_both
def test_a_query_stopped_elsewhere_is_an_error(chosen, landing):
    landing.arrive(2, 2)

    def stop(row):
        if row.number > 0:
            return row
        threading.Thread(target=chosen.streams.active[0].stop, daemon=True).start()
        return row

    async def linger(row):
        await trio.sleep(0.5)

    with pytest.raises(spark.SparkStreamError, match="stopped elsewhere"):
        ps.run(ps.pipe(landing.source(), ps.map(stop), ps.map_async(linger, 1), ps.drain()), limit=1)
    assert landing.commits == []


def test_a_query_stopped_just_before_a_commit_is_an_error(landing, monkeypatch):
    """The micro-batch was complete here, but Spark did not commit it."""
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


async def test_a_second_run_with_the_same_checkpoint_ends_the_first(landing):
    """Spark gives a checkpoint to the latest query: the earlier query fails with that reason."""
    landing.arrive(2, 2)
    source = landing.source(trigger=None)

    with pytest.raises(spark.SparkStreamError, match="same checkpoint"):
        async with ps.pipe(source, ps.drain()).open() as first:
            await until(lambda: landing.commits == [0, 1])
            async with ps.pipe(landing.source(), ps.collect()).open() as second:
                assert await second.result() == []
            await first.result()


async def aborted(pipeline, until):
    async with pipeline.open() as running:
        with trio.fail_after(300):
            await until()
        start = time.monotonic()
        await running.abort()
        return time.monotonic() - start


def test_nothing_is_started_before_the_first_ask(landing):
    landing.arrive(1)
    assert ps.run(ps.pipe(landing.source(), ps.take(0), ps.collect())) == []
    assert not landing.checkpoint.exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wait", [0.0, 0.02, 0.2])
def test_an_abort_before_the_first_micro_batch(landing, wait):
    pipeline = ps.pipe(landing.source(trigger=None), ps.drain())
    assert trio.run(aborted, pipeline, partial(trio.sleep, wait)) < 3


def test_an_abort_during_the_first_job(landing, until_idle):
    from pyspark.sql import functions as sql

    @sql.udf("long")
    def dawdle(number):
        time.sleep(0.05)
        return number

    landing.arrive(1000)
    df = landing.frame().select(dawdle("number").alias("number"))

    async def active():
        await until(landing.session.sparkContext.statusTracker().getActiveJobsIds)
        await trio.sleep(0.3)

    assert trio.run(aborted, ps.pipe(landing.source(df), ps.drain()), active) < 3
    until_idle()
    assert landing.commits == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rows", [2, 20_000])
@on_both
def test_an_abort_while_the_body_waits(landing, rest, rows, capfd):
    landing.arrive(2, rows, 2)
    stuck = trio.Event()

    async def stay(row):
        if row.number >= 2:
            stuck.set()
            await trio.sleep_forever()

    async def waits():
        await stuck.wait()
        await trio.sleep(0.2)

    pipeline = ps.pipe(landing.source(), ps.map_async(stay, 1), ps.drain())
    assert trio.run(aborted, pipeline, waits) < 1.5
    assert landing.commits == [0]
    assert capfd.readouterr() == ("", "")
    assert {at: len(numbers) for at, numbers in rest().items()} == {1: rows, 2: 2}


@on_both
def test_take_ends_the_query(landing, rest):
    landing.arrive(2, 3, 2)
    assert len(ps.run(ps.pipe(landing.source(trigger=None), ps.take(3), ps.collect()))) == 3
    assert landing.commits == [0]
    assert rest() == {1: [2, 3, 4], 2: [5, 6]}


def test_close_waits_for_a_query_that_is_being_stopped():
    """Spark reports it as ended while its body still runs and needs its connection."""
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("trigger", [None, "100 milliseconds"])
async def test_later_files_arrive(landing, trigger):
    landing.arrive(1)
    seen = []

    pipeline = ps.pipe(landing.source(trigger=trigger), ps.tap(seen.append), ps.collect(timed=True))
    async with pipeline.open() as running:
        for count in range(1, 4):
            await until(lambda count=count: len(seen) >= count)
            if count < 3:
                landing.arrive(1)
        await running.finish()
        assert by_time(await running.result()) == {0: [0], 1: [1], 2: [2]}
    assert landing.commits == [0, 1, 2]


@pytest.mark.parametrize("journaled", [False, True])
def test_finish_completes_the_current_micro_batch(landing, rest, journaled, tmp_path):
    """All of its rows are delivered and committed; later rows are for the next run.

    With a journal, a run that is finishing records and commits nothing more: the next run gets the micro-batch
    again.
    """
    landing.arrive(2, 300, 2)
    seen = []

    async def main():
        under_way = trio.Event()

        def look(row):
            seen.append(row.number)
            if row.number >= 2:
                under_way.set()

        pipeline = ps.pipe(landing.source(), ps.tap(look), ps.drain())
        async with pipeline.open(limit=10, journal=tmp_path / "journal" if journaled else None) as running:
            await under_way.wait()
            await running.finish()

    with settings(landing.session, {"spark.sql.execution.arrow.maxRecordsPerBatch": "100"}):
        trio.run(main)
    assert seen == list(range(302))
    assert landing.commits == ([0] if journaled else [0, 1])
    assert [*rest()] == ([1, 2] if journaled else [2])


def test_completed_micro_batches_are_committed_unread(landing, tmp_path):
    """A micro-batch that the journal has recorded but Spark has not committed is not read again."""
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


def test_a_journal_and_a_checkpoint_belong_together(landing, tmp_path):
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


def test_a_sink_that_ended_delays_no_commit(landing, tmp_path):
    pipeline = ps.pipe(landing.source(), ps.map(lambda row: row.number), ps.tee(ps.first(), ps.collect()))
    for files in (2, 3):
        landing.arrive(*[1] * (files - landing.files))
        assert ps.run(pipeline, journal=tmp_path / "journal") == (0, list(range(files)))
        assert landing.commits == list(range(files))


def test_times_within_a_micro_batch_nest(landing):
    """Nested event times complete with their micro-batch, even if they are late."""
    landing.arrive(5, 5)
    stamped = ps.stamp(lambda row: row.number // 2, lateness=10, nest=True)
    pipeline = ps.pipe(landing.source(), stamped, ps.count_by_key(lambda row: "n"), ps.collect(timed=True))
    assert ps.run(pipeline) == [
        ((0, 0), ("n", 2)), ((0, 1), ("n", 2)), ((0, 2), ("n", 1)),
        ((1, 2), ("n", 1)), ((1, 3), ("n", 2)), ((1, 4), ("n", 2)),
    ]  # fmt: skip
    assert landing.commits == [0, 1]


@pytest.mark.parametrize(
    ("below", "message"),
    [
        (ps.stamp(lambda row: 1), r"stamp, composed .* its own times .*nest=True"),
        (ps.stamp_epochs(2), r"stamp_epochs, composed .* its own times .*nest=True"),
        # A window over two micro-batches waits for the second, which waits for the first's commit.
        (
            ps.pipe(ps.sliding(2, 1), ps.count_by_key(len)),
            "sliding.* downstream of from_streaming.* only after a later",
        ),
        (ps.group_by(len, ps.sliding(2, 1)), "group_by.* downstream of from_streaming.* only after a later"),
        (ps.group_by(len, ps.fork(ps.stamp_epochs(2))), r"group_by, composed .* its own times"),
        (ps.scan(lambda total, row: total + 1, 0), r"scan.* keeps state between micro-batches.*journal="),
    ],
)
def test_modules_refused_downstream(landing, tmp_path, below, message):
    landing.arrive(1)
    journal = None if "journal=" in message else tmp_path / "journal"
    with pytest.raises(ps.CompositionError, match=message):
        ps.run(ps.pipe(landing.source(), below, ps.drain()), journal=journal)
    assert not landing.checkpoint.exists()


def resolved(module):
    """A placeholder for a module that is known: its stream opens when it is first asked."""
    place = ps.deferred("transformer")
    place.resolve(module)
    return place


@pytest.mark.parametrize(
    "below",
    [
        ps.group_by(len, ps.scan(lambda total, row: total + 1, 0)),
        ps.group_by(len, lambda _: ps.sliding(2, 1)),
        ps.group_by(len, ps.group_by(len, ps.take(1))),
        resolved(ps.sliding(2, 1)),
    ],
)
def test_state_inside_a_module_is_refused_before_the_commit(landing, below):
    landing.arrive(1, 1)
    with pytest.raises(ps.CompositionError, match=r"(scan|sliding|take)\b.* inside another .*: accumulate\(fold, key"):
        ps.run(ps.pipe(landing.source(), below, ps.drain()))
    assert landing.commits == []


def test_times_that_a_deferred_module_makes_are_refused_before_the_commit(landing):
    landing.arrive(1, 1)
    below = resolved(ps.pipe(ps.map_time(lambda _: 0), ps.stamp_epochs(2)))
    with pytest.raises(ps.CompositionError, match=r"deferred, composed .* its own times .*nest=True"):
        ps.run(ps.pipe(landing.source(), below, ps.drain()))
    assert landing.commits == []


def test_waiting_for_the_next_micro_batch_stalls(landing, rest):
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


def test_a_source_inside_a_module_is_refused(landing):
    """The source could not track the results of its micro-batches there."""
    landing.arrive(1)
    pipeline = ps.pipe(ps.values([1]), ps.map(lambda _: landing.source()), ps.flatten(), ps.drain())
    with pytest.raises(ps.CompositionError, match="is opened inside another module"):
        ps.run(pipeline)


def test_merged_streams_commit_independently(session, landing, tmp_path):
    """Two queries have separate times; each commits when its own rows are complete."""
    other = Landing(session, tmp_path / "other")
    landing.arrive(2, 2)
    other.arrive(3)
    rows = ps.run(ps.pipe(ps.merge(landing.source(), other.source()), ps.collect()))
    assert len(rows) == 7
    assert (landing.commits, other.commits) == ([0, 1], [0])


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


# By default, the chapter on Spark tests a kill before a commit.
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
