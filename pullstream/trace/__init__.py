"""Traces: every event of a run, checked by the model, drawn, and shown step by step in a page.

`run(pipeline, trace="run.ndjson")` writes a trace; `traced_runs()` collects the traces of all runs in a block. With
`limit=1` every value is asked for and answered alone. Stages that run as one (`map -> filter`) are one module.
`Trace.read` reads a trace, and `judge` replays it with the model of timely dataflow. `draw_edge`, `draw_graph` and
`mermaid` draw it; `planned(pipeline)` makes the graph of a pipeline that does not run, for drawing. `python -m
pullstream view run.ndjson` makes a page that shows each step. With limit 1, a virtual clock and seeded tasks, the same
program always writes the same bytes.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.trace.drawing.edge import draw_edge
    from pullstream.trace.drawing.graph import draw_graph, mermaid
    from pullstream.trace.drawing.pipeline import Picture, draw
    from pullstream.trace.every import traced_runs
    from pullstream.trace.file import Trace, TraceError
    from pullstream.trace.plan import planned
    from pullstream.trace.verdict import Objection, Verdict, judge
    from pullstream.trace.view import page_of
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.trace.drawing.edge": "draw_edge",
            "pullstream.trace.drawing.graph": "draw_graph mermaid",
            "pullstream.trace.drawing.pipeline": "Picture draw",
            "pullstream.trace.every": "traced_runs",
            "pullstream.trace.file": "Trace TraceError",
            "pullstream.trace.verdict": "Objection Verdict judge",
            "pullstream.trace.plan": "planned",
            "pullstream.trace.view": "page_of",
        },
    )

__all__ = [
    "Objection",
    "Picture",
    "Trace",
    "TraceError",
    "Verdict",
    "draw",
    "draw_edge",
    "draw_graph",
    "judge",
    "mermaid",
    "page_of",
    "planned",
    "traced_runs",
]
