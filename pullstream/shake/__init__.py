"""Simulation: runs a pipeline under many schedules, and replays the one that breaks.

In a test, `shake(make, seeds=1000).check()`; from a shell, `python -m pullstream shake mine.py:make --seeds 1000`.
"""

from pullstream.late import publish
from pullstream.shake.report import Difference as Difference, ShakeError as ShakeError, Shaken as Shaken
from pullstream.shake.shaking import shake as shake
from pullstream.shake.simulation import Delivery as Delivery, Simulated as Simulated

publish(__name__)
