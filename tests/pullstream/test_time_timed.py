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


def test_a_failure_comes_after_what_was_before_it():
    """R8, and it names the module."""
    got = []
    pipeline = ps.pipe(ps.values([1, 2, 0, 3]), ps.timed(lambda _, n: 6 // n), ps.drain(got.append))
    with pytest.raises(ZeroDivisionError) as caught:
        ps.run(pipeline)
    assert got == [6, 3]
    assert caught.value.__notes__[0].startswith("raised in timed, composed at ")


def test_what_is_refused():
    """What cannot be called, or only be awaited."""

    async def later(time, value):
        return value

    with pytest.raises(ps.CompositionError, match=r"timed\(\) .* needs a callable"):
        ps.timed(3)
    with pytest.raises(ps.CompositionError, match=r"use timed\(\) without a function"):
        ps.timed(later)
