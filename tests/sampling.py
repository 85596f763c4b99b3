"""What the long tests do by default: a sample of each matrix, and shorter loops. `python -m tests.full` runs all."""

import os
from functools import partial

FULL = "PULLSTREAM_FULL"


def amount(short, full):
    """Choose how often a test repeats something: `full` where `tests.full` runs it, `short` by default."""
    return full if FULL in os.environ else short


def sample(cases, size=None):
    """Choose the numbers of some cases, each of which is a dict of parameters; the same ones every time.

    The sample goes along the diagonal of the matrix: it has every value of every parameter at least once, unless a
    size says how many cases there are, which then lie as far from each other as they can.
    """
    # By identity, for values need not be comparable; each is numbered as it comes first.
    numbers = {name: {} for name in cases[0]}
    cases = [{name: numbers[name].setdefault(id(case[name]), len(numbers[name])) for name in numbers} for case in cases]
    values = {name: range(len(seen)) for name, seen in numbers.items()}
    size = size or max(map(len, values.values()))
    left = dict(enumerate(cases))
    unseen = {name: set(found) for name, found in values.items()}
    for turn in range(min(size, len(cases))):
        wanted = {
            # Each time round, parameters of one length are shifted against each other: not always the same pairs.
            name: found[
                turn * len(found) // size if size < len(found) else (turn + turn // len(found) * shift) % len(found)
            ]
            for shift, (name, found) in enumerate(values.items())
        }
        # A matrix may have gaps: then the case that is most like the wanted one is taken.
        case = left.pop(max(left, key=partial(_worth, left, wanted, unseen)))
        for name, value in case.items():
            unseen[name].discard(value)
    return set(range(len(cases))) - set(left)


def _worth(cases, wanted, unseen, number):
    case = cases[number]
    return sum(case[name] == wanted[name] for name in wanted), sum(case[name] in unseen[name] for name in unseen)
