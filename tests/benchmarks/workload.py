"""A workload: a computation with one right answer, and the ways in which toolkits do it."""

from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).parents[2]
"""The checkout."""

Run = Callable[[], Any]
"""The measured part, which returns the answer."""
Shape = Callable[[Any], Any]
"""Converts a toolkit's answer to the form of the limit's; not measured."""
Prepare = Callable[[int], Run | tuple[Run, Shape]]
"""Prepares a size; not measured."""

LIMIT = "plain Python"
HERE = "pullstream"
BY_HAND = "trio by hand"

TOOLKITS = {
    LIMIT: None,
    HERE: "pullstream",
    BY_HAND: "trio",
    "streamable": "streamable",
    "aiostream": "aiostream",
    "reactivex": "reactivex",
    "streamz": "streamz",
    "bytewax": "bytewax",
    "pathway": "pathway",
    "Spark": "pyspark",
}
"""The toolkits, in the order of the tables, each with its module."""


def version(toolkit: str) -> str | None:
    """The installed version of a toolkit; None if it is not installed."""
    module = TOOLKITS[toolkit]
    if module is None:
        return ""
    if util.find_spec(module) is None:
        return None
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "a checkout"


@attrs.frozen
class Way:
    """A toolkit's way to compute it."""

    toolkit: str
    variant: str
    prepare: Prepare
    share: float = 1.0
    """The part of the size that it is given if the whole would take minutes; costs are compared per value."""
    note: str = ""
    """What a reader must know for the comparison."""

    @property
    def name(self) -> str:
        """The name in the tables."""
        return f"{self.toolkit}, {self.variant}" if self.variant else self.toolkit


@attrs.frozen
class Target:
    """The limit for this toolkit's cost, as a ratio to another way's."""

    ratio: float
    to: str = LIMIT
    first: float | None = None
    """The same for the first run in a process."""


WORKLOADS: dict[str, "Workload"] = {}
"""All workloads created so far; `catalogue` imports all."""


@attrs.define
class Workload:
    """A computation to measure."""

    name: str
    title: str
    says: str
    """A description in a sentence or two."""
    full: int
    quick: int
    smoke: int
    """Three sizes: for the tables, for an overview, and to check that everything runs."""
    unit: str = "value"
    by_the_clock: bool = False
    """Measured by wall-clock time, if other processes do a part of the work; else by processor time."""
    spark: bool = False
    """It starts a Spark session, which takes a while at any size."""
    own_time: bool = False
    """A run returns its own seconds and the answer."""
    ordered: bool = True
    """Whether the answer's order is part of it; if not, answers are compared sorted."""
    target: Target | None = None
    ways: dict[str, Way] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        WORKLOADS[self.name] = self

    def way(
        self, toolkit: str, variant: str = "", *, share: float = 1.0, note: str = ""
    ) -> Callable[[Prepare], Prepare]:
        """Add a way; the decorated function prepares it."""

        def add(prepare: Prepare) -> Prepare:
            way = Way(toolkit, variant, prepare, share, note)
            assert toolkit in TOOLKITS, toolkit
            assert way.name not in self.ways, way.name
            self.ways[way.name] = way
            return prepare

        return add

    def limit(self, prepare: Prepare) -> Prepare:
        """Add the way that all others are compared with: plain Python, as fast as possible."""
        return self.way(LIMIT)(prepare)

    def size(self, pace: str) -> int:
        return {"full": self.full, "quick": self.quick, "smoke": self.smoke}[pace]

    def size_of(self, way: Way, pace: str) -> int:
        """The size that a way is given."""
        return max(1, self.smoke, int(self.size(pace) * way.share)) if pace != "smoke" else self.smoke
