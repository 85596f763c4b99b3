"""Traces: everything that happens in a run, step by step, judged by the model, drawn, and gone through in a page.

`run(pipeline, trace="run.ndjson")` writes one; every event of every edge is in it at `limit=1`, stages that run as one
(`map -> filter`) being one module. `Trace.read` reads it, `judge` has the model of timely dataflow replay it.
"""

from pullstream.trace.file import Trace, TraceError
from pullstream.trace.judge import Objection, Verdict, judge

__all__ = ["Objection", "Trace", "TraceError", "Verdict", "judge"]
