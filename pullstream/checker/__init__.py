"""The checker: verifies, while a pipeline runs, that its modules keep the rules of an edge (R1 to R12).

To watch one edge by hand: `watch(reader)`. To check a whole run: `run(pipeline, check=True)`, or `check="strict"`.
"""

from pullstream.checker.pipeline import Checker as Checker
from pullstream.checker.rules import RULES as RULES, Violation as Violation
from pullstream.checker.watch import WatchedReader as WatchedReader, watch as watch
from pullstream.history.diagram import diagram as diagram, module_diagram as module_diagram
from pullstream.history.events import Act as Act, Batched as Batched, Seen as Seen
from pullstream.late import publish

publish(__name__)
