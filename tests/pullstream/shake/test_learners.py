"""The wrong answers of learners, in pipelines of five modules: some schedule shows what is wrong, or there is a reason.

A simulation compares a pipeline with itself. So it finds no module that is wrong in the same way under every schedule;
the conformance kit, and the judges of the exercises, know what a module must do.
"""

import runpy

import pytest
import trio

import pullstream as ps
from pullstream.shake.lives import Lives
from pullstream.shake.simulation import shown
from tests.pullstream.judged import wrong
from tests.pullstream.shake.scenes import slowly
from tests.pullstream.shake.search import first_wrong
from tests.sampling import amount
from tests.tutorials.patches import ANSWERS
from tutorials.exercises.judges.rows import Table
from tutorials.exercises.judges.till import SALES


async def later(value):
    await trio.sleep(0.5)
    return value


def from_source(source):
    return ps.pipe(source, ps.map_async(later, 2), ps.prefetch(2), ps.map(repr), ps.collect())


def through(transformer, convert=int):
    numbers = ps.values(enumerate([3, 1, 4, 1, 5, 9, 2, 6]), time=lambda pair: pair[0] // 3)
    return ps.pipe(numbers, ps.map_async(later, 2), ps.map(lambda pair: convert(pair[1])), transformer, ps.collect())


def into_sink(sink):
    numbers = ps.values(range(8), time=lambda n: n // 3)
    return ps.pipe(numbers, ps.map_async(slowly, 2), ps.prefetch(2), ps.map(int), sink)


def timed(transformer):
    numbers = ps.values([3, 9, 1, 14, 11, 27, 22, 25], time=lambda n: n // 10)
    return ps.pipe(numbers, ps.map_async(slowly, 2), transformer, ps.map(repr), ps.collect())


def mixed(transformer):
    times = ps.pipe(ps.stamp(lambda n: n, lateness=10), ps.map_time(lambda n: n // 10))
    return ps.pipe(ps.values([1, 3, 14, 12, 9, 21, 17, 35]), ps.map_async(later, 2), times, transformer, ps.collect())


async def save(value):
    await trio.sleep(value % 3)


def both(make):
    left, right = (ps.pipe(ps.values(range(6), time=lambda n, d=d: n // d), ps.map_async(slowly, 2)) for d in (2, 1))
    return from_source(make(left, right))


def stored(make):
    return into_sink(make(save))


MAKERS = {
    "steps": lambda make: through(make()),
    "one_behind": lambda make: timed(make()),
    "largest": lambda make: mixed(make()),
    "take_while": lambda make: through(make(lambda n: n < 5)),
    "read_ahead": lambda make: through(make(2)),
    "takings": lambda make: through(make(), lambda n: ("tea", n)),
    "rows": lambda make: from_source(make(Table())),
    "till": lambda make: from_source(make(SALES)),
    "pairs": both,
    "store": stored,
}
ANSWERED = {
    f"{answer.exercise.name}, {answer.name}": answer
    for answer in ANSWERS
    if answer.exercise.name in MAKERS and answer.kinds != {"right"} and "spin" not in answer.kinds
}
"""Answers that spin would hold up this process."""

UNSEEN = {
    "R2": "how much is asked for, and empty answers that a trusted neighbour drops",
    "R9": "asks after the end that these neighbours answer with the end",
    "R10": "when something is opened, and how often it is closed",
    "demand": "how much is asked for",
    "holding": "times that stay open although nothing more can come: only the module knows what can",
    "early": "effects outside of the run",
    "R8": "failures of a function that never fails here",
    "ReleaseTimeout": "how long a release takes, in virtual time",
    "JournalError": "what a journal refuses: these runs have none",
    "resumed": "what is kept from run to run: these runs have no journal",
    "R5": "how long it takes to end, in virtual time",
    "order": "the times at which values come",
}
"""What a simulation does not see of a module, by the kind of the mistake."""


def outcome(make):
    """What happens in the undisturbed run."""
    run = Lives(make).undisturbed("nothing", ()).like
    values = {sink: [(each.time, each.shown) for each in row] for sink, row in run.delivered.items()}
    return run.ending, type(run.failure), values, shown(run.result)


def made(answer, path):
    make = runpy.run_path(str(path))[answer.exercise.name]
    return lambda: MAKERS[answer.exercise.name](make)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ANSWERED)
def test_a_wrong_answer_is_found_or_there_is_a_reason(name, tmp_path):
    """It is found; or it is wrong alike in every run, as the first one shows; or a simulation does not look at that."""
    answer = ANSWERED[name]
    wrong_one = made(answer, answer.written(tmp_path))

    if not first_wrong(wrong_one, range(amount(40, 300))):
        alike = outcome(wrong_one) != outcome(made(answer, answer.exercise.solution))
        assert alike or answer.kinds <= UNSEEN.keys()


WRONG = {
    "one list": lambda: from_source(wrong.OneList()),
    "one batch": lambda: timed(wrong.OneBatch()),
    "leaves the program": lambda: timed(wrong.leaves_the_program()),
    "changes its batch": lambda: into_sink(wrong.changes_its_batch()),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_module_is_found(name):
    """Within few seeds."""
    assert first_wrong(WRONG[name], range(amount(10, 300)))
