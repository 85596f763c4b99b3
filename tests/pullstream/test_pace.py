"""The pace of a sink follows how long others have to wait, and not how much work one answer takes."""

import time

import pytest
import trio
from hypothesis import given, settings, strategies as st

import pullstream as ps
from pullstream.engine.parts.pace import Size
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from tests.pullstream.common import passing, per_time, script
from tests.pullstream.edge.test_times_raise import until_complete


@ps.transformer
async def few(upstream, ctx):
    async for batch in ctx.batches(upstream):
        chosen = [value for value in batch.values if value % 25_000 == 0]
        if chosen:
            yield ps.Batch(batch.time, chosen)


@pytest.mark.parametrize(
    "module", [ps.filter(lambda n: n % 25_000 == 0), ps.batch(25_000), ps.skip(75_000), few(), per_time()]
)
def test_work_that_yields_does_not_slow_the_sink_down(module, counting, probe):
    ps.run(ps.pipe(counting(probe, 100_000), module, ps.drain()))
    assert len(probe.asked) < 25_000


class Hand:
    """A clock that is moved by hand, together with trio's."""

    now = 0.0
    trio = None

    def work(self, seconds):
        self.now += seconds
        self.trio.jump(seconds)


HAND = Hand()


@pytest.fixture
def hand(monkeypatch, autojump_clock):
    """Only `work` takes time, so the sizes of asks do not depend on how fast the machine is."""
    monkeypatch.setattr(HAND, "now", 0.0)
    monkeypatch.setattr(HAND, "trio", autojump_clock)
    for clock in ("monotonic", "thread_time"):
        monkeypatch.setattr(clocks, clock, lambda: HAND.now)
    return autojump_clock


def doze(_=None):
    HAND.work(0.001)


@ps.transformer
async def looking_first(upstream, ctx, seconds=0.015):
    """Its work on a batch does not depend on the number of values."""
    async for batch in ctx.batches(upstream):
        HAND.work(seconds)
        yield batch


@pytest.mark.parametrize(
    "rest",
    [
        lambda given: ps.pipe(given, looking_first(), ps.drain()),
        lambda given: ps.pipe(given, looking_first(), ps.unique(capacity=1), ps.drain()),
        lambda given: ps.pipe(ps.merge(ps.pipe(given, looking_first()), ps.empty()), ps.drain()),
        lambda given: ps.pipe(
            given, looking_first(), ps.stamp(lambda n: n // 500), ps.reduce_by_time(ps.agg.count()), ps.drain()
        ),
    ],
    ids=["sink", "unique", "merge", "fold"],
)
async def test_work_independent_of_values_does_not_reduce_asks(rest, counting, probe, hand):
    await ps.arun(rest(counting(probe, 2_000)))
    assert len(probe.asked) <= 80
    assert max(probe.asked) >= 256


@pytest.mark.parametrize(
    "rest",
    [
        ps.tee(*[ps.pipe(looking_first(0.0005), ps.drain())] * 25),
        ps.pipe(ps.group_by(lambda n: n % 25, looking_first(0.0005)), ps.drain()),
    ],
    ids=["tee", "group_by"],
)
async def test_many_streams_with_short_work_do_not_get_fewer_values(rest, counting, probe, hand):
    """Together they take longer than a moment, however few values they get."""
    await ps.arun(ps.pipe(counting(probe, 400), rest))
    assert len(probe.asked) <= 40


async def test_idle_groups_do_not_count_for_the_pace(hand):
    """A group with a slow call does not get hundreds of values because there are hundreds of others."""
    taken, processed, ahead = [], [], []

    async def call(number):
        await trio.sleep(number > 800)
        processed.append(number)
        ahead.append(len(taken) - len(processed))

    groups = ps.group_by(lambda n: min(n, 800), ps.map_async(call, 1))
    await ps.arun(ps.pipe(ps.values(range(1_500)), ps.tap(taken.append), groups, ps.drain()))
    assert max(ahead[-300:]) <= 8


@pytest.mark.parametrize("merged", [False, True])
async def test_many_values_after_a_few_slow_ones(merged, hand):
    """A generator that is asked for two values answers one, which does not show how long two take."""
    sizes = []

    coming = script(*(part for number in range(10) for part in (1.0, number)), *range(10, 2_000))

    def look(values):
        sizes.append(len(values))
        HAND.work(0.015)
        return values

    rows = ps.pipe(coming, ps.map_batches(look))
    await ps.arun(ps.pipe(ps.merge(rows, ps.empty()) if merged else rows, ps.drain()))
    assert len(sizes) <= 80
    assert max(sizes) >= 256


@settings(deadline=None)
@given(st.floats(0, 0.001))
def test_work_independent_of_values_may_end(each):
    """From then on, the work on values counts, however many are asked for by then."""
    size, most = Size(), 4_096
    for answer in range(300):
        asked = min(size.now, most)
        spent = each * asked + 0.3 * (answer < 60)
        size.fit(asked, asked, spent, most)
    assert spent <= max(4 * BREATH, 2 * each)


SECONDS = st.floats(0, 0.1)


@settings(deadline=None)
@given(SECONDS, st.floats(1e-6, 0.1))
def test_only_work_on_values_decides_the_size_of_asks(fixed, each):
    """It may take as long as the work that does not depend on them; a value that takes long is asked for by itself."""
    size, most, spent = Size(), 4_096, []
    for _ in range(60):
        asked = min(size.now, most)
        spent.append(each * asked)
        size.fit(asked, asked, fixed + each * asked, most)
    assert max(spent[1:]) <= max(2 * each, 2 * max(BREATH, fixed) + 1e-9)
    assert all(work >= min(each * most / 2, max(BREATH, fixed) / 8) for work in spent[-20:])


@settings(deadline=None)
@given(SECONDS)
def test_a_slow_source_of_single_values_is_not_asked_for_more(seconds):
    """It may have a thousand values next."""
    size = Size()
    for _ in range(60):
        size.fit(size.now, 1, seconds, 4_096)
    assert size.now <= 16 or seconds < BREATH / 2


@ps.transformer
async def dozing(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for _ in batch.values:
            doze()
        yield batch


@ps.sink
async def dozing_sink(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for _ in batch.values:
            doze()


def noting(lengths):
    """Note how many values pass at a time."""

    def note(values):
        lengths.append(len(values))
        return values

    return ps.map_batches(note)


def slow(given):
    return ps.pipe(given, ps.tap(doze))


PACED = {
    "a generator": lambda given: ps.pipe(given, dozing()),
    "a sink": lambda given: ps.pipe(given, dozing_sink()),
    "unique": lambda given: ps.pipe(given, ps.unique(lambda _: doze(), capacity=1)),
    "fork": lambda given: ps.pipe(slow(given), ps.fork(ps.map(str), ps.map(str))),
    "prefetch": lambda given: ps.pipe(slow(given), ps.prefetch(1_000)),
    "timeout": lambda given: ps.pipe(slow(given), ps.timeout(60)),
    "zip": lambda given: ps.zip(slow(given), ps.integers()),
    "combine_latest": lambda given: ps.combine_latest(slow(given), ps.once(0)),
    "with a quick one": lambda given: ps.combine_latest(slow(given), ps.values(range(100_000))),
    "merge": lambda given: ps.merge(slow(given), ps.values(range(100_000))),
    "merge_sorted": lambda given: ps.merge_sorted(slow(given), ps.once(0)),
    "catch_up": lambda given: ps.catch_up(slow(given), ps.empty()),
    "group_by": lambda given: ps.pipe(slow(given), ps.group_by(lambda n: n % 4, passing())),
    "group_by at many times": lambda given: ps.pipe(
        slow(given), ps.stamp(lambda n: n // 2), ps.group_by(lambda n: n % 4, passing())
    ),
}


@pytest.mark.parametrize("name", PACED)
async def test_slow_modules_get_few_values(name, hand):
    """Also modules that let others run only when upstream has answered."""
    lengths = []
    stream = PACED[name](ps.pipe(ps.values(range(400)), noting(lengths)))
    await ps.arun(stream if isinstance(stream, ps.Pipeline) else ps.pipe(stream, ps.drain()))
    assert max(lengths) <= 64


async def test_a_blocking_task_beside_the_pipeline_does_not_slow_it(hand):
    """Asking for less would not help the others, and the pipeline would hardly make progress."""
    lengths = []

    def quick(value):
        HAND.work(5e-6)
        return value

    async def beside():
        while True:
            HAND.work(0.03)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beside)
        await ps.arun(ps.pipe(ps.values(range(10_000)), noting(lengths), ps.map(quick), ps.timeout(60), ps.drain()))
        nursery.cancel_scope.cancel()
    assert len(lengths) < 50


async def test_work_that_becomes_slow_gets_fewer_values(counting, probe, hand):
    slow = ps.map(lambda n: HAND.work(0.001) if n >= 2_000 else n)
    await ps.arun(ps.pipe(counting(probe, 2_600), slow, ps.drain()), limit=256)
    assert max(probe.asked) > 64
    assert probe.asked[-1] <= 16


@pytest.mark.parametrize("journal", [False, True])
@pytest.mark.parametrize("time_of", [None, lambda n: n], ids=["one time", "a time a value"])
def test_the_result_of_a_slow_call_precedes_the_next_call(time_of, journal, tmp_path):
    """Also the first one; once calls are quick, several share an answer, and a failure follows earlier results.

    With a journal, too, which saves state time by time.
    """
    seen = []

    def call(n):
        seen.append(n)
        if n == 40:
            raise ZeroDivisionError
        if n < 4:
            time.sleep(0.01)
        return -n

    source = ps.values(range(50)) if time_of is None else ps.values(range(50), time=time_of)
    kept = ps.Journal(tmp_path / "journal", version="1") if journal else None
    slow = ps.pipe(ps.map(call), ps.filter(lambda _: True), ps.scan(lambda _, n: n))
    with pytest.raises(ZeroDivisionError):
        ps.run(ps.pipe(source, slow, ps.drain(seen.append)), check=True, journal=kept)
    assert seen[:8] == [0, 0, 1, -1, 2, -2, 3, -3]
    assert [n for n in seen if n > 0] == list(range(1, 41))
    assert seen[-1] == -39
    assert seen.index(-20) > seen.index(20) + 1


@pytest.mark.parametrize(
    ("time_of", "slow", "through"),
    [(None, range(4), ()), (lambda n: n, range(4), ()), (None, {1, 3}, [ps.take(lambda _: True)])],
    ids=["one time", "a time a value", "take by a test"],
)
def test_a_value_does_not_wait_for_the_next_of_a_slow_iterator(time_of, slow, through):
    seen = []

    def numbers():
        for n in range(40):
            if n in slow:
                time.sleep(0.02)
            seen.append(n)
            yield n

    ps.run(ps.pipe(ps.values(numbers(), time=time_of), *through, ps.drain(lambda n: seen.append(-n))))
    assert seen[:8] == [0, 0, 1, -1, 2, -2, 3, -3]
    assert seen.index(-20) > seen.index(20) + 1


@ps.sink
async def of_batches(upstream, ctx):
    async for _ in ctx.batches(upstream):
        pass


@pytest.mark.parametrize("rest", [until_complete(), of_batches(), ps.pipe(per_time(), ps.drain())], ids=repr)
async def test_slow_work_per_time_gets_small_batches(rest, hand):
    """One answer may make hundreds of events or batches, each processed in a moment: the next ask is not larger."""
    asked = []

    @ps.source
    class Numbers(ps.authoring.Kernel):
        async def produce(self, limit):
            asked.append(limit)
            start = sum(asked[:-1])
            numbers = range(start, start + limit)
            return ps.Batch.of(numbers, numbers) if start < 200 else ps.DONE

    await ps.arun(ps.pipe(Numbers(), ps.map(doze), rest))
    assert max(asked) <= 32
