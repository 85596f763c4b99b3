"""A workload: one thing to compute, with one right answer, and the ways in which toolkits compute it."""

from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).parents[2]
"""The checkout."""

Run = Callable[[], Any]
"""What is measured: it gives the answer."""
Shape = Callable[[Any], Any]
"""Puts a toolkit's answer as the limit's is put; it is not measured."""
Prepare = Callable[[int], Run | tuple[Run, Shape]]
"""Makes ready for a size; nothing of it is measured."""

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
"""The toolkits, in the order of the tables, each with the module that it is there by."""


def version(toolkit: str) -> str | None:
    """Which version of a toolkit is installed, or None if it is not."""
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
    """How a toolkit computes it."""

    toolkit: str
    variant: str
    prepare: Prepare
    share: float = 1.0
    """The part of the size that it is given, where the whole would take minutes; costs are compared by the value."""
    note: str = ""
    """What a reader has to know to compare it."""

    @property
    def name(self) -> str:
        """As the tables call it."""
        return f"{self.toolkit}, {self.variant}" if self.variant else self.toolkit


@attrs.frozen
class Target:
    """What this toolkit's cost should be at most, as a ratio to another way's."""

    ratio: float
    to: str = LIMIT
    first: float | None = None
    """The same of the first run in a process."""


WORKLOADS: dict[str, "Workload"] = {}
"""All that have been made; `catalogue` makes all."""


@attrs.define
class Workload:
    """One thing to compute."""

    name: str
    title: str
    says: str
    """What is computed, in a sentence or two."""
    full: int
    quick: int
    smoke: int
    """Three sizes: for the tables, for a look, and to see that everything runs."""
    unit: str = "value"
    by_the_clock: bool = False
    """Measured by the clock on the wall, where other processes have a part of the work; else by processor time."""
    spark: bool = False
    """It starts a Spark session, which takes a while however small it is."""
    own_time: bool = False
    """A run gives its own seconds, and the answer."""
    ordered: bool = True
    """Whether the answer's order is part of it; if not, answers are compared sorted."""
    target: Target | None = None
    ways: dict[str, Way] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        WORKLOADS[self.name] = self

    def way(
        self, toolkit: str, variant: str = "", *, share: float = 1.0, note: str = ""
    ) -> Callable[[Prepare], Prepare]:
        """Add a way to compute it: the decorated function prepares it."""

        def add(prepare: Prepare) -> Prepare:
            way = Way(toolkit, variant, prepare, share, note)
            assert toolkit in TOOLKITS, toolkit
            assert way.name not in self.ways, way.name
            self.ways[way.name] = way
            return prepare

        return add

    def limit(self, prepare: Prepare) -> Prepare:
        """Add the way all others are measured against: plain Python, as fast as it goes."""
        return self.way(LIMIT)(prepare)

    def size(self, pace: str) -> int:
        return {"full": self.full, "quick": self.quick, "smoke": self.smoke}[pace]

    def size_of(self, way: Way, pace: str) -> int:
        """What a way is given of it."""
        return max(1, self.smoke, int(self.size(pace) * way.share)) if pace != "smoke" else self.smoke
