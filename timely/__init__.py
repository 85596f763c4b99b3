"""The theory of progress tracking, executable: pure, synchronous, no I/O.

Which logical times may still reach which places of a dataflow program? Everything needed to answer is here, usable on
its own; `pullstream` asks it beside every run.

There are two parts. Here is what runs: times, summaries, graphs and the tracker. In `pullstream.timely.theory` is what
that is checked against, and what more can be built on it; it imports from here, and nothing here imports from it. To
read it, take the files in this order, each a page or two:

1. `order`: times are values with a partial order, `BEGINNING` below all. `products` and `loops` are made of others.
2. `antichain`: sets of minimal times, the shape of every frontier. `mutable` keeps one up to date.
3. `summary`: how a path changes times; `loops` again, for the monoid of entering, leaving and feeding back (002).
4. `location`, `graph`, `cycles`: nodes, ports and edges, and which cycles are sound.
5. `theory.queries`: the whole of progress tracking as three plain fixpoints (003). What follows only computes the
   same, faster.
6. `tracker`, which works on the contracted graph of `plan`, recomputes where it can and counts round loops
   (`counting`); `explain` says what holds a time up.
7. `theory`, the rest of it: invariants, capabilities and notifications, dataflows inside dataflows, and the model.

>>> from pullstream.timely.theory import Output
>>> builder = GraphBuilder()
>>> days, totals = builder.add_node("days", inputs=0, outputs=1), builder.add_node("totals", inputs=1, outputs=0)
>>> builder.add_edge(Source(days), Target(totals))
>>> graph = builder.build()
>>> tracker, arriving = Tracker(graph), graph.place(Target(totals))
>>> tracker.observe(arriving)
>>> with Output.at(tracker, Source(days)).initial("monday") as capability:
...     capability.downgrade("tuesday")
...     tracker.frontier(arriving).less_equal("monday"), tracker.explain(arriving, "tuesday")[0].location
(False, Source(node=0, port=0))
>>> tracker.frontier(arriving)
Antichain()
"""

from .antichain import Antichain
from .errors import (
    CapabilityError,
    CycleError,
    GraphError,
    NegativeCountError,
    RetreatError,
    SummaryError,
    TimeDomainError,
    TimelyError,
)
from .explain import Blocker
from .graph import Graph, GraphBuilder
from .location import Location, Source, Target
from .loops import (
    ENTER,
    FEEDBACK,
    LEAVE,
    LoopSummary,
    LoopTime,
    NaiadSummary,
    NaiadTime,
)
from .mutable import MutableAntichain
from .order import BEGINNING, less_equal, less_than, sort_key
from .products import Componentwise, Lexicographic, Product, advance, join, meet
from .summary import IDENTITY, Delay, Identity, MapTime, Summary
from .tracker import Tracker

__all__ = [
    "BEGINNING",
    "ENTER",
    "FEEDBACK",
    "IDENTITY",
    "LEAVE",
    "Antichain",
    "Blocker",
    "CapabilityError",
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
    "advance",
    "join",
    "less_equal",
    "less_than",
    "meet",
    "sort_key",
]


def __dir__() -> list[str]:
    return __all__
