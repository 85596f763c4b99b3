"""The edges of a trace, replayed: each answer belongs to a request, and an ended edge answers no value (R1, R5)."""

from collections.abc import Iterator, Sequence

import attrs

from pullstream.protocol import TRANSITIONS, Event, State
from pullstream.trace.times import Json


@attrs.define
class _Replayed:
    requests: int = 0
    outstanding: set[int] = attrs.field(factory=set[int])
    state: State = State.OPEN


class Edges:
    """The edges of a run, as far as seen."""

    def __init__(self) -> None:
        self._edges: dict[int, _Replayed] = {}

    def see(self, kind: str, about: Sequence[Json]) -> Iterator[tuple[str, str]]:
        """Replay an event; yield the rules it breaks, and how."""
        match kind, about:
            case (("ask" | "abort" | "error" | "abort soon" | "error soon"), [int(number), _, int(request), *_]):
                edge = self._edges.setdefault(number, _Replayed())
                if request != edge.requests + 1:
                    yield "R1", f"request {request} on edge {number} comes after request {edge.requests}"
                edge.requests = request
                if not kind.endswith("soon"):
                    edge.outstanding.add(request)
                if kind != "ask":
                    edge.state = TRANSITIONS[edge.state, Event(kind.removesuffix(" soon"))]
            case (("value" | "done" | "failed" | "cancelled"), [int(number), _, int(request), *_]):
                edge = self._edges.setdefault(number, _Replayed())
                if request not in edge.outstanding:
                    yield "R1", f"request {request} on edge {number} is answered, but was not outstanding"
                edge.outstanding.discard(request)
                if kind == "value" and edge.state is not State.OPEN:
                    yield "R5", f"a value came on edge {number} after the termination"
            case _:
                pass
