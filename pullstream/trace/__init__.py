"""Traces: every event of a run, checked by the model, drawn, and shown step by step in a page.

`run(pipeline, trace="run.ndjson")` writes a trace; `traced_runs()` collects the traces of all runs in a block. With
`limit=1` every value is asked for and answered by itself. Stages that run as one (`map -> filter`) are one module.
`Trace.read` reads a trace, and `judge` replays it with the model of timely dataflow. `draw_edge`, `draw_graph` and
`mermaid` draw it; `planned(pipeline)` makes the graph of a pipeline that does not run, for drawing. `python -m
pullstream view run.ndjson` makes a page that shows each step. With limit 1, a virtual clock and seeded tasks, the same
program always writes the same bytes.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.trace.drawing.edge import draw_edge as draw_edge
    from pullstream.trace.drawing.graph import draw_graph as draw_graph, mermaid as mermaid
    from pullstream.trace.drawing.pipeline import Picture as Picture, draw as draw
    from pullstream.trace.every import traced_runs as traced_runs
    from pullstream.trace.file import Trace as Trace, TraceError as TraceError
    from pullstream.trace.plan import planned as planned
    from pullstream.trace.verdict import Objection as Objection, Verdict as Verdict, judge as judge
    from pullstream.trace.view import page_of as page_of
else:
    __getattr__, __dir__, __all__ = late(__name__)
