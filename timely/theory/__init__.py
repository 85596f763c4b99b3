"""The theory beside what runs: what the tracker is checked against, and what more can be built on it.

- `queries`: progress tracking as three plain fixpoints (003); `invariants`: what must hold of a tracker between any two
  steps, and `CheckedTracker`, which looks.
- `words`: paths through loops compared letter by letter (002).
- `capability`, `notify`: the right to send at a time, and being told that one is complete.
- `operate`, `nesting`, `paths`, `changes`: dataflows inside dataflows (004).
- `calls`: times of recursive calls (000).
- `model`: 000 itself, to check all of this against.
"""

from timely.theory.calls import CallBody, CallTime
from timely.theory.capability import Capability, CapabilitySet, Output
from timely.theory.changes import ChangeBatch
from timely.theory.invariants import CheckedTracker, InvariantError, check_invariants
from timely.theory.nesting import Operators, Subgraph
from timely.theory.notify import Notification, Notificator
from timely.theory.operate import Leaf, Operate, Progress
from timely.theory.queries import find_cycles, frontier, summarize
from timely.theory.words import compare_words, loop_condition

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
