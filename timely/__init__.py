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
from timely.graph import Graph, GraphBuilder
from timely.location import Location, Source, Target
from timely.mutable import MutableAntichain
from timely.order import BEGINNING, less_equal, less_than
from timely.summary import IDENTITY, Delay, Identity, MapTime, Summary
from timely.tracker import Blocker, Tracker

__all__ = [
    "BEGINNING",
    "IDENTITY",
    "Antichain",
    "Blocker",
    "CapabilityError",
    "ChangeBatch",
    "CycleError",
    "Delay",
    "Graph",
    "GraphBuilder",
    "GraphError",
    "Identity",
    "Location",
    "MapTime",
    "MutableAntichain",
    "NegativeCountError",
    "RetreatError",
    "Source",
    "Summary",
    "SummaryError",
    "Target",
    "TimeDomainError",
    "TimelyError",
    "Tracker",
    "less_equal",
    "less_than",
]
