"""Faults that the project has had are found again when they are put back."""

import pytest

from tests.breaks import ROOT, copied
from tests.pullstream.shake.faults import load, put_back
from tests.pullstream.shake.scenes import SCENES

FAULTS = load()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_can_be_put_back(name):
    """Its change fits today's code."""
    assert not FAULTS[name].change().refused(ROOT)
    assert FAULTS[name].scene in SCENES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, tmp_path):
    """Within a thousand seeds."""
    assert put_back(FAULTS[name], copied(tmp_path), 1000, 600)
