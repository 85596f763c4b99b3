"""Refinement: traced runs of random pipelines, replayed in the model of 000.

What is in flight is seen beside the sidecar, not taken from it: a batch is on an edge from the step in which it is
answered until its lane acknowledges it, whatever the sidecar has made of that yet. The model then works out by itself,
from the definitions and from the trace alone, which completions that allows.
"""

import io
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.engine.edge.rest import Rest
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.trace import Trace, judge
from tests.sampling import amount
from timely import Source, TimeDomainError, Tracker


class Looker(trio.abc.Instrument):
    """Has a traced run say now and then, at rest, what it thinks may still come where."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.tracer = None

    def before_io_wait(self, timeout):
        if self.tracer is not None and not trio.lowlevel.current_statistics().tasks_runnable:
            self.tracer.rest()
            if self.rng.random() < 0.2:
                self.tracer.say_frontiers()


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
    except ps.errors.Ended:
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
class Bundles(ps.authoring.Kernel):
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
        return ps.authoring.TimedBatch(*map(list, zip(*part, strict=True))) if part else ps.DONE


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
INTS_ALONE = {"map_time", "tumbling", "sliding", "sessions"}
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
    "map_time": lambda n: ps.map_time(lambda time: time // 2),
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


async def observed(program, looker, trace):
    """Run a program while some of its times are waited for."""
    trio._core._run._r.seed(program["seed"])

    async def wait(progress, time):
        try:
            await progress.completed(time)
        except (ZeroDivisionError, ps.errors.Abandoned, ps.errors.CapabilityError, TimeDomainError):
            return

    try:
        with trio.fail_after(10_000):
            pipeline, driven = pipeline_of(program)
            async with pipeline.open(limit=program["limit"], trace=trace) as running, trio.open_nursery() as nursery:
                looker.tracer = running._tracer
                for time in (0, 2, 5):
                    nursery.start_soon(wait, running.progress, TIMES[program.get("times", "int")](time))
                for what in driven:
                    nursery.start_soon(drive, *what)
                if program["ending"] != "end":
                    await trio.sleep(1.2)
                    await (running.abort() if program["ending"] == "abort" else running.finish())
    except* (ZeroDivisionError, ps.errors.CapabilityError, TimeDomainError):
        pass  # a run may fail: what it announced before must be true all the same


def refine(program):
    """Trace a run, and replay what was written; the model must allow all of it."""
    looker, file = Looker(program["seed"]), io.StringIO()
    clock = MockClock(autojump_threshold=0)
    trio.run(observed, program, looker, file, clock=clock, instruments=[looker])
    trace = Trace.of(file.getvalue().splitlines())
    verdict = judge(trace)
    if not verdict.ok:
        first = verdict.objections[0]
        story = "\n".join(map(str, trace.events[: first.event]))
        pytest.fail(f"{program}\n{story}\n{first.rule}: {first.because}")
    assert trace.verdict["verdict"] == "allowed"
    return trace


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=amount(15, 60), deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(programs)
def test_random_runs_are_runs_of_the_model(program):
    """Every completion was allowed, none that the model allows is withheld, no batch comes at a complete time."""
    refine(program)


@settings(max_examples=amount(15, 60), deadline=None, derandomize=True, suppress_health_check=QUIET)
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
        kinds = Counter(event[2] for event in refine(program).events)
        total.update(runs=1, events=kinds.total(), completions=kinds["completed"], settled=kinds["rest"])

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
    monkeypatch.setattr(ps.authoring.TimedBatch, "least", property(lambda batch: list(batch.times[-1:])))


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
        assert refine(program).events
    break_it(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="too early|after completion|Frontier|frontier"):
        for program in programs:
            refine(program)


@pytest.mark.sampled(1)
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
        for seed in range(amount(5, 10))
        for step in ("per time", "loop of calls")
    ]
    for program in programs:
        assert refine(program).events
    break_it(monkeypatch)
    with pytest.raises((pytest.fail.Exception, ExceptionGroup, ps.StalledError)) as caught:
        for program in programs:
            refine(program)
    if isinstance(caught.value, ExceptionGroup):
        # What was forgotten keeps something from ever completing, and the run itself says so.
        assert caught.group_contains(ps.StalledError)
    elif not isinstance(caught.value, ps.StalledError):
        assert any(rule in str(caught.value) for rule in ("too early", "from nothing", "after completion", "withheld"))
