"""The theory of progress tracking, executable: pure, synchronous, no I/O."""

from timely.antichain import Antichain
from timely.calls import CallBody, CallTime
from timely.capability import Capability, CapabilitySet, Output
from timely.changes import ChangeBatch
from timely.errors import (
    CapabilityError,
    CycleError,
    GraphError,
    NegativeCountError,
    RetreatError,
    SummaryError,
    TimeDomainError,
    TimelyError,
)
from timely.explain import Blocker
from timely.graph import Graph, GraphBuilder
from timely.invariants import InvariantError
from timely.location import Location, Source, Target
from timely.loops import (
    ENTER,
    FEEDBACK,
    LEAVE,
    LoopSummary,
    LoopTime,
    NaiadSummary,
    NaiadTime,
    compare_words,
    loop_condition,
)
from timely.mutable import MutableAntichain
from timely.nesting import Operators, Subgraph
from timely.notify import Notification, Notificator
from timely.operate import Leaf, Operate, Progress
from timely.order import BEGINNING, less_equal, less_than, sort_key
from timely.products import Componentwise, Lexicographic, Product, join
from timely.queries import find_cycles, frontier, summarize
from timely.summary import IDENTITY, Delay, Identity, MapTime, Summary
from timely.tracker import Tracker

__all__ = [
    "BEGINNING",
    "ENTER",
    "FEEDBACK",
    "IDENTITY",
    "LEAVE",
    "Antichain",
    "Blocker",
    "CallBody",
    "CallTime",
    "Capability",
    "CapabilityError",
    "CapabilitySet",
    "ChangeBatch",
    "Componentwise",
    "CycleError",
    "Delay",
    "Graph",
    "GraphBuilder",
    "GraphError",
    "Identity",
    "InvariantError",
    "Leaf",
    "Lexicographic",
    "Location",
    "LoopSummary",
    "LoopTime",
    "MapTime",
    "MutableAntichain",
    "NaiadSummary",
    "NaiadTime",
    "NegativeCountError",
    "Notification",
    "Notificator",
    "Operate",
    "Operators",
    "Output",
    "Product",
    "Progress",
    "RetreatError",
    "Source",
    "Subgraph",
    "Summary",
    "SummaryError",
    "Target",
    "TimeDomainError",
    "TimelyError",
    "Tracker",
    "compare_words",
    "find_cycles",
    "frontier",
    "join",
    "less_equal",
    "less_than",
    "loop_condition",
    "sort_key",
    "summarize",
]
