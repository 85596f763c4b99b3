"""Progress is as early as it can be: in a program at rest, every frontier is compared with the times that can come.

The tests find these times by trying. A few steps bring a program to rest. Then it runs again, by the same steps, into
every future that its sources allow: some of them answer once more, as early as they may, the others end. A frontier
must begin with the times at which values pass its edge in one of these futures: an earlier one makes consumers wait
for nothing, a later one announces a completion that is wrong.
"""

import math
import random
from collections import defaultdict
from contextlib import nullcontext
from datetime import date, timedelta
from itertools import combinations

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import pullstream as ps
from pullstream.conformance import Subject
from pullstream.conformance.ready import COMBINING, SINKS, SOURCES, TRANSFORMERS
from pullstream.engine.edge.end import End, Rest
from pullstream.engine.sidecar.location import Claim, Ending
from tests.pullstream.common import raises_at
from tests.sampling import amount
from timely import BEGINNING, less_equal

LATER = {
    # The result for a value is known only when its function, test or key is called with it.
    *("filter, none passes", "flat_map, none", "stamp", "stamp, with lateness", "stamp, late values diverted"),
    *("stamp_epochs by a test", "stamp_epochs by key", "map, failures diverted", "skip by a test", "loop around calls"),
    # Whether an inner stream has more is known when it is asked.
    *("flat_map, sources", "flatten, sources", "flatten, side by side"),
    # It has enough, but ends with the next ask (R7) and releases nothing until then.
    *("take 2", "take_times 2", "take by a test, up to 2", "take by a test, with the last", "several"),
    "fork, with a capacity",
    # Its times are its own, independent of those upstream, and it notices the end there when it asks.
    "stamp_epochs of 2",
    # It keeps values for a next group, and learns that there is none when it is asked.
    "windowed 3, sliding",
    # Its times depend on several inputs together, while a path in the graph begins at one of them.
    *("zip", "zip, strict", "zip, padded", "combine_latest"),
    *("join", "join, left", "join, failures left out", "join, near"),
    # The effect of its function at a time is pending until the function has returned.
    "at_completion, async",
}
"""Modules whose frontiers must begin before any time that can still come."""

INNER = {
    "delay": ps.delay(3),
    "map_time": ps.pipe(ps.map_time(lambda n: n // 2), ps.prefetch(1)),
    "to dates": ps.map_time(lambda n: date(2026, 1, 1) + timedelta(n)),
    "tumbling": ps.tumbling(2),
    "eager": ps.tumbling(2, ps.agg.count(), eager=True),
    "sessions": ps.pipe(ps.delay(1), ps.sessions(2)),
}
GROUPS = [
    Subject(f"group_by, {name}", lambda group=group: ps.group_by(lambda n: n % 2, group))
    for name, group in INNER.items()
]
SUBJECTS = {
    subject.name: subject
    for subject in (*SOURCES, *TRANSFORMERS, *COMBINING, *SINKS, *GROUPS)
    if subject not in SOURCES or subject.inputs
}
"""All ready modules but sources without inputs: only these know when they have no more."""


# ---- a program, and how it comes to rest


@attrs.frozen
class Script:
    """The steps of sources, sink and clock that bring a program to rest."""

    subject: str
    seed: int

    def steps(self, inputs):
        rng = random.Random(f"{self.subject} {self.seed}")
        for _ in range(rng.randint(1, 9)):
            what = rng.choice(["push", "push", "push", "advance", "advance", "permit", "permit", "sleep", "end"])
            which = rng.randrange(inputs)
            much = {
                "push": lambda: (rng.choice([0, 0, 0, 1, 2]), rng.randint(1, 3)),
                "advance": lambda: (rng.randint(1, 3),),
                "permit": lambda: rng.randint(1, 3),
                "sleep": lambda: rng.choice([0.05, 0.1, 0.2, 1.0]),
            }
            if what != "end" or rng.random() < 0.3:
                yield what, which, much.get(what, tuple)()

    @property
    def limit(self):
        return random.Random(self.seed).choice([1, 2, 4096])

    @property
    def acknowledges(self):
        return random.Random(-self.seed).random() < 0.5


@attrs.define
class Input:
    """A source that is driven from outside."""

    handle: object
    time: int = 0
    value: int = 0
    ended: bool = False

    def push(self, later, count, value=None):
        self.time += later
        for _ in range(count):
            self.handle.push_nowait(self.value if value is None else value, time=self.time)
            self.value += 1

    def advance(self, later):
        self.time += later
        self.handle.advance(self.time)

    def end(self):
        self.handle.end()
        self.ended = True


@attrs.define
class Pace:
    """The number of batches that the sink may finish; it works on one until then."""

    permits: trio.Semaphore = attrs.field(factory=lambda: trio.Semaphore(0))
    working: object = None

    def let(self, count):
        for _ in range(count):
            self.permits.release()


@ps.sink
async def paced(upstream, ctx, pace, acknowledges):
    """Works on each batch until it may continue; some acknowledge at once and hold the time themselves."""
    async for batch in ctx.batches(upstream):
        pace.working = batch.time
        with ctx.hold(batch.time):
            if acknowledges:
                upstream.ack()
            await pace.permits.acquire()
        pace.working = None


@attrs.define
class Seen:
    """The result of one run of a script: the frontiers at rest, and the times at each place before and after."""

    names: dict
    frontiers: dict
    before: tuple
    after: dict = attrs.field(factory=lambda: defaultdict(set))


class Passing:
    """The times that pass each edge, and those that each module takes from it, before and after the rest.

    A multi-time batch passes as a whole, though its consumer may take one time after another.
    """

    def __init__(self, monkeypatch):
        self.sidecar = None
        self.log = []
        self.taken = []
        stamp, stamp_many, begin = Claim.stamp, End.count_batch, Rest.__init__

        def noted(lane, time):
            if lane._counts is self.sidecar and isinstance(lane, End):
                if lane.edge.rest is None:
                    self.log.append((lane.port.upstream.node, time))
                self.taken.append((lane.port.location.node, time))
            stamp(lane, time)

        def noted_many(lane, batch):
            if lane._counts is self.sidecar:
                self.log += [(lane.port.upstream.node, time) for time in batch.times]
                self.taken += [(lane.port.location.node, time) for time in batch.times]
            stamp_many(lane, batch)

        def noted_rest(rest, counts, port, batch):
            if counts is self.sidecar:
                self.log += [(port.upstream.node, time) for time in batch.times]
            begin(rest, counts, port, batch)

        monkeypatch.setattr(Claim, "stamp", noted)
        monkeypatch.setattr(End, "count_batch", noted_many)
        monkeypatch.setattr(Rest, "__init__", noted_rest)


def composed(subject, pace, acknowledges):
    """The module, between sources that are driven and a sink with a pace."""
    inputs = [Input(ps.pushable(1000)) for _ in range(subject.inputs or 1)]
    handles = [each.handle for each in inputs]
    given = [lambda n: 10 * n] if subject.around else [nullcontext()] if subject.resource else []
    made = subject.make(*given, *(handles if subject.inputs else []))
    if isinstance(made, ps.Sink):
        return inputs, ps.pipe(handles[0], made)
    stream = made if subject.inputs else ps.pipe(handles[0], made)
    return inputs, ps.pipe(stream, paced(pace, acknowledges))


async def played(script, future, passing):
    """Run a script up to its rest, read the frontiers, and continue into one of its futures."""
    trio._core._run._r.seed(script.seed)
    pace, seen = Pace(), None
    inputs, pipeline = composed(SUBJECTS[script.subject], pace, script.acknowledges)
    passing.log, passing.taken = [], []
    try:
        async with pipeline.open(limit=script.limit) as running:
            passing.sidecar = running._run.scope.sidecar
            await to_rest(script, inputs, pace)
            sinks = passing.sidecar.sinks
            endings = {location.ending for location in sinks}
            if endings & {Ending.FAILED, Ending.ABANDONED} or endings == {Ending.COMPLETE}:
                return None
            names = {location.node: " -> ".join(location.names) for location in passing.sidecar.locations}
            frontiers = {location.node: list(location.frontier) for location in passing.sidecar.locations}
            seen = Seen(names, frontiers, tuple(passing.log))
            if pace.working is not None:
                (at,) = (location for location in sinks if "paced" in location.names)
                seen.after[at.node].add(pace.working)
            passing.log, passing.taken = [], []
            resume(inputs, pace, *future)
            with trio.move_on_after(1000):
                await running.result()
            await running.abort()
    except* (Exception, trio.Cancelled):
        pass  # it may fail, now or in this future: earlier times count
    if seen is not None:
        for node, time in passing.log:
            seen.after[node].add(time)
        for location in sinks:
            seen.after[location.node] |= {time for node, time in passing.taken if node == location.node}
    return seen


async def to_rest(script, inputs, pace):
    """Take the steps of a script, each when all tasks are blocked."""
    for each in inputs:
        each.advance(0)
    await wait_all_tasks_blocked()
    for what, number, much in script.steps(len(inputs)):
        each = inputs[number]
        if what == "permit":
            pace.let(much)
        elif what == "sleep":
            await trio.sleep(much)
        elif not each.ended:
            getattr(each, what)(*much)
        await wait_all_tasks_blocked()


def resume(inputs, pace, which, kind):
    """Let some sources answer more, as early as they may; then all end, and the sink takes everything."""
    pace.let(10_000)
    for number, each in enumerate(inputs):
        if each.ended:
            continue
        if number in which:
            value = max(0, each.value - 1) if kind == "the same" else None
            each.push(0, 5, value)
            if kind != "once":
                each.push(1, 3, value)
        each.end()


def futures(inputs):
    """Which sources answer more before they end, and how: at one time, at two, or the same value again and again."""
    for count in range(inputs + 1):
        for which in combinations(range(inputs), count):
            yield which, "once"
    yield tuple(range(inputs)), "on and on"
    yield tuple(range(inputs)), "the same"


def reaches(first, times):
    """Whether a value comes at a time that a frontier begins with; BEGINNING is before every time."""
    if first is BEGINNING:
        return bool(times)
    if isinstance(first, tuple):
        return any(
            len(first) == len(time) and all(a is BEGINNING or a == b for a, b in zip(first, time, strict=True))
            for time in times
        )
    return first in times


def compared(script, passing):
    """The places whose frontier is wrong, and those whose frontier begins before any time that can still come."""
    runs = []
    for future in futures(SUBJECTS[script.subject].inputs or 1):
        seen = trio.run(played, script, future, passing, clock=MockClock(autojump_threshold=0))
        if seen is None:
            return [], []
        runs.append(seen)
    first = runs[0]
    assert all((seen.before, seen.frontiers) == (first.before, first.frontiers) for seen in runs)
    early, late = [], []
    for node in sorted({node for seen in runs for node in seen.after} | {node for node, _ in first.before}):
        times = set().union(*(seen.after[node] for seen in runs))
        name, front = first.names[node], first.frontiers[node]
        early += [(name, time, front) for time in times if not any(less_equal(each, time) for each in front)]
        late += [(name, each, sorted(times, key=repr)) for each in front if not reaches(each, times)]
    return early, late


@pytest.fixture
def passing(monkeypatch):
    """A record of the edges, in runs whose task switches are independent of the wall clock."""
    for module in ("edge.edge", "parts.context", "parts.generator", "parts.pace", "parts.tasks"):
        monkeypatch.setattr(f"pullstream.engine.{module}.BREATH", math.inf)
    return Passing(monkeypatch)


def later(name, seeds, passing):
    """Where a module's frontier begins too early, in any of its scripts; none may be wrong."""
    for seed in seeds:
        early, late = compared(Script(name, seed), passing)
        assert not early, f"{Script(name, seed)}: arrived after it was complete (where, at, frontier): {early}"
        yield from ((seed, *each) for each in late)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_frontier_begins_with_possible_times(name, passing):
    if name in LATER:
        assert next(later(name, range(200), passing), None), f"{name} is not later: remove it from the list"
    else:
        found = list(later(name, range(amount(2, 20)), passing))
        assert not found, f"(seed, where, frontier, what can come): {found}"


def test_all_modules_listed_as_later_exist():
    assert SUBJECTS.keys() >= LATER


# ---- and no earlier: a failure after values that were not asked for yet


FAILING = {
    **{row.name: row.make for row in TRANSFORMERS if row.around and not (row.absorbs or row.flushes or row.silent)},
    "map_batches": lambda function: ps.map_batches(lambda values: map(function, values)),
    "batch": lambda function: ps.pipe(ps.batch(1), ps.map(lambda row: function(*row))),
}
"""Modules that give a result for each value, and fail with their function."""
NESTED = {"stamp", "stamp_epochs by a test", "stamp_epochs by key"}


@pytest.mark.parametrize("name", FAILING)
async def test_the_time_of_a_waiting_failure_is_not_complete(name, autojump_clock):
    complete, taken = [], trio.Event()

    @ps.sink
    async def one_only(upstream, ctx):
        batch = await upstream.ask(4)
        upstream.ack()
        taken.set()
        await trio.sleep(5)
        complete.append(len(batch.values))
        await upstream.ask(4)

    handle = ps.pushable(10)
    for value in (1, 2, 3):
        handle.push_nowait(value, time=0)
    with pytest.raises(ValueError, match="2"):
        async with ps.pipe(handle, FAILING[name](raises_at(2, ValueError(2))), one_only()).open(limit=4) as running:
            await taken.wait()
            handle.advance(1)
            with trio.move_on_after(1) as scope:
                await running.progress.completed((0, 9) if name in NESTED else 0)
                complete.append("0")
            assert scope.cancelled_caught
            await running.result()
    assert len(complete) == 1
