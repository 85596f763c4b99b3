"""The formal model of timely dataflow in executable form: definitions, state machine, properties, replay (000).

This package is an oracle. It shares no code with the tracker, prefers the paper's definitions to speed, and works in
small finite worlds (except `record`, which takes times of any kind). Read the files in this order: `times`, `graph`,
`nodes` (sections 2.1, 2.2); `could_result_in`, `conditions` (3.1 to 3.3); `recursion` (3.4); `machine`, `explore`,
`composition` (4); `properties` (every proposition and theorem by its name); `small` (the worlds they are tested on);
`record` (checks a recorded run against the model).
"""

import typing as _typing

from ...offered import offered as _offered
from .composition import Composite as Composite
from .composition import compose as compose
from .composition import compose_graphs as compose_graphs
from .composition import insert_buffer as insert_buffer
from .composition import local_relations_closed as local_relations_closed
from .composition import shared_edges as shared_edges
from .conditions import Request as Request
from .conditions import condition_1 as condition_1
from .conditions import condition_2 as condition_2
from .conditions import could_request as could_request
from .conditions import embedding as embedding
from .conditions import intransitive as intransitive
from .conditions import new_requests as new_requests
from .could_result_in import CouldResultIn as CouldResultIn
from .could_result_in import Pointstamp as Pointstamp
from .could_result_in import Step as Step
from .could_result_in import local_states as local_states
from .could_result_in import one_steps as one_steps
from .could_result_in import proof_lengths as proof_lengths
from .explore import Explorer as Explorer
from .explore import Transition as Transition
from .explore import random_walk as random_walk
from .explore import stutter_free as stutter_free
from .explore import visible_traces as visible_traces
from .graph import Edge as Edge
from .graph import ModelError as ModelError
from .graph import ModelGraph as ModelGraph
from .machine import Inp as Inp
from .machine import Machine as Machine
from .machine import Notify as Notify
from .machine import Outp as Outp
from .machine import Receive as Receive
from .machine import State as State
from .machine import acts as acts
from .machine import is_subsequence as is_subsequence
from .nodes import Event as Event
from .nodes import History as History
from .nodes import Message as Message
from .nodes import Node as Node
from .nodes import Notified as Notified
from .nodes import Program as Program
from .nodes import Reaction as Reaction
from .nodes import Received as Received
from .nodes import buffer as buffer
from .nodes import g as g
from .nodes import relation_node as relation_node
from .record import Awaited as Awaited
from .record import Completed as Completed
from .record import Dismissed as Dismissed
from .record import Held as Held
from .record import Plan as Plan
from .record import Released as Released
from .record import Replay as Replay
from .record import Sent as Sent
from .record import Settled as Settled
from .record import Taken as Taken
from .record import Together as Together
from .record import Violation as Violation
from .record import replay as replay
from .recursion import Body as Body
from .recursion import Point as Point
from .recursion import Recursion as Recursion
from .recursion import StackClass as StackClass
from .recursion import first_difference as first_difference
from .recursion import stacks_lead as stacks_lead
from .times import SHAPES as SHAPES
from .times import Tagged as Tagged
from .times import Time as Time
from .times import minimal as minimal

if not _typing.TYPE_CHECKING:  # type checkers go by the imports
    __dir__, __all__ = _offered(globals())
