"""Traces of runs that somebody else opens: of a test's, or of whatever a program runs."""

import io
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_TRACES: Final[ContextVar[list[io.StringIO] | None]] = ContextVar("traces", default=None)


@contextmanager
def traced_runs() -> Generator[list[io.StringIO]]:
    """Trace every run that is opened in the block, but for those that write a trace of their own.

    It gives the list of the traces, in the order in which the runs are opened; one is whole when its run is over.

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


def trace_of_a_run() -> io.StringIO | None:
    """The place for the trace of a run that is being opened, if somebody wants it."""
    traces = _TRACES.get()
    if traces is None:
        return None
    traces.append(io.StringIO())
    return traces[-1]
