"""The scenes are right under every schedule; each of these was wrong under some, once."""

import pytest

from pullstream.shake import shake
from tests.pullstream.shake.scenes import CHECKS, COMPARED, SCENES, journaled
from tests.sampling import amount

SEEDS = {"side_inside_fails": 100, "loop_left": 40, "mapped_times": 30, "read_many": 1}
"""The numbers of seeds of scenes that showed faults of the toolkit."""


@pytest.mark.parametrize("name", SCENES)
def test_no_schedule_breaks_a_scene(name):
    """Values, progress, rules and what is left behind are as in the undisturbed run."""
    scene = SCENES[name]
    compare = COMPARED.get(name, "auto")

    shake(
        scene, amount(SEEDS.get(name, 3), 1000), journal=journaled(scene), compare=compare, checks=CHECKS.get(name, ())
    ).check()
