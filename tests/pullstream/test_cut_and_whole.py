"""Random programs, with answers of many times cut at every edge, and whole: the same comes of them, and is known.

Cut, every module asks for values of one time, whatever it would take; whole, each asks as it does. The values, each at
its time, those of a time in their order, the completions and the failures are the same at any limit; and so are, when
all is at rest, the frontiers everywhere.
"""

from collections import Counter, defaultdict

import attrs
import pytest
import trio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.engine.edge.lane import Lane
from tests.pullstream.test_refinement import JOINS, STEPS
from tests.sampling import amount
from timely import less_equal

LIMITS = (1, 2, 7, 4096)


@ps.source
class Fed(ps.authoring.Kernel):
    """Answers bundles of values, many times at once, each when it is let; it holds what it will answer at."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, bundles, gates):
        self.gates = gates
        self.given = 0
        self.bundles = [ps.authoring.TimedBatch(times, [(time, 0) for time in times]) for times in bundles if times]
        self.wanted = [number for number, times in enumerate(bundles) if times]

    async def acquire(self):
        for bundle in self.bundles:
            for time in bundle.times:
                self.location.hold(time)
        self.location.drop_capability()

    async def produce(self, limit):
        if not self.bundles:
            await self.gates[-1].wait()
            return ps.DONE
        await self.gates[self.wanted[0]].wait()
        answer, rest = self.bundles[0].part(0, limit), self.bundles[0].part(limit)
        self.bundles[:1] = [rest] if rest.values else []
        self.wanted[:1] = self.wanted[:1] if rest.values else []
        for time in answer.times:
            self.location.drop(time)
        return answer


@ps.sink
async def takes_whole(upstream, ctx, log):
    """Notes the values of answers of many times, each at its own."""
    while (batch := await upstream.ask_many(ctx.limit)) is not ps.DONE:
        log += zip(batch.times, batch.values, strict=True)


@ps.sink
async def is_told(upstream, ctx, log):
    """Notes values, and completions between them."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            log += [(event.time, value) for value in event.values]
        else:
            log.append(("complete", event.time))


SINKS = (takes_whole, is_told)

REORDERS = {"as ready", "group_by", "fork", "flatten", *(name for name in STEPS if name.startswith("loop"))}
"""Steps behind which values of one time are in no order that is promised."""

COUNTS = {"take", "take_times", "batch", "accumulate", "debounce"}
"""Steps to which it matters in what order values come, and when."""

STAMPED = {
    "stamped": lambda n: ps.pipe(ps.map_time(lambda _: 0), ps.stamp(lambda value: value[0], lateness=9)),
    "stamped, late dropped": lambda n: ps.pipe(
        ps.map_time(lambda _: 0), ps.stamp(lambda value: value[0], lateness=n, late="drop")
    ),
    "nested": lambda n: ps.pipe(ps.stamp(lambda value: value[0], nest=True), ps.map_time(lambda time: time[0])),
    "unique_by_time": lambda n: ps.unique_by_time(lambda value: value[0] % 3),
    "scan": lambda n: ps.scan(lambda before, value: (value[0], before[1] + 1), (0, 0)),
    "map_batches": lambda n: ps.pipe(ps.batch(1), ps.flat_map(list)),
    "none of a window": lambda n: ps.pipe(ps.windowed(n + 1, n + 1), ps.flat_map(list)),
}
ALL = {**{name: step for name, step in STEPS.items() if name != "debounce"}, **STAMPED}
CONCURRENT = {"map_async", "as ready", "prefetch", "diverted", *REORDERS}
FAILS = {"failing", "catch"}
ENDS = {*FAILS, "take", "take_times"}
"""Steps that end what is above them before it has come to its end."""


@attrs.frozen
class Program:
    """What goes in at each source, in bundles; what is done with it, and where it goes."""

    inputs: tuple
    join: str
    steps: tuple
    sinks: tuple
    in_order: bool
    seed: int

    @property
    def names(self):
        return {name for name, _ in self.steps}

    @property
    def ordered(self):
        """Whether the values of a time come in one order alone."""
        return len(self.inputs) == 1 and not self.names & REORDERS

    @property
    def sensible(self):
        """Whether what comes of it does not depend on what comes first of what may come in any order."""
        # A window keeps its values in the order in which they come, also those of different times.
        if (len(self.inputs) > 1 or self.names & REORDERS) and self.names & {"tumbling", "sliding", "sessions"}:
            return False
        return not (
            (len(self.inputs) > 1 or self.names & CONCURRENT)
            and (
                self.names & (COUNTS | FAILS | {"scan", "unique_by_time", "stamped, late dropped", "none of a window"})
            )
        )


bundles = st.lists(st.lists(st.integers(0, 6), max_size=5), min_size=1, max_size=4)
programs = st.builds(
    Program,
    st.lists(bundles, min_size=1, max_size=2).map(lambda inputs: tuple(tuple(map(tuple, each)) for each in inputs)),
    st.sampled_from(["merge", "concat", "join"]),
    st.lists(st.tuples(st.sampled_from(sorted(ALL)), st.integers(0, 3)), max_size=4).map(tuple),
    st.lists(st.sampled_from(range(len(SINKS))), min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.integers(0, 2**32),
).filter(lambda program: program.sensible)


@attrs.frozen
class Outcome:
    """What came of a run at each sink, how it ended, and what was known whenever it was at rest."""

    logs: list
    ended: type | None
    fronts: list


def in_pieces(times, in_order):
    """The bundles of a source; in order, none goes back behind the one before."""
    flat = sorted(time for bundle in times for time in bundle) if in_order else None
    made = []
    for bundle in times:
        made.append(flat[: len(bundle)] if in_order else list(bundle))
        flat = flat[len(bundle) :] if in_order else None
    return made


async def driven(program, limit):
    """Let bundle after bundle come, and look whenever all is at rest."""
    trio._core._run._r.seed(program.seed)
    logs = [[] for _ in program.sinks]
    count = max(map(len, program.inputs))
    gates = [trio.Event() for _ in range(count + 1)]
    sources = [Fed(in_pieces(times, program.in_order), gates) for times in program.inputs]
    made = sources[0] if len(sources) == 1 else JOINS[program.join](*sources)
    sinks = [SINKS[kind](log) for kind, log in zip(program.sinks, logs, strict=True)]
    stages = [ALL[name](n) for name, n in program.steps]
    pipeline = ps.pipe(made, *stages, sinks[0] if len(sinks) == 1 else ps.tee(*sinks))
    fronts, ended = [], None
    try:
        with trio.fail_after(100_000):
            async with pipeline.open(limit=limit) as running:
                locations = running._run.scope.sidecar.locations
                for gate in gates:
                    await trio.sleep(100)
                    fronts.append([set(location.frontier) for location in locations])
                    gate.set()
                await running.result()
    except* Exception as group:
        leaves = list(group.exceptions)
        while isinstance(leaves[0], BaseExceptionGroup):
            leaves = leaves[0].exceptions
        ended = type(leaves[0])
    return Outcome(logs, ended, fronts)


class Cut:
    """While it is entered, every module is given values of one time."""

    def __enter__(self):
        self.ask = ask = Lane.ask

        def cut(lane, limit=1, *, stepping=False, many=False):
            return ask(lane, limit, stepping=stepping)

        Lane.ask = cut

    def __exit__(self, *exc):
        Lane.ask = self.ask


def ran(program, limit, *, cut):
    clock = MockClock(autojump_threshold=0)
    if not cut:
        return trio.run(driven, program, limit, clock=clock)
    with Cut():
        return trio.run(driven, program, limit, clock=clock)


def of_each_time(log, *, ordered):
    """The values of each time, in their order if that is promised, and the times that are complete."""
    values, complete = defaultdict(list), Counter()
    for first, second in log:
        if first == "complete":
            complete[second] += 1
            continue
        assert not any(first <= time for time in complete), f"{second!r} at {first!r}, which was complete"
        values[first].append(second)
    if not ordered:
        values = {time: Counter(map(repr, found)) for time, found in values.items()}
    return dict(values), complete


def check(program, limits=LIMITS):
    """Run it in every way, and compare."""
    first = None
    for limit in limits:
        at_rest = {}
        for cut in (True, False):
            outcome = ran(program, limit, cut=cut)
            where = f"{program} at limit {limit}, {'cut' if cut else 'whole'}"
            found = [of_each_time(log, ordered=program.ordered) for log in outcome.logs]
            if first is None:
                first = outcome.ended, found
            assert outcome.ended is first[0], f"{where}: it ended with {outcome.ended}, and at first with {first[0]}"
            assert found == first[1], f"{where}: {found}, and at first {first[1]}"
            at_rest[cut] = outcome.fronts
        compare_fronts(program, limit, at_rest[True], at_rest[False])


def compare_fronts(program, limit, cut, whole):
    """At rest they are the same; above what has ended in the middle of an answer, whole, more may have been done."""
    if program.names & ENDS:
        for before, after in zip(cut, whole, strict=True):
            for least, later in zip(before, after, strict=True):
                assert all(any(less_equal(one, two) for one in least) for two in later), (program, limit, cut, whole)
    else:
        assert cut == whole, f"{program} at limit {limit}: cut {cut}, whole {whole}"


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


FAILED_AHEAD = Program(
    (((5, 0, 0),),), "merge", (("delay", 0), ("accumulate", 2), ("catch", 0), ("accumulate", 0)), (0,), False, 0
)
"""What fails has been given more, whole, than it would have asked for by then."""


@settings(max_examples=amount(15, 40), deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(programs)
@example(FAILED_AHEAD)
def test_random_programs_cut_and_whole(program):
    """The same values at the same times, completions, failures and frontiers at rest."""
    check(program)


@pytest.mark.slow
def test_thousands_of_programs_cut_and_whole():
    """The same, for ten thousand."""
    settings(max_examples=10_000, deadline=None, suppress_health_check=QUIET, database=None)(given(programs)(check))()
