"""The theory of progress tracking, executable: pure, synchronous, no I/O."""

from timely.antichain import Antichain
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
from timely.location import Location, Source, Target
from timely.loops import ENTER, FEEDBACK, LEAVE, LoopSummary, LoopTime, NaiadSummary, NaiadTime
from timely.mutable import MutableAntichain
from timely.order import BEGINNING, less_equal, less_than
from timely.products import Componentwise, Lexicographic, Product, join
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
    "CapabilityError",
    "ChangeBatch",
    "Componentwise",
    "CycleError",
    "Delay",
    "Graph",
    "GraphBuilder",
    "GraphError",
    "Identity",
    "Lexicographic",
    "Location",
    "LoopSummary",
    "LoopTime",
    "MapTime",
    "MutableAntichain",
    "NaiadSummary",
    "NaiadTime",
    "NegativeCountError",
    "Product",
    "RetreatError",
    "Source",
    "Summary",
    "SummaryError",
    "Target",
    "TimeDomainError",
    "TimelyError",
    "Tracker",
    "join",
    "less_equal",
    "less_than",
]
