"""Multi-time batches: every module does with one what it does with one time after another, at every limit.

`test_cut_and_whole.py` does the same with random programs; here each module stands alone, below times of every kind.
"""

import functools
import itertools
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import attrs
import pytest
import trio
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.blueprint import Module
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.traits import PROMPT
from pullstream.modules.values.side_branch import SideBranch
from tests.sampling import amount
from timely import BEGINNING, Product, TimeDomainError, join

LIMITS = (1, 2, 7, 4096)
WAYS = [*itertools.product((True, False), LIMITS)]
"""Whether a module is given one time after another, and the limit."""

DAY = datetime(2024, 3, 30, tzinfo=UTC)
TIMES = {
    "int": lambda n: n,
    "float": lambda n: n / 4,
    "datetime": lambda n: DAY + timedelta(seconds=n),
    "fraction": lambda n: Fraction(n, 3),
    "int and float": lambda n: n / 2 if n % 2 else n // 2,
    "one": lambda n: 7,
    "product": lambda n: Product(n // 4, n % 4),
    "frozenset": lambda n: frozenset(range(n % 5)) | {100 + n // 7},
}
"""Times made of numbers that mostly rise."""

PARTIAL = {"product", "frozenset"}
TOTAL = [domain for domain in TIMES if domain not in PARTIAL]


class Strike(Exception):
    """The failure of a source or of a function."""


# ---- sources and sinks


@ps.source
class Rows(ps.authoring.Kernel):
    """Answers as many rows as are asked for, after pauses, and holds exactly the times of those to come."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, rows, seed, *, fails=False, lots=None):
        self._rng = random.Random(seed)
        self._rows = rows
        self._fails = fails
        self._lots = lots
        self._left = Backlog(self)

    async def acquire(self):
        if self._lots is not None:
            # Opened anew, it gives other rows.
            self._rows, self._fails = self._lots.pop(0)
            self.location.hold(BEGINNING)
        if self._rows:
            self._left.put(ps.Batch.of([row[0] for row in self._rows], list(self._rows)))
        self._left.end(Strike("above") if self._fails else ps.DONE)
        self.location.drop_capability()

    async def produce(self, limit):
        if self._rng.random() < 0.3:
            await trio.sleep(self._rng.random())
        return self._left.answer(self._rng.randint(1, limit) if self._rng.random() < 0.3 else limit)


@ps.transformer
class Known(PassOn):
    """Answers rows at the times that they name, without waiting, and holds those to come."""

    traits = attrs.evolve(PROMPT, summaries=((),))

    def __init__(self, times):
        self.left = Counter(times)

    def placed(self):
        for time in self.left:
            self.location.hold(time)

    def answer(self, batch):
        times = [row[0] for row in batch.values]
        for time in times:
            self.left[time] -= 1
            if not self.left[time]:
                self.location.drop(time)
        return ps.Batch.of(times, batch.values)


@ps.transformer
class Cut(ps.authoring.Kernel):
    """Answers as its input does, one time after another."""

    traits = Traits(trusted=True)

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        self.upstream.ack()
        return batch


@ps.sink
async def record(upstream, ctx, log, seed):
    """Notes what came and its time, when it was worked off: at the next ask."""
    rng = random.Random(seed)
    while (batch := await upstream.ask_many(rng.choice([1, ctx.limit]))) is not ps.DONE:
        if rng.random() < 0.3:
            await trio.sleep(rng.random())
        values = [value.value if isinstance(value, ps.Failed) else value for value in batch.values]
        log.extend(zip(batch.times, values, strict=True))
    log.append(("end", None))


# ---- functions of rows (time, letter, number), of which some fail


def failing_at(bad, function):
    def call(row):
        if row[2] == bad:
            raise Strike(row)
        return function(row)

    return call


key = failing_at(999, lambda row: row[1])
number = failing_at(999, lambda row: row[2] % 3)
rank = failing_at(999, lambda row: -row[2] % 7)
same = failing_at(999, lambda row: row)
joined_by = failing_at(999, lambda row: row[2] % 100 % 3)
LISTED = ps.Fold(list, lambda state, row: [*state, failing_at(998, lambda row: row[2])(row)])


def not_ninth(row):
    """The number of a row, which fails once in each source."""
    if row[2] % 100 == 9:
        raise Strike(row)
    return row[2]


async def soon(row):
    await trio.sleep(row[2] % 3 / 10)
    return same(row)


def as_bytes(row):
    """Half a character, a whole one, both, or what is none."""
    if row[2] > 900:
        return [b"\xff", "text"][row[2] % 2]
    return [b"\xc3", b"\xa9", b"a", b"\xc3\xa9"][row[2] % 4]


def as_text(row):
    return row[2] if row[2] > 900 else row[1] + ["", ";", "\r", "\n", ";;"][row[2] % 5]


# ---- the modules


@attrs.frozen
class Case:
    """Rows for each source, and how the run goes."""

    domain: str
    above: tuple
    fails: bool
    prompt: bool
    seed: int
    options: dict

    def span(self, number):
        return timedelta(seconds=number) if self.domain == "datetime" else number

    def source(self, rows, seed, *, cut):
        fails = self.fails and rows is self.above[-1]
        made = (
            ps.pipe(ps.values(rows), Known([row[0] for row in rows]))
            if self.prompt and not fails
            else Rows(rows, seed, fails=fails)
        )
        return ps.pipe(made, Cut()) if cut else made


@attrs.frozen
class Way:
    """How a module is put into a pipeline, and which cases it takes."""

    make: object  # of the sources, three sinks and the case
    domains: list = attrs.field(factory=lambda: [*TIMES])
    inputs: int = 1
    eager: bool = False
    policies: bool = False
    clocked: bool = False  # emits by the clock, so that pauses above matter
    bad: bool = True  # calls a function that fails at some rows
    sorts: bool = False  # fails at a completion, which may be another one in a partial order
    waits: bool = False  # values pass one another
    order: object = list  # of the results that are compared; None if chance decides about them


def through(make, domains=TIMES, **options):
    """A transformer."""

    def pipeline(sources, sinks, case):
        given = {name: sinks[1] if value == "aside" else value for name, value in case.options.items()}
        return ps.pipe(*sources, make(case, **given), sinks[0])

    return Way(pipeline, [*domains], **options)


def met(make, order=list, domains=TIMES):
    """Several sources as one."""
    return Way(
        lambda sources, sinks, case: ps.pipe(make(*sources), sinks[0]), [*domains], inputs=3, order=order, bad=False
    )


def parted(make):
    """One stream for several sinks."""
    return Way(lambda sources, sinks, case: ps.pipe(*sources, make(*sinks)))


def paired(domains=TIMES, **options):
    """A join of two sources."""
    return Way(
        lambda sources, sinks, case: ps.pipe(ps.join(*sources, on=joined_by, **options), sinks[0]),
        [*domains],
        inputs=2,
        order=Counter,
    )


def aside(sink, test=number):
    return ps.Transformer((Module("aside", SideBranch, (sink, test)),))


def partition(*sinks, **options):
    return ps.partition(number, {0: sinks[0], 1: sinks[1]}, other=sinks[2], **options)


COUNT = ps.agg.count()
FOLDS = {"eager": True, "policies": True}
WINDOWS = {**FOLDS, "domains": TOTAL}
NEAR = ["int", "float", "one"]

MODULES = {
    "reduce_by_time": through(lambda case, **o: ps.reduce_by_time(LISTED, **o), **FOLDS),
    "reduce_by_key": through(lambda case, **o: ps.reduce_by_key(LISTED, key=key, **o), **FOLDS),
    "count_by_key": through(lambda case, **o: ps.count_by_key(key, **o), **FOLDS),
    "count": through(lambda case, **o: ps.reduce_by_time(COUNT, **o), **FOLDS),
    "unique_by_time": through(lambda case, **o: ps.unique_by_time(key, **o), policies=True),
    "sort_by_time": through(lambda case, **o: ps.sort_by_time(rank, **o), policies=True, sorts=True),
    "take_times": through(lambda case: ps.take_times(5), TOTAL),
    "accumulate": through(lambda case, **o: ps.accumulate(LISTED, key=key, **o), **WINDOWS),
    "tumbling": through(lambda case, **o: ps.tumbling(case.span(5), LISTED, **o), **WINDOWS),
    "tumbling counted": through(lambda case, **o: ps.tumbling(case.span(3), COUNT, key=key, **o), **WINDOWS),
    "tumbling listed": through(lambda case, **o: ps.tumbling(case.span(20), **o), **WINDOWS),
    "sliding": through(lambda case, **o: ps.sliding(case.span(6), case.span(2), LISTED, key=key, **o), **WINDOWS),
    "sliding counted": through(
        lambda case, **o: ps.sliding(case.span(7), case.span(3), COUNT, key=key, **o), **WINDOWS
    ),
    "sliding with gaps": through(lambda case, **o: ps.sliding(case.span(1), case.span(4), LISTED, **o), **WINDOWS),
    "sessions": through(lambda case, **o: ps.sessions(case.span(2), LISTED, **o), **WINDOWS),
    "sessions by key": through(lambda case, **o: ps.sessions(case.span(3), LISTED, key=key, **o), **WINDOWS),
    "batch": through(lambda case: ps.batch(3), TOTAL),
    "batch, clocked": through(lambda case: ps.batch(3, seconds=1000), TOTAL, clocked=True),
    "window": through(lambda case: ps.windowed(3, 1), TOTAL),
    "window with gaps": through(lambda case: ps.windowed(2, 5), TOTAL),
    "window, clocked": through(lambda case: ps.windowed(seconds=1000), TOTAL, clocked=True),
    "split": through(lambda case: ps.pipe(ps.map(as_text), ps.split(";")), TOTAL),
    "split, lines": through(lambda case: ps.pipe(ps.map(as_text), ps.split()), TOTAL),
    "split, size": through(lambda case: ps.pipe(ps.map(as_text), ps.split(size=3)), TOTAL),
    "decode": through(lambda case: ps.pipe(ps.map(as_bytes), ps.decode()), TOTAL),
    "decode, replaced": through(lambda case: ps.pipe(ps.map(as_bytes), ps.decode(errors="replace")), TOTAL),
    "prefetch": through(lambda case: ps.prefetch(5), waits=True),
    "in_flight": through(lambda case: ps.in_flight(ps.prefetch(9), 4), waits=True),
    "rate_limit": through(lambda case: ps.rate_limit(3, per=0.5), waits=True),
    "timeout": through(lambda case: ps.timeout(1000)),
    "pausable": through(lambda case: ps.pausable()),
    "abortable": through(lambda case: ps.abortable()),
    "probe": through(lambda case: ps.probe(lambda _: None)),
    "catch": through(lambda case: ps.catch(lambda _: [], on=ZeroDivisionError)),
    "map_async": through(lambda case: ps.map_async(soon, 3), waits=True),
    "map_async, one": through(lambda case: ps.map_async(soon, 1), waits=True),
    "worker_pool": through(
        lambda case: ps.worker_pool(ps.map_async(soon, 2), ps.map(lambda row: row), concurrency=3), waits=True
    ),
    "concat": met(ps.concat),
    "merge": met(ps.merge, Counter),
    "zip": met(ps.zip),
    "zip, padded": met(lambda *sources: ps.zip(*sources, mode="padded")),
    "merge_sorted": met(lambda *sources: ps.merge_sorted(*sources, key=lambda row: row[2])),
    "merge_sorted, fails": met(lambda *sources: ps.merge_sorted(*sources, key=not_ninth)),
    "merge_sorted, skips": met(lambda *sources: ps.merge_sorted(*sources, key=not_ninth, on_error="skip")),
    "combine_latest": met(ps.combine_latest, None),
    "join": paired(),
    "join, left": paired(how="left"),
    "join, near": paired(NEAR, within=2),
    "join, near, left": paired(NEAR, within=2, how="left"),
    "join, skips": paired(how="left", on_error="skip"),
    "aside": parted(lambda a, b, c: ps.pipe(aside(a), b)),
    "aside, twice": parted(lambda a, b, c: ps.pipe(aside(a), aside(b, lambda row: row[2] % 2), c)),
    "on_error": parted(lambda a, b, c: ps.pipe(ps.map(same, on_error=a), b)),
    "tee": parted(ps.tee),
    "tee, capacity": parted(lambda *sinks: ps.tee(*sinks, capacity=3)),
    "tee, one leaves": parted(lambda a, b, c: ps.tee(a, ps.pipe(ps.take(3), b), c)),
    "partition": parted(partition),
    "partition, capacity": parted(lambda *sinks: partition(*sinks, on_error="skip", capacity=4)),
    "partition, on_error": parted(lambda a, b, c: ps.partition(number, {0: a}, other=b, on_error=c)),
    "fork": parted(lambda a, b, c: ps.pipe(ps.fork(ps.filter(lambda row: row[2] % 2), capacity=100), a)),
}


# ---- cases


def rows_of(rng, domain, source, bad):
    """Rows of a source, of which some have a number at which functions fail: a share of them, or one."""
    jitter, slow = rng.choice([0, 0, 3, 20]), rng.choice([1, 1, 3])
    count = rng.randrange(80 if source is None else 16)
    struck = {n for n in range(count) if rng.random() < bad} if bad < 1 else {rng.randrange(count + 1)}
    return [
        (
            TIMES[domain](n // slow + rng.randint(0, jitter)),
            rng.choice("abcd"),
            rng.choice([998, 999]) if n in struck else n + 100 * (source or 0),
        )
        for n in range(count)
    ]


def cases(name, count):
    """So many cases of a module."""
    way = MODULES[name]
    for seed in range(count):
        rng = random.Random(f"{seed} {name}")
        domain = way.domains[seed % len(way.domains)]
        policy = rng.choice(["fail", "fail", "skip", "aside"]) if way.policies else "fail"
        options = {"on_error": policy} if way.policies else {}
        options |= {"eager": rng.random() < 0.5} if way.eager else {}
        may_fail = not (way.sorts and domain in PARTIAL)
        bad = 0.3 if policy != "fail" else rng.choice([0, 1, 1]) * (may_fail and way.bad)
        several = way.inputs > 1
        above = tuple(rows_of(rng, domain, n if several else None, bad) for n in range(way.inputs))
        fails = rng.random() < 0.3 and may_fail and not way.clocked
        yield Case(domain, above, fails, way.clocked or rng.random() < 0.5, rng.randrange(10**6), options)


def ran(name, case, *, cut, limit):
    """What each sink has got, the failure, and the times that are complete; nothing comes after it is complete."""
    logs, lengths = ([], [], []), {}
    rng = random.Random(case.seed)
    sources = [case.source(rows, rng.random(), cut=cut) for rows in case.above]
    pipeline = MODULES[name].make(sources, [record(log, rng.random()) for log in logs], case)
    times = {row[0] for rows in case.above for row in rows}
    if MODULES[name].inputs > 1 and not name.startswith("join"):
        times |= {functools.reduce(join, some) for some in itertools.product(*[{r[0] for r in e} for e in case.above])}

    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (Strike, TypeError, UnicodeDecodeError, ps.errors.Abandoned):
            return
        lengths[time] = [len(log) for log in logs]

    async def main():
        with trio.fail_after(10_000):
            async with pipeline.open(limit=limit, check="strict") as running, trio.open_nursery() as nursery:
                for time in times:
                    nursery.start_soon(wait, running.progress, time)

    trio_scheduler._r.seed(case.seed)
    failure = None
    try:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    except (Strike, TypeError, UnicodeDecodeError) as exc:
        failure = str(exc)
    else:
        assert set(lengths) == times, "everything is complete in the end"
    for time, before in lengths.items():
        for log, length in zip(logs, before, strict=True):
            assert not [late for late, _ in log[length:] if late != "end" and late <= time], "came too late"
    return logs, failure, set(lengths)


def pairs_of(name, left, right):
    """What a join gives, of two lists of rows."""
    within = 2 if "near" in name else None
    if "skips" in name:
        left, right = ([row for row in rows if row[2] != 999] for rows in (left, right))
    pairs = []
    for a in left:
        found = [
            b
            for b in right
            if a[2] % 100 % 3 == b[2] % 100 % 3 and (a[0] == b[0] if within is None else abs(a[0] - b[0]) <= within)
        ]
        pairs += [(a[0] if within is None else max(a[0], b[0]), (a, b)) for b in found]
        pairs += [(a[0], (a, None))] * (not found and name not in {"join", "join, near"})
    return Counter(pairs)


def check(name, case, logs, failure):
    """Check what is known of results by itself."""
    values = [pair for pair in logs[0] if pair[0] != "end"]
    if name.startswith("join"):
        expected = pairs_of(name, *case.above)
        assert Counter(values) == expected if failure is None else not Counter(values) - expected
    elif name.startswith("zip") or name == "combine_latest":
        assert all(time == functools.reduce(join, [row[0] for row in some if row]) for time, some in values)
    elif name == "merge":
        for rows in case.above:
            mine = [row for _, row in values if row in rows]
            assert mine == rows[: len(mine)] or len(set(rows)) < len(rows)
    elif case.options.get("on_error") == "aside":
        struck = {"reduce_by_time": [998], "reduce_by_key": [998, 999], "count_by_key": [999], "unique_by_time": [999]}
        if name in struck and failure is None:
            assert logs[1] == [*((row[0], row) for row in case.above[0] if row[2] in struck[name]), ("end", None)]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_does_with_many_times_what_it_does_with_each(name):
    """In one order, out of order by so much or in none: the same results, the same ending, the same completions."""
    way = MODULES[name]
    for case in cases(name, amount(12 if way.policies else 6, 60)):
        first = {}
        for cut, limit in WAYS:
            logs, failure, _ = ran(name, case, cut=cut, limit=limit)
            check(name, case, logs, failure)
            order = Counter if case.domain in PARTIAL and way.inputs == 1 and way.order is list else way.order
            values = [order(map(repr, log)) for log in logs] if order else None
            if failure is not None and (way.waits or way.inputs > 1) and order is not list:
                values = None
            # What chance decides about is compared at one limit.
            found = (values, failure)
            if name.startswith("join"):
                # Of two rows that fail either may come first; and a join may end before a source does.
                found = None if case.fails else (values, failure is None)
            before = first.setdefault(limit if way.waits or way.inputs > 1 else None, found)
            assert found == before, (case, cut, limit)


def test_what_is_not_dealt_is_not_complete():
    """Where dealing fails at a value, it and those after it stay in flight: their times are not told complete."""
    failed = 0
    for name, case in itertools.chain(*[[(name, case) for case in cases(name, 15)] for name in ("aside", "partition")]):
        logs, failure, complete = ran(name, case, cut=False, limit=7)
        there = {row for log in logs for _, row in log}
        lost = [row[0] for row in case.above[0] if row not in there]
        failed += failure is not None and bool(lost)
        assert not [(early, time) for time in complete for early in lost if early <= time], case
    assert failed


@pytest.mark.parametrize("limit", LIMITS)
def test_a_source_that_is_opened_anew_goes_on_in_the_middle_of_an_answer(limit):
    """What was given is skipped, value by value; the rest is at its times."""
    for case in cases("timeout", 8):
        (rows,), log = case.above, []
        lots = [(rows[: len(rows) // 2], True), (rows, False)]
        source = ps.retry(ps.pipe(Rows([], 0, lots=lots), ps.map(lambda row: row)), 1, skip_delivered=True)

        async def main(source=source, log=log):
            async with ps.pipe(source, record(log, 1)).open(limit=limit, check="strict") as running:
                await running.result()

        trio.run(main, clock=MockClock(autojump_threshold=0))
        assert log == [*((row[0], row) for row in rows), ("end", None)]


# ---- times that have no place, or no join


@pytest.mark.parametrize("module", [ps.tumbling(2), ps.sliding(2, 1), ps.sessions(1)], ids=str)
def test_a_time_that_no_window_takes_fails_alike(module):
    """One time that has no place on a grid is refused in the same words, however many come with it."""
    endings = set()
    for cut, limit in WAYS:
        stream = [ps.values([0.0, 1.0, 5.0, 6.0, 1e300]), ps.stamp(float), *[Cut()] * cut, module]
        with pytest.raises(TimeDomainError) as failed:
            ps.run(ps.pipe(*stream, ps.drain()), limit=limit)
        endings.add(str(failed.value))
    assert len(endings) == 1, endings


@attrs.frozen(order=False)
class Corner:
    """A time of two parts, componentwise, of which two have no least upper bound."""

    parts: tuple

    def __le__(self, other):
        return all(mine <= theirs for mine, theirs in zip(self.parts, other.parts, strict=True))


padded = functools.partial(ps.zip, mode="padded")


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(
    ("module", "one", "other", "joined"),
    [
        (ps.zip, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)]),
        (ps.zip, [(0, 1)], [(1, 0)], []),
        (padded, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)]),
        (ps.combine_latest, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 1), (1, 2), (2, 3)]),
        (ps.combine_latest, [(0, 1)], [(1, 0)], []),
    ],
)
def test_rows_before_times_that_cannot_be_joined_are_answered(module, one, other, joined, limit):
    """The failure to join two times comes after the rows before it."""
    log = []

    async def main():
        inputs = [Rows([(Corner(parts), "", n) for n, parts in enumerate(each)], 0) for each in (one, other)]
        async with ps.pipe(module(*inputs), record(log, 0)).open(limit=limit) as running:
            await running.result()

    with pytest.raises(TimeDomainError, match="no join"):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert [time.parts for time, _ in log] == joined


# ---- kernels that are notified


class Asks(Notified):
    """Asks for each time, and, when one is complete, for two that follow at once; every third it takes back."""

    def __init__(self, told):
        super().__init__()
        self.told = told
        self.known = set()

    def receive(self, time, values):
        if time not in self.known:
            self.known.add(time)
            self.notify(time, time)

    def complete(self, time):
        self.told.append(time)
        if time == int(time):
            self.remind(time + 0.5, before=time % 2 == 0)
            self.give(time, [time])
            self.remind(time + 0.25)
            if time % 3 == 0:
                self.forget(time + 0.5)


class Noting(Notified):
    """Notes every call, and answers, forgets, fails or ends in either, as the numbers of the values say."""

    def __init__(self, calls, bad):
        super().__init__()
        self.calls = calls
        self.bad = bad
        self.kept = {}

    def receive(self, time, values):
        self.calls.append(("receive", time))
        for _, _, n in values:
            if n % 7 == 6:
                self.give(time, [("at once", n)])
            if n == self.bad:
                raise Strike(n)
            if time not in self.kept:
                if n % 3:
                    self.notify(time, time)
                else:
                    self.remind(time, before=n % 2 == 0)
                self.kept[time] = []
            self.kept[time].append(n)
            if n % 5 == 4:
                self.forget(time)
                del self.kept[time]

    def complete(self, time):
        self.calls.append(("complete", time))
        kept = self.kept.pop(time)
        if -self.bad in kept:
            raise Strike(kept)
        if any(n % 3 for n in kept):
            self.give(time, [("complete", n) for n in kept])
        if 50 in kept and self.bad == 1000:
            self.stop()


asks, noting = ps.transformer(Asks), ps.transformer(Noting)


def outcome(rows, module, *, cut, limit):
    """What comes of rows, with the times, and whether it fails."""
    came, failed = [], False
    modules = [ps.values(rows), Known([row[0] for row in rows]), *[Cut()] * cut, module, ps.timed()]
    try:
        ps.run(ps.pipe(*modules, ps.drain(came.append)), limit=limit)
    except Strike:
        failed = True
    return came, failed


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_for_or_taken_back_meanwhile_has_its_place(seed):
    """Of times that are complete at one look the least is told first, whenever it was asked for."""
    rng = random.Random(seed)
    rows = [(float(n + rng.randint(0, 5)), "a", n) for n in range(60)]
    everything = []
    for cut, limit in WAYS:
        everything.append(told := [])
        outcome(rows, asks(told), cut=cut, limit=limit)
    assert everything[0] == sorted(everything[0])
    assert len(everything[0]) > 60
    assert all(told == everything[0] for told in everything)


@pytest.mark.parametrize("domain", TIMES)
@pytest.mark.parametrize("ending", ["the end", "receive", "complete", "stop"])
def test_runs_and_completions_come_in_the_order_in_which_they_would_come_cut(domain, ending):
    """A module gets the runs of a multi-time batch, and the completions between them, as from batches of one time."""
    for seed in range(4):
        rng = random.Random(f"{seed} {domain} {ending}")
        rows = [*rows_of(rng, domain, None, 0), (TIMES[domain](90), "a", 80)]
        n = rng.choice(rows)[2]
        bad = {"the end": 81, "receive": n, "complete": -n, "stop": 1000}[ending]
        for limit in LIMITS:
            seen = []
            for cut in (True, False):
                calls = []
                came = outcome(rows, noting(calls, bad), cut=cut, limit=limit)
                seen.append(([call for call, before in itertools.pairwise([*calls, None]) if call != before], came))
            assert seen[0] == seen[1], (seed, limit)


@pytest.mark.parametrize(
    ("module", "kept", "most"),
    [
        (ps.pipe(*[ps.count_by_key()] * 3), 10_000, 200),
        (ps.pipe(*[ps.sort_by_time()] * 3), 10_000, 200),
        (ps.pipe(*[ps.unique_by_time()] * 3), 10_000, 200),
        (ps.pipe(*[ps.tumbling(1)] * 3), 10_000, 200),
        (ps.count_by_key(lambda n: 1 // (n % 10), on_error="skip"), 9_000, 100),
        (ps.unique_by_time(lambda n: 1 // (n % 10), on_error="skip"), 9_000, 100),
    ],
    ids=str,
)
def test_times_that_complete_together_cost_one_look(module, kept, most, monkeypatch):
    """A batch of a thousand times is looked at a few times, and not for every time, with a policy for failures too."""
    looks = []
    look = Eventful._look
    monkeypatch.setattr(Eventful, "_look", lambda self, times: looks.append(times) or look(self, times))
    assert len(ps.run(ps.pipe(ps.values(range(10_000), time=int), module, ps.collect()), limit=1000)) == kept
    assert 0 < len(looks) < most
