"""Faults that the project has had are found again when they are put back."""

import pytest

from tests.breaks import ROOT, copied
from tests.pullstream.shake.faults import load, outcome
from tests.pullstream.shake.scenes import SCENES

FAULTS = {each.name: each for each in load()}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_can_be_put_back(name):
    assert not FAULTS[name].refused(ROOT)
    assert FAULTS[name].scene in SCENES


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, tmp_path):
    found = outcome(FAULTS[name], copied(tmp_path), 600)

    assert found.good, found.detail
