"""Random programs, judged by the model of 000, by the checker, by plain Python, and by other ways of running them.

The model does not rely on the sidecar for batches in flight: a batch is on an edge from the step in which it is
answered until its lane acknowledges it. The model computes by itself, from the definitions and the trace alone, which
completions that allows.
"""

import random
from collections import Counter, defaultdict
from contextlib import nullcontext
from operator import itemgetter

import pytest
import trio
from hypothesis import example, given, settings, strategies as st

from pullstream.engine.edge.lane import Lane
from pullstream.shake import shake
from pullstream.trace import Trace, judge
from tests.pullstream.programs import DOMAINS, JOINS, QUIET, ROWS, SINKS, Program, number, programs, run_program
from tests.sampling import amount
from timely import less_equal

# ---- by the model and the checker


class Looker(trio.abc.Instrument):
    """Have a traced run sometimes note, at rest, which times may still come where."""

    def __init__(self, tracer, seed):
        self.tracer, self.rng = tracer, random.Random(seed)

    def before_io_wait(self, timeout):
        if not trio.lowlevel.current_statistics().tasks_runnable:
            self.tracer.rest()
            if self.rng.random() < 0.2:
                self.note_frontiers()

    def note_frontiers(self):
        """Note every frontier of the run itself, for the model to compare with its own."""
        sidecar, frontiers = self.tracer._sidecar, self.tracer._sidecar.frontiers
        frontiers.track()
        lost = frontiers.lost
        sidecar.propagate()
        if frontiers.lost is lost:
            places = [place for one in sidecar.locations for place in (*(port.place for port in one.ports), one.output)]
            self.tracer.notes.note("frontiers", [(place, list(frontiers.frontier(place))) for place in places])


def refine(program, seeds):
    """Run it under some schedules, and replay the traces: the model must allow all of them."""

    async def look(running):
        trio.lowlevel.add_instrument(Looker(running._tracer, program.seed))

    def replayed(run):
        verdict = judge(Trace.of(run.trace.splitlines()))
        return [f"{found.rule}: {found.because}" for found in verdict.objections]

    found = shake(lambda: (*program.made(), look), seeds, compare="nothing", checks=[replayed])
    # The arguments of its function, and so its failure, may depend on the schedule.
    allowed = {"failure", "ending"} if program.fails is not None else set()
    if any(f"catch, {other}" in str(program) for other in ("values", "a later source")):
        # A failure may come when every time is complete: nothing can continue then.
        allowed.add("CapabilityError")
    if program.fails is not None and program.join == "zip, strict":
        # Its sources may be of different lengths, and either failure may come first.
        allowed.add("LengthError")
    assert found.kinds.keys() <= allowed, f"{program}\n{found}"


FAILS = (None, None, None, 0, 1, 2)
TOTAL = [domain for domain in DOMAINS if domain != "product"]
"""The domains in which any two times have an order."""

# Values are in no order, so modules that need one are left out.
OF_ANY_ORDER = [name for name, row in ROWS.items() if not row.ascending]
OF_ALL_KINDS = programs(("generated", "pushed", "bundles"), OF_ANY_ORDER, domains=("int", "int", *TOTAL), fails=FAILS)


@settings(max_examples=amount(10, 5_000), deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(OF_ALL_KINDS)
def test_the_model_allows_random_runs(program):
    refine(program, 4)


# ---- by plain Python, and in other ways


def mapped(rows, f):
    return [(time, f(value)) for time, value in rows]


def as_they_are(rows, f):
    return rows


def by_time(rows):
    """The values of each time, earliest time first."""
    table = defaultdict(list)
    for time, value in sorted(rows, key=lambda row: row[0]):
        table[time].append(value)
    return table


def folded(results):
    """For each time, the results of a function of its values."""
    return lambda rows, f: [
        (time, result) for time, values in by_time(rows).items() for result in results([f(value) for value in values])
    ]


def first_of_each(rows, f):
    found = {}
    for time, value in rows:
        found.setdefault(f(value), (time, value))
    return list(found.values())


def running(rows, f):
    total = 0
    return [(time, total := total + f(value)) for time, value in rows]


def accumulated(rows, f):
    total = 0
    return [(time, total := total + sum(map(f, values))) for time, values in by_time(rows).items()]


def counted_so_far(rows, f):
    total = Counter()
    for time, values in by_time(rows).items():
        total.update(map(f, values))
        yield from ((time, (key, total[key])) for key in dict.fromkeys(map(f, values)))


def so_far(rows, f):
    seen, found = Counter(), []
    for time, value in rows:
        seen[time, f(value)] += 1
        found.append((time, (f(value), seen[time, f(value)])))
    found += [(time, (key, count)) for (time, key), count in seen.items()]
    # A time is complete before values at the next one arrive.
    return sorted(found, key=itemgetter(0))


def stamped(rows, f):
    latest = None
    for _, value in rows:
        stamp = -f(value)
        if latest is None or stamp >= latest - 15:
            latest = stamp if latest is None else max(latest, stamp)
            yield stamp, (stamp, value)


def epochs(rows, f):
    for time, values in by_time(rows).items():
        yield from ((time, ((time, place // 2), value)) for place, value in enumerate(values))


def aggregates(values):
    top, middle = sorted(values, reverse=True), sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    mean, median = sum(values) / len(values), middle[0] if len(middle) == 1 else sum(middle) / 2
    keys = len({value // 10 % 3 for value in values})
    best = [value // 10 for value in top[:2]]
    return [(len(values), sum(values), min(values), max(values), mean, median, best, keys)]


IN_ANY_ORDER = {
    **dict.fromkeys(["map", "map_batches", "map_async 1", "map_async 3", "map_async 3, as ready", "in_flight"], mapped),
    **dict.fromkeys(["flat_map, sources", "flatten, sources", "flatten, side by side", "timed", "loop"], mapped),
    **dict.fromkeys(["filter, all pass", "tap", "probe", "prefetch 1", "prefetch 3"], as_they_are),
    **dict.fromkeys(["timeout", "rate_limit", "pausable", "abortable", "notified"], as_they_are),
    "per time": lambda rows, f: sorted(rows, key=itemgetter(0)),
    "filter_not": lambda rows, f: [row for row in rows if f(row[1]) >= 0],
    "filter, half pass": lambda rows, f: [row for row in rows if row[1] % 2],
    "filter, none passes": lambda rows, f: [],
    "flat_map, two each": lambda rows, f: [row for row in mapped(rows, f) for _ in range(2)],
    "thrice": lambda rows, f: [row for row in rows for _ in range(3)],
    "delay": lambda rows, f: [(time + 3, value) for time, value in rows],
    "map_time": lambda rows, f: [(time // 2, value) for time, value in rows],
    "sort_by_time": lambda rows, f: sorted(rows),
    "unique_by_time": lambda rows, f: list(dict.fromkeys(rows)),
    "reduce_by_time": folded(lambda values: [sum(values)]),
    "several aggregates": folded(aggregates),
    "reduce_by_key": folded(lambda values: Counter(values).items()),
    "count_by_key": folded(lambda values: Counter(values).items()),
    "reduce_by_key, eager": so_far,
    "accumulate": accumulated,
    "accumulate, by key": counted_so_far,
    "group_by": lambda rows, f: [(time, (value % 2, f(value))) for time, value in rows],
}
"""What modules emit for rows of times and values, in any order."""

IN_ORDER = {
    "take 0": lambda rows, f: [],
    "take 2": lambda rows, f: rows[:2],
    "take 9": lambda rows, f: rows[:9],
    "skip 2": lambda rows, f: rows[2:],
    "scan": running,
    "unique": first_of_each,
    "stamp, with lateness": stamped,
    "stamp_epochs of 2, within times": epochs,
    **dict.fromkeys(["take by a test", "take by a test, ahead"], as_they_are),
    "map, failures left out": mapped,
}
"""The same, for modules that depend on the order of values."""

PLAIN = {**IN_ANY_ORDER, **IN_ORDER}
MERGES = {"merge", "concat", "dynamic_merge", "merge_sorted, as they are"}
CONCURRENT = ("map_async", "in_flight", "prefetch", "worker_pool", "loop around calls", "map, failures diverted")
ENDS = ("take", "catch", "several", "fork, with", "worker_pool")
"""Prefixes of names of modules that end their upstream."""


def plain(program):
    """A program's results in plain Python; None if a module is not modelled in plain Python."""

    def through(rows, names):
        for name in names:
            rows = [(time, number(value)) for time, value in PLAIN[name](rows, program.function)]
        return rows

    if not program.names <= PLAIN.keys() or (len(program.inputs) > 1 and program.join not in MERGES):
        return None
    changes = {"map_time", "stamp, with lateness"}
    if program.domain not in TOTAL or ("reduce_by_key, eager" in program.names and program.names & changes):
        # Eager results of several times alternate. Where `map_time` makes these one time, their order is not promised;
        # where times are out of order, `so_far` does not model it.
        return None
    inputs = [
        through([row for bundle in bundles for row in bundle if row[1] is not None], names)
        for _, bundles, names in program.inputs
    ]
    rows = through([row for rows in inputs for row in rows], program.rows)
    dealt = program.dealt and len(program.sinks) > 1
    return [
        through([row for row in rows if not dealt or (row[1] % 2 == 1) is (place == 1)], names)
        for place, (_, names) in enumerate(program.sinks)
    ]


# The results must not depend on which of several values comes first.
ALONE = {
    name for name, row in ROWS.items() if row.ordered and not (row.timing or row.batches or name.startswith(CONCURRENT))
}
FREE_JOINS = [name for name, join in JOINS.items() if not (join.timing or name.startswith("zip"))]
DETERMINED = st.one_of(
    # A branch that fails cuts the others short.
    programs(("paced",), ALONE, most=1, fails=FAILS).filter(lambda each: each.fails is None or len(each.sinks) == 1),
    programs(("paced",), ALONE & PLAIN.keys(), most=1),
    programs(("paced",), IN_ANY_ORDER, joins=FREE_JOINS),
    programs(("paced",), IN_ANY_ORDER, joins=MERGES),
)
PARTIAL = programs(("paced",), ALONE, most=1, domains=("product",))
"""Programs over partially ordered times."""


class Cut:
    """While it is entered, every module gets batches of one time."""

    def __enter__(self):
        self.send = send = Lane._send
        Lane._send = lambda lane, limit, *, many: send(lane, limit, many=False)

    def __exit__(self, *exc):
        Lane._send = self.send


def of_each_time(log, *, ordered):
    """The values of each time, in their order if that is promised, and the times that are complete."""
    values, complete = defaultdict(list), Counter()
    for first, second in log:
        if first == "complete":
            complete[second] += 1
            continue
        assert not any(first <= time for time in complete), f"{second!r} at {first!r}, which was complete"
        values[first].append(second)
    return {time: found if ordered else Counter(found) for time, found in values.items()}, complete


def compare(program):
    """Run it at two limits, every answer cut or whole; results must be the same, and equal plain Python's."""
    ordered = len(program.inputs) == 1 and all(ROWS[name].ordered for name in program.names)
    first, expected = None, None if program.fails is not None else plain(program)
    for limit in (1, program.limit if program.limit > 1 else 3):
        at_rest = []
        for way in (Cut(), nullcontext()):
            with way:
                logs, failure, frontiers = run_program(program, limit)
            found = failure, [of_each_time(log, ordered=ordered) for log in logs]
            first = first or found
            assert found == first, f"{program} at limit {limit}, {type(way).__name__}: {found}, and at first {first}"
            at_rest.append(frontiers)
        # If cut, values after one that waits in `merge_sorted` for another input are still upstream of it.
        waits = len(program.inputs) > 1 and program.join.startswith("merge_sorted")
        if program.fails is None and not waits and not any(name.startswith(ENDS) for name in program.names):
            assert at_rest[0] == at_rest[1], f"{program} at limit {limit}: cut {at_rest[0]}, whole {at_rest[1]}"
        elif not any(name.startswith("take") for name in program.names):
            # When a `take` ends depends on how many values it gets at a time.
            for before, after in zip(*at_rest, strict=False):
                for least, later in zip(before, after, strict=True):
                    assert all(any(less_equal(one, two) for one in least) for two in later), (program, limit, at_rest)
    if expected is not None and first[0] is None:
        results = [of_each_time(rows, ordered=ordered)[0] for rows in expected]
        assert [values for values, _ in first[1]] == results, f"{program}: {first[1]}, and should be {results}"


# While a completion is handled and nothing is asked, the ask to the branch upstream continues.
EAGER = Program(
    (
        ("paced", (((0, 0), (0, 0), (4, 3), (5, None), (0, 4)),), ("per time",)),
        (
            "paced",
            (
                ((0, None), (0, None), (0, 8), (0, None), (0, None)),
                ((1, None), (3, 0), (4, None)),
                ((4, None), (5, None)),
                ((5, 8), (5, 0), (5, 4), (6, None), (6, 0)),
            ),
            (),
        ),
    ),
    "dynamic_merge",
    ("map_batches", "several aggregates"),
    (("takes whole", ("thrice", "flat_map, two each")), ("takes whole", ("reduce_by_key, eager", "filter_not"))),
    limit=4096,
    seed=13874511,
)


@settings(max_examples=amount(20, 5_000), deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(DETERMINED)
@example(EAGER)
def test_random_programs_have_one_outcome(program):
    """The same values at the same times, completions, failures and frontiers at rest, at every limit, cut or whole."""
    compare(program)


@settings(max_examples=amount(10, 2_000), deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(PARTIAL)
def test_random_programs_have_one_outcome_in_a_partial_order(program):
    compare(program)


# ---- the judges find faults


def sure(*rows, kind="generated", sink="is notified"):
    """A program of one source with these rows."""
    bundles = (((0, 4), (1, 5), (2, 2)), ((2, 1), (3, 7), (5, 8)))
    return Program(((kind, bundles, ()),), rows=rows, sinks=((sink, ()),), limit=2)


SURE = [
    *(sure("map_async 3", row) for row in ("per time", "loop around calls")),
    *(sure("map", kind="bundles", sink=sink) for sink in ("takes whole", "calls")),
    sure("flatten, side by side", "loop notified", kind="pushed"),
    *(sure("flatten, lists", kind=kind, sink=sink) for sink in SINKS for kind in ("generated", "bundles")),
]
"""Programs that hold, count, feed back and wait for times: most faults with times show in one of them."""


@pytest.mark.parametrize("program", SURE, ids=lambda program: f"{program.inputs[0][0]}-{'-'.join(program.rows)}")
def test_the_model_allows_programs_of_holds(program):
    """Breaks of holds and counts in `python -m tests.breaks` are found here at once."""
    refine(program, 2)


@pytest.mark.parametrize("name", PLAIN)
def test_a_row_equals_plain_python(name):
    compare(sure(name, kind="paced"))
