"""A run with a journal continues where the last one stopped: done times are dropped, others are redone whole."""

import math
import os
import threading
from contextlib import suppress
from functools import partial
from time import sleep

import pytest
import trio
import trio.lowlevel
import trio.testing

import pullstream as ps
from pullstream.authoring import Outside
from pullstream.journal.keeper import Keeper
from pullstream.journal.store import JournalStore
from tests.pullstream.common import after, script

OVER = (
    " is the journal of a finished run: returning its result again, without reading anything. To process data that "
    "has arrived since, start a run with another journal"
)


class Stop(Exception):
    """Ends a run in the middle."""


STOP = [None]
"""Where the next run stops; the contents of a global list are not part of a program."""


def stopping_at(value):
    """A function that returns its argument, but stops at `value`; the same function for all values."""
    STOP[0] = value
    return check


def check(n):
    if n == STOP[0]:
        raise Stop
    return n


def numbers(count=10):
    """0, 1, ... two at each time."""
    return ps.values(range(count), time=lambda n: n // 2)


def storing(out, *between, source=None):
    """A pipeline that stores the values of each time."""
    return ps.pipe(source or numbers(), *between, ps.at_completion(out.__setitem__))


def run_until(pipeline, path, **options):
    """Run, ignoring the test's own `Stop`."""
    try:
        return ps.run(pipeline, journal=path, **options)
    except Stop:
        return None


@pytest.mark.parametrize(
    ("before", "stops", "found"),
    [
        ((), (3, 7, 7, None), [{0: [0, 1]}, {1: [2, 3], 2: [4, 5]}, {}, {3: [6, 7], 4: [8, 9]}]),
        ((ps.take(5),), (3, None), [{0: [0, 1]}, {1: [2, 3], 2: [4]}]),
    ],
    ids=["all", "take"],
)
def test_runs_resume_after_the_last_complete_time(path, limit, before, stops, found):
    done = []
    for stop in stops:
        done.append({})
        run_until(storing(done[-1], *before, ps.map(stopping_at(stop))), path, limit=limit)
    assert done == found


@pytest.mark.parametrize("few", [1, 1_000])
def test_an_answer_at_a_time_without_input_is_refused(path, monkeypatch, few):
    """A later run could not repeat it; times that may still be answered are not forgotten."""
    monkeypatch.setattr("pullstream.resuming.undeclared.FEW", few)

    @ps.transformer
    async def ahead(upstream, ctx, by, remembers):
        async for event in ctx.events(upstream):
            if isinstance(event, ps.Completed):
                yield ps.Batch(event.time, [event.time])
            elif event.time % 3 == 0:
                if remembers:
                    ctx.memory.at(event.time)["last"] = event.time
                ctx.notify_at(event.time + by)

    @ps.transformer
    async def holding(upstream, ctx, *times):
        with ctx.hold((await upstream.ask(1)).time) as held:
            for time in times:
                held.downgrade(time)
            async for batch in ctx.batches(upstream):
                if batch.time == 2:
                    yield ps.Batch(2, [2])

    for remembers in False, True:
        out = {}
        # `prefetch` no longer holds its batches when they are noted downstream.
        before = ps.pipe(numbers(60), ps.prefetch(9))
        ps.run(storing(out, ahead(0, remembers), source=before), journal=path.with_name(f"now{remembers}"))
        assert out == {n: [n] for n in range(0, 30, 3)}
    for by, nothing in (30, "it has received nothing"), (1, "it had received nothing when it took a hold of it"):
        inside = ps.group_by(lambda _: 0, ahead(by, False))
        for name, module in ("itself", ahead(by, False)), ("remembers", ahead(by, True)), ("inside", inside):
            with pytest.raises(ps.errors.JournalError, match=rf"ahead.*answered at \d+, .* {nothing}"):
                ps.run(storing({}, module, source=numbers(60)), journal=path.with_name(f"{name}{by}"))
    ps.run(storing({}, holding(), source=numbers(60)), journal=path.with_name("held"))
    with pytest.raises(ps.errors.JournalError, match=r"holding.*answered at 2, .* had received nothing when it took"):
        ps.run(storing({}, holding(2), source=numbers(60)), journal=path.with_name("ahead"))


def test_a_hold_that_is_dropped_before_anything_arrives_at_its_time_is_forgotten(path):
    @ps.transformer
    async def stepping(upstream, ctx):
        async for batch in ctx.batches(upstream):
            with ctx.hold(batch.time) as held:
                held.downgrade(batch.time + 1)
                yield ps.Batch(batch.time, list(batch.values))

    out = {}
    ps.run(storing(out, stepping(), source=numbers(60)), journal=path, limit=1)
    assert len(out) > 1


class Answers(ps.authoring.Kernel):
    """Answers at a time, or passes everything on."""

    def __init__(self, *time):
        self.time = time

    async def produce(self, limit):
        batch = await self.upstream.ask(limit) if self.inputs else None
        return ps.Batch(*self.time, [1]) if self.time else batch


@pytest.mark.parametrize(
    ("source", "time", "message"),
    [
        (numbers(), None, "R2: Answers, .* answered a batch whose time is None"),
        (numbers(), -1, "Answers, .* answered at -1, but may not"),
        (None, [1], "cannot be a time: times must be hashable"),
    ],
)
def test_always_wrong_answers_get_their_usual_errors(path, source, time, message):
    wrong = ps.source(Answers)(time) if source is None else ps.pipe(source, ps.transformer(Answers)(time))
    with pytest.raises((ps.errors.PullstreamError, TypeError), match=message):
        ps.run(ps.pipe(wrong, ps.transformer(Answers)(), ps.drain()), journal=path)


def test_values_dropped_inside_in_flight_free_room(path):
    """A `stamp` inside gives done times, whose values are dropped there: they must not take room for ever."""
    out = {}
    for stop in (7, None):
        stamped = ps.in_flight(ps.pipe(ps.stamp(lambda n: n), ps.map(stopping_at(stop))), 2)
        run_until(storing(out, stamped, source=ps.values(range(9))), path)
    assert out == {n: [n] for n in range(9)}


async def test_take_times_keeps_its_choice_on_resuming(path, autojump_clock):
    """A time that it left out is complete for one sink, but arrives again, earlier, as the other sink was behind."""
    stored = []

    async def slowly(n):
        await trio.sleep({1: 0, 2: 2, 3: 1}[n] if STOP[0] else n)
        return n

    async def store(time, _):
        if time == 3 and STOP[0]:
            STOP[0].abort_nowait()
            await trio.sleep_forever()
        stored.append(time)

    async def behind(_):
        await trio.sleep(9)

    for first in (True, False):
        sources = [ps.pipe(ps.values(some, time=int), ps.map_async(slowly, 1)) for some in ([1, 3], [2])]
        sinks = ps.tee(ps.at_completion(store), ps.pipe(ps.map_async(behind, 1), ps.drain()), capacity=9)
        pipeline = ps.pipe(ps.merge(*sources), ps.take_times(2), sinks)
        async with pipeline.open(journal=path) as running:
            STOP[0] = running if first else None
            with suppress(ps.errors.Abandoned):
                await running.result()
    assert stored == [1, 3]


def test_a_resumed_run_says_so(path, caplog):
    caplog.set_level("INFO", logger="pullstream")

    async def main(stop):
        async with storing({}, ps.map(stopping_at(stop))).open(journal=path) as running:
            resumed = running.resumed
            with suppress(Stop):
                await running.result()
            return resumed

    assert [trio.run(main, stop) for stop in (5, None, None)] == [False, True, True]
    assert [record.getMessage().split(str(path))[-1] for record in caplog.records] == ["", OVER]


def test_an_unpicklable_result_is_reported_missing(path):
    pipeline = ps.pipe(numbers(), ps.map(lambda n: lambda: n), ps.find(lambda f: f() == 9))
    assert ps.run(pipeline, journal=path)() == 9
    with pytest.raises(ps.errors.JournalError, match="nothing left to do. Its result could not be stored"):
        ps.run(pipeline, journal=path)


def waiting_at(value):
    """An async function that returns its argument, but waits for ever at `value`; the same function for all."""
    STOP[0] = value
    return wait


async def wait(n):
    if n == STOP[0]:
        await trio.sleep_forever()
    return n


def test_sources_can_skip_done_times(path):
    """A source may ask which times are done, and skip the work; without a journal, none are."""
    read = []

    @ps.source
    async def days(ctx):
        for day in range(5):
            if not ctx.done(day):
                read.append(day)
                check(day)
                yield ps.Batch(day, [day])

    def pipeline(stop):
        stopping_at(stop)
        return ps.pipe(days(), ps.at_completion(lambda *_: None))

    ps.run(pipeline(-1))
    assert read == [0, 1, 2, 3, 4]
    read.clear()
    run_until(pipeline(3), path)
    assert read == [0, 1, 2, 3]
    read.clear()
    ps.run(pipeline(-1), journal=path)
    # The last value may still have been in flight.
    assert read == [2, 3, 4]


def test_finishing_early_is_not_the_end(path):
    async def main(seconds):
        out = {}
        async with storing(out, source=ps.pipe(ps.interval(1.0), ps.stamp_epochs(3))).open(journal=path) as running:
            await trio.sleep(seconds)
            await running.finish()
        return out

    for seconds, found in ((4.5, {0: [0, 1, 2], 1: [3]}), (6.5, {1: [3, 4, 5]})):
        assert trio.run(main, seconds, clock=trio.testing.MockClock(autojump_threshold=0)) == found


def test_another_pipeline_is_refused(path):
    ps.run(ps.pipe(numbers(), ps.count_by_key(), ps.drain()), journal=path)
    with pytest.raises(ps.errors.JournalError, match=r"module 2 was count_by_key\(\) and is now unique_by_time\(\)"):
        ps.run(ps.pipe(numbers(), ps.unique_by_time(), ps.drain()), journal=path)
    with pytest.raises(ps.errors.JournalError, match=r"module 4, drain\(\), is new"):
        ps.run(ps.pipe(numbers(), ps.count_by_key(), ps.map(str), ps.drain()), journal=path)
    with pytest.raises(ps.errors.JournalError, match=r"module 1 was values\(range\(0, 10\), "):
        ps.run(ps.pipe(numbers(11), ps.count_by_key(), ps.drain()), journal=path)


def file_of(sizes):
    """A source that reads nothing; its identity, the sizes of files, is not among its arguments."""

    @ps.source
    class File(ps.authoring.Kernel[int], Outside):
        def identity(self):
            return dict(sizes)

        async def produce(self, limit):
            return ps.DONE

    return File


def test_changed_sources_are_refused(path):
    sizes = {"a.csv": 3}
    source = file_of(sizes)

    ps.run(ps.pipe(source(), ps.drain()), journal=path)
    ps.run(ps.pipe(source(), ps.drain()), journal=path)
    sizes["a.csv"] = 4
    changed = r"another state of File.*was {'a.csv': 3} and is now {'a.csv': 4}"
    with pytest.raises(ps.errors.JournalError, match=changed):
        ps.run(ps.pipe(source(), ps.drain()), journal=path)


def test_a_journal_without_complete_times_is_reusable(path):
    """A run that was refused, or failed before its first time was complete, may be fixed and run again with it."""
    sizes = {"a.csv": 3}
    source = file_of(sizes)

    with pytest.raises(ps.errors.JournalError, match="cannot be in a run with a journal"):
        ps.run(ps.pipe(source(), ps.stamp_epochs(seconds=1), ps.drain()), journal=path)
    with pytest.raises(Stop):
        ps.run(ps.pipe(ps.concat(numbers(), source()), ps.map(stopping_at(0)), ps.drain()), journal=path)
    sizes["a.csv"] = 4
    ps.run(ps.pipe(numbers(), ps.drain()), journal=path)
    with pytest.raises(ps.errors.JournalError, match="belongs to another pipeline"):
        ps.run(ps.pipe(source(), ps.drain()), journal=path)


async def test_hanging_threads_do_not_block_a_journal_s_end(path):
    """A run ends, and records its end, even if calls hang in all of trio's default threads."""
    hanging = threading.Event()
    # A run that waits for a thread cannot be cancelled: a timer releases it.
    timer = threading.Timer(60, hanging.set)
    timer.start()
    async with trio.open_nursery() as nursery:
        limiter = trio.to_thread.current_default_thread_limiter()
        wait = partial(trio.to_thread.run_sync, hanging.wait, abandon_on_cancel=True)
        for _ in range(int(limiter.total_tokens)):
            nursery.start_soon(wait)
        while limiter.available_tokens:
            await trio.lowlevel.checkpoint()
        await ps.arun(ps.pipe(numbers(), ps.drain()), journal=path)
        assert not hanging.is_set()
        hanging.set()
    timer.cancel()


async def test_two_runs_at_once_are_refused(path):
    pipeline = ps.pipe(numbers(), ps.map_async(waiting_at(9), 1), ps.drain())
    async with pipeline.open(journal=path) as running:
        with pytest.raises(ps.errors.JournalError, match="in use"):
            async with pipeline.open(journal=path):
                pytest.fail("it was opened")
        await running.abort()
    waiting_at(None)
    await ps.arun(pipeline, journal=path)


def early(n):
    return 1 // (n < 4)


def then_late(n):
    return n + 10 if n < 4 else n


async def aborted_and_resumed(pipeline, path, out):
    async with pipeline.open(journal=path) as running:
        await trio.sleep(0.5)
        await running.abort()
    out.clear()
    await ps.arun(pipeline, journal=path)


@ps.sink
async def opening(upstream, ctx, out):
    """Collects values, after a step that a cancellation does not interrupt, such as a thread that opens a file."""
    with trio.CancelScope(shield=True):
        await trio.sleep(1)
    async for batch in ctx.batches(upstream):
        out.extend(batch.values)


@pytest.mark.parametrize("aside", ["on_error of map", "on_error of partition", "late"])
async def test_a_side_sink_cancelled_last_completes_nothing(path, autojump_clock, aside):
    """The main branch has left by then, but that is not an end, which would complete the times of the side values."""
    out = []
    sink = ps.pipe(ps.map(str), opening(out))
    source = ps.pipe(numbers(8), ps.map_async(after(0.2), 1))
    pipeline = {
        "on_error of map": ps.pipe(source, ps.map(early, on_error=sink), ps.drain()),
        "on_error of partition": ps.pipe(source, ps.partition(early, {1: ps.drain()}, on_error=sink)),
        "late": ps.pipe(source, ps.map_time(lambda _: 0), ps.stamp(then_late, lateness=1, late=sink), ps.drain()),
    }[aside]
    await aborted_and_resumed(pipeline, path, out)
    assert len(out) == 4


@ps.sink
async def writing(upstream, ctx, out):
    """Collects values, each with a step that a cancellation does not interrupt."""
    while (batch := await upstream.ask()) is not ps.DONE:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
        out.extend(batch.values)


async def test_a_buffer_before_a_side_sink_reports_no_end_if_cancelled(path, autojump_clock):
    """Otherwise the sink counts as finished, and the next run has nothing left to do for it."""
    out = []
    aside = ps.pipe(ps.prefetch(1), writing(out))
    inverse = ps.map(lambda n: 1 // (n < 1), on_error=aside)
    pipeline = ps.pipe(numbers(8), ps.map_async(after(0.2), 1), inverse, ps.drain())
    await aborted_and_resumed(pipeline, path, out)
    assert [failed.value for failed in out] == [*range(2, 8)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "is a folder: give"),
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to(path.parent / "elsewhere"), "is a link: give the path of the file itself"),
    ],
)
def test_non_files_are_refused(path, make, message):
    make(path)
    with pytest.raises(ps.errors.JournalError, match=message) as caught:
        ps.run(ps.pipe(numbers(), ps.drain()), journal=path)
    assert caught.value.__cause__ is None


def test_a_journal_makes_its_folders(path):
    inside = path / "x" / "y"
    for _ in range(2):
        assert ps.run(ps.pipe(numbers(2), ps.collect()), journal=inside) == [0, 1]
    with pytest.raises(ps.errors.JournalError, match=r"x/y/z cannot be used .*x/y.*a writable folder") as caught:
        ps.run(ps.pipe(numbers(), ps.drain()), journal=inside / "z")
    assert caught.value.__cause__ is None


def test_unpicklable_times_are_reported(path):
    class Local(int):
        """A time whose class cannot be imported."""

    two_times = script(*(ps.Batch(Local(time), [time]) for time in (1, 2)), math.inf)
    with pytest.raises(ps.errors.JournalError, match="cannot be pickled.*it is a time at drain"):
        ps.run(ps.pipe(two_times, ps.drain()), journal=path)


async def test_a_failed_write_ends_the_run(path, monkeypatch, autojump_clock):
    with pytest.raises(ps.errors.JournalError, match="disk is full"):
        async with ps.pipe(ps.interval(1.0), ps.stamp_epochs(2), ps.drain()).open(journal=path) as running:
            fail_once(monkeypatch, "sinks")
            await running.result()


def fail_once(monkeypatch, which, before=lambda: None):
    """Make the first write of a record with something in `which` fail."""
    write, failed = JournalStore.write, []

    def full(self, record):
        if getattr(record, which) and not failed:
            failed.append(record)
            before()
            raise ps.errors.JournalError("the disk is full")
        write(self, record)

    monkeypatch.setattr(JournalStore, "write", full)


def test_a_failed_write_at_the_very_end_is_raised(path, monkeypatch):
    """Even if all sinks have ended: without the record, the run has not succeeded."""
    fail_once(monkeypatch, "sinks")
    pipeline = ps.pipe(numbers(), ps.scan(max), ps.collect())
    with pytest.raises(ps.errors.JournalError, match="disk is full"):
        ps.run(pipeline, journal=path)
    # The disk was full only for a moment: the record lost then must not be skipped.
    assert ps.run(pipeline, journal=path) == list(range(10))


def test_changes_lost_with_a_failed_write_are_not_skipped(path, monkeypatch):
    """After a record that could not be written nothing is recorded, even if the run ends for another reason."""
    tried, ends = threading.Event(), threading.Event()

    def until_the_run_ends():
        tried.set()
        ends.wait(10)
        sleep(0.05)

    async def beside(running):
        await trio.to_thread.run_sync(tried.wait, 10)
        ends.set()
        raise Stop

    def pipeline(stop):
        return ps.pipe(numbers(), ps.map_async(waiting_at(stop), 1), ps.collect())

    fail_once(monkeypatch, "memory", until_the_run_ends)
    with pytest.raises((Stop, BaseExceptionGroup)):
        ps.run(pipeline(8), journal=path, limit=1, beside=beside)
    assert ps.run(pipeline(None), journal=path) == list(range(10))


async def nothing(self):
    """A keeper that has not recorded anything yet."""


async def test_waiting_for_a_journal_that_is_ending_raises(path, monkeypatch):
    """Nothing is recorded from then on, so the source would wait for ever."""

    @ps.source
    class Once(ps.authoring.Kernel[int]):
        given = False

        async def produce(self, limit):
            if self.given:
                self.location.advance(1)
                with trio.move_on_after(60, shield=True):
                    await self.location.until_fulfilled(0)
            self.given = True
            return ps.Batch(0, [0])

    monkeypatch.setattr(Keeper, "record", nothing)
    with pytest.raises(ps.errors.JournalError, match="were not recorded: the run is ending"):
        async with ps.pipe(Once(), ps.drain()).open(journal=path) as running:
            await trio.testing.wait_all_tasks_blocked()
            await running.finish()
