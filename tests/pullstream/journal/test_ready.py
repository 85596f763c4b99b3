"""Every ready-made module in a run with a journal: killed, it comes to the same, or it is refused by name."""

from functools import partial

import pytest

import pullstream as ps
from pullstream.conformance.ready import COMBINING, JOURNAL_REFUSES, READY, SINKS, TRANSFORMERS

WAYS = [subject for subject in (*TRANSFORMERS, *COMBINING) if not subject.inputs]
PASSES = [subject for subject in WAYS if not (subject.timing or subject.resource)]
JOINS = [subject for subject in COMBINING if subject.inputs and not subject.timing]


def made(subject, *given):
    """The module, with a function where it wants one."""
    return subject.make(*([lambda n: 10 * n] if subject.around else []), *given)


def numbers(seed=0):
    """0, 1, ..., at times of which each has one or two."""
    return ps.values(range(9), time=lambda n: (n + seed) // 2 + n // 3)


def stored(world, source):
    """What a stream gives is stored, by its times; `repr` because errors are equal to themselves alone."""
    return ps.pipe(source, world.slowly(0), ps.map(repr), world.store("all"))


def outcome(world, ordered):
    """What there is in the end."""
    return world.stored if ordered else {time: sorted(values) for time, values in world.stored.items()}


def killed_everywhere(new_world, source, ordered):
    """The outcome, whenever a run is killed, is that of one that is not."""
    world = new_world()
    world.run(stored(world, source(world)), journal=False)
    expected = outcome(world, ordered)
    for kill in (1, 3, 6, 10, 15):
        world = new_world()
        for _ in range(4):
            world.run(stored(world, source(world)), limit=kill, kill=kill)
        world.run(stored(world, source(world)))
        assert outcome(world, ordered) == expected


@pytest.mark.sampled(15)
@pytest.mark.parametrize("subject", [s for s in PASSES if s.name not in JOURNAL_REFUSES], ids=lambda s: s.name)
def test_a_transformer_in_a_killed_run(new_world, subject):
    """A module that may be in a run with a journal comes to the same when that is killed."""
    killed_everywhere(
        new_world, lambda world: ps.pipe(numbers(), world.slowly(0), made(subject)), ordered=subject.ordered
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("subject", [s for s in JOINS if s.name not in JOURNAL_REFUSES], ids=lambda s: s.name)
def test_a_source_of_sources_in_a_killed_run(new_world, subject):
    """A module that joins streams comes to the same when the run is killed."""
    killed_everywhere(
        new_world,
        lambda world: made(subject, *[ps.pipe(numbers(seed), world.slowly(seed)) for seed in range(subject.inputs)]),
        ordered=False,
    )


@pytest.mark.parametrize("subject", [s for s in READY if s.name in JOURNAL_REFUSES], ids=lambda s: s.name)
def test_what_is_refused(new_world, subject):
    """A module that keeps something of which no journal knows is refused, by name, with what to do instead."""
    given = [numbers(seed) for seed in range(subject.inputs)]
    module = made(subject, *given)
    source = module if subject.inputs else ps.pipe(numbers(), module)
    with pytest.raises(ps.errors.JournalError) as refused:
        new_world().run(ps.pipe(source, ps.drain()))
    assert JOURNAL_REFUSES[subject.name] in str(refused.value)


def test_all_that_are_refused_are_there():
    """Nothing is named that is not there."""
    assert set(JOURNAL_REFUSES) <= {subject.name for subject in READY}


RESULTS = [s for s in SINKS if s.name in {"collect", "reduce", "find", "first", "last", "concat_values"}]


@pytest.mark.parametrize("subject", RESULTS, ids=lambda s: s.name)
def test_results_are_of_all_runs_together(new_world, subject):
    """The result of a sink, in the run that comes to the end, is that of a run that was never killed."""
    expected = ps.run(ps.pipe(numbers(), made(subject)))
    for kill in (1, 4, 7, 9):
        world = new_world()
        pipeline = partial(lambda world: ps.pipe(numbers(), world.slowly(0), made(subject)), world)
        for _ in range(3):
            world.run(pipeline(), limit=2, kill=kill)
        assert world.run(pipeline()) == expected
