"""Traces of runs that somebody else opens: of a test's, or of whatever a program runs."""

import io
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pullstream.trace.tracer import TraceTo

_TRACES: Final[ContextVar[list[io.StringIO] | None]] = ContextVar("traces", default=None)


@contextmanager
def traced_runs() -> Generator[list[io.StringIO]]:
    """Trace every run that is opened in the block, but for those that write their trace to a file.

    It gives the list of the traces, one that a run has been given as `io.StringIO` included, in the order in which the
    runs are opened; one is whole when its run is over.

    >>> import pullstream as ps
    >>> from pullstream.trace import Trace, judge, traced_runs
    >>> with traced_runs() as traces:
    ...     ps.run(ps.pipe(ps.values("abc"), ps.collect()), limit=1)
    ['a', 'b', 'c']
    >>> [judge(Trace.of(trace.getvalue().splitlines())).ok for trace in traces]
    [True]
    """
    traces: list[io.StringIO] = []
    before = _TRACES.set(traces)
    try:
        yield traces
    finally:
        _TRACES.reset(before)


def trace_of_a_run(own: "TraceTo | None") -> "TraceTo | None":
    """The place for the trace of a run that is being opened: its own, or one that somebody else wants, or none."""
    traces = _TRACES.get()
    if traces is None:
        return own
    trace = io.StringIO() if own is None else own
    if isinstance(trace, io.StringIO):
        traces.append(trace)
    return trace
