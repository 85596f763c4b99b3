"""What a journal has of a trace is the trace, in its order; and a change of a large group saves few others."""

import pickle
import random

import pytest

from pullstream.incremental.saving import SLOT, Saving
from pullstream.incremental.trace import KeyedTrace, Order


def read_again(memory):
    """A trace, and what saves it, as a later run has them."""
    trace = KeyedTrace(Order())
    saving = Saving(0, trace)
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
def test_what_is_read_again_is_what_was_there(seed):
    """Whatever has come, gone and come again between two times; also when it goes on from what was read."""
    rnd = random.Random(seed)
    trace = KeyedTrace(Order())
    saving, memory = Saving(0, trace), {}
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
