# ruff: noqa: N802 - the names are pyspark's
"""The server, its sources and logs, with the code that runs in Spark's processes, but without Spark."""

import itertools
import logging
import os
import shutil
import socket
import struct
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trio

import pullstream as ps

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType, VariantType

from adapters import spark
from adapters.spark.writing import frame, remote
from adapters.spark.writing.frame import RegisteredSource
from adapters.spark.writing.served_source import ServedSource
from adapters.spark.writing.server import SourceServer
from adapters.spark.writing.source_log import LogRefused, SourceLog, _lasting_name
from pullstream.authoring import Lane
from tests.adapters.spark.listening import listening
from tests.adapters.spark.page import compare
from tests.pullstream.common import script

NUMBERS = StructType([StructField("n", LongType())])


class Context:
    def __init__(self):
        self._jsc = object()
        self.stages = [-1]

        self.sparkContext, self.master = self, "local[2]"

    def getConf(self):
        return {}

    def statusTracker(self):
        return self

    def getActiveStageIds(self):
        return self.stages


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for looked in "server.STOPPED_SECONDS", "feeding.GONE_SECONDS", "replay.GONE_SECONDS":
        monkeypatch.setattr(f"adapters.spark.writing.{looked}", 0.05)


@pytest.fixture
def context():
    return Context()


@pytest.fixture
def server(context):
    opened = SourceServer(context)
    yield opened
    opened.close()


@pytest.fixture
def served(server):
    def made(source, name="x", offsets="values", *, schema=NUMBERS, **options):
        given = server.sources[name] = ServedSource(name, source, schema, offsets, shown=name, **options)
        return RegisteredSource(server, given)

    return made


@pytest.fixture
def kept(served):
    return partial(served, replay=1 << 20)


@pytest.fixture
def address(server):
    return ("127.0.0.1", server._port, server._secret)


@pytest.fixture
def task(address):
    def batches(name="x"):
        return remote._batches(address, op="read", name=name)

    return batches


@pytest.fixture
def query(address):
    """A function that plans a query as Spark's process does; with `now`, for the trigger `availableNow`."""
    opened = []

    def made(rows=None, *, now=False):
        opened.append(remote._stream_reader()(address, "x", None if rows is None else str(rows)))
        if now:
            opened[-1].prepareForTriggerAvailableNow()
        return opened[-1]

    yield made
    for reader in opened:
        reader.stop()


def rows(batches):
    return [row["n"] for batch in batches for row in batch.to_pylist()]


def micro_batches(reader, start):
    """Plan and read micro-batches up to the end of the source; yield the end and the rows of each."""
    while (end := reader.latest(start)) != start:
        yield end, [n for part in reader.partitions(start, end) for n in rows(reader.read(part))]
        start = end


def within(seconds, test):
    deadline = time.monotonic() + seconds
    while True:
        with suppress(remote.PullSourceError):
            if test():
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)


@ps.source
async def then_waits(ctx, count, released):
    try:
        for n in range(count):
            yield n
        await trio.sleep_forever()
    finally:
        released.append(True)


@pytest.mark.parametrize("replayed", [False, True])
def test_the_source_is_at_most_two_batches_ahead(served, kept, task, replayed):
    """A second reader gets the same rows, and none is computed again."""
    seen = []
    handle = (kept if replayed else served)(ps.pipe(ps.integers(), ps.tap(seen.append)))
    batches = task()
    count = sum(next(batches).num_rows for _ in range(3))
    if replayed:
        again = task()
        assert sum(next(again).num_rows for _ in range(3)) == count
        again.close()
    time.sleep(0.3)
    assert len(seen) - count <= 2 * 10_000
    batches.close()
    assert replayed or handle.wait(5)


@pytest.mark.parametrize(
    ("again", "message"),
    [
        ({"stage": 7, "execution": "3", "tags": None}, "it has been read already. To use the rows several times"),
        (
            {"stage": 7, "execution": "2", "tags": None},
            r"This is one action, .* more than once: .*\(orderBy, .* time=\)",
        ),
        ({"stage": 7, "execution": None, "tags": "b,pullstream-7"}, "This is one action"),
        (
            {"stage": 7, "execution": None, "tags": "mine"},
            r"it has been read already. To use the rows several times.*\.persist\(\)",
        ),
        ({"stage": 6, "execution": "2"}, r"the rows of the first attempt were lost with its executor"),
    ],
)
def test_a_second_read_is_refused_with_its_reason(served, address, again, message):
    """Another action, the same action, and a retry are three mistakes, each with its own fix."""
    served(ps.values(range(3)))
    first = {"stage": 6, "partition": 0, "attempt": 0, "execution": "2", "tags": "mine,pullstream-7"}
    list(remote._batches(address, op="read", name="x", **first))
    with pytest.raises(remote.PullSourceError, match=f"x can be read once, and .*{message}"):
        list(remote._batches(address, op="read", name="x", **{**first, **again}))


def test_a_current_or_disconnected_reader_is_reported_to_the_next(served, task):
    handle = served(ps.integers())
    batches = task()
    next(batches)
    with pytest.raises(remote.PullSourceError, match="it is being read"):
        list(task())
    batches.close()
    assert handle.wait(5)
    with pytest.raises(remote.PullSourceError, match="its reader went away before the end"):
        list(task())


@pytest.mark.parametrize("attempt", range(2))
def test_a_task_that_dies_during_a_send_does_not_fail_the_source(served, address, attempt):
    """A broken connection is a normal end, whether the send or the receive notices it first."""
    seen = [0]
    handle = served(ps.pipe(ps.integers(), ps.tap(lambda n: seen.__setitem__(0, n))))
    line = remote.DriverLine(address, op="read", name="x", stage=-1)
    for _ in range(1000):
        line.send(b"A")
    # Until the buffers of the unread connection are full.
    before = -1
    while before != seen[0] or not before:
        before = seen[0]
        time.sleep(0.1 + attempt / 1000)
    line._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()
    assert handle.wait(5)


def test_the_end_of_a_stage_ends_a_wait(served, task, context):
    """A worker waiting for a slow source does not notice that a limit was reached, but the server does."""
    released = []
    handle = served(then_waits(3, released))
    got = task()
    # The three values do not wait for a fourth.
    assert list(itertools.islice((n for batch in got for n in rows([batch])), 3)) == [0, 1, 2]
    context.stages = []
    assert handle.wait(5)
    assert released == [True]
    got.close()


def test_the_error_for_an_unknown_name_lists_the_known_ones(served, address):
    served(ps.values([1]), "sales")
    with pytest.raises(remote.PullSourceError, match="registered as 'sale', only: sales"):
        remote.PullReader(address, "sale").partitions()


@pytest.mark.parametrize(
    ("prune", "message"), [(lambda *_: [1], r"prune\(\).* reads a source"), (lambda *_: 1 // 0, "ZeroDivisionError")]
)
def test_prune_must_return_a_source(served, task, prune, message):
    served(ps.values([1]), prune=prune)
    with pytest.raises(remote.PullSourceError, match=message):
        list(task())


def test_an_invalid_variant_is_refused_by_name(served, task):
    served(ps.values([(1, 5)]), schema=StructType([*NUMBERS, StructField("v", VariantType())]))
    with pytest.raises(remote.PullSourceError, match=r"the column 'v' is .*, and cannot hold 5 \(int\), value 1"):
        list(task())


@pytest.mark.parametrize("way", ["times", "batches", "replay", "stream"])
def test_small_parts_are_read_and_sent_together(served, kept, task, query, way):
    """The rows of many times, and small Arrow batches."""
    asks, ask = [], Lane.ask

    def counting(lane, limit=1, **how):
        asks.append(limit)
        return ask(lane, limit, **how)

    source = ps.values([pa.record_batch({"n": [n, n + 1]}) for n in range(0, 800, 2)])
    if way == "times":
        source = ps.values(range(800), time=lambda n: n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lane, "ask", counting)
        handle = (kept if way == "replay" else served)(source)
        if way == "stream":
            reader = query(now=True)
            start = reader.initialOffset()
            (part,) = reader.partitions(start, end := reader.latest(start))
            batches = list(reader.read(part))
            reader.latest(end)
        else:
            batches = list(task())
        assert handle.wait(5)
    assert rows(batches) == list(range(800))
    # On a slow machine, some parts may arrive late.
    assert len(batches) < 20
    assert 0 < len(asks) < 40


# The source's own `Abandoned` is a failure like any other.
@pytest.mark.parametrize("kind", [ValueError, ps.errors.Abandoned])
@pytest.mark.parametrize("way", ["read", "replay", "stream"])
def test_a_failure_arrives_after_earlier_values(server, served, kept, task, query, way, kind):  # noqa: PLR0917
    """The error has type, message and module, also for a retried task; other sources are still served."""

    def check(n):
        if n == 3:
            raise kind("row 3 is bad")
        return n

    source = ps.pipe(ps.integers(), ps.map(check))
    handle = kept(source) if way == "replay" else served(source)
    got = []
    for _ in range(2):
        with pytest.raises(remote.PullSourceError, match=rf"{kind.__name__}: row 3 is bad\nraised in map\(check"):
            if way == "stream":
                reader = query(rows=1, now=True)
                for _, some in micro_batches(reader, reader.initialOffset()):
                    got += some
            for batch in task():
                got += rows([batch])
        if way == "stream":
            reader.stop()
            break
    assert got[:3] == [0, 1, 2]
    with pytest.raises(kind, match="row 3 is bad"):
        handle.wait(5)
    served(ps.values(range(3)), "y")
    assert rows(task("y")) == [0, 1, 2]


@pytest.mark.parametrize("replayed", [False, True])
def test_closing_the_handle_withdraws_the_source(served, kept, task, replayed):
    """The source is released before `close` returns, its task fails, unread rows are deleted, and reads are refused."""
    released = []
    handle = (kept if replayed else served)(then_waits(30_000, released))
    batches = task()
    next(batches)
    handle.close()
    assert released == [True]
    with pytest.raises(remote.PullSourceError, match="withdrawn" if replayed else None):
        list(batches)
    with pytest.raises(remote.PullSourceError, match="it has been withdrawn"):
        list(task())


def test_it_can_be_read_any_number_of_times(kept, task):
    seen = []
    handle = kept(ps.pipe(ps.values(range(25_000)), ps.tap(seen.append)))
    left, slow = task(), task()
    first = rows([next(left)])
    left.close()
    began = rows([next(slow)])
    assert rows(task()) == list(range(25_000))
    # On a busy machine, the first batch may be small.
    assert first == began == list(range(len(first)))
    assert began + rows(slow) == list(range(25_000))
    assert seen == list(range(25_000))
    assert handle.wait(5)
    assert rows(task()) == seen


def test_more_rows_than_allowed_fail(kept, task):
    handle = kept(ps.integers(), replay=200_000)
    batches = task()
    first = rows([next(batches)])
    assert first == list(range(len(first)))
    with pytest.raises(remote.PullSourceError, match=r"ReplayTooLong: x gave more than the 200000 bytes.*replay="):
        list(batches)
    with pytest.raises(spark.ReplayTooLong):
        handle.wait(5)


def test_a_forgotten_stage_does_not_end_a_read(kept, task, context):
    """Spark's record of stages may be late or incomplete: a task that is still reading must not miss rows."""
    handle = kept(then_waits(3, []))
    batches = task()
    assert rows([next(batches)])
    context.stages = []
    with pytest.raises(remote.PullSourceError, match="the driver has closed the connection"):
        list(batches)
    handle.close()


def test_it_leaves_no_file(server, kept, task, tmp_path, monkeypatch):
    """Neither during a read nor after the server has ended, even with an open connection."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept(ps.integers())
    batches = task()
    next(batches)
    assert list(tmp_path.iterdir()) == []
    server.close()
    assert server.sources["x"]._file._file.closed
    with pytest.raises(remote.PullSourceError):
        list(batches)


def test_without_a_temporary_folder_nothing_starts(kept, task, tmp_path):
    kept(ps.values(range(3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "none"))
        for _ in range(2):
            with pytest.raises(remote.PullSourceError, match=r"FileNotFoundError.*none"):
                list(task())
    assert rows(task()) == [0, 1, 2]


def test_a_wrong_token_is_refused_and_logged(server, served, caplog):
    served(ps.values([1]))
    with caplog.at_level(logging.WARNING, "pullstream.spark"), pytest.raises(remote.PullSourceError):
        list(remote._batches(("127.0.0.1", server._port, "guess"), op="read", name="x"))
    assert "refused a connection from ('127.0.0.1', " in caplog.text
    assert "a wrong token" in caplog.text


def test_invalid_messages_do_not_close_it(server, served, task, caplog):
    served(ps.values(range(3)))
    for sent in (b"[" * 60_000, b"[]", b"\xff", b'{"token": "\\ud800"}'):
        with socket.create_connection(("127.0.0.1", server._port)) as connection:
            connection.sendall(struct.pack("!cQ", b"H", len(sent)) + sent)
            assert connection.recv(1) == b""
    assert len(caplog.records) == 4
    assert rows(task()) == [0, 1, 2]


def test_a_used_port_is_reported(context, server):
    context.getConf = lambda: {"spark.pullstream.port": str(server._port)}
    compare("the port for sources is in use", lambda: SourceServer(context))


@pytest.mark.parametrize(("port", "message"), [("http", "must be a port number.*is 'http'"), ("65536", "is '65536'")])
def test_an_invalid_port_is_reported(context, port, message):
    context.getConf = lambda: {"spark.pullstream.port": port}
    with pytest.raises(spark.CannotListen, match=message) as caught:
        SourceServer(context)
    assert "spark.pullstream.port" in str(caught.value)


def test_it_listens_on_the_loopback_and_leaves_nothing(context):
    before = set(threading.enumerate())
    server = SourceServer(context)
    port = server._port
    assert listening(port) == {"127.0.0.1"}
    context._jsc = None
    within(5, lambda: not server.thread.is_alive())
    assert listening(port) == set()
    assert "pullstream server" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_an_offer_to_an_ended_server_is_closed(server):
    """The session may be stopped between the check and the offer, but no wait may last forever."""
    replaced = ServedSource("x", ps.values([1]), NUMBERS, shown="x")
    given = ServedSource("x", ps.values([2]), NUMBERS, shown="x")
    server.offer(replaced)
    del server.sources["x"]
    server.close()
    server.offer(given)
    server.call(replaced.withdraw)
    for each in (replaced, given):
        assert RegisteredSource(server, each).wait(0)
    waiting = threading.Thread(target=RegisteredSource(server, given).close, daemon=True)
    waiting.start()
    waiting.join(5)
    assert not waiting.is_alive()


def test_an_unreachable_driver_is_reported(server, task):
    server.close()
    with pytest.raises(remote.PullSourceError, match="the driver does not answer"):
        list(task())


def test_the_source_is_asked_for_planned_batches(served, query):
    """For one micro-batch at a time, and for nothing more until the next one is planned."""
    seen = []
    served(ps.pipe(ps.integers(), ps.tap(seen.append)))
    reader = query(rows=10)
    start = reader.initialOffset()
    time.sleep(0.05)
    assert seen == []
    for most, end in ((None, 10), (3, 13), (None, 23)):
        start = reader.latest(start, most)
        assert (start["values"], len(seen)) == (end, end)
    time.sleep(0.1)
    assert len(seen) == 23


def test_a_partial_micro_batch_does_not_wait(served, query):
    """A slow source's values so far are planned; with `availableNow`, planning waits for the first values."""
    go = threading.Event()

    @ps.source
    async def slow(ctx):
        await trio.to_thread.run_sync(go.wait)
        yield ps.Batch(0, [1, 2, 3])
        await trio.sleep_forever()

    served(slow())
    reader = query(rows=10)
    start = reader.initialOffset()
    assert reader.latest(start) == start
    reader.prepareForTriggerAvailableNow()
    threading.Timer(0.5, go.set).start()
    assert reader.latest(start)["values"] == 3


@pytest.mark.parametrize(("offsets", "committed"), [("values", (1,)), ("times", (2,))])
def test_a_time_completes_when_spark_has_committed_it(server, served, query, offsets, committed):
    seen = []

    def complete(running):
        return trio.from_thread.run_sync(lambda: running.progress.frontier().elements, trio_token=server._token)

    handle = served(script(*(ps.Batch(n, [n]) for n in range(4))), offsets=offsets)
    with pytest.MonkeyPatch.context() as patch:
        opened = ps.Pipeline.open

        def noting(pipeline, **how):
            seen.append(opened(pipeline, **how))
            return seen[-1]

        patch.setattr(ps.Pipeline, "open", noting)
        reader = query(rows=2, now=True)
        start = reader.initialOffset()
        end = reader.latest(start)
        assert end["values"] == 2
        (running,) = seen
        list(reader.read(reader.partitions(start, end)[0]))
        assert complete(running) == (0,)
        reader.commit(end)
        # Another value at time 1 may still arrive.
        assert complete(running) == committed
        last = reader.latest(end)
        assert (last["values"], complete(running)) == (4, (2,))
        assert not handle.wait(0.1)
        # Spark plans the next micro-batch once this one is in its commit log, so planning is also a commit.
        assert reader.latest(last) == last
        assert handle.wait(5)


def test_reading_committed_values_is_an_error(served, query):
    """A new query and an old checkpoint are refused instead of getting no values."""
    served(ps.values(range(30)))
    reader = query(rows=10, now=True)
    end = reader.latest(reader.initialOffset())
    reader.commit(end)
    with pytest.raises(remote.PullSourceError, match="first 10 values have been committed.*checkpointLocation"):
        reader.initialOffset()


def test_each_query_has_its_own_limit(served, query):
    served(ps.integers())
    first = query(rows=10)
    end = first.latest(first.initialOffset())
    with pytest.raises(remote.PullSourceError, match="being read by another query"):
        query(rows=3).initialOffset()
    after = first.latest(end)
    assert (end["values"], after["values"]) == (10, 20)
    first.stop()

    within(5, lambda: query().latest(after)["values"] > 20 + 10)


def test_a_query_that_disconnects_frees_the_source(served, query):
    """A query that is stopped while waiting for a slow source must not block another query."""
    served(then_waits(5, []))
    reader = query()
    start = reader.initialOffset()
    within(5, lambda: reader.latest(start)["values"] == 5)
    reader.prepareForTriggerAvailableNow()
    there = {**start, "values": 5}
    reader._line().send(b"L", {"start": there, "most": None})
    time.sleep(0.1)
    reader.stop()

    within(5, lambda: query().latest(there) == there)


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("asked", ["latest", "commit", "partitions"])
def test_a_checkpoint_from_elsewhere_is_refused(served, query, asked, nameless):
    served(ps.values(range(30)))
    earlier = query(rows=10, now=True)
    old = earlier.latest(earlier.initialOffset())
    if nameless:
        old = {"values": old["values"]}
    served(ps.values(range(100, 130)))
    reader = query(rows=10, now=True)
    new = reader.latest(reader.initialOffset())
    with pytest.raises(remote.PullSourceError, match="another source, to an earlier registration"):
        if asked == "partitions":
            # Before 4.2, Spark does not pass the start: its plan begins in the checkpoint, and ends here.
            [list(reader.read(part)) for part in reader.partitions(old, new)]
        else:
            getattr(reader, asked)(old)


def test_whole_times(served, query):
    served(ps.values([1] * 3 + [2] * 4 + [3] * 30 + [4] * 2, time=lambda n: n), offsets="times")
    reader = query(rows=8, now=True)
    got = [some for _, some in micro_batches(reader, reader.initialOffset())]
    assert [*itertools.chain.from_iterable(got)] == [1] * 3 + [2] * 4 + [3] * 30 + [4] * 2
    for before, after in itertools.pairwise(got):
        assert before[-1] != after[0]
    assert max(len(part) for part in got) == 30


@pytest.fixture
def program(tmp_path):
    """Start another program with the same source and journal; return a query and a function that ends it."""
    opened = []

    def served(path, seen=(), source=None):
        given = source or ps.values([day for day in range(10) for _ in range(3)], time=lambda day: day)
        noted = [] if seen == () else seen
        return ServedSource("x", ps.pipe(given, ps.tap(noted.append)), NUMBERS, "times", path, shown="x")

    def recorded():
        copy = shutil.copy(tmp_path / "journal", tmp_path / "copy")

        async def look():
            async with trio.open_nursery() as nursery:
                log = await served(copy).log(nursery)
                nursery.cancel_scope.cancel()
                return log._base

        return trio.run(look)

    def began(*given, **named):
        server = SourceServer(Context())
        offered = server.sources["x"] = served(tmp_path / "journal", *given, **named)
        reader = remote._stream_reader()(("127.0.0.1", server._port, server._secret), "x", "6")

        def end(done=None):
            if done is not None:
                within(20, lambda: recorded() == done)
            server.close()
            reader.stop()

        opened.append(end)
        reader.prepareForTriggerAvailableNow()
        reader.over = offered.over
        return reader, end

    yield began
    for end in opened:
        end()


def test_another_program_continues_sparks_checkpoint(program):
    reader, end = program()
    start = reader.initialOffset()
    first = reader.latest(start)
    second = reader.latest(first)
    (part,) = reader.partitions(first, second)
    planned = rows(reader.read(part))
    end(done=6)

    seen = []
    reader, end = program(seen)
    # Before planning, Spark rereads what was planned but not committed.
    assert rows(reader.read(part)) == planned == [2, 2, 2, 3, 3, 3]
    third = reader.latest(second)
    assert third["values"] == 18
    assert rows(reader.read(reader.partitions(second, third)[0])) == [4, 4, 4, 5, 5, 5]
    assert seen[0] == 2


def test_values_committed_after_the_last_journal_record_are_not_repeated(program):
    """Spark's commit log may be ahead of the journal; the numbers of values show by how much."""
    reader, end = program()
    start = reader.initialOffset()
    first = reader.latest(start)
    end()
    reader, end = program()
    second = reader.latest(first)
    assert (first["values"], second["values"]) == (6, 12)
    assert rows(reader.read(reader.partitions(first, second)[0])) == [2, 2, 2, 3, 3, 3]


def test_a_fully_read_source_has_no_more_values(program):
    """All is committed, so the next program plans nothing, and its offset is the end."""
    reader, end = program()
    *_, (at, _) = micro_batches(reader, reader.initialOffset())
    assert reader.over.wait(5)
    end()
    seen = []
    reader, end = program(seen)
    assert reader.latest(at) == at
    assert (at["values"], seen) == (30, [])


def test_another_source_and_a_query_without_its_checkpoint_are_refused(program):
    reader, end = program()
    reader.latest(reader.latest(reader.initialOffset()))
    end(done=6)
    with pytest.raises(remote.PullSourceError, match="JournalError: .*another pipeline"):
        program(source=ps.integers())
    reader, end = program()
    with pytest.raises(remote.PullSourceError, match="first 6 values .* checkpointLocation of .* another journal"):
        reader.initialOffset()


def test_a_name_in_use_is_not_replaced(server, served, task, monkeypatch, context):
    monkeypatch.setattr(frame, "server_for", lambda session: server)
    handle = served(ps.integers())
    batches = task()
    next(batches)
    with pytest.raises(ps.CompositionError, match="x is being read by Spark: close"):
        spark.register_source("x", ps.values([1]), NUMBERS, session=context)
    batches.close()
    assert handle.wait(5)
    spark.register_source("x", ps.values([7]), NUMBERS, session=context)
    assert rows(task()) == [7]


def test_a_lasting_name(tmp_path, monkeypatch):
    """The file's content is on the disk before its name, and the name before it is returned, also on a second call."""
    steps = []

    def noted(name, real):
        def operation(*args, **options):
            steps.append((name, os.fstat(args[0]).st_ino if name == "fsync" else Path(args[0]).stat().st_ino))
            return real(*args, **options)

        return operation

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))

    name = _lasting_name(tmp_path / "journal")

    file, folder = (tmp_path / "journal.log").stat().st_ino, tmp_path.stat().st_ino
    assert steps == [("fsync", file), ("replace", file), ("fsync", folder)]
    steps.clear()
    # The folder may be reached through a link.
    (tmp_path / "link").symlink_to(tmp_path)
    assert _lasting_name(tmp_path / "link" / "journal") == name
    assert steps == [("fsync", folder)]


@pytest.mark.parametrize("start", [1, 9])
async def test_an_old_copy_of_a_checkpoint_is_refused(start, autojump_clock):
    """A query that begins before or after the kept values is refused, and nothing counts as committed."""
    log = SourceLog("numbers", ps.values(range(4)), "values")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.run)
        await log.ready()
        with log.querying(None):
            first = await log.latest(None, 2)
            end = await log.latest(first, 1)

        with pytest.raises(LogRefused, match=f"values 2 to [34], but a query asks for {start} to {start}: .* old copy"):
            await log.latest({**end, "values": start}, None)

        assert await log.slice(first, end) == [2]
        nursery.cancel_scope.cancel()
