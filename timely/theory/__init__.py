"""The theory beside what runs: what the tracker is checked against, and what more can be built on it.

- `queries`: progress tracking as three plain fixpoints (003); `invariants`: what must hold of a tracker between any two
  steps, and `CheckedTracker`, which looks.
- `words`: paths through loops compared letter by letter (002).
- `capability`, `notify`: the right to send at a time, and being told that one is complete.
- `operate`, `nesting`, `paths`, `changes`: dataflows inside dataflows (004).
- `calls`: times of recursive calls (000).
- `model`: 000 itself, to check all of this against.
"""

from .calls import CallBody, CallTime
from .capability import Capability, CapabilitySet, Output
from .changes import ChangeBatch
from .invariants import CheckedTracker, InvariantError, check_invariants
from .nesting import Operators, Subgraph
from .notify import Notification, Notificator
from .operate import Leaf, Operate, Progress
from .queries import find_cycles, frontier, summarize
from .words import compare_words, loop_condition

__all__ = [
    "CallBody",
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
