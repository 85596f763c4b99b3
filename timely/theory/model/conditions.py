"""Conditions against sending into the past: Definition 3, Conditions 1 and 2, and transitivity (000, section 3.2)."""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from .could_result_in import CouldResultIn, Pointstamp, bits, events_of, local_states
from .nodes import Program
from .times import Time


class Request(NamedTuple):
    """A new request that an event at `time` at `node` may make: a notification for `requested`."""

    node: str
    time: Time
    requested: Time


def new_requests(program: Program) -> frozenset[Request]:
    """Find the requests that an event may add in any local state, if not already pending (the N - N1 of Def. 3)."""
    return frozenset(
        Request(node, event.time, requested)
        for node, behaviour in program.nodes.items()
        for state, pending in local_states(program, node)
        for event in events_of(program, node)
        for requested in behaviour.react(state, event).requests - pending
    )


def could_request(requests: Iterable[Request], node: str, time: Time, later: Time) -> bool:
    """Say whether (node, time) may lead to a notification request at (node, later) (000, Def. 3).

    >>> could_request([Request("p", 2, 3)], "p", 1, 4), could_request([Request("p", 2, 3)], "p", 3, 4)
    (True, False)
    """
    return any(r.node == node and time <= r.time and r.requested <= later for r in requests)


def condition_1(requests: Iterable[Request], times: Iterable[Time]) -> Request | None:
    """Find an event that requests a notification not at or after its own time (000, Condition 1); None if none does.

    A request for the event's own time is allowed: a node may repeat the same request forever.

    >>> condition_1([Request("p", 1, 0)], (0, 1))
    Request(node='p', time=1, requested=0)
    """
    known, times = tuple(requests), tuple(times)
    nodes = {request.node for request in known}
    for node, time, later in product(sorted(nodes), times, times):
        if not time <= later and could_request(known, node, time, later):
            return Request(node, time, later)
    return None


def condition_2(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp] | None:
    """Find a node that could reach one of its own internal input edges in the past (000, Condition 2); None if none.

    Input edges are left out, as in the paper: nothing leads to them, so there is nothing to compare.
    """
    for edge, time, later in product(leads.graph.edges, leads.times, leads.times):
        if edge.source is not None and edge.destination is not None and not time <= later:
            here, there = Pointstamp(edge.destination, time), Pointstamp(edge.name, later)
            if leads(here, there):
                return here, there
    return None


def intransitive(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp, Pointstamp] | None:
    """Find three pointstamps where each could result in the next but the first not in the last; None if transitive."""
    for i, row in enumerate(leads.rows):
        for j in bits(row):
            missing = leads.rows[j] & ~row
            if missing:
                return leads.stamps[i], leads.stamps[j], leads.stamps[next(bits(missing))]
    return None


def embedding(leads: CouldResultIn) -> dict[Pointstamp, frozenset[Pointstamp]]:
    """Map each pointstamp to the set of those it could result in: the universal time of 000, Prop. 2.

    Ordered by reverse inclusion, these sets form a partial order. Where could-result-in is transitive, one pointstamp
    could result in another exactly when its set is at or before (contains) the other's.
    """
    return {stamp: leads.unmask(row) for stamp, row in zip(leads.stamps, leads.rows, strict=True)}
