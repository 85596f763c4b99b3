"""Why a record is there, also where a program asks for what is not there, and may fail on parts of its input."""

import random
from collections import Counter

import pytest

from pullstream.incremental import explain
from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import Order
from tests.pullstream.incremental.programs import PROGRAMS


def given(program, inputs):
    """What a program makes of its inputs; nothing if it fails on them."""
    flow = Dataflow(program, Order())
    for name, rows in inputs.items():
        flow.take(name, (), [(row, 1) for row in rows])
    there = Counter()
    for _, record, diff in flow.run(()):
        there[record] += diff
    return there


def holds(program, inputs, record):
    try:
        return given(program, inputs)[record] > 0
    except Exception:
        return False


def check(program, inputs, record):
    """An explanation is a part of the input, enough by itself, and none of it can be left out."""
    why = explain(program, inputs, record)
    assert all(Counter(rows) <= Counter(inputs[name]) for name, rows in why.items())
    assert holds(program, why, record), why
    for name, rows in why.items():
        for n in range(len(rows)):
            assert not holds(program, why | {name: rows[:n] + rows[n + 1 :]}, record), (why, name, rows[n])


def pairs_of(rnd, most):
    return [(rnd.randrange(4), rnd.randrange(4)) for _ in range(rnd.randint(1, most))]


def check_some(program, rnd, most=12):
    """Explain a few of a program's records; say of how many."""
    inputs = {"left": pairs_of(rnd, most), "right": pairs_of(rnd, most)}
    try:
        there = given(program, inputs)
    except Exception:
        # One that fails on all of the input has nothing to explain.
        return 0
    found = sorted((record for record, count in there.items() if count > 0), key=repr)
    some = rnd.sample(found, min(2, len(found)))
    for record in some:
        check(program, inputs, record)
    return len(some)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_explains_what_it_gives(name):
    rnd = random.Random(name)
    assert sum(check_some(PROGRAMS[name][0], rnd) for _ in range(4))


def test_what_a_program_cannot_do_without_is_needed():
    def stock(came, sold):
        return came.concat(sold.negate()).count()

    inputs = {"came": ["tea"] * 3 + ["rye"] * 2, "sold": ["tea", "rye"]}
    assert explain(stock, inputs, ("tea", 2)) == {"came": ["tea"] * 3, "sold": ["tea"]}

    def share(parts, whole):
        return parts.join(whole, lambda _, part, all_: 12 // (part - all_))

    inputs = {"parts": [(0, 5), (0, 3)], "whole": [(0, 1)]}
    assert explain(share, inputs, 3) == {"parts": [(0, 5)], "whole": [(0, 1)]}


def test_a_program_that_fails_on_all_of_its_input_says_why():
    with pytest.raises(ZeroDivisionError):
        explain(lambda numbers: numbers.map(lambda n: 1 // n), {"numbers": [0, 1]}, 1)
