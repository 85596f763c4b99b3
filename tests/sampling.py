"""The default extent of long tests: a sample of each matrix, and short loops. `python -m tests.full` runs all."""

import os
from functools import partial

FULL = "PULLSTREAM_FULL"


def amount(short, full):
    """Choose the number of repetitions in a test: `full` in a run of `tests.full`, else `short`."""
    return full if FULL in os.environ else short


def sample(cases, size=None):
    """Choose the numbers of some cases, each a dict of parameters; the choice is always the same.

    The sample follows the diagonal of the matrix: it has every value of every parameter at least once, unless a
    size gives the number of cases, which are then as far apart as possible.
    """
    # By identity, because values may not be comparable; each is numbered by first occurrence.
    numbers = {name: {} for name in cases[0]}
    cases = [{name: numbers[name].setdefault(id(case[name]), len(numbers[name])) for name in numbers} for case in cases]
    values = {name: range(len(seen)) for name, seen in numbers.items()}
    size = size or max(map(len, values.values()))
    left = dict(enumerate(cases))
    unseen = {name: set(found) for name, found in values.items()}
    for turn in range(min(size, len(cases))):
        wanted = {
            # In each round, parameters of the same length are shifted against each other to get different pairs.
            name: found[
                turn * len(found) // size if size < len(found) else (turn + turn // len(found) * shift) % len(found)
            ]
            for shift, (name, found) in enumerate(values.items())
        }
        # A matrix may have gaps: then the case most like the wanted one is taken.
        case = left.pop(max(left, key=partial(_worth, left, wanted, unseen)))
        for name, value in case.items():
            unseen[name].discard(value)
    return set(range(len(cases))) - set(left)


def _worth(cases, wanted, unseen, number):
    case = cases[number]
    return sum(case[name] == wanted[name] for name in wanted), sum(case[name] in unseen[name] for name in unseen)
