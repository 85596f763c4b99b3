"""Explanations of records, also for programs that test for absence or fail on parts of their input."""

import random
from collections import Counter

import pytest

from pullstream.incremental import explain
from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import Order
from tests.pullstream.incremental.programs import PROGRAMS


def given(program, inputs):
    """A program's output for its inputs."""
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
    """Check that an explanation is a part of the input, sufficient by itself, and minimal."""
    why = explain(program, inputs, record)
    assert all(Counter(rows) <= Counter(inputs[name]) for name, rows in why.items())
    assert holds(program, why, record), why
    for name, rows in why.items():
        for n in range(len(rows)):
            assert not holds(program, why | {name: rows[:n] + rows[n + 1 :]}, record), (why, name, rows[n])


def pairs_of(rnd, most):
    return [(rnd.randrange(4), rnd.randrange(4)) for _ in range(rnd.randint(1, most))]


def check_some(program, rnd, most=12):
    """Explain a few of a program's records; return how many."""
    inputs = {"left": pairs_of(rnd, most), "right": pairs_of(rnd, most)}
    try:
        there = given(program, inputs)
    except Exception:
        # A program that fails has no records to explain.
        return 0
    found = sorted((record for record, count in there.items() if count > 0), key=repr)
    some = rnd.sample(found, min(2, len(found)))
    for record in some:
        check(program, inputs, record)
    return len(some)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_explains_its_results(name):
    rnd = random.Random(name)
    assert sum(check_some(PROGRAMS[name][0], rnd) for _ in range(4))


def test_explanations_keep_needed_records():
    def stock(bought, sold):
        return bought.concat(sold.negate()).count()

    inputs = {"bought": ["tea"] * 3 + ["rye"] * 2, "sold": ["tea", "rye"]}
    assert explain(stock, inputs, ("tea", 2)) == {"bought": ["tea"] * 3, "sold": ["tea"]}

    def share(parts, whole):
        return parts.join(whole, lambda _, part, all_: 12 // (part - all_))

    inputs = {"parts": [(0, 5), (0, 3)], "whole": [(0, 1)]}
    assert explain(share, inputs, 3) == {"parts": [(0, 5)], "whole": [(0, 1)]}


def test_explaining_a_failing_program_raises_its_error():
    with pytest.raises(ZeroDivisionError):
        explain(lambda numbers: numbers.map(lambda n: 1 // n), {"numbers": [0, 1]}, 1)
