"""An executable theory of progress tracking: pure, synchronous, without I/O.

It answers one question: which logical times may still reach which places of a dataflow program? It works on its own,
and `pullstream` uses it in every run.

The package has two parts. The modules here run in production: times, summaries, graphs and the tracker.
`pullstream.timely.theory` has the definitions they are checked against, and more that can be built on them; it imports
from here, and nothing here imports from it. Numbers from 000 to 004 stand for the papers listed in
`tutorials/literature.md`. Read the files in this order; each is a page or two:

1. `order`: times are values with a partial order, `BEGINNING` below all. `products` and `loops` combine other times.
2. `antichain`: sets of minimal times, the shape of every frontier. `mutable` keeps one up to date.
3. `summary`: how a path changes times. `loops` adds the monoid of entering, leaving and feeding back (002).
4. `location`, `graph`, `cycles`: nodes, ports and edges, and which cycles are sound.
5. `theory.queries`: all of progress tracking as three plain fixpoints (003). The rest computes the same, faster.
6. `tracker`: works on the contracted graph of `plan`, recomputes frontiers where it can, and counts around cycles
   (`counting`). `explain` finds the pointstamps that hold a time up.
7. The rest of `theory`: invariants, capabilities and notifications, dataflows inside dataflows, and the model.

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

import typing as _typing

from .antichain import Antichain as Antichain
from .errors import (
    CapabilityError as CapabilityError,
    CycleError as CycleError,
    GraphError as GraphError,
    NegativeCountError as NegativeCountError,
    RetreatError as RetreatError,
    SummaryError as SummaryError,
    TimeDomainError as TimeDomainError,
    TimelyError as TimelyError,
)
from .explain import Blocker as Blocker
from .graph import Graph as Graph, GraphBuilder as GraphBuilder
from .location import Location as Location, Source as Source, Target as Target
from .loops import (
    ENTER as ENTER,
    FEEDBACK as FEEDBACK,
    LEAVE as LEAVE,
    LoopSummary as LoopSummary,
    LoopTime as LoopTime,
    NaiadSummary as NaiadSummary,
    NaiadTime as NaiadTime,
)
from .mutable import MutableAntichain as MutableAntichain
from .offered import offered as _offered
from .order import BEGINNING as BEGINNING, less_equal as less_equal, less_than as less_than, sort_key as sort_key
from .products import (
    Componentwise as Componentwise,
    Lexicographic as Lexicographic,
    Product as Product,
    advance as advance,
    join as join,
    meet as meet,
)
from .summary import IDENTITY as IDENTITY, Delay as Delay, Identity as Identity, MapTime as MapTime, Summary as Summary
from .tracker import Tracker as Tracker

if not _typing.TYPE_CHECKING:  # type checkers go by the imports
    __dir__, __all__ = _offered(globals())
