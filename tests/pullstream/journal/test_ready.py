"""Ready-made modules that no run with a journal may have are refused by name; `test_random.py` has the others."""

import pytest

import pullstream as ps
from pullstream.conformance.ready import READY

_BY_THE_CLOCK = "has no place in a run with a journal"
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


def numbers(seed=0):
    """0, 1, ..., at times of which each has one or two."""
    return ps.values(range(9), time=lambda n: (n + seed) // 2 + n // 3)


@pytest.mark.parametrize("subject", [s for s in READY if s.name in JOURNAL_REFUSES], ids=lambda s: s.name)
def test_what_is_refused(path, subject):
    """A module that keeps something of which no journal knows is refused, by name, with what to do instead."""
    given = [numbers(seed) for seed in range(subject.inputs)]
    module = subject.make(*([lambda n: 10 * n] if subject.around else []), *given)
    source = module if subject.inputs else ps.pipe(numbers(), module)
    with pytest.raises(ps.errors.JournalError) as refused:
        ps.run(ps.pipe(source, ps.drain()), journal=path)
    assert JOURNAL_REFUSES[subject.name] in str(refused.value)


def test_all_that_are_refused_are_there():
    assert set(JOURNAL_REFUSES) <= {subject.name for subject in READY}
