"""Simulation: runs a pipeline under many schedules, and replays the one that breaks.

In a test, `shake(make, seeds=1000).check()`; from a shell, `python -m pullstream shake mine.py:make --seeds 1000`.
"""

from pullstream.shake.report import Difference, ShakeError, Shaken
from pullstream.shake.shaking import shake
from pullstream.shake.simulation import Delivery, Simulated

__all__ = ["Delivery", "Difference", "ShakeError", "Shaken", "Simulated", "shake"]


def __dir__() -> list[str]:
    return __all__
