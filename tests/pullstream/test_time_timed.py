"""`timed`: the times as values."""

import pytest

import pullstream as ps

DAYS = [(1, "a"), (1, "b"), (2, "c")]


def run(transformer, limit=4096):
    days = ps.values(DAYS, time=lambda day: day[0])
    return ps.run(ps.pipe(days, transformer, ps.collect(timed=True)), limit=limit, check="strict")


@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
def test_times_come_with_their_values(limit):
    """As pairs, or as a function makes of them; and they stay at these times."""
    assert run(ps.timed(), limit) == [(day, (day, (day, letter))) for day, letter in DAYS]
    assert run(ps.timed(lambda day, value: f"{value[1]}{day}"), limit) == [(1, "a1"), (1, "b1"), (2, "c2")]


def test_without_times_all_are_at_zero():
    """As everywhere."""
    assert ps.run(ps.pipe(ps.values("ab"), ps.timed(), ps.collect())) == [(0, "a"), (0, "b")]
