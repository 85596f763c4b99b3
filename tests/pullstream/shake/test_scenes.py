"""The scenes are right under every schedule, and past faults are found when they are put back."""

import pytest

from pullstream.shake import shake
from tests.breaks import ROOT, copied
from tests.pullstream.shake.faults import load, outcome
from tests.pullstream.shake.scenes import CHECKS, COMPARED, SCENES, journaled
from tests.sampling import amount

SEEDS = {"side_inside_fails": 100, "loop_left": 40, "mapped_times": 30, "read_many": 1}
"""Numbers of seeds for scenes that once showed faults."""


@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_breaks_a_scene(name):
    scene = SCENES[name]
    compare = COMPARED.get(name, "auto")

    shake(
        scene, amount(SEEDS.get(name, 3), 1000), journal=journaled(scene), compare=compare, checks=CHECKS.get(name, ())
    ).check()


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
