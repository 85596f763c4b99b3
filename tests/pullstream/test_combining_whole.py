"""Answers of many times where streams part and meet: as one time after another, and nothing complete too soon."""

import functools
import itertools
import random
from collections import Counter

import pytest
import trio
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.blueprint import Module
from pullstream.engine.parts.outbox import Outbox
from pullstream.modules.values.side_branch import SideBranch
from timely import BEGINNING, Product, TimeDomainError, join


class Unseen(Exception):
    """What these tests let fail."""


@ps.source
class Rows(ps.authoring.Kernel):
    """Answers pairs (time, value), as many as are asked for; it holds exactly what is still to come."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, rows, seed, *, fails=False, lots=None):
        self._rng = random.Random(seed)
        self._rows = rows
        self._fails = fails
        self._lots = lots
        self._left = Outbox(self)

    async def acquire(self):
        if self._lots is not None:
            # Opened anew, it gives other rows.
            self._rows, self._fails = self._lots.pop(0)
            self.location.hold(BEGINNING)
        if self._rows:
            self._left.put_batch(ps.authoring.TimedBatch([time for time, _ in self._rows], list(self._rows)))
        self._left.end(Unseen("above") if self._fails else ps.DONE)
        self.location.drop_capability()

    async def produce(self, limit):
        if self._rng.random() < 0.3:
            await trio.sleep(self._rng.random())
        return self._left.answer(self._rng.randint(1, limit) if self._rng.random() < 0.3 else limit)


@ps.transformer
class Cut(ps.authoring.Kernel):
    """Takes what comes one time after another, and so does everything below."""

    traits = Traits(trusted=True)

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        self.upstream.ack()
        return batch


@ps.sink
async def record(upstream, ctx, log, seed, *, enough=10**6):
    """Notes what came, and when it was worked off: at the next ask."""
    rng = random.Random(seed)
    while (batch := await upstream.ask_many(rng.choice([1, ctx.limit]))) is not ps.DONE:
        if rng.random() < 0.3:
            await trio.sleep(rng.random())
        values = [value.value if isinstance(value, ps.Failed) else value for value in batch.values]
        log.extend(zip(batch.times, values, strict=True))
        if len(log) >= enough:
            return
    log.append(("end", None))


def failing(value):
    if value[1] % 5 == 3:
        raise Unseen
    return value


def some(value):
    return value[1] % 3 == 0


def aside(sink, test=some):
    return ps.Transformer((Module("aside", SideBranch, (sink, test)),))


def failing_later(value):
    if value[1] == 6:
        raise Unseen
    return value[1] % 3


def spread(sinks, **options):
    return ps.partition(failing_later, {0: sinks[0], 1: sinks[1]}, other=sinks[2], **options)


PARTING = {
    "aside": lambda a, b, c: ps.pipe(aside(a), b),
    "aside, test fails": lambda a, b, c: ps.pipe(aside(a, failing_later), b),
    "aside, twice": lambda a, b, c: ps.pipe(aside(a), aside(b, lambda value: value[1] % 2), c),
    "on_error": lambda a, b, c: ps.pipe(ps.map(failing, on_error=a), b),
    "tee": ps.tee,
    "tee, capacity": lambda a, b, c: ps.tee(a, b, c, capacity=3),
    "tee, one leaves": lambda a, b, c: ps.tee(a, ps.pipe(ps.take(3), b), c),
    "partition": lambda a, b, c: spread([a, b, c], on_error="skip"),
    "partition, capacity": lambda a, b, c: spread([a, b, c], on_error="skip", capacity=4),
    "partition, fails": lambda a, b, c: spread([a, b, c]),
    "partition, on_error": lambda a, b, c: ps.partition(failing_later, {0: a}, other=b, on_error=c),
    "fork": lambda a, b, c: ps.pipe(ps.fork(ps.filter(some), capacity=100), a),
}


def at(domain, number, rng):
    """A time of a domain, near a number or anywhere."""
    match domain:
        case "sorted":
            return number // 2
        case "near":
            return max(0, number // 2 - rng.randrange(4))
        case "product":
            return Product(number // 4, rng.randrange(3))
        case "sets":
            return frozenset(rng.sample("abc", rng.randrange(3)))
        case "one":
            return 7


DOMAINS = ["sorted", "near", "product", "sets", "one"]


def rows(domain, count, seed):
    rng = random.Random(seed)
    return [(at(domain, number, rng), number) for number in range(count)]


def ran(pipeline, logs, times, limit, seed):
    """What each sink has got, the failure, and the times that were told; nothing came after it was told."""
    told = []
    merged = []

    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (Unseen, ps.errors.Abandoned):
            return
        told.append(time)
        merged.append((time, [len(log) for log in logs]))

    async def main():
        with trio.fail_after(10_000):
            async with pipeline.open(limit=limit, check="strict") as running, trio.open_nursery() as nursery:
                for time in set(times):
                    nursery.start_soon(wait, running.progress, time)

    trio_scheduler._r.seed(seed)
    failure = None
    try:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    except Unseen as exc:
        failure = str(exc)
    for time, lengths in merged:
        for log, length in zip(logs, lengths, strict=True):
            assert not [late for late, _ in log[length:] if late != "end" and late <= time]
    return [list(log) for log in logs], failure, set(told)


LIMITS = [1, 2, 7, 4096]


def cases(kind, limit, count=3):
    """So many programs of a kind, each with its times, its length and its way to end."""
    rng = random.Random(f"{kind} {limit}")
    for seed in rng.sample(range(10**6), count):
        for domain in DOMAINS:
            yield domain, rng.randrange(24), rng.random() < 0.3, limit, seed


def parted(kind, case, *, cut):
    domain, count, fails, limit, seed = case
    rng = random.Random(seed)
    above = rows(domain, count, seed)
    logs = [[], [], []]
    sinks = [record(log, rng.random()) for log in logs]
    source = Rows(above, seed, fails=fails)
    below = PARTING[kind](*sinks)
    pipeline = ps.pipe(source, Cut(), below) if cut else ps.pipe(source, below)
    return ran(pipeline, logs, [time for time, _ in above], limit, seed)


@pytest.mark.sampled
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", PARTING)
def test_parting_whole_is_parting_one_time_after_another(kind, limit):
    """Every sink has the same values at the same times, the same failure follows, and the same times are complete."""
    for case in cases(kind, limit):
        whole, failure, told = parted(kind, case, cut=False)
        cut, same_failure, told_cut = parted(kind, case, cut=True)

        assert whole == cut, case
        assert failure == same_failure, case
        if failure is None:
            assert told == told_cut == {time for time, _ in rows(case[0], case[1], case[4])}, case


@pytest.mark.parametrize("kind", ["aside, test fails", "partition, fails"])
def test_what_is_not_dealt_is_not_complete(kind):
    """Where dealing fails at a value, it and those after it stay in flight: their times are not told complete."""
    failed = 0
    for case in cases(kind, 7, 20):
        logs, failure, told = parted(kind, case, cut=False)
        there = {value for log in logs for _, value in log}
        lost = [time for time, value in rows(case[0], case[1], case[4]) if (time, value) not in there]
        failed += failure is not None and bool(lost)
        assert not [(early, time) for time in told for early in lost if early <= time], case
    assert failed


def numbered(value):
    return value[1]


def failing_key(value):
    if value[1] == 9:
        raise Unseen
    return value[1]


MEETING = {
    "concat": ps.concat,
    "merge": ps.merge,
    "zip": ps.zip,
    "padded": lambda *sources: ps.zip(*sources, mode="padded"),
    "merge_sorted": lambda *sources: ps.merge_sorted(*sources, key=numbered),
    "merge_sorted, fails": lambda *sources: ps.merge_sorted(*sources, key=failing_key),
    "merge_sorted, skips": lambda *sources: ps.merge_sorted(*sources, key=failing_key, on_error="skip"),
    "combine_latest": ps.combine_latest,
}


def met(kind, case, *, cut):
    domain, _, fails, limit, seed = case
    rng = random.Random(seed)
    # Of each value it can be told where it comes from.
    above = [
        [(time, 100 * source + number) for time, number in rows(domain, rng.randrange(16), rng.random())]
        for source in range(rng.randrange(1, 4))
    ]
    log = []
    sources = [Rows(each, rng.random(), fails=fails and number == len(above) - 1) for number, each in enumerate(above)]
    module = MEETING[kind](*[ps.pipe(source, Cut()) if cut else source for source in sources])
    times = {functools.reduce(join, some) for some in itertools.product(*[[t for t, _ in each] for each in above])}
    times |= {time for each in above for time, _ in each}
    (got,), failure, told = ran(ps.pipe(module, record(log, rng.random())), [log], times, limit, seed)
    return above, got, failure, told, times


@pytest.mark.sampled
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", MEETING)
def test_meeting_whole_is_meeting_one_time_after_another(kind, limit):
    """The same comes at the same times, the same failure follows, and everything is complete in the end."""
    for case in cases(kind, limit, 5):
        above, whole, failure, told, times = met(kind, case, cut=False)
        _, cut, same_failure, told_cut, _ = met(kind, case, cut=True)

        if kind == "merge":
            for each in above:
                mine = [pair for time, pair in whole if time != "end" and pair in each]
                assert mine == each[: len(mine)], case
        if kind in ("zip", "padded", "combine_latest"):
            for time, row in whole[: len(whole) - (failure is None)]:
                assert time == functools.reduce(join, [value[0] for value in row if value is not None]), case
        if kind != "combine_latest" and not (kind == "merge" and failure):
            order = Counter if kind == "merge" else list
            assert order(whole) == order(cut), case
        assert failure == same_failure, case
        if failure is None:
            assert told == told_cut == times, case


async def soon(value):
    await trio.sleep(value[1] % 3 / 10)
    return value


async def failing_soon(value):
    await trio.sleep(value[1] % 3 / 10)
    return failing_later_still(value)


def failing_later_still(value):
    if value[1] == 14:
        raise Unseen
    return value


PASSING = {
    "prefetch": lambda: ps.prefetch(5),
    "in_flight": lambda: ps.in_flight(ps.prefetch(9), 4),
    "rate_limit": lambda: ps.rate_limit(3, per=0.5),
    "timeout": lambda: ps.timeout(1000),
    "pausable": ps.pausable,
    "abortable": ps.abortable,
    "probe": lambda: ps.probe(lambda _: None),
    "catch": lambda: ps.catch(lambda _: [], on=ZeroDivisionError),
    "map_async": lambda: ps.map_async(soon, 3),
    "map_async, one": lambda: ps.map_async(failing_soon, 1),
    "map_async, fails": lambda: ps.map_async(failing_soon, 3),
    "worker_pool": lambda: ps.worker_pool(ps.map_async(soon, 2), ps.map(lambda value: value), concurrency=3),
}


@pytest.mark.sampled
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_whole_passes_as_one_time_after_another(kind, limit):
    """Below modules that hand on what comes, or work on each value, everything is as it came, and as soon complete."""
    for domain, count, fails, _, seed in cases(kind, limit):
        above = rows(domain, count, seed)
        results = []
        for cut in (False, True):
            log = []
            source = Rows(above, seed, fails=fails)
            parts = [source, Cut(), PASSING[kind]()] if cut else [source, PASSING[kind]()]
            results.append(ran(ps.pipe(*parts, record(log, seed)), [log], [time for time, _ in above], limit, seed))

        assert results[0][:2] == results[1][:2]
        if results[0][1] is None:
            assert results[0][2] == results[1][2] == {time for time, _ in above}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_source_that_is_opened_anew_goes_on_in_the_middle_of_an_answer(limit):
    """What was given is skipped, value by value; the rest is at its times."""
    for domain, count, _, _, seed in cases("retry", limit):
        above = rows(domain, count, seed)
        times = [time for time, _ in above]
        log = []
        lots = [(above[: count // 2], True), (above, False)]
        source = ps.retry(ps.pipe(Rows([], seed, lots=lots), ps.map(lambda value: value)), 1, skip_delivered=True)
        got, failure, told = ran(ps.pipe(source, record(log, seed)), [log], times, limit, seed)

        assert failure is None
        assert told == set(times)
        assert got == [[*((time, (time, number)) for time, number in above), ("end", None)]]


def key(value):
    return value[1] % 3


def key_failing(value):
    if value[1] % 100 == 11:
        raise Unseen
    return value[1] % 3


JOINS = {
    "inner": {"on": key},
    "left": {"on": key, "how": "left"},
    "near": {"on": key, "within": 2},
    "near, left": {"on": key, "within": 2, "how": "left"},
    "fails": {"on": key_failing, "how": "left"},
    "skips": {"on": key_failing, "how": "left", "on_error": "skip"},
}


def matched(kind, left, right):
    """What a join gives, of two lists of pairs (time, number)."""
    within = JOINS[kind].get("within", 0)
    if kind == "skips":
        left, right = ([row for row in each if row[1] % 100 != 11] for each in (left, right))
    pairs = []
    for a in left:
        found = [b for b in right if key(a) == key(b) and (a[0] == b[0] if not within else abs(a[0] - b[0]) <= within)]
        pairs += [(max(a[0], b[0]) if within else a[0], (a, b)) for b in found]
        pairs += [(a[0], (a, None))] * (not found and JOINS[kind].get("how") == "left")
    return pairs


@pytest.mark.sampled
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", JOINS)
def test_a_join_of_answers_of_many_times(kind, limit):
    """Exactly the pairs that match, each at its time; where a key fails, no other and none that is complete before."""
    for domain, _, fails, _, seed in cases(kind, limit, 6):
        if JOINS[kind].get("within") and domain in ("product", "sets"):
            continue
        rng = random.Random(seed)
        above = [
            [(time, 100 * source + number) for time, number in rows(domain, rng.randrange(20), rng.random())]
            for source in range(2)
        ]
        times = {time for each in above for time, _ in each}
        log = []
        sources = [Rows(each, rng.random(), fails=fails and number == 1) for number, each in enumerate(above)]
        joined = ps.join(*sources, **JOINS[kind])
        (got,), failure, told = ran(ps.pipe(joined, record(log, seed)), [log], times, limit, seed)

        wanted = Counter(matched(kind, *above))
        pairs = Counter(pair for pair in got if pair[0] != "end")
        if failure is None:
            assert pairs == wanted
            assert told == times
        else:
            assert fails or kind == "fails"
            assert not pairs - wanted


class Corner:
    """A time of two parts, componentwise, of which two have no least upper bound."""

    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, Corner) and self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __le__(self, other):
        return all(mine <= theirs for mine, theirs in zip(self.parts, other.parts, strict=True))


MEET = {
    "zip": (ps.zip, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)]),
    "zip, first row": (ps.zip, [(0, 1)], [(1, 0)], []),
    "zip, padded": (
        functools.partial(ps.zip, mode="padded"), [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)],
    ),
    "combine_latest": (
        ps.combine_latest, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 1), (1, 2), (2, 3)],
    ),
    "combine_latest, first row": (ps.combine_latest, [(0, 1)], [(1, 0)], []),
}  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize("kind", MEET)
def test_rows_before_times_that_cannot_be_joined_are_answered(kind, limit):
    module, *sources, joined = MEET[kind]
    inputs = [Rows([(Corner(*parts), number) for number, parts in enumerate(each)], 0) for each in sources]
    log = []

    @ps.sink
    async def noting(upstream, ctx):
        while (batch := await upstream.ask_many(limit)) is not ps.DONE:
            log.extend(zip(batch.times, batch.values, strict=True))

    async def run():
        await ps.arun(ps.pipe(module(*inputs), noting()))

    with pytest.raises(TimeDomainError, match="no join"):
        trio.run(run, clock=MockClock(autojump_threshold=0))
    assert [time.parts for time, _ in log] == joined
