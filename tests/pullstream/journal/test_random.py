"""Random programs, killed at random moments and resumed: what they store is what they would have, undisturbed."""

from itertools import accumulate

import attrs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pullstream as ps
from pullstream.conformance.ready import JOURNAL_REFUSES
from tests.pullstream.programs import OWN, QUIET, ROWS, Program, number, programs
from tests.pullstream.test_programs import ALONE, FREE_JOINS, IN_ANY_ORDER
from tests.sampling import amount


@ps.transformer
async def totals(upstream, ctx):
    """Emit the total so far, which is in a memory of the module's own."""
    memory = ctx.memory
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                *_, memory.at(time)["total"] = states = list(accumulate(values, initial=memory.get("total", 0)))
                yield ps.Batch(time, states[1:])


def appended(seen, value):
    """The step of a fold that changes its state in place."""
    seen.append(value)
    return seen


RESULTS = (
    lambda: ps.pipe(ps.map(number), ps.collect()),
    lambda: ps.reduce(lambda seen, n: [*seen, n], []),
    lambda: ps.reduce(ps.Fold(list, appended, tuple)),
)
UNUSED = {name for name, row in ROWS.items() if row.resource or row.ascending}
"""Modules with a resource, and modules that fail if their input is in no order."""
KEPT = ALONE - {*JOURNAL_REFUSES, *(row.name for row in OWN)} - UNUSED
OUT_OF_ORDER = ("sliding", "sessions", "tumbling", "stamp", "fork", "loop", "catch, a later", "reduce_by_key, eager")
"""How the names of modules begin whose times are in no order: what keeps a state below them needs one."""


def in_order(program):
    """The same, with the times put in order where a module emits them in none."""

    def rows(names):
        return tuple(row for name in names for row in (name, *["sort_by_time"] * name.startswith(OUT_OF_ORDER)))

    return attrs.evolve(
        program,
        rows=(*["sort_by_time"] * (len(program.inputs) > 1), *rows(program.rows)),
        inputs=tuple((kind, bundles, rows(names)) for kind, bundles, names in program.inputs),
        sinks=tuple((kind, rows(names)) for kind, names in program.sinks),
    )


def allowed(program):
    """Whether a journal allows it: a module that stamps by what came before needs one order of it."""
    reorders = ("loop", "fork", "group_by", "worker_pool", "flatten, side")
    return not all(any(name.startswith(start) for name in program.names) for start in ("stamp", reorders))


PROGRAMS = (
    st.one_of(
        programs(("values",), KEPT, most=1),
        programs(("values",), IN_ANY_ORDER.keys() & KEPT, joins=[*{*FREE_JOINS} - {*JOURNAL_REFUSES}]),
    )
    .map(in_order)
    .filter(allowed)
)


def pipeline(world, program):
    """The pipeline of a program, every time the same."""

    def source(kind, bundles, seed):
        rows = sorted((row for bundle in bundles for row in bundle if row[1] is not None), key=lambda row: row[0])
        values = ps.pipe(ps.values(rows, time=lambda row: row[0]), ps.map(lambda row: row[1]))
        return ps.pipe(values, world.slowly(seed), *[totals()] * (seed % 5 == 0 and len(program.inputs) == 1))

    stored = program.sink(lambda kind, place: ps.pipe(world.slowly(program.seed + place), world.store(place)))
    return ps.pipe(program.source(source), ps.tee(stored, RESULTS[program.seed % 3](), capacity=program.seed % 4))


def outcome(world, program, result):
    """What was stored, and the result of the run; values of different times, or of several inputs, in any order."""
    stored = world.stored if len(program.inputs) == 1 else {at: sorted(each) for at, each in world.stored.items()}
    return stored, sorted(result[1])


def check(new_world, program, kills, limits):
    """Kill a run again and again: in the end it has the outcome of one that nothing happened to."""
    world, result = new_world(), None
    for turn, kill in enumerate([*kills, None]):
        result = world.run(pipeline(world, program), limit=limits[turn % len(limits)], kill=kill)
        if result is not None:
            break
    resumed = outcome(world, program, result)
    world = new_world()
    assert resumed == outcome(world, program, world.run(pipeline(world, program), journal=False)), program


ONE_BY_ONE = (("values", (tuple((n, n % 10) for n in range(16)),), ()),)
TOTALS = Program(ONE_BY_ONE, sinks=(("calls", ("sessions",)), ("calls", ("scan",))), seed=1)
WINDOWS = Program(ONE_BY_ONE, rows=("sliding",), sinks=(("calls", ()),), seed=1)
KILLS = st.lists(st.integers(1, 60), max_size=6)
LIMITS = st.sampled_from([[1], [2], [7], [4096], [1, 4096, 2]])
SAME_FIXTURE = [HealthCheck.function_scoped_fixture, *QUIET]


@settings(max_examples=amount(20, 4_000), deadline=None, suppress_health_check=SAME_FIXTURE)
@given(PROGRAMS, KILLS, LIMITS)
@example(TOTALS, [12] * 5, [1])
@example(TOTALS, [12] * 5, [4096])
@example(WINDOWS, [12] * 5, [1])
def test_a_killed_run_has_the_outcome_of_an_undisturbed_one(new_world, program, kills, limits):
    """Whatever a program is made of, and whenever it is killed, it comes to the same in the end."""
    check(new_world, program, kills, limits)
