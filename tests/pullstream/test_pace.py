"""The pace of a sink follows how long others have to wait, and not how much work one answer takes."""

import pytest

import pullstream as ps


@pytest.mark.parametrize("module", [ps.filter(lambda n: n % 25_000 == 0), ps.batch(25_000), ps.skip(75_000)])
def test_work_that_breathes_does_not_slow_the_sink_down(module, counting, probe):
    """A module that takes long for each answer, and lets others have their turns, is not asked for less and less."""
    ps.run(ps.pipe(counting(probe, 100_000), module, ps.drain()))
    assert len(probe.asked) < 25_000
