"""Random programs, killed at random moments and resumed, store the same as undisturbed runs."""

import os
from functools import partial
from itertools import accumulate

import attrs
import pytest
import trio
from hypothesis import example, given, settings, strategies as st

import pullstream as ps
from pullstream.conformance.ready import READY
from pullstream.journal.log import sync_folder
from pullstream.shake import shake
from tests.pullstream.programs import OWN, QUIET, ROWS, Program, number, programs
from tests.pullstream.test_programs import ALONE, FREE_JOINS, IN_ANY_ORDER
from tests.sampling import amount

_BY_THE_CLOCK = "cannot be in a run with a journal"
_ACROSS_TIMES = "pairs values of different times"
_INSIDE = "inside another module"

JOURNAL_REFUSES = {
    "stamp_epochs by the clock": _BY_THE_CLOCK,
    "combine_latest": _BY_THE_CLOCK,
    "zip": _ACROSS_TIMES,
    "zip, strict": _ACROSS_TIMES,
    "zip, padded": _ACROSS_TIMES,
    "group_by, one at a time": _INSIDE,
    "worker_pool, as ready": _INSIDE,
    "worker_pool, dynamic": _INSIDE,
}
"""Rows that keep state across times without a journal, and why a run with a journal refuses them.

`zip` is refused when it pairs such values; the last three because of the `take` inside them. All other rows keep
nothing across times, receive their input again, or save their state.
"""


def timed_numbers(seed=0):
    """0, 1, ..., one or two at each time."""
    return ps.values(range(9), time=lambda n: (n + seed) // 2 + n // 3)


@pytest.mark.parametrize("name", JOURNAL_REFUSES)
def test_refused_modules(path, name):
    (subject,) = (subject for subject in READY if subject.name == name)
    given = [timed_numbers(seed) for seed in range(subject.inputs)]
    module = subject.make(*([lambda n: 10 * n] if subject.around else []), *given)
    source = module if subject.inputs else ps.pipe(timed_numbers(), module)
    with pytest.raises(ps.errors.JournalError) as refused:
        ps.run(ps.pipe(source, ps.drain()), journal=path)
    assert JOURNAL_REFUSES[name] in str(refused.value)


@ps.transformer
async def totals(upstream, ctx):
    """Emit the total so far, kept in the module's memory."""
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
    lambda: ps.reduce(ps.Fold(list, appended, sorted)),
)
UNUSED = {name for name, row in ROWS.items() if row.resource or row.ascending}
"""Modules with a resource, and modules that fail if their input is out of order."""
KEPT = ALONE - {*JOURNAL_REFUSES, *(row.name for row in OWN)} - UNUSED
OUT_OF_ORDER = ("sliding", "sessions", "tumbling", "stamp", "fork", "loop", "catch, a later", "reduce_by_key, eager")
"""Prefixes of names of modules that emit times out of order: state downstream of them needs an order."""


def in_order(program):
    """The same program, with times sorted after each module that emits them out of order."""

    def rows(names):
        return tuple(row for name in names for row in (name, *["sort_by_time"] * name.startswith(OUT_OF_ORDER)))

    return attrs.evolve(
        program,
        rows=(*["sort_by_time"] * (len(program.inputs) > 1), *rows(program.rows)),
        inputs=tuple((kind, bundles, rows(names)) for kind, bundles, names in program.inputs),
        sinks=tuple((kind, rows(names)) for kind, names in program.sinks),
    )


def allowed(program):
    """Whether a journal allows it: a stamp that depends on earlier values needs them in a fixed order."""
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


def store(folder, place):
    """A sink that writes the values of each time to a file, atomically."""

    def put(time, values):
        new = folder / "new"
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(file, repr(values).encode())
        os.fsync(file)
        os.close(file)
        new.replace(folder / f"{place}, {time!r}")
        sync_folder(folder)

    return ps.at_completion(put)


async def slowly(value):
    await trio.sleep((0, 0, 0.001, 0.01)[value % 4])
    return value


def pipeline(folder, program):
    """The pipeline of a program, the same each time; values of several inputs arrive in any order."""

    def source(kind, bundles, seed):
        rows = sorted((row for bundle in bundles for row in bundle if row[1] is not None), key=lambda row: row[0])
        values = ps.pipe(ps.values(rows, time=lambda row: row[0]), ps.map(lambda row: row[1]))
        return ps.pipe(
            values, ps.map_async(slowly, 1 + seed % 3), *[totals()] * (seed % 5 == 0 and len(program.inputs) == 1)
        )

    order = [ps.reduce_by_time(ps.Fold(list, appended, sorted))] * (len(program.inputs) > 1)
    stored = program.sink(
        lambda kind, place: ps.pipe(ps.map_async(slowly, 1 + (program.seed + place) % 3), *order, store(folder, place))
    )
    return ps.pipe(program.source(source), ps.tee(stored, RESULTS[program.seed % 3](), capacity=program.seed % 4))


ONE_BY_ONE = (("values", (tuple((n, n % 10) for n in range(16)),), ()),)
TOTALS = Program(ONE_BY_ONE, sinks=(("calls", ("sessions",)), ("calls", ("scan",))), seed=1)
WINDOWS = Program(ONE_BY_ONE, rows=("sliding",), sinks=(("calls", ()),), seed=1)
TAKEN = Program(
    (("values", (((0, 2), (1, 0)),), ("accumulate, by key",)),),
    rows=("take by a test, with the last",),
    sinks=(("calls", ()),),
    limit=1,
)


@settings(max_examples=amount(4, 3_000), deadline=None, suppress_health_check=QUIET)
@given(PROGRAMS, st.integers(0, 2**32))
@example(TOTALS, 8)
@example(TOTALS, 5)
@example(WINDOWS, 3)
@example(TAKEN, 11)
def test_killing_a_run_does_not_change_its_outcome(program, seed):
    report = shake(partial(pipeline, program=program), seed=seed, journal=True, compare="times")
    # `catch` cannot continue if a module fails when all of its times are complete.
    if not all("because every time was complete when the stream failed" in each.what for each in report.differences):
        report.check()
