"""Random programs of the ready-made modules, for the tests that judge them.

A program has one or several sources, a module that joins them, rows of transformers, and sinks that keep a log. Values
are numbers; the results of every module are converted to numbers again.
"""

import functools
import random
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta

import attrs
import trio
from hypothesis import HealthCheck, strategies as st

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.conformance import Subject
from pullstream.conformance.ready import COMBINING, TRANSFORMERS
from pullstream.shake.choices import Choices
from pullstream.shake.simulation import LIMITS, Simulation
from tests.pullstream.common import Unseen, per_time
from timely import Product

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def number(value):
    """Return a number for anything that a module emits."""
    match value:
        case ps.Window():
            return number((value.start, value.value))
        case ps.Failed():
            return number(value.value)
        case dict():
            return number(tuple(value.values()))
        case tuple() | list():
            return sum(number(part) * factor for factor, part in enumerate(value, 1))
        case str() | bytes():
            return len(value)
        case float():
            return int(2 * value)
        case None:
            return 0
        case _:
            return value


# ---- sources


@ps.source
async def generated(ctx, bundles, seed, at):
    """Emit values after pauses: if they are in order of their times, it also advances; else it holds the times.

    None is not emitted: only the clock advances.
    """
    rng = random.Random(seed)
    rows = [row for bundle in bundles for row in bundle]
    in_order = rows == sorted(rows, key=lambda row: row[0])
    holds = [] if in_order else [ctx.hold(at(time)) for time, _ in rows]
    for hold in holds:
        hold.__enter__()
    if holds:
        ctx.advance(at(10))
    for place, (time, value) in enumerate(rows):
        if in_order and (value is None or rng.random() < 0.4):
            ctx.advance(at(time))
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        if value is not None:
            yield ps.Batch(at(time), [value])
        if holds:
            holds[place].__exit__(None, None, None)


@ps.source
class Bundles(ps.authoring.Kernel):
    """Emit bundles of values of many times, after pauses or every 100 seconds; it holds the times of the rest."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, bundles, seed, at, *, paced=False):
        self.rng, self.paced = random.Random(seed), paced
        self.left = [[(at(time), value) for time, value in bundle if value is not None] for bundle in bundles]
        self.given = 0

    async def acquire(self):
        for time, _ in [row for bundle in self.left for row in bundle]:
            self.location.hold(time)
        self.location.drop_capability()

    async def produce(self, limit):
        while self.left and not self.left[0]:
            self.left.pop(0)
            self.given += 1
        if self.paced:
            await trio.sleep_until(100 * (self.given + 1))
        elif self.rng.random() < 0.5:
            await trio.sleep(self.rng.random())
        if not self.left:
            return ps.DONE
        part, self.left[0] = self.left[0][:limit], self.left[0][limit:]
        for time, _ in part:
            self.location.drop(time)
        return ps.Batch.of(*map(list, zip(*part, strict=True)))


async def push(handle, bundles, seed, at, running):
    """Push values from outside, and advance between them."""
    rng, last = random.Random(seed), 0
    try:
        for time, value in sorted((row for bundle in bundles for row in bundle), key=lambda row: row[0]):
            last = rng.randint(last, time)
            handle.advance(at(last))
            await trio.sleep(rng.random())
            await handle.push(value or 0, time=at(time))
            last = time
            await trio.sleep(rng.random() * 3)
        handle.advance(at(last + 1))
        await trio.sleep(5)
        handle.end()
    except ps.errors.Ended:
        return


# ---- transformers beside the ready-made ones


@ps.transformer
async def notified(upstream, ctx):
    """Pass values on at once, and request a notification of every time."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            yield event


@ps.transformer
async def thrice(upstream, ctx):
    """Emit more values than were asked for."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [value for value in batch.values for _ in range(3)])


def twice_round(value):
    return ps.Again(value - 1) if value % 3 else value


def far_round(value):
    return ps.Again(value - 1) if value % 9 else value


def several_aggregates(function):
    of = ps.agg
    return ps.aggregate(
        n=of.count(),
        total=of.sum(function),
        least=of.min(function),
        most=of.max(function),
        mean=of.mean(function),
        median=of.quantile(0.5, function),
        top=of.top(2, function),
        keys=of.count_unique(lambda n: n % 3),
    )


LOOPS = {
    "notified": lambda: ps.pipe(notified(), ps.map(twice_round)),
    "notified, in a loop": lambda: ps.pipe(
        ps.loop(ps.pipe(notified(), ps.map(twice_round))), notified(), ps.map(far_round)
    ),
    "counts its rounds": lambda: ps.fork(
        ps.map(far_round), ps.pipe(ps.count_by_key(lambda n: n % 2), ps.filter(lambda _: False))
    ),
    "by round": lambda: ps.pipe(per_time(), ps.map(twice_round)),
}
OWN = (
    Subject("per time", per_time, flushes=True),
    Subject("notified", notified),
    Subject("thrice", thrice),
    Subject("two delays", lambda: ps.pipe(ps.delay(2), ps.map(lambda value: value), ps.delay(1))),
    Subject("several aggregates", several_aggregates, around=True, flushes=True),
    Subject("group_by, per time", lambda: ps.group_by(lambda n: n % 2, per_time()), ordered=False),
    *(
        Subject(f"loop {name}", lambda body=body: ps.loop(body()), ordered=False, flushes=name == "by round")
        for name, body in LOOPS.items()
    ),
)
AS_THEY_ARE = Subject("merge_sorted, as they are", lambda *both: ps.merge_sorted(*both, key=lambda _: 0), inputs=2)
ROWS = {each.name: each for each in (*TRANSFORMERS, *COMBINING, *OWN) if not each.inputs}
JOINS = {each.name: each for each in (*COMBINING, AS_THEY_ARE) if each.inputs and not each.ascending}


def made(subject, function, *sources):
    """Make a module whose results are numbers; new times that it assigns go into the numbers."""
    module = subject.make(*[function] * subject.around, *[nullcontext()] * subject.resource, *sources)
    if subject.name.startswith("stamp"):
        return ps.pipe(module, ps.timed(lambda time, value: number((time, value))), ps.map_time(outermost))
    return ps.pipe(module, ps.map(number))


def outermost(time):
    return time[0] if isinstance(time, tuple) else time


# ---- sinks


@ps.sink
async def takes_whole(upstream, ctx, log, seed):
    """Log multi-time batches; sometimes acknowledge a part."""
    rng = random.Random(seed)
    while (batch := await upstream.ask_many(ctx.limit)) is not ps.DONE:
        log += zip(batch.times, batch.values, strict=True)
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        if rng.random() < 0.5:
            upstream.ack_but(batch.part(rng.randint(0, len(batch.values))))
            await trio.sleep(rng.random())


@ps.sink
async def is_notified(upstream, ctx, log, seed):
    """Log batches, and completions between them, with pauses."""
    rng = random.Random(seed)
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                log += [(time, value) for value in values]
            case ps.Completed(time):
                log.append(("complete", time))
        if rng.random() < 0.5:
            await trio.sleep(rng.random())


def calls(log, seed):
    return ps.at_completion(lambda time, values: log.extend((time, value) for value in values))


SINKS = {"takes whole": takes_whole, "is notified": is_notified, "calls": calls}


# ---- programs

DOMAINS = {
    "int": (lambda n: n, ps.delay),
    "float": (lambda n: n / 10 + 0.7, lambda n: ps.delay((0.1, 0.7, 0.3, 1e-9)[n])),
    "date": (lambda n: date(2024, 2, 27) + timedelta(n), lambda n: ps.delay(timedelta(n))),
    "datetime": (
        lambda n: datetime(2024, 2, 28, 17, 30, tzinfo=UTC) + timedelta(hours=8 * n),
        lambda n: ps.delay(timedelta(hours=7 * n, microseconds=n)),
    ),
    "product": (lambda n: Product(n // 3, n % 3), lambda n: ps.map_time(lambda time: Product(*time.parts[:1], n))),
}
"""For each domain, the times for a program's numbers, and a delay."""

WHOLE_NUMBERS = ("stamp", "map_time", "delay", "two", "tumbling", "sliding", "sessions", "join, near", "catch, a later")
"""Prefixes of names of modules whose times are whole numbers."""


@attrs.frozen
class Program:
    """Inputs (kind, bundles, rows), the module that joins them, rows, and sinks (kind, rows).

    Calls of its function fail for values that are `fails` modulo 7.
    """

    inputs: tuple
    join: str = "merge"
    rows: tuple = ()
    sinks: tuple = (("is notified", ()),)
    dealt: bool = False
    fails: int | None = None
    limit: int = 4096
    domain: str = "int"
    seed: int = 0

    @property
    def names(self):
        return {name for rows in [self.rows, *(each[-1] for each in (*self.inputs, *self.sinks))] for name in rows}

    def function(self, value):
        """The function that its rows call with values."""
        if self.fails is not None and value % 7 == self.fails:
            raise Unseen
        return 10 * value

    def through(self, module, rows):
        """Put rows after a module; without rows, return it as it is."""
        return ps.pipe(module, *map(self.row, rows)) if rows else module

    def row(self, name):
        """Make a row; in other domains, a delay replaces each module that computes with whole numbers."""
        if self.domain != "int" and name.startswith(WHOLE_NUMBERS):
            delay = DOMAINS[self.domain][1]
            return ps.pipe(delay(len(name) % 4), ps.map(lambda value: value), delay(3 - len(name) % 4))
        return made(ROWS[name], self.function)

    def source(self, make):
        """Make the source of all inputs; `make(kind, bundles, seed)` makes one."""
        inputs = [
            self.through(make(kind, bundles, self.seed + place), rows)
            for place, (kind, bundles, rows) in enumerate(self.inputs)
        ]
        name = "merge" if self.domain != "int" and self.join.startswith(WHOLE_NUMBERS) else self.join
        joined = functools.partial(made, JOINS[name], self.function)
        source = inputs[0] if len(inputs) == 1 else functools.reduce(joined, inputs)
        return self.through(source, self.rows)

    def sink(self, make):
        """Make the sink of all branches; `make(kind, place)` makes one."""
        branches = [
            ps.pipe(*map(self.row, rows), make(kind, place)) if rows else make(kind, place)
            for place, (kind, rows) in enumerate(self.sinks)
        ]
        if len(branches) == 1:
            return branches[0]
        if self.dealt:
            return ps.partition(lambda n: n % 2, {0: branches[0]}, other=branches[1], capacity=self.seed % 4)
        return ps.tee(*branches, capacity=self.seed % 4)

    def made(self, logs=None):
        """Make the pipeline, and functions that use its handles during the run; sinks keep logs."""
        at, _ = DOMAINS[self.domain]
        logs, driven = logs or [[] for _ in self.sinks], []

        def source(kind, bundles, seed):
            match kind:
                case "generated":
                    return generated(bundles, seed, at)
                case "pushed":
                    handle = ps.pushable(100)
                    driven.append(functools.partial(push, handle, bundles, seed, at))
                    return handle
                case _:
                    return Bundles(bundles, seed, at, paced=kind == "paced")

        sink = self.sink(lambda kind, place: SINKS[kind](logs[place], self.seed + place))
        return ps.pipe(self.source(source), sink), *driven


def programs(kinds, rows, *, joins=tuple(JOINS), domains=("int",), fails=(None,), most=3):
    """Programs of up to `most` sources of these kinds, with these rows, joins and so on."""
    row = st.sampled_from(sorted(rows))
    few = st.lists(row, max_size=2).map(tuple)
    bundle = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9) | st.none()), min_size=1, max_size=5).map(tuple)
    bundles = st.lists(bundle, min_size=1, max_size=4).map(tuple)
    inputs = st.tuples(st.sampled_from(kinds), bundles | bundles.map(rearranged), few)
    return st.builds(
        Program,
        st.lists(inputs, min_size=1, max_size=most).map(tuple),
        st.sampled_from(sorted(joins)),
        st.lists(row, min_size=1, max_size=3).map(tuple),
        st.lists(st.tuples(st.sampled_from(sorted(SINKS)), few), min_size=1, max_size=2).map(tuple),
        st.booleans(),
        st.sampled_from(fails),
        st.sampled_from([1, 2, 7, 4096]),
        st.sampled_from(domains),
        st.integers(0, 2**32),
    )


def rearranged(bundles):
    """The same rows in the order of their times, in bundles of the same sizes."""
    rows = iter(sorted((row for bundle in bundles for row in bundle), key=lambda row: row[0]))
    return tuple(tuple(next(rows) for _ in bundle) for bundle in bundles)


def run_program(program, limit):
    """Run a program of paced inputs in the normal order.

    Returns the logs of its sinks, the type of its failure, and the frontiers at each moment of rest.
    """
    logs, frontiers = [[] for _ in program.sinks], []

    async def look(running):
        locations = running._run.scope.sidecar.locations
        for moment in range(max(len(bundles) for _, bundles, _ in program.inputs) + 1):
            await trio.sleep_until(100 * moment + 99)
            frontiers.append([set(location.frontier) for location in locations])

    choices = Choices(script={("limit", 0): LIMITS.index(limit)})
    run = Simulation(lambda: (*program.made(logs), look), choices).run()
    assert not run.watcher.violations, (program, run.watcher.violations)
    assert run.ending in ("complete", "failed"), (program, run.ending)
    return logs, run.failure and type(run.failure), frontiers
