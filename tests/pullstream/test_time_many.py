"""Modules that compute per time, given many times at once: the same as one time after another, in whatever order."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial

import attrs
import pytest

import pullstream as ps
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.traits import PROMPT, Traits
from timely import Product, TimeDomainError

LIMITS = (1, 2, 7, 1000)

WAYS = [(1000, False), *((limit, True) for limit in LIMITS), (2, False)]
"""The limits, and whether a module gets what comes at many times whole."""

DAY = datetime(2024, 3, 30, tzinfo=UTC)

KINDS = {
    "int": lambda n: n,
    "float": lambda n: n / 4,
    "datetime": lambda n: DAY + timedelta(seconds=n),
    "fraction": lambda n: Fraction(n, 3),
    "int and float": lambda n: n / 2 if n % 2 else n // 2,
}
"""Times that are in one order, made of numbers that mostly rise."""

PARTIAL = {
    "product": lambda n: Product(n // 4, n % 4),
    "frozenset": lambda n: frozenset(range(n % 5)) | {100 + n // 7},
}


class Known(PassOn):
    """Answers values at the times that they name, and holds those that are to come: the frontier is exact."""

    traits = attrs.evolve(PROMPT, summaries=((),))

    def __init__(self, times):
        self.left = Counter(times)

    def placed(self):
        for time in self.left:
            self.location.hold(time)

    def answer(self, batch):
        times = [time for time, _, _ in batch.values]
        for time in times:
            self.left[time] -= 1
            if not self.left[time]:
                self.location.drop(time)
        return ps.authoring.TimedBatch(times, batch.values)


class Cut(Kernel):
    """Answers as its input does, one time after another."""

    traits = Traits(trusted=True)

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        self.upstream.settle()
        return batch


known, cut = ps.transformer(Known), ps.transformer(Cut)


class Strike(Exception):
    pass


def key(row):
    if row[2] % 1000 == 999:
        raise Strike(row[2])
    return row[1]


def step(state, row):
    if row[2] % 1000 == 998:
        raise Strike(row[2])
    return [*state, row[2]]


def row_number(row):
    key(row)
    return -row[2] % 7


LISTED = ps.Fold(list, step)

PER_TIME = {
    "reduce_by_time": lambda **options: ps.reduce_by_time(LISTED, **options),
    "reduce_by_key": lambda **options: ps.reduce_by_key(LISTED, key=key, **options),
    "count_by_key": lambda **options: ps.count_by_key(key, **options),
    "count": lambda **options: ps.reduce_by_time(ps.agg.count(), **options),
    "unique_by_time": lambda eager=False, **options: ps.unique_by_time(key, **options),
    "sort_by_time": lambda eager=False, **options: ps.sort_by_time(row_number, **options),
    "take_times": lambda eager=False, on_error="fail": ps.take_times(5),
}

ACCUMULATING = {
    "accumulate": lambda **options: ps.accumulate(LISTED, key=key, **options),
}


def of(unit, number):
    return timedelta(seconds=number) if unit == "datetime" else number


WINDOWS = {
    "tumbling": lambda unit, **options: ps.tumbling(of(unit, 5), LISTED, **options),
    "tumbling counted": lambda unit, **options: ps.tumbling(of(unit, 3), ps.agg.count(), key=key, **options),
    "tumbling listed": lambda unit, **options: ps.tumbling(of(unit, 20), **options),
    "sliding": lambda unit, **options: ps.sliding(of(unit, 6), of(unit, 2), LISTED, key=key, **options),
    "sliding counted": lambda unit, **options: ps.sliding(of(unit, 7), of(unit, 3), ps.agg.count(), key=key, **options),
    "sliding with gaps": lambda unit, **options: ps.sliding(of(unit, 1), of(unit, 4), LISTED, **options),
    "sessions": lambda unit, **options: ps.sessions(of(unit, 2), LISTED, **options),
    "sessions by key": lambda unit, **options: ps.sessions(of(unit, 3), LISTED, key=key, **options),
}


def rows(rng, time, *, failing):
    jitter = rng.choice([0, 0, 3, 20])
    slow = rng.choice([1, 1, 3])
    numbers = [n // slow + rng.randint(0, jitter) for n in range(rng.randrange(1, 120))]
    bad = rng.randrange(len(numbers)) if failing else -1
    return [
        (time(at), rng.choice("abcd"), n + (1000 - n - rng.choice([1, 2]) if n == bad else 0))
        for n, at in enumerate(numbers)
    ]


def outcome(given, module, *, limit, whole):
    """What comes of rows, with the times, and what it ends with."""
    came = []
    between = [] if whole else [cut()]
    modules = [ps.values(given), known([time for time, _, _ in given]), *between, module(), ps.timed()]
    try:
        ps.run(ps.pipe(*modules, ps.drain(came.append)), limit=limit)
    except (Strike, TypeError, UnicodeDecodeError) as exc:
        return came, str(exc)
    return came, None


def check(given, module, seed, *, ordered=True):
    outcomes = [outcome(given, module, limit=limit, whole=whole) for limit, whole in WAYS]
    if not ordered:
        outcomes = [(Counter(map(repr, came)), ending) for came, ending in outcomes]
    for other in outcomes[1:]:
        assert other == outcomes[0], seed


@pytest.mark.sampled
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*PER_TIME, *ACCUMULATING])
def test_modules_per_time_do_with_many_times_what_they_do_with_each(name, kind, failing, eager):
    """In one order, out of order by so much, with a key or a step that fails: the same results, the same ending."""
    for seed in range(5 if failing else 2):
        rng = random.Random(f"{seed} {name} {kind} {failing}")
        given = rows(rng, KINDS[kind], failing=failing)
        check(given, lambda: {**PER_TIME, **ACCUMULATING}[name](eager=eager), seed)


@pytest.mark.sampled
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kind", PARTIAL)
@pytest.mark.parametrize("name", PER_TIME)
def test_times_that_are_in_no_order_come_out_alike(name, kind, failing):
    """Of times that are incomparable either may come first; what comes is the same."""
    # What sorts fails as times complete, of which either may come first.
    failing = failing and name != "sort_by_time"
    for seed in range(5 if failing else 2):
        rng = random.Random(f"{seed} {name} {kind} {failing}")
        given = rows(rng, PARTIAL[kind], failing=failing)
        if name == "take_times":
            given = given[:3]
        check(given, PER_TIME[name], seed, ordered=False)


@pytest.mark.sampled
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_do_with_many_times_what_they_do_with_each(name, kind, failing, eager):
    """The same windows with the same values in the same order, and the same that are answered before a failure."""
    for seed in range(5 if failing else 2):
        rng = random.Random(f"{seed} {name} {kind} {failing}")
        given = rows(rng, KINDS[kind], failing=failing)
        check(given, lambda: WINDOWS[name](kind, eager=eager), seed)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*PER_TIME, *WINDOWS])
def test_what_fails_is_left_out_or_goes_aside_alike(name):
    """With a policy for failures, the values that it is for are the same."""
    make = PER_TIME[name] if name in PER_TIME else partial(WINDOWS[name], "")
    for seed in range(6):
        rng = random.Random(f"{seed} {name}")
        given = rows(rng, KINDS["float"], failing=True)
        failed = {}
        for limit, whole in WAYS:
            aside = []
            sink = ps.drain(lambda bad, aside=aside: aside.append(bad.value))
            failed[limit, whole] = outcome(given, partial(make, on_error=sink), limit=limit, whole=whole), aside
        assert all(other == failed[2, False] for other in failed.values()), seed
        check(given, partial(make, on_error="skip"), seed)


@pytest.mark.parametrize("name", ["reduce_by_time", "reduce_by_key", "count_by_key", "unique_by_time"])
def test_what_fails_is_told_at_its_time_and_in_its_turn(name):
    """Among many that fail each is told at its time, in the order in which they came; what else comes is the same."""
    for seed in range(3):
        rng = random.Random(f"{seed} {name}")
        given = [
            (time, letter, n + (1000 - n - 1 if rng.random() < 0.3 else 0))
            for n, (time, letter, _) in enumerate(rows(rng, KINDS["int"], failing=False))
        ]
        failed = [row for row in given if row[2] % 1000 == 999]
        for limit, whole in WAYS:
            aside = []
            sink = ps.pipe(ps.timed(), ps.drain(lambda at, aside=aside: aside.append((at[0], at[1].value))))
            make = partial(PER_TIME[name], on_error=sink)
            if name == "reduce_by_time":
                make = partial(ps.reduce_by_time, ps.Fold(list, lambda state, row: [*state, key(row)]), on_error=sink)
            came = outcome(given, make, limit=limit, whole=whole)
            assert aside == [(row[0], row) for row in failed], seed
            if name == "count_by_key":
                others = [row for row in given if row not in failed]
                assert came == outcome(others, PER_TIME[name], limit=limit, whole=whole), seed


@pytest.mark.parametrize("module", [ps.count_by_key, ps.unique_by_time], ids=["count_by_key", "unique_by_time"])
def test_a_policy_for_failures_is_no_reason_to_look_after_every_time(module, monkeypatch):
    """With `on_error` values at many times are taken as they are without: a look for many of them."""
    looks = []
    look = Eventful._look
    monkeypatch.setattr(Eventful, "_look", lambda self, times: looks.append(times) or look(self, times))
    source = ps.values(range(10_000), time=lambda n: n)
    kept = ps.run(ps.pipe(source, module(lambda n: 1 // (n % 10), on_error="skip"), ps.collect()), limit=1000)
    assert len(kept) == 9_000
    assert 0 < len(looks) < 100


@pytest.mark.parametrize("name", ["tumbling", "sliding", "sessions"])
def test_a_time_that_no_window_takes_fails_alike(name):
    """One time that has no place on a grid is refused in the same words, however many come with it."""
    module = {"tumbling": ps.tumbling(2), "sliding": ps.sliding(2, 1), "sessions": ps.sessions(1)}[name]
    endings = set()
    for limit, whole in WAYS:
        stream = [ps.values([0.0, 1.0, 5.0, 6.0, 1e300]), ps.stamp(float), *([] if whole else [cut()]), module]
        with pytest.raises(TimeDomainError) as failed:
            ps.run(ps.pipe(*stream, ps.drain()), limit=limit)
        endings.add(str(failed.value))
    assert len(endings) == 1, endings


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


asks = ps.transformer(Asks)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_for_or_taken_back_meanwhile_has_its_place(seed):
    """Of times that are complete at one look the least is told first, whenever it was asked for."""
    rng = random.Random(seed)
    given = [(float(n + rng.randint(0, 5)), "a", n) for n in range(60)]
    everything = []
    for limit, whole in WAYS:
        told = []
        outcome(given, partial(asks, told), limit=limit, whole=whole)
        everything.append(told)
    assert everything[0] == sorted(everything[0])
    assert len(everything[0]) > 60
    assert all(told == everything[0] for told in everything)


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


noting = ps.transformer(Noting)


def calls_of(given, bad, *, limit, whole):
    """What a module is called with, runs of one time joined, and what comes of it."""
    calls = []
    came = outcome(given, partial(noting, calls, bad), limit=limit, whole=whole)
    return [call for call, before in zip(calls, [None, *calls], strict=False) if call != before], came


@pytest.mark.parametrize("kind", [*KINDS, *PARTIAL])
@pytest.mark.parametrize("ending", ["the end", "receive", "complete", "stop"])
def test_runs_and_completions_come_in_the_order_in_which_they_would_come_cut(kind, ending):
    """A module gets the runs of a multi-time batch, and the completions between them, as from batches of one time."""
    for seed in range(4):
        rng = random.Random(f"{seed} {kind} {ending}")
        given = rows(rng, {**KINDS, **PARTIAL}[kind], failing=False)
        n = rng.choice(given)[2]
        bad = {"the end": len(given), "receive": n, "complete": -n, "stop": 1000}[ending]
        for limit in LIMITS:
            cut_off, whole = (calls_of(given, bad, limit=limit, whole=whole) for whole in (False, True))
            assert whole == cut_off, (seed, limit)


def as_bytes(row):
    """Half a character, a whole one, both, or what is none."""
    if row[2] % 1000 in (998, 999):
        return [b"\xff", "text"][row[2] % 2]
    return [b"\xc3", b"\xa9", b"a", b"\xc3\xa9"][row[2] % 4]


def as_text(row):
    if row[2] % 1000 in (998, 999):
        return row[2]
    return row[1] + ["", ";", "\r", "\n", ";;"][row[2] % 5]


GROUPS = {
    "batch": [ps.batch(3)],
    "batch, clocked": [ps.batch(3, seconds=1000)],
    "window": [ps.windowed(3, 1)],
    "window with gaps": [ps.windowed(2, 5)],
    "window, clocked": [ps.windowed(seconds=1000)],
    "split": [ps.map(as_text), ps.split(";")],
    "split, lines": [ps.map(as_text), ps.split()],
    "split, size": [ps.map(as_text), ps.split(size=3)],
    "decode": [ps.map(as_bytes), ps.decode()],
    "decode, replaced": [ps.map(as_bytes), ps.decode(errors="replace")],
}


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GROUPS)
def test_groups_are_those_of_each_time(name, kind, failing):
    """Groups of a multi-time batch are those of its runs, in their order, up to the same failure."""
    for seed in range(5 if failing else 2):
        rng = random.Random(f"{seed} {name} {kind} {failing}")
        given = rows(rng, KINDS[kind], failing=failing)
        check(given, lambda: ps.pipe(*GROUPS[name]), seed)


@pytest.mark.parametrize("module", [ps.count_by_key(), ps.sort_by_time(), ps.unique_by_time(), ps.tumbling(1)], ids=str)
def test_times_that_complete_together_cost_one_look(module, monkeypatch):
    """A batch of a thousand times is looked at a few times by each of three modules, and not for every time."""
    looks = []
    look = Eventful._look
    monkeypatch.setattr(Eventful, "_look", lambda self, times: looks.append(times) or look(self, times))
    source = ps.values(range(10_000), time=lambda n: n)
    assert len(ps.run(ps.pipe(source, module, module, module, ps.collect()), limit=1000)) == 10_000
    assert 0 < len(looks) < 200
