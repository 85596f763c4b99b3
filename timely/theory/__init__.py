"""Definitions that the tracker is checked against, and more that can be built on it. Production code needs none of it.

- `queries`: progress tracking as three plain fixpoints (003). `invariants`: the conditions that hold in a tracker
  between any two steps, and `CheckedTracker`, which checks them.
- `words`: paths through loops, compared letter by letter (002).
- `capability`, `notify`: the right to send at a time, and notifications that a time is complete.
- `operate`, `nesting`, `paths`: dataflows inside dataflows (004).
- `calls`: times of recursive calls (000).
- `model`: the model of 000 itself, to check all of this against.
"""

import typing as _typing

from ..offered import offered as _offered
from .calls import CallTime as CallTime
from .capability import Capability as Capability, CapabilitySet as CapabilitySet, Output as Output
from .invariants import (
    CheckedTracker as CheckedTracker,
    InvariantError as InvariantError,
    check_invariants as check_invariants,
)
from .nesting import Operators as Operators, Subgraph as Subgraph
from .notify import Notification as Notification, Notificator as Notificator
from .operate import ChangeBatch as ChangeBatch, Leaf as Leaf, Operate as Operate, Progress as Progress
from .queries import find_cycles as find_cycles, frontier as frontier, summarize as summarize
from .words import compare_words as compare_words, loop_condition as loop_condition

if not _typing.TYPE_CHECKING:  # type checkers go by the imports
    __dir__, __all__ = _offered(globals())
