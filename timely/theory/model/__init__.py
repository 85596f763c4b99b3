"""The formal model of timely dataflow in executable form: definitions, state machine, properties, replay (000).

This package is an oracle. It shares no code with the tracker, prefers the paper's definitions to speed, and works in
small finite worlds (except `record`, which takes times of any kind). Read the files in this order: `times`, `graph`,
`nodes` (sections 2.1, 2.2); `could_result_in`, `conditions` (3.1 to 3.3); `recursion` (3.4); `machine`, `explore`,
`composition` (4); `properties` (every proposition and theorem by its name); `small` (the worlds they are tested on);
`record` (checks a recorded run against the model).
"""

import typing as _typing

from ...offered import offered as _offered
from .composition import (
    Composite as Composite,
    compose as compose,
    compose_graphs as compose_graphs,
    insert_buffer as insert_buffer,
    local_relations_closed as local_relations_closed,
    shared_edges as shared_edges,
)
from .conditions import (
    Request as Request,
    condition_1 as condition_1,
    condition_2 as condition_2,
    could_request as could_request,
    embedding as embedding,
    intransitive as intransitive,
    new_requests as new_requests,
)
from .could_result_in import (
    CouldResultIn as CouldResultIn,
    Pointstamp as Pointstamp,
    Step as Step,
    local_states as local_states,
    one_steps as one_steps,
    proof_lengths as proof_lengths,
)
from .explore import (
    Explorer as Explorer,
    Transition as Transition,
    random_walk as random_walk,
    stutter_free as stutter_free,
    visible_traces as visible_traces,
)
from .graph import Edge as Edge, ModelError as ModelError, ModelGraph as ModelGraph
from .machine import (
    Inp as Inp,
    Machine as Machine,
    Notify as Notify,
    Outp as Outp,
    Receive as Receive,
    State as State,
    acts as acts,
    is_subsequence as is_subsequence,
)
from .nodes import (
    Event as Event,
    History as History,
    Message as Message,
    Node as Node,
    Notified as Notified,
    Program as Program,
    Reaction as Reaction,
    Received as Received,
    buffer as buffer,
    g as g,
    relation_node as relation_node,
)
from .record import (
    Awaited as Awaited,
    Completed as Completed,
    Dismissed as Dismissed,
    Held as Held,
    Plan as Plan,
    Released as Released,
    Replay as Replay,
    Sent as Sent,
    Settled as Settled,
    Taken as Taken,
    Together as Together,
    Violation as Violation,
    replay as replay,
)
from .recursion import (
    Body as Body,
    Point as Point,
    Recursion as Recursion,
    StackClass as StackClass,
    first_difference as first_difference,
    stacks_lead as stacks_lead,
)
from .times import SHAPES as SHAPES, Tagged as Tagged, Time as Time, minimal as minimal

if not _typing.TYPE_CHECKING:  # type checkers go by the imports
    __dir__, __all__ = _offered(globals())
