"""The checker: verifies, while a pipeline runs, that its modules keep the rules of an edge (R1 to R12).

To watch one edge by hand: `watch(reader)`. To check a whole run: `run(pipeline, check=True)`, or `check="strict"`.
"""

from pullstream.checker.pipeline import Checker
from pullstream.checker.rules import RULES, Violation
from pullstream.checker.watch import WatchedReader, watch
from pullstream.history.diagram import diagram, module_diagram
from pullstream.history.events import Act, Batched, Seen

__all__ = [
    "RULES",
    "Act",
    "Batched",
    "Checker",
    "Seen",
    "Violation",
    "WatchedReader",
    "diagram",
    "module_diagram",
    "watch",
]


def __dir__() -> list[str]:
    return __all__
