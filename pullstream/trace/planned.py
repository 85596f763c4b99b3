"""The graph of a pipeline that does not run."""

from pullstream.blueprint import Blueprint
from pullstream.engine.assembly import Assembly
from pullstream.engine.run import Run
from pullstream.engine.runtime.busy import BusyClock
from pullstream.trace.file import Trace
from pullstream.trace.graph import graph_of


def planned(pipeline: Blueprint) -> Trace:
    """The trace of a run that has not begun: its modules, for `draw_graph` and `mermaid`, and no event.

    >>> import pullstream as ps
    >>> from pullstream.trace import mermaid, planned
    >>> print(mermaid(planned(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.filter(str.isalpha), ps.collect()))))
    flowchart TD
        m0["values"]
        m1["map -> filter"]
        m2["collect"]
        m0 --> m1
        m1 --> m2

    Its modules are made, as a run makes them, and nothing is acquired, called or asked for.
    """
    run = Run(limit=1, release_timeout=0, on_failure=_nobody)
    run.clock = BusyClock()
    Assembly(run.scope).sink(pipeline, None)
    return Trace(graph_of(run.scope.sidecar, [], limit=1).header, [])


def _nobody(failure: BaseException) -> None:
    """Hear of no failure: nothing runs."""
