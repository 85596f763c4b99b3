"""Refinement: recorded runs of random pipelines, replayed in the model of 000.

The record is taken beside the sidecar, not from it: a batch is on an edge from the step in which it is answered until
its lane acknowledges it, whatever the sidecar has made of that yet. The model then works out by itself, from the
definitions, which completions that allows.
"""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.engine.edge.edge import End
from pullstream.engine.edge.rest import Rest
from pullstream.engine.sidecar.location import Location, Stamp
from pullstream.engine.sidecar.phases import Untrackable, Untracked
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.sidecar.waiting import Waiter
from timely import BEGINNING, IDENTITY, Source, TimeDomainError, TimelyError, Tracker
from timely.theory.model import Plan, Pointstamp, replay
from timely.theory.model.record import (
    Awaited,
    Completed,
    Dismissed,
    Frontier,
    Held,
    Released,
    Sent,
    Settled,
    Taken,
    Together,
    same,
)


class Recorder(trio.abc.Instrument):
    """Writes down what one run does, as the model wants to read it."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.sidecar = None
        self.record = []
        self.changes = []
        self.places = {}
        self.edges = {}
        self.outputs = set()
        self.awaited = Counter()
        self.at_hand = {}
        """By lane the times of the values that it has in flight."""
        self.giving = 0
        """The number of values that are just given out, of an answer that has brought them before."""
        self.whole = False
        """Whether an answer is just counted whole."""
        self.rests = {}
        """The times of the values that no lane has been given yet."""

    # ---- the graph

    def begin(self, sidecar):
        """The first sidecar that starts is the run's; those of streams inside its modules belong to those."""
        if self.sidecar is not None:
            return
        self.sidecar = sidecar
        steps, initial = [], []
        for location in sidecar.locations:
            name = f"{location.node} {'+'.join(location.names)}"
            self.places[location.output] = f"{name} out"
            self.outputs.add(location.output)
            for port in location.ports:
                self.places[port.place] = f"{name} in {port.place}"
        for location in sidecar.locations:
            out = self.places[location.output]
            if not location.upstreams:
                initial.append((out, BEGINNING))
            for number, (port, upstream) in enumerate(zip(location.ports, location.upstreams, strict=True)):
                summary = location.summaries[number] if location.summaries else IDENTITY
                self.edges[port.place] = len(steps)
                steps.append((self.places[upstream.output], self.places[port.place], same))
                steps.append((self.places[port.place], out, sends_of(summary)))
        self.plan = Plan.of_steps(steps, initial)
        self.edges = {place: self.plan.edges[number].name for place, number in self.edges.items()}

    # ---- what happens

    def updated(self, phase, place, time, delta):
        if self.sidecar is not None and phase is self.sidecar.phase and place in self.outputs:
            self.changes += [(Held if delta > 0 else Released)(self.places[place], time)] * abs(delta)

    def sent(self, stamp, times):
        """A lane has received values at some times, each of which counts at its own."""
        if stamp._counts is self.sidecar and isinstance(stamp, End):
            self.taken(stamp)
            self.at_hand[stamp] = times
            if not self.giving:
                self.came(stamp.port, times)

    def came(self, port, times):
        """An answer has brought values: they are on the edge."""
        self.changes += [Sent(self.edges[port.place], time) for time in times]

    def taken(self, stamp):
        """A lane is done with what it has received."""
        self.went(stamp.port, self.at_hand.pop(stamp, ()))

    def went(self, port, times):
        self.changes += [Taken(self.edges[port.place], time) for time in times]

    def flush(self):
        """What was changed since somebody looked is one change: nothing between was to be seen."""
        if self.changes:
            self.record.append(Together(self.changes))
            self.changes = []

    def wait(self, sidecar, waiter, event):
        if sidecar is self.sidecar and waiter.time is not None:
            self.flush()
            for place in waiter.places:
                stamp = Pointstamp(self.places[place], waiter.time)
                if event is Dismissed and not self.awaited[stamp]:
                    continue
                self.awaited[stamp] += 1 if event is Awaited else -1
                self.record.append(event(*stamp_of(stamp)))

    def settled(self, waiter, phase):
        if self.sidecar is None or phase is not self.sidecar.phase or waiter.time is None:
            return
        self.flush()
        for place in waiter.places:
            if not phase.frontier(place).less_equal(waiter.time):
                stamp = Pointstamp(self.places[place], waiter.time)
                self.awaited[stamp] = 0
                self.record.append(Completed(*stamp_of(stamp)))

    def looked(self, sidecar):
        if sidecar is self.sidecar:
            self.flush()

    def before_io_wait(self, timeout):
        """No task can go on: whatever is complete must have been announced."""
        if self.sidecar is not None and not trio.lowlevel.current_statistics().tasks_runnable:
            self.flush()
            self.record.append(Settled())
            if self.rng.random() < 0.2:
                self.say_frontiers()

    def say_frontiers(self):
        """What the sidecar says may still come, everywhere, at rest."""
        phase = self.sidecar.track()
        try:
            self.sidecar.propagate()
            if not isinstance(self.sidecar.phase, Untrackable):
                fronts = {place: tuple(phase.frontier(place)) for place in self.places}
                self.record += [Frontier(self.places[place], times) for place, times in fronts.items()]
        except TimelyError:
            return


def stamp_of(stamp):
    return stamp.location, stamp.time


def sends_of(summary):
    row = summary if isinstance(summary, Sequence) else (summary,)

    def sends(time):
        return [later for each in row if (later := each.results_in(time)) is not None]

    return sends


@contextmanager
def recorded(seed):
    """Record the first run that is opened inside."""
    recorder = Recorder(seed)
    live = Stamp.__dict__["live"]
    kept = {
        (Stamp, "live"): live,
        (Stamp, "stamp"): Stamp.stamp,
        (Stamp, "withdraw"): Stamp.withdraw,
        (End, "stamp_many"): End.stamp_many,
        **{(Rest, name): Rest.__dict__[name] for name in ("__init__", "take", "drop")},
        (Waiter, "settled"): Waiter.settled,
        **{(Sidecar, name): Sidecar.__dict__[name] for name in ("start", "propagate", "attend", "leave")},
        **{(kind, "update"): kind.update for kind in (Untracked, Tracker, Untrackable)},
    }

    def set_live(stamp, value):
        was = getattr_slot(live, stamp)
        # Where what was taken goes into a stream inside, it counts until there is a look (`withdraw`).
        deferred = stamp.port.location.mirroring
        if was and not value and stamp._counts is recorder.sidecar and not recorder.whole and not deferred:
            recorder.taken(stamp)
        live.__set__(stamp, value)

    def withdraw(stamp):
        kept[Stamp, "withdraw"](stamp)
        if stamp._counts is recorder.sidecar:
            recorder.taken(stamp)

    def stamp_at(stamp, time):
        if not recorder.whole:
            recorder.sent(stamp, [time] * recorder.giving or [time])
        recorder.giving = 0
        kept[Stamp, "stamp"](stamp, time)

    def stamp_many(end, batch):
        left = Counter(recorder.at_hand.get(end, ()))
        if left and not Counter(batch.times) - left:
            # Only a part of what it has is left.
            recorder.went(end.port, list((left - Counter(batch.times)).elements()))
            recorder.at_hand[end] = list(batch.times)
        else:
            recorder.sent(end, list(batch.times))
        recorder.whole = True
        kept[End, "stamp_many"](end, batch)
        recorder.whole = False

    def begin(rest, counts, port, batch):
        kept[Rest, "__init__"](rest, counts, port, batch)
        if counts is recorder.sidecar:
            recorder.rests[rest] = port, list(batch.times)
            recorder.came(port, batch.times)

    def take(rest, limit):
        batch = kept[Rest, "take"](rest, limit)
        if rest in recorder.rests:
            del recorder.rests[rest][1][: len(batch.values)]
            # The lane, which has it now, is stamped next.
            recorder.giving = len(batch.values)
        return batch

    def drop(rest):
        if rest in recorder.rests:
            recorder.went(*recorder.rests.pop(rest))
        kept[Rest, "drop"](rest)

    def settled(waiter, phase):
        result = kept[Waiter, "settled"](waiter, phase)
        if result:
            recorder.settled(waiter, phase)
        return result

    def start(sidecar):
        kept[Sidecar, "start"](sidecar)
        recorder.begin(sidecar)

    def propagate(sidecar, **options):
        kept[Sidecar, "propagate"](sidecar, **options)
        recorder.looked(sidecar)

    def attend(sidecar, waiter):
        recorder.wait(sidecar, waiter, Awaited)
        kept[Sidecar, "attend"](sidecar, waiter)

    def leave(sidecar, waiter):
        recorder.wait(sidecar, waiter, Dismissed)
        kept[Sidecar, "leave"](sidecar, waiter)

    def noting(kind):
        def update(phase, place, time, delta):
            recorder.updated(phase, place, time, delta)
            kept[kind, "update"](phase, place, time, delta)

        return update

    Stamp.live = property(lambda stamp: getattr_slot(live, stamp), set_live)
    Stamp.stamp = stamp_at
    Stamp.withdraw = withdraw
    End.stamp_many = stamp_many
    Rest.__init__, Rest.take, Rest.drop = begin, take, drop
    Waiter.settled = settled
    Sidecar.start, Sidecar.propagate, Sidecar.attend, Sidecar.leave = start, propagate, attend, leave
    for kind in (Untracked, Tracker, Untrackable):
        kind.update = noting(kind)
    try:
        yield recorder
    finally:
        for (owner, name), value in kept.items():
            setattr(owner, name, value)


def getattr_slot(slot, instance):
    try:
        return slot.__get__(instance)
    except AttributeError:
        return False


# ---- random pipelines


TIMES = {
    "int": lambda n: n,
    "float": lambda n: n / 10 + 0.7,
    "date": lambda n: date(2024, 2, 27) + timedelta(days=n),
    "datetime": lambda n: datetime(2024, 2, 28, 17, 30, tzinfo=UTC) + timedelta(hours=8 * n),
}
"""What the numbers of a program are as times of a domain."""

STEP = {
    "int": lambda n: n,
    "float": lambda n: (0.1, 0.7, 0.3, 1e-9)[n],
    "date": lambda n: timedelta(hours=12 * (n + 1)),
    "datetime": lambda n: timedelta(hours=7 * n, microseconds=n),
}
"""How far a delay goes there."""


@ps.source
async def ordered(ctx, times, seed, at):
    """Values at these times, sorted, after pauses; now and then it says sooner what will not come."""
    rng = random.Random(seed)
    for time in sorted(times):
        if rng.random() < 0.4:
            ctx.advance(at(time))
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        yield ps.Batch(at(time), [(time, 0)])


@ps.source
async def unordered(ctx, times, seed, at):
    """Values in no order of their times, which it holds from the start."""
    rng = random.Random(seed)
    holds = [(time, ctx.hold(at(time))) for time in times]
    for _, hold in holds:
        hold.__enter__()
    ctx.advance(at(10))
    for time, hold in holds:
        await trio.sleep(rng.random())
        yield ps.Batch(at(time), [(time, 0)])
        hold.__exit__(None, None, None)


@ps.source
async def clock_only(ctx, times, seed, at):
    """No value at all, but a clock that moves."""
    for time in sorted(times):
        await trio.sleep(1)
        ctx.advance(at(time))
    if False:
        yield


def pushed(times, seed, at):
    """Values that somebody pushes, and a clock that he moves meanwhile; see `drive`."""
    del times, seed, at
    return ps.pushable(100)


async def drive(handle, times, seed, at):
    """Push, say what will not come any more, and wait in between, whatever the pipeline is doing."""
    rng = random.Random(seed)
    last = 0
    try:
        for time in sorted(times):
            last = rng.randint(last, time)
            handle.advance(at(last))
            await trio.sleep(rng.random())
            await handle.push((time, 0), time=at(time))
            last = time
            await trio.sleep(rng.random() * 3)
        handle.advance(at(last + 1))
        await trio.sleep(5)
        handle.end()
    except ps.Ended:
        return


@ps.transformer
async def per_time(upstream, ctx):
    """Answers for each time when it is complete."""
    kept = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                kept.setdefault(time, []).extend(values)
            case ps.Completed(time):
                yield ps.Batch(time, kept.pop(time))


@ps.transformer
async def told(upstream, ctx):
    """Passes everything at once, and wants to be told of every time."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            yield event


def call(seed):
    rng = random.Random(seed)

    async def pause(value):
        await trio.sleep(rng.random())
        return value

    return pause


def down(value):
    time, rounds = value
    return ps.Again((time, rounds + 1)) if rounds % 3 != 2 else (time, rounds + 1)


def farther(value):
    time, rounds = value
    return ps.Again((time, rounds + 1)) if rounds < 8 else (time, rounds + 1)


@ps.source
class Bundles(ps.Kernel):
    """Answers many times at once, and holds what it will answer at; in order, as it says them, or back and forth."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, times, seed, at, *, in_order):
        self.rng = random.Random(seed)
        self.left = [(at(time), (time, 0)) for time in (sorted(times) if in_order else times)]

    async def acquire(self):
        for time, _ in self.left:
            self.location.hold(time)
        self.location.drop_capability()

    async def produce(self, limit):
        if self.rng.random() < 0.5:
            await trio.sleep(self.rng.random())
        count = min(limit, self.rng.randint(1, 4))
        part, self.left = self.left[:count], self.left[count:]
        for time, _ in part:
            self.location.drop(time)
        return ps.TimedBatch(*map(list, zip(*part, strict=True))) if part else ps.DONE


def bundles(times, seed, at):
    return Bundles(times, seed, at, in_order=True)


def bundles_back_and_forth(times, seed, at):
    return Bundles(times, seed, at, in_order=False)


@ps.sink
async def whole_sink(upstream, ctx, seed):
    """Takes answers of many times whole, in its own time; now and then it says how far it has come."""
    rng = random.Random(seed)
    while (batch := await upstream.ask_many(ctx.limit)) is not ps.DONE:
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        if rng.random() < 0.5:
            upstream.ack_but(batch.part(rng.randint(0, len(batch.values))))
            await trio.sleep(rng.random())


SOURCES = [ordered, unordered, clock_only, pushed]
OF_MANY = [bundles, bundles_back_and_forth, pushed]
INTS_ALONE = {"restamp", "tumbling", "sliding", "sessions"}
"""Steps that reckon with whole numbers."""

STEPS = {
    "map": lambda n: ps.map(lambda value: value),
    "filter": lambda n: ps.filter(lambda value: (value[0] + value[1]) % 3),
    "flat_map": lambda n: ps.flat_map(lambda value: [value] * (value[0] % 3)),
    "take": lambda n: ps.take(n + 2),
    "take_times": lambda n: ps.take_times(n + 1),
    "map_async": lambda n: ps.map_async(call(n), 3),
    "as ready": lambda n: ps.map_async(call(n), 3, ordered=False),
    "prefetch": lambda n: ps.prefetch(n + 1),
    "per time": lambda n: per_time(),
    "reduce_by_key": lambda n: ps.pipe(
        ps.reduce_by_key(ps.Fold(int, lambda k, _: k + 1), key=lambda value: value), ps.map(lambda pair: pair[0])
    ),
    "sort_by_time": lambda n: ps.sort_by_time(),
    "accumulate": lambda n: ps.accumulate(ps.Fold(tuple, lambda _, value: value)),
    "delay": ps.delay,
    "two delays": lambda n: ps.pipe(ps.delay(n), ps.map(lambda value: value), ps.delay(3 - n)),
    "restamp": lambda n: ps.restamp(lambda time: time // 2),
    "tumbling": lambda n: ps.pipe(ps.tumbling(n + 1), ps.flat_map(lambda window: window.value)),
    "sliding": lambda n: ps.pipe(ps.sliding(n + 2, every=1), ps.flat_map(lambda window: window.value[:1])),
    "sessions": lambda n: ps.pipe(ps.sessions(n + 1), ps.flat_map(lambda window: window.value)),
    "group_by": lambda n: ps.pipe(ps.group_by(lambda value: value[0] % 2, per_time()), ps.map(lambda pair: pair[1])),
    "batch": lambda n: ps.pipe(ps.batch(n + 1), ps.flat_map(list)),
    "debounce": lambda n: ps.debounce(0.3),
    "loop": lambda n: ps.loop(ps.map(down)),
    "loop of calls": lambda n: ps.loop(ps.pipe(ps.map_async(call(n), 2), ps.map(down))),
    "loop told of each round": lambda n: ps.loop(ps.pipe(told(), ps.map(down if n % 2 else farther))),
    "loop told of each round, inside": lambda n: ps.loop(
        ps.pipe(ps.loop(ps.pipe(told(), ps.map(down))), told(), ps.map(farther))
    ),
    "loop that counts its rounds": lambda n: ps.loop(
        ps.fork(ps.map(farther), ps.pipe(ps.count_by_key(lambda value: value[0] % 2), ps.filter(lambda _: False)))
    ),
    "loop by round": lambda n: ps.loop(ps.pipe(per_time(), ps.map(down))),
    "loop in a loop": lambda n: ps.loop(ps.pipe(ps.loop(ps.map(down)), ps.map(farther))),
    "fork": lambda n: ps.fork(ps.map(lambda value: value), ps.map_async(call(n), 2), per_time()),
    "flatten": lambda n: ps.pipe(ps.map(lambda value: ps.values([value] * 2)), ps.flatten(concurrency=n % 2 + 1)),
    "failing": lambda n: ps.map(lambda value: 1 / (value[0] - n) and value),
    "skipping": lambda n: ps.map(lambda value: 1 / (value[0] - n) and value, on_error="skip"),
    "diverted": lambda n: ps.map(lambda value: 1 / (value[0] - n) and value, on_error=slow_sink(n)),
    "catch": lambda n: ps.pipe(ps.map(lambda value: 1 / (value[0] - n) and value), ps.catch(lambda exc: [(9, 9)])),
}


JOINS = {
    "merge": ps.merge,
    "concat": ps.concat,
    "join": lambda a, b, *_: ps.pipe(ps.join(a, b, on=lambda value: value[0] % 2), ps.map(lambda pair: pair[0])),
    "latest": lambda *inputs: ps.pipe(ps.combine_latest(*inputs), ps.map(lambda values: values[0])),
}


@ps.sink
async def slow_sink(upstream, ctx, seed):
    """Takes its time, and owes something at every time until that is complete."""
    rng = random.Random(seed)
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, _):
                ctx.notify_at(time)
                if rng.random() < 0.5:
                    await trio.sleep(rng.random())
            case ps.Completed(_):
                await trio.sleep(rng.random() / 2)


sources = st.tuples(st.sampled_from(range(len(SOURCES))), st.lists(st.integers(0, 5), max_size=6), st.integers(0, 99))
steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 3)), max_size=4)
programs = st.fixed_dictionaries(
    {
        "inputs": st.lists(st.tuples(sources, steps), min_size=1, max_size=3),
        "join": st.sampled_from(["merge", "concat", "join", "latest"]),
        "steps": steps,
        "sinks": st.integers(1, 2),
        "limit": st.sampled_from([1, 2, 4096]),
        "ending": st.sampled_from(["end", "end", "end", "abort", "finish"]),
        "seed": st.integers(0, 2**32),
        "times": st.sampled_from(["int", "int", *TIMES]),
    },
)

NO_LOOPS = sorted(name for name in STEPS if not name.startswith("loop"))
programs_of_many = st.fixed_dictionaries(
    {
        "inputs": st.lists(
            st.tuples(
                st.tuples(st.sampled_from(OF_MANY), st.lists(st.integers(0, 5), max_size=8), st.integers(0, 99)),
                st.lists(st.tuples(st.sampled_from(NO_LOOPS), st.integers(0, 3)), max_size=2),
            ),
            min_size=1,
            max_size=2,
        ),
        "join": st.sampled_from(["merge", "concat", "join", "latest"]),
        "steps": st.lists(st.tuples(st.sampled_from(NO_LOOPS), st.integers(0, 3)), max_size=3),
        "sinks": st.integers(1, 2),
        "limit": st.sampled_from([1, 2, 7, 4096]),
        "ending": st.sampled_from(["end", "end", "end", "abort", "finish"]),
        "seed": st.integers(0, 2**32),
        "times": st.sampled_from(["int", "int", *TIMES]),
        "whole": st.booleans(),
    },
)
"""Programs whose sources answer many times at once, to sinks that take them whole or one after another."""


def pipeline_of(program):
    """The pipeline of a program, and what is to be done to its handles."""
    domain = program.get("times", "int")
    at, driven = TIMES[domain], []

    def step(name, n):
        if domain == "int":
            return STEPS[name](n)
        if name in ("delay", "two delays"):
            second = [ps.delay(STEP[domain](3 - n))] if name == "two delays" else []
            return ps.pipe(ps.delay(STEP[domain](n)), ps.map(lambda value: value), *second)
        return ps.map(lambda value: value) if name in INTS_ALONE else STEPS[name](n)

    def chained(first, rows):
        return ps.pipe(first, *[step(name, n) for name, n in rows]) if rows else first

    def made(kind, times, seed):
        make = SOURCES[kind] if isinstance(kind, int) else kind
        source = make(times, seed, at)
        if make is pushed:
            driven.append((source, times, seed, at))
        return source

    inputs = [chained(made(*source), rows) for source, rows in program["inputs"]]
    source = inputs[0] if len(inputs) == 1 else JOINS[program["join"]](*inputs)
    sinks = [(whole_sink if program.get("whole") else slow_sink)(n) for n in range(program["sinks"])]
    return ps.pipe(chained(source, program["steps"]), sinks[0] if len(sinks) == 1 else ps.tee(*sinks)), driven


async def observed(program):
    """Run a program while some of its times are waited for."""
    trio._core._run._r.seed(program["seed"])

    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (ZeroDivisionError, ps.Abandoned, ps.CapabilityError, TimeDomainError):
            return

    try:
        with trio.fail_after(10_000):
            pipeline, driven = pipeline_of(program)
            async with pipeline.open(limit=program["limit"]) as running, trio.open_nursery() as nursery:
                for time in (0, 2, 5):
                    nursery.start_soon(wait, running.progress, TIMES[program.get("times", "int")](time))
                for what in driven:
                    nursery.start_soon(drive, *what)
                if program["ending"] != "end":
                    await trio.sleep(1.2)
                    await (running.abort() if program["ending"] == "abort" else running.finish())
    except* (ZeroDivisionError, ps.CapabilityError, TimeDomainError):
        pass  # a run may fail: what it announced before must be true all the same


def refine(program):
    """Record a run and replay it; the model must allow all of it."""
    with recorded(program["seed"]) as recorder:
        trio.run(observed, program, clock=MockClock(autojump_threshold=0), instruments=[recorder])
    replayed = replay(recorder.plan, recorder.record)
    if not replayed.ok:
        first = replayed.violations[0]
        story = "\n".join(f"{number:4} {event}" for number, event in enumerate(recorder.record[: first.index + 1]))
        pytest.fail(f"{program}\n{story}\n{first.rule}: {first.because}")
    return replayed


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(programs)
def test_random_runs_are_runs_of_the_model(program):
    """Every completion was allowed, none that the model allows is withheld, no batch comes at a complete time."""
    refine(program)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(programs_of_many)
def test_runs_with_answers_of_many_times_are_runs_of_the_model(program):
    """Each of the values of such an answer is sent at its own time, and taken when it has been dealt with."""
    refine(program)


@pytest.mark.slow
@pytest.mark.parametrize("programs", [programs, programs_of_many], ids=["of all kinds", "of many times"])
def test_thousands_of_runs_are_runs_of_the_model(programs, capsys):
    """The same for thousands of random programs."""
    total = Counter()

    @settings(max_examples=10_000, deadline=None, suppress_health_check=QUIET, database=None)
    @given(programs)
    def run(program):
        replayed = refine(program)
        total.update(runs=1, events=replayed.events, completions=replayed.completions, settled=replayed.settled)

    run()
    with capsys.disabled():
        print(dict(total))


def forget_to_hold(monkeypatch):
    """Concurrent calls are not held."""
    for name in ("hold", "drop"):
        kept = getattr(Location, name)
        monkeypatch.setattr(
            Location, name, lambda location, time, kept=kept: "map_async" in location.names or kept(location, time)
        )


def forget_batches(monkeypatch):
    """Batches in flight are not counted."""
    update = Tracker.update

    def forgetful(tracker, place, time, delta):
        if isinstance(tracker.graph.location(place), Source):
            update(tracker, place, time, delta)

    monkeypatch.setattr(Tracker, "update", forgetful)


def look_seldom(monkeypatch):
    """Nobody looks when something was emptied."""
    monkeypatch.setattr(Sidecar, "activate", lambda *_: None)


def forget_rounds(monkeypatch):
    """What goes round in a loop is not held."""
    for name in ("hold", "drop"):
        kept = getattr(Location, name)
        monkeypatch.setattr(
            Location, name, lambda location, time, kept=kept: "feedback" in str(location) or kept(location, time)
        )


def forget_the_rest(monkeypatch):
    """What is left of an answer of many times is not counted."""
    monkeypatch.setattr(Rest, "count", lambda rest: bool(rest.times))


def count_one_of_many(monkeypatch):
    """Of an answer of many times that is taken whole the last time is counted, and not the least."""
    monkeypatch.setattr(ps.TimedBatch, "least", property(lambda batch: list(batch.times[-1:])))


@pytest.mark.parametrize("break_it", [forget_the_rest, count_one_of_many])
def test_what_is_not_counted_of_many_times_is_found_out(break_it, monkeypatch):
    """A sidecar that forgets some of the times of an answer is caught, and allowed while it does not."""
    programs = [
        {
            "inputs": [((bundles_back_and_forth, [3, 0, 5, 2, 0, 1], seed), [])],
            "join": "merge",
            "steps": [],
            "sinks": 1,
            "limit": 7,
            "ending": "end",
            "seed": seed,
            "whole": break_it is count_one_of_many,
        }
        for seed in range(10)
    ]
    for program in programs:
        assert refine(program).settled
    break_it(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="too early|after completion|Frontier|frontier"):
        for program in programs:
            refine(program)


@pytest.mark.parametrize("break_it", [forget_to_hold, forget_batches, look_seldom, forget_rounds])
def test_what_is_wrong_is_found_out(break_it, monkeypatch):
    """A sidecar that forgets something is caught within a few runs that are allowed while it does not."""
    programs = [
        {
            "inputs": [((0, [0, 1, 2, 2, 3, 5], seed), [])],
            "join": "merge",
            "steps": [("map_async", seed), (step, 0)],
            "sinks": 1,
            "limit": 1 + seed % 3,
            "ending": "end",
            "seed": seed,
        }
        for seed in range(10)
        for step in ("per time", "loop of calls")
    ]
    for program in programs:
        assert refine(program).settled
    break_it(monkeypatch)
    with pytest.raises((pytest.fail.Exception, ExceptionGroup, ps.StalledError)) as caught:
        for program in programs:
            refine(program)
    if isinstance(caught.value, ExceptionGroup):
        # What was forgotten keeps something from ever completing, and the run itself says so.
        assert caught.group_contains(ps.StalledError)
    elif not isinstance(caught.value, ps.StalledError):
        assert any(rule in str(caught.value) for rule in ("too early", "from nothing", "after completion", "withheld"))
