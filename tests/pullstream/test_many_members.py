"""Many sources in a fan-in, many keys in groups: each one more costs what the first ones did."""

import sys
from pathlib import Path

import pytest

import pullstream as ps
import timely

PACKAGES = [Path(timely.__file__).parent, Path(ps.__file__).parent]
# Noticing a deadlock looks at every task, and is counted on its own.
NOT_COUNTED = [Path(ps.__file__).parent / "engine" / "runtime"]


def counted(file, known):
    """Whether a file is one of those whose work is counted."""
    if file not in known:
        path = Path(file)
        inside = any(package in path.parents for package in PACKAGES)
        known[file] = inside and not any(folder in path.parents for folder in NOT_COUNTED)
    return known[file]


def lines_run(pipeline):
    """How many lines of these files a run executes: the work it does, whatever the machine."""
    lines, known = 0, {}

    def step(frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return step

    def enter(frame, _event, _argument):
        return step if counted(frame.f_code.co_filename, known) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        ps.run(pipeline)
    finally:
        sys.settrace(before)
    return lines


SHAPES = {
    "concat": lambda n: ps.concat(*[ps.once(1)] * n),
    "merge of one each": lambda n: ps.merge(*[ps.once(1)] * n),
    "merge": lambda n: ps.merge(*[ps.empty()] * n),
    "zip": lambda n: ps.zip(*[ps.once(1)] * n),
    "merge_sorted": lambda n: ps.merge_sorted(*[ps.once(1)] * n),
    "combine_latest": lambda n: ps.combine_latest(*[ps.once(1)] * n),
    "group_by": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.map(str))),
    "group_by of what ends": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.take(1))),
    "group_by of what waits": lambda n: ps.pipe(ps.values(range(n)), ps.group_by(lambda k: k, ps.count_by_key())),
    "flatten": lambda n: ps.pipe(ps.values([ps.once(1)] * n), ps.flatten()),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_as_many_members_cost_about_four_times_as_much(shape):
    """No member has the others looked at: neither when it comes, nor when it answers, nor when it ends."""
    few, many = (lines_run(ps.pipe(SHAPES[shape](n), ps.drain())) for n in (20, 80))
    assert many < 6 * few, (few, many)


def test_a_member_that_ends_has_no_more_planned_than_what_is_above_it(monkeypatch):
    """What the tracker plans, in places, grows with the sources of a merge, and not with their square."""
    planned = []
    make_plan = timely.tracker.make_plan

    def watched(graph, observed):
        plan = make_plan(graph, observed)
        planned.append(len(plan.jump))
        return plan

    monkeypatch.setattr(timely.tracker, "make_plan", watched)
    number = 300
    assert ps.run(ps.pipe(ps.merge(*[ps.empty()] * number), ps.collect())) == []
    assert sum(planned) < 12 * number
