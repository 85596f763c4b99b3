"""Traces of runs that other code opens: a test, or any program."""

import io
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pullstream.trace.notes import TraceTo

_TRACES: Final[ContextVar[list[io.StringIO] | None]] = ContextVar("traces", default=None)


@contextmanager
def traced_runs() -> Generator[list[io.StringIO]]:
    """Trace every run opened in the block, except runs that write their trace to a file.

    Returns the list of traces in the order in which the runs are opened, including those that were given an
    `io.StringIO`. A trace is complete when its run has ended.
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
    """Return where to write the trace of a run being opened: its own place, the block's, or None."""
    traces = _TRACES.get()
    if traces is None:
        return own
    trace = io.StringIO() if own is None else own
    if isinstance(trace, io.StringIO):
        traces.append(trace)
    return trace
