"""The propositions and theorems of 000: functions that look for a counterexample and return None if there is none.

The static properties (1 to 3, Theorem 1) take a could-result-in relation. The dynamic ones (7 to 9, Theorem 2) check
the transitions of a machine. `proposition_4` to `proposition_6`, about call stacks, are in `recursion`. The caller must
establish the assumptions of a property (Conditions 1 and 2, inputs that do not grow), so that tests can also show the
effect of leaving one out.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from .conditions import condition_2, embedding, intransitive
from .could_result_in import CouldResultIn, Pointstamp, bits, proof_lengths
from .explore import Transition
from .machine import Action, Machine, Notify, Receive, State
from .nodes import History, g


def proposition_1_1(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp] | None:
    """Check that a node reaches an edge through an outgoing edge, and from there by a strictly shorter proof."""
    edges = [edge.name for edge in leads.graph.edges]
    for early in (Pointstamp(p, t) for p in leads.graph.nodes for t in leads.times):
        for late in (Pointstamp(e, t) for e in edges for t in leads.times):
            for length in proof_lengths(leads, early, late):
                firsts = (Pointstamp(d.name, t) for d in leads.graph.outgoing[early.location] for t in leads.times)
                if not any(
                    leads(early, first) and any(rest < length for rest in proof_lengths(leads, first, late))
                    for first in firsts
                ):
                    return early, late
    return None


def proposition_1_2(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp] | None:
    """Check that a pointstamp could result in another at its location only if its time is at or before the other's."""
    for i, early in enumerate(leads.stamps):
        for j in bits(leads.rows[i]):
            late = leads.stamps[j]
            if early.location == late.location and not early.time <= late.time:
                return early, late
    return None


def proposition_1_3(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp] | None:
    """Check that if one pointstamp could result in another, earlier ones could, too, and also in later ones."""
    same_or_later = [
        leads.mask(s for s in leads.stamps if s.location == stamp.location and stamp.time <= s.time)
        for stamp in leads.stamps
    ]
    for i, early in enumerate(leads.stamps):
        implied = 0
        for k in bits(same_or_later[i]):
            for j in bits(leads.rows[k]):
                implied |= same_or_later[j]
        missing = implied & ~leads.rows[i]
        if missing:
            return early, leads.stamps[next(bits(missing))]
    return None


def theorem_1(leads: CouldResultIn) -> tuple[Pointstamp, ...] | None:
    """Check that could-result-in is transitive iff Condition 2 holds; if only one of them fails, give its failure."""
    broken, past = intransitive(leads), condition_2(leads)
    if (broken is None) == (past is None):
        return None
    return broken if broken is not None else past


def proposition_2(leads: CouldResultIn) -> tuple[Pointstamp, Pointstamp] | None:
    """Check that times embed into a universal partial order that decides could-result-in; give a wrongly decided pair.

    The candidate maps a pointstamp to the set of those it could result in, ordered by reverse inclusion. It works
    whenever any embedding does: the order of an embedding is transitive, and for a transitive relation this candidate
    is right.
    """
    universal = embedding(leads)
    for early, late in product(leads.stamps, repeat=2):
        if leads(early, late) != (universal[early] >= universal[late]):
            return early, late
    return None


def proposition_3(leads: CouldResultIn) -> frozenset[Pointstamp] | None:
    """Check that the least upward closed set equals the image; give a set of pointstamps for which it does not.

    Both sides distribute over unions, so the singletons decide it for all sets.
    """
    for mask in (1 << i for i in range(len(leads.stamps))):
        if leads.close_up(mask) != leads.image(mask):
            return leads.unmask(mask)
    return None


def proposition_7(machine: Machine, start: State, walk: Iterable[Transition[State, Action]]) -> State | None:
    """Check that a local history of each node explains every state; give the first state that is not explained."""
    nodes = machine.program.graph.nodes
    histories = {
        p: History((state, requests)) for p, state, requests in zip(nodes, start.local, start.requests, strict=True)
    }
    for step in walk:
        if isinstance(step.action, Receive | Notify):
            histories[step.action.node] = histories[step.action.node].then(step.action.event)
        for i, p in enumerate(nodes):
            explained = g(machine.program.nodes[p], histories[p])
            if (explained.state, explained.requests) != (step.after.local[i], step.after.requests[i]):
                return step.after
    return None


def proposition_8(machine: Machine, step: Transition[State, Action]) -> frozenset[Pointstamp] | None:
    """Check that Clock grows only if inputs do (given Conditions 1 and 2); give the pointstamps new in Clock.

    With Clock as the least fixpoint, as in the paper's definition, Condition 2 is not needed. With the image it is.
    """
    if not machine.inputs_do_not_grow(step.before, step.after):
        return None
    new = machine.clock(step.after) & ~machine.clock(step.before)
    return machine.leads.unmask(new) if new else None


class Watched(NamedTuple):
    """A state of the machine with a history variable: all pointstamps that have been out of Clock at some moment."""

    state: State
    gone: int


def watch(machine: Machine, state: State, gone: int = 0) -> Watched:
    """Start or continue to watch a state: add the pointstamps that are not in Clock now to `gone`."""
    everything = (1 << len(machine.leads.stamps)) - 1
    return Watched(state, gone | everything & ~machine.clock(state))


def watched_steps(machine: Machine, watched: Watched) -> Iterator[tuple[Action, Watched]]:
    """List the machine's steps on watched states, for an explorer."""
    for action, after in machine.steps(watched.state):
        yield action, watch(machine, after, watched.gone)


def proposition_9(machine: Machine, watched: Watched) -> frozenset[Pointstamp] | None:
    """Check that a pointstamp at an edge stays out of Clock once it has left; give those that came back."""
    nodes = machine.program.graph.nodes
    back = machine.leads.unmask(machine.clock(watched.state) & watched.gone)
    at_edges = frozenset(stamp for stamp in back if stamp.location not in nodes)
    return at_edges or None


def theorem_2(machine: Machine, watched: Watched) -> tuple[Pointstamp, Pointstamp] | None:
    """Check that once (e, t) is out of Clock, no message on e is at or before t; give such a message and (e, t)."""
    for edge, queue in zip(machine.program.graph.edges, watched.state.queues, strict=True):
        for message in queue:
            here = Pointstamp(edge.name, message.time)
            for stamp in machine.leads.unmask(watched.gone):
                if stamp.location == edge.name and message.time <= stamp.time:
                    return here, stamp
    return None
