"""Dependencies between a module's edges: how one edge ends follows from how the others end (R6, R7, R8)."""

from collections.abc import Callable, Iterable

from typing_extensions import override

from pullstream.checker.edge import WatchedEdge, Watching
from pullstream.history.diagram import module_diagram
from pullstream.protocol import DONE, Event


def verify_beginning(edge: WatchedEdge, output: WatchedEdge | None) -> None:
    """Verify at the first request of `edge`: if it is an ask, the module that sends it must have been asked itself."""
    if edge.asked and output is not None and not output.requests:
        edge.violated("R2", edge.below, "it asked before it was asked itself")


def verify_end(
    edge: WatchedEdge,
    inputs: Iterable[WatchedEdge],
    how: Event,
    release_failed: Callable[[object], bool],
    undelivered: BaseException | None = None,
) -> None:
    """Verify, when `edge` has ended, that the inputs of its module have ended with the same reason.

    `release_failed` tells whether a failure comes from the module's own release. `undelivered` is a failure of the
    module that a termination from downstream replaced: the inputs may have received either.
    """
    inputs = list(inputs)
    # A failed release comes after all upstream edges were notified (R8).
    refused = how is Event.FAIL and any(edge.ending is other.refusal for other in inputs)
    if any(edge.ending is other.ending for other in inputs):
        rule = "R6"  # the ending was passed on
    else:
        rule = {Event.END: "R7", Event.FAIL: "R8"}.get(how, "R6")
    for other in inputs:
        if other.requests and not other.over:
            what = f"it has ended, but its upstream, {other.above.name}, has not"
        elif undelivered is not None and other.reason is undelivered:
            continue
        elif other.terminated_at > edge.latest_at and not (refused or _same_reason(edge, other, how, release_failed)):
            reason = {Event.END: None, Event.FAIL: edge.ending}.get(how, edge.reason)
            what = f"its upstream was sent {_sent(other.reason)} instead of {_sent(reason)}"
        else:
            continue
        edge.violated(rule, edge.above, what, module_diagram(edge.events, other.events))


def _same_reason(edge: WatchedEdge, other: WatchedEdge, how: Event, release_failed: Callable[[object], bool]) -> bool:
    if how is Event.END:
        return other.reason is None
    if how is Event.FAIL:
        return edge.ending is other.reason or release_failed(edge.ending)
    return other.reason is edge.reason or edge.ending not in (DONE, edge.reason)


def _sent(reason: object) -> str:
    return "abort" if reason is None else f"error({reason!r})"


class Tie(Watching):
    """The two edges of a transformer that is watched by hand."""

    def __init__(self, above: WatchedEdge, below: WatchedEdge) -> None:
        self._input = above
        self._output = below

    @override
    def began(self, edge: WatchedEdge) -> None:
        if edge is self._input:
            verify_beginning(edge, self._output)

    @override
    def ended(self, edge: WatchedEdge, how: Event) -> None:
        if edge is self._output:
            verify_end(edge, [self._input], how, lambda _: False)
