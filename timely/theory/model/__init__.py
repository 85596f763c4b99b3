"""The formal model of timely dataflow in executable form: definitions, state machine, properties, replay (000).

This package is an oracle. It shares no code with the tracker, prefers the paper's definitions to speed, and works in
small finite worlds (except `record`, which takes times of any kind). Read the files in this order: `times`, `graph`,
`nodes` (sections 2.1, 2.2); `could_result_in`, `conditions` (3.1 to 3.3); `recursion` (3.4); `machine`, `explore`,
`composition` (4); `properties` (every proposition and theorem by its name); `small` (the worlds they are tested on);
`record` (checks a recorded run against the model).
"""

from .composition import (
    Composite,
    compose,
    compose_graphs,
    insert_buffer,
    local_relations_closed,
    shared_edges,
)
from .conditions import (
    Request,
    condition_1,
    condition_2,
    could_request,
    embedding,
    intransitive,
    new_requests,
)
from .could_result_in import CouldResultIn, Pointstamp, Step, local_states, one_steps, proof_lengths
from .explore import Explorer, Transition, random_walk, stutter_free, visible_traces
from .graph import Edge, ModelError, ModelGraph
from .machine import Inp, Machine, Notify, Outp, Receive, State, acts, is_subsequence
from .nodes import (
    Event,
    History,
    Message,
    Node,
    Notified,
    Program,
    Reaction,
    Received,
    buffer,
    g,
    relation_node,
)
from .record import (
    Awaited,
    Completed,
    Dismissed,
    Held,
    Plan,
    Released,
    Replay,
    Sent,
    Settled,
    Taken,
    Together,
    Violation,
    replay,
)
from .recursion import Body, Point, Recursion, StackClass, first_difference, stacks_lead
from .times import SHAPES, Tagged, Time, minimal

__all__ = [
    "SHAPES",
    "Awaited",
    "Body",
    "Completed",
    "Composite",
    "CouldResultIn",
    "Dismissed",
    "Edge",
    "Event",
    "Explorer",
    "Held",
    "History",
    "Inp",
    "Machine",
    "Message",
    "ModelError",
    "ModelGraph",
    "Node",
    "Notified",
    "Notify",
    "Outp",
    "Plan",
    "Point",
    "Pointstamp",
    "Program",
    "Reaction",
    "Receive",
    "Received",
    "Recursion",
    "Released",
    "Replay",
    "Request",
    "Sent",
    "Settled",
    "StackClass",
    "State",
    "Step",
    "Tagged",
    "Taken",
    "Time",
    "Together",
    "Transition",
    "Violation",
    "acts",
    "buffer",
    "compose",
    "compose_graphs",
    "condition_1",
    "condition_2",
    "could_request",
    "embedding",
    "first_difference",
    "g",
    "insert_buffer",
    "intransitive",
    "is_subsequence",
    "local_relations_closed",
    "local_states",
    "minimal",
    "new_requests",
    "one_steps",
    "proof_lengths",
    "random_walk",
    "relation_node",
    "replay",
    "shared_edges",
    "stacks_lead",
    "stutter_free",
    "visible_traces",
]


def __dir__() -> list[str]:
    return __all__
