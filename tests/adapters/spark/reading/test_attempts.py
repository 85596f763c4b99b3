"""The pushed route, with tasks that are threads: attempts, back-pressure, clocks, who may connect, endings."""

import logging
import socket
import threading
import time

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.reading import pushed as module
from timely import BEGINNING

pytest.importorskip("pyspark")


async def until(condition):
    """Wait for what other threads bring about."""
    with trio.fail_after(300):
        while not condition():  # noqa: ASYNC110 - threads do not say
            await trio.sleep(0.002)


def heard(connection):
    """What somebody answers; nothing, if they hang up."""
    try:
        return connection.recv(1)
    except ConnectionError:
        return b""


def numbers(values):
    return sorted(n for (n,) in values)


class TestContents:
    @pytest.mark.parametrize("retry", ["fail", "buffer"])
    @pytest.mark.parametrize("limit", [1, 2, 7, 4096])
    def test_every_row_of_every_partition_comes_once(self, pushed, retry, limit):
        """Whatever the limit, partitions arrive whole, each in its own order."""

        def script(job):
            for partition in range(3):
                job.task(partition, [pushed.batch(*range(10 * partition + k, 10 * partition + k + 5)) for k in (0, 5)])

        rows = ps.run(ps.pipe(pushed(script, retry=retry), ps.collect()), limit=limit)
        assert numbers(rows) == list(range(30))
        for partition in range(3):
            own = [n for (n,) in rows if n // 10 == partition]
            assert own == sorted(own)
        assert all(task.ended for task in pushed.job.tasks)

    def test_no_partitions_and_empty_ones_are_the_end(self, pushed):
        """A job without tasks, tasks without batches, and batches without rows give nothing, and end."""
        assert ps.run(ps.pipe(pushed(lambda job: None), ps.collect())) == []

        def script(job):
            job.task(0, [])
            job.task(1, [pushed.batch(), pushed.batch(1), pushed.batch()])

        assert ps.run(ps.pipe(pushed(script), ps.collect())) == [(1,)]

    def test_large_and_small_batches_arrive_whole(self, pushed):
        """A batch of many megabytes crosses the connection as one of a few bytes does."""

        def script(job):
            job.task(0, [pushed.batch(*range(600_000)), pushed.batch(-1)])

        rows = ps.run(ps.pipe(pushed(script, as_="batches"), ps.collect()))
        assert [len(found) for found in rows] == [600_000, 1]
        assert rows[0].column("n").to_pylist() == list(range(600_000))


class TestAttempts:
    def test_an_attempt_that_delivered_nothing_is_replaced(self, pushed):
        """A task that fails before its first batch costs nothing."""

        def broken():
            raise ValueError("first attempt")
            yield

        def script(job):
            job.task(0, broken()).join()
            job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=1)

        assert ps.run(ps.pipe(pushed(script), ps.collect())) == [(1,), (2,)]
        assert str(pushed.job.tasks[0].failure) == "first attempt"

    async def test_what_nobody_has_asked_for_is_not_delivered(self, pushed, stepping):
        """A batch that was sent, and has not been read when its task dies, is forgotten with it."""
        seen = []
        go, asked = trio.open_memory_channel(10)
        begin, sent = threading.Event(), threading.Event()

        def once():
            yield pushed.batch(1)
            sent.set()
            raise ValueError("died with its batch unread")

        def script(job):
            job.task(1, [pushed.batch(7)])
            begin.wait(10)
            job.task(0, once()).join()
            assert sent.is_set()
            job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=1)

        async with ps.pipe(pushed(script), stepping(asked, seen)).open() as running:
            await go.send(None)
            await until(lambda: seen)
            begin.set()
            await until(lambda: len(pushed.job.tasks) == 3 and pushed.job.tasks[2].made)
            for _ in range(3):
                await go.send(None)
            await running.result()
        assert [found if found is ps.DONE else found.values for found in seen] == [[(7,)], [(1,)], [(2,)], ps.DONE]

    @pytest.mark.parametrize("waits", [False, True], ids=["after", "while"])
    def test_a_second_attempt_after_rows_were_delivered_fails_the_stream(self, pushed, waits):
        """What came is delivered; then the error says which partition, and what to do."""
        delivered, second = threading.Event(), threading.Event()

        def once():
            yield pushed.batch(1, 2, 3)
            delivered.wait(10)
            if waits:
                second.wait(10)
            raise ValueError("later")

        def script(job):
            first = job.task(0, once())
            first.begun()
            if not waits:
                first.join()
            job.task(0, [pushed.batch(1, 2, 3)], attempt=1)
            time.sleep(0.05)
            second.set()

        seen = []

        def see(value):
            seen.append(value)
            delivered.set()

        pipeline = ps.pipe(pushed(script), ps.map(see), ps.drain())
        with pytest.raises(spark.RetriedTaskError, match=r'partition 0 again \(attempt 1\), after 3 .*retry="buffer"'):
            ps.run(pipeline)
        assert seen == [(1,), (2,), (3,)]

    def test_a_buffered_partition_is_exact_under_retries(self, pushed):
        """Two attempts fail in their middle; the third counts, and nothing of the others is seen."""

        def failing(count):
            yield from (pushed.batch(-n) for n in range(1, count + 1))
            raise ValueError("again")

        def script(job):
            other = job.task(1, [pushed.batch(10)])
            job.task(0, failing(2)).join()
            job.task(0, failing(1), attempt=1).join()
            job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=2)
            other.join()

        assert numbers(ps.run(ps.pipe(pushed(script, retry="buffer"), ps.collect()))) == [1, 2, 10]

    def test_of_two_attempts_at_once_one_is_read(self, pushed):
        """A speculative copy waits without making anything, and is told to skip when the first has ended."""
        copied = threading.Event()

        def slow():
            yield pushed.batch(1)
            copied.wait(10)
            yield pushed.batch(2)

        def script(job):
            job.task(0, slow()).begun()
            copy = job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=1)
            time.sleep(0.1)
            assert copy.made == 0
            copied.set()

        source = pushed(script)
        pushed.job.speculates = True
        assert ps.run(ps.pipe(source, ps.collect())) == [(1,), (2,)]
        assert [task.made for task in pushed.job.tasks] == [2, 0]
        assert [task.failure for task in pushed.job.tasks] == [None, None]

    def test_a_copy_takes_over_from_one_that_died_with_nothing_delivered(self, pushed):
        """The copy that waits is the next attempt."""
        copied = threading.Event()

        def dying():
            copied.wait(10)
            raise ValueError("dead")
            yield

        def script(job):
            job.task(0, dying())
            job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=1)
            time.sleep(0.1)
            copied.set()

        assert ps.run(ps.pipe(pushed(script), ps.collect())) == [(1,), (2,)]

    @pytest.mark.parametrize("speculates", [False, True])
    @pytest.mark.parametrize("retry", ["fail", "buffer"])
    def test_what_breaks_off_is_not_taken_for_the_end(self, pushed, retry, speculates, monkeypatch):
        """A task whose input breaks off ends like any other; until Spark counts it, it has not ended."""
        monkeypatch.setattr(module, "CONFIRM_SECONDS", 0.1)

        def script(job):
            job.task(0, [pushed.batch(1)], counts=False).join()
            job.task(0, [pushed.batch(1), pushed.batch(2)], attempt=1)

        pipeline = ps.pipe(pushed(script, retry=retry), ps.collect())
        pushed.job.speculates = speculates
        if retry == "fail":
            with pytest.raises(spark.RetriedTaskError, match="partition 0 again"):
                ps.run(pipeline)
        else:
            assert ps.run(pipeline) == [(1,), (2,)]

    def test_a_partition_that_broke_off_before_its_first_row_is_tried_again(self, pushed):
        """An empty attempt that does not count costs nothing."""

        def script(job):
            job.task(0, [], counts=False).join()
            job.task(0, [pushed.batch(1)], attempt=1)

        assert ps.run(ps.pipe(pushed(script), ps.collect())) == [(1,)]

    @pytest.mark.parametrize("retry", ["fail", "buffer"])
    def test_an_attempt_after_the_end_has_nothing_to_do(self, pushed, retry):
        """Spark may lose what a task that had delivered everything has answered; nothing comes twice."""

        def script(job):
            job.task(0, [pushed.batch(1)]).join()
            again = job.task(0, [pushed.batch(1)], attempt=1)
            again.join()
            assert (again.made, again.failure, again.ended) == (0, None, True)

        assert ps.run(ps.pipe(pushed(script, retry=retry), ps.collect())) == [(1,)]


class TestDemand:
    async def test_tasks_wait_for_a_consumer_that_is_slow(self, pushed, stepping):
        """However long nobody asks, a task has made at most two batches more than were read."""
        seen = []
        go, asked = trio.open_memory_channel(10)

        def script(job):
            for partition in range(2):
                job.task(partition, [pushed.batch(n) for n in range(50)])

        async with ps.pipe(pushed(script), stepping(asked, seen)).open() as running:
            for asks in range(1, 6):
                await go.send(None)
                await until(lambda: len(seen) == asks)  # noqa: B023
                await trio.sleep(0.02)
                made = sum(task.made for task in pushed.job.tasks)
                assert asks <= made <= asks + 2 * 2
            await running.abort()
        assert all("wants no more" in str(task.failure) for task in pushed.job.tasks)
        assert pushed.job.cancelled.is_set()

    def test_nothing_is_done_before_the_first_ask(self, pushed):
        """Without an ask there is no job, and nobody listens."""
        assert ps.run(ps.pipe(pushed(lambda job: None), ps.take(0), ps.collect())) == []
        assert not hasattr(pushed.job, "push")


class TestClocks:
    async def test_a_time_waits_for_every_partition_and_explain_names_them(self, pushed):
        """Partitions to come, and those behind, hold a time up; ending lets go."""
        steps = {name: threading.Event() for name in ("begin", "one", "two")}

        def of(*rest):
            yield pushed.timed(1, 1, 5)
            steps["one"].wait(10)
            yield from rest

        def late():
            steps["two"].wait(10)
            yield pushed.timed(2)

        def script(job):
            job.task(0, of(pushed.timed(6)))
            steps["begin"].wait(10)
            job.task(1, late())

        source = pushed(script, partitions=2, time="'n'", clock="partition")
        async with ps.pipe(source, ps.drain()).open() as running:
            progress = running.progress

            def blocked(time):
                return [str(blocking) for blocking in progress.explain(time)]

            def held():
                return {str(stamp) for stamp in progress.pointstamps() if "holds" not in str(stamp)}

            await until(lambda: any("partition 0 may still produce from 5" in line for line in held()))
            # Its rows at 1 and 5 come at once, so those at 1 may be at the sink still.
            to_come = f"from_dataframe, partitions to come may still produce from {BEGINNING!r}"
            await until(lambda: blocked(3)[0].startswith(to_come))
            steps["begin"].set()
            await until(lambda: blocked(3)[0].startswith("from_dataframe, partition 1 may"))
            assert list(progress.frontier()) == [BEGINNING]
            steps["one"].set()
            await until(lambda: not any("partition 0" in line for line in held()))
            steps["two"].set()
            await progress.completed(6)

    async def test_partitions_to_come_hold_the_least_time_that_is_known(self, pushed):
        """With `since` a time before it is complete from the start."""
        begin = threading.Event()

        def script(job):
            job.task(0, [pushed.timed(4)])
            begin.wait(10)
            job.task(1, [pushed.timed(3)])

        source = pushed(script, partitions=2, time="'n'", clock="partition", since=3)
        async with ps.pipe(source, ps.collect(timed=True)).open() as running:
            await running.progress.completed(2)
            assert list(running.progress.frontier()) == [3]
            begin.set()
            assert sorted(await running.result()) == [(3, (3,)), (4, (4,))]

    @pytest.mark.parametrize(("since", "why"), [(None, "it was at 5 before. Sort"), (6, "since=6, .* say an earlier")])
    def test_a_partition_that_goes_back_is_refused_by_number(self, pushed, since, why):
        """What came before is delivered; the message says which partition, and what to do."""
        options = {} if since is None else {"since": since}
        source = pushed(
            lambda job: job.task(0, [pushed.timed(5), pushed.timed(4)]), time="'n'", clock="partition", **options
        )
        with pytest.raises(ps.CapabilityError, match=rf"partition 0 went back in time: .*{why}"):
            ps.run(ps.pipe(source, ps.collect()))

    def test_a_buffered_partition_holds_its_time_until_it_is_handed_on(self, pushed):
        """Times stay in order in the partition, and complete with it."""

        def script(job):
            job.task(0, [pushed.timed(1), pushed.timed(2, 2)])
            job.task(1, [pushed.timed(1, 3)])

        source = pushed(script, partitions=2, time="'n'", clock="partition", retry="buffer")
        found = ps.run(ps.pipe(source, ps.collect(timed=True)))
        assert sorted(found) == [(1, (1,)), (1, (1,)), (2, (2,)), (2, (2,)), (3, (3,))]
        assert [time for time, _ in found] in ([1, 2, 2, 1, 3], [1, 3, 1, 2, 2])


class TestStrangers:
    @pytest.mark.parametrize(
        "said",
        [b"", b"GET / HTTP/1.1\r\n\r\n", b"PST1" + b"?" * 64, b"\x00" * 200],
        ids=["nothing", "another protocol", "a wrong token", "zeros"],
    )
    async def test_who_has_no_token_is_refused_and_logged(self, pushed, caplog, monkeypatch, said):
        """The stream goes on as if nothing had been."""
        monkeypatch.setattr(module, "HELLO_SECONDS", 0.2)
        go = threading.Event()

        def slow():
            yield pushed.batch(1)
            go.wait(10)
            yield pushed.batch(2)

        places = []
        opened = trio.open_tcp_listeners

        async def listen(port, *, host):
            listeners = await opened(port, host=host)
            places.append(listeners[0].socket.getsockname())
            return listeners

        monkeypatch.setattr(trio, "open_tcp_listeners", listen)
        with caplog.at_level(logging.WARNING):
            async with ps.pipe(pushed(lambda job: job.task(0, slow())), ps.collect()).open() as running:
                await until(lambda: places)
                assert places[0][0] == "127.0.0.1"
                with socket.create_connection(places[0]) as stranger:
                    stranger.sendall(said)
                    answer = await trio.to_thread.run_sync(heard, stranger)
                go.set()
                assert await running.result() == [(1,), (2,)]
        assert answer == b""
        assert "did not give this run's token" in caplog.text

    def test_a_port_that_is_taken_is_named(self, pushed):
        """The message says where, and what to do; nothing is left behind."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            with pytest.raises(spark.CannotListen, match=rf"127\.0\.0\.1:{port} .*a port= that is free"):
                ps.run(ps.pipe(pushed(lambda job: None, port=port), ps.collect()))
        assert ps.run(ps.pipe(pushed(lambda job: job.task(0, [pushed.batch(1)]), port=port), ps.collect())) == [(1,)]

    def test_an_executor_that_cannot_reach_the_driver_says_what_to_do(self):
        """The message, raised in the task, names the place and the options."""
        from adapters.spark.reading.wire import pushing

        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"cannot reach the driver at 127\.0\.0\.1:{port} .*host= and a port="):
            next(pushing("127.0.0.1", port, b"", None)(iter(())))


class TestEndings:
    def test_a_job_that_fails_fails_the_stream_after_what_came(self, pushed):
        """What Spark says is told; rows that were read are delivered first."""

        def script(job):
            job.task(0, [pushed.batch(1)]).join()
            raise OSError("the cluster is on fire")

        seen = []
        with pytest.raises(spark.SparkJobError, match="the cluster is on fire"):
            ps.run(ps.pipe(pushed(script), ps.map(seen.append), ps.drain()))
        assert seen == [(1,)]

    @pytest.mark.parametrize("retry", ["fail", "buffer"])
    async def test_an_abort_before_the_first_batch_hangs_up(self, pushed, retry):
        """A task that is still computing finds, when it wants to send, that nobody wants it."""
        go = threading.Event()

        def endless():
            go.wait(10)
            while True:
                yield pushed.batch(1)

        async with ps.pipe(pushed(lambda job: job.task(0, endless()), retry=retry), ps.drain()).open() as running:
            await until(lambda: pushed.job.tasks)
            await trio.sleep(0.05)
            with trio.move_on_after(0.2):
                await running.abort()
            go.set()
        assert pushed.job.cancelled.is_set()
        assert pushed.job.tasks[0].failure is not None

    def test_other_threads_cannot_keep_it_from_ending(self, pushed):
        """Though all threads that trio allows are in use, the job is cancelled at once."""

        def script(job):
            job.task(0, [pushed.batch(n) for n in range(50)])
            job.cancelled.wait(10)

        async def main():
            trio.to_thread.current_default_thread_limiter().total_tokens = 1
            with trio.fail_after(300):
                async with ps.pipe(pushed(script), ps.take(1), ps.collect()).open() as running:
                    return await running.result()

        assert trio.run(main) == [(0,)]

    def test_a_session_that_was_stopped_is_named(self, pushed):
        """The error says what has happened, and not that None has no such attribute."""
        pipeline = ps.pipe(pushed(lambda job: None), ps.collect())
        pushed.job._jsc = None
        with pytest.raises(spark.SparkJobError, match="its session was stopped"):
            ps.run(pipeline)

    def test_an_error_below_ends_the_job(self, pushed):
        """The consumer's own error comes out, and the tasks end."""

        def forever():
            while True:
                yield pushed.batch(1)

        def fail(value):
            raise ValueError("the consumer")

        with pytest.raises(ValueError, match="the consumer"):
            ps.run(ps.pipe(pushed(lambda job: job.task(0, forever())), ps.map(fail), ps.drain()))
        assert "wants no more" in str(pushed.job.tasks[0].failure)
