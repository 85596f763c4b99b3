"""A journal saves a trace whole and in order, and a change of a large group saves few others."""

import pickle
import random

import pytest

from pullstream.incremental.saving import SLOT, Saving
from pullstream.incremental.trace import KeyedTrace, Order


def read_again(memory):
    """A trace and its `Saving`, as a later run restores them."""
    trace = KeyedTrace(Order())
    saving = Saving(0, trace, id)
    saved = {}
    for (_, key, slot), changes in pickle.loads(pickle.dumps([*memory.items()])):
        saved.setdefault(key, {})[slot] = changes
    for key, slots in saved.items():
        saving.restore(key, slots)
    return trace, saving


def as_it_is(trace):
    """All changes, and their order within a key."""
    return {key: [*updates.items()] for key, updates in trace.updates.items()}


@pytest.mark.parametrize("seed", range(10))
def test_a_restored_trace_is_the_saved_one(seed):
    rnd = random.Random(seed)
    trace = KeyedTrace(Order())
    saving, memory = Saving(0, trace, id), {}
    most = {"few": 5, "many": 4 * SLOT, "all": 20 * SLOT}
    for _ in range(60):
        for _ in range(rnd.choice([1, 5, 300])):
            key = rnd.choice([*most])
            value, time = rnd.randrange(most[key]), (rnd.randrange(2),)
            count = trace.updates.get(key, {}).get((value, time), 0)
            trace.add(key, value, time, rnd.choice([-count, -count, 1 - count, 1, 0]))
        if rnd.random() < 0.1:
            for (value, time), count in [*trace.of("many")]:
                trace.add("many", value, time, -count)
        saving.save(memory)
        again, saving_again = read_again(memory)
        assert as_it_is(again) == as_it_is(trace)
        if rnd.random() < 0.3:
            trace, saving = again, saving_again
    assert len(trace)


class Written(dict):
    """A memory that counts how many changes are written to it."""

    changes = 0

    def __setitem__(self, key, value):
        self.changes += len(value)
        super().__setitem__(key, value)


def test_a_change_of_a_large_group_saves_few_others():
    trace, memory = KeyedTrace(Order()), Written()
    saving = Saving(0, trace, id)
    for n in range(10_000):
        trace.add("k", n, (), 1)
    saving.save(memory)
    memory.changes = 0
    for n in range(100):
        trace.add("k", 37 * n, (), -1)
        trace.add("k", 10_000 + n, (), 1)
        saving.save(memory)
    assert memory.changes <= 100 * 2 * SLOT


def test_nothing_is_saved_of_a_removed_key():
    trace, memory = KeyedTrace(Order()), {}
    saving = Saving(0, trace, id)
    for diff in (1, -1):
        for n in range(3 * SLOT):
            trace.add("many", n, (), diff)
        trace.add("few", 1, (), diff)
        saving.save(memory)
        assert bool(memory) is (diff > 0)
    assert not saving._large
