"""Definitions that the tracker is checked against, and more that can be built on it. Production code needs none of it.

- `queries`: progress tracking as three plain fixpoints (003). `invariants`: the conditions that hold in a tracker
  between any two steps, and `CheckedTracker`, which checks them.
- `words`: paths through loops, compared letter by letter (002).
- `capability`, `notify`: the right to send at a time, and notifications that a time is complete.
- `operate`, `nesting`, `paths`: dataflows inside dataflows (004).
- `calls`: times of recursive calls (000).
- `model`: the model of 000 itself, to check all of this against.
"""

from .calls import CallTime
from .capability import Capability, CapabilitySet, Output
from .invariants import CheckedTracker, InvariantError, check_invariants
from .nesting import Operators, Subgraph
from .notify import Notification, Notificator
from .operate import ChangeBatch, Leaf, Operate, Progress
from .queries import find_cycles, frontier, summarize
from .words import compare_words, loop_condition

__all__ = [
    "CallTime",
    "Capability",
    "CapabilitySet",
    "ChangeBatch",
    "CheckedTracker",
    "InvariantError",
    "Leaf",
    "Notification",
    "Notificator",
    "Operate",
    "Operators",
    "Output",
    "Progress",
    "Subgraph",
    "check_invariants",
    "compare_words",
    "find_cycles",
    "frontier",
    "loop_condition",
    "summarize",
]


def __dir__() -> list[str]:
    return __all__
