"""The results of the command: rows of ratios, failures, and the machine; also as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Iterable
from datetime import UTC, datetime
from math import log
from pathlib import Path

import attrs

from tests.benchmarks.measuring import Measured
from tests.benchmarks.workload import HERE, TOOLKITS, version


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"


NOISE = 8.0
"""Megabytes of memory growth that count as noise."""


@attrs.frozen
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> "Spread":
        found = sorted(figures)
        return cls(statistics.median(found), found[0], found[-1])


@attrs.frozen
class Row:
    """A way of a workload: for each round, the measurements of the limit and of the way."""

    workload: str
    toolkit: str
    variant: str
    note: str
    size: int
    pairs: list[tuple[Measured, Measured]]

    @property
    def name(self) -> str:
        return f"{self.toolkit}, {self.variant}" if self.variant else self.toolkit

    @property
    def microseconds(self) -> float:
        """The cost of a value in warm runs."""
        return statistics.median(mine.warm for _, mine in self.pairs) / self.size * 1e6

    @property
    def megabytes(self) -> float:
        return statistics.median(mine.megabytes for _, mine in self.pairs)

    @property
    def ratio(self) -> Spread:
        """The ratios to the limit of the pairs' warm runs."""
        return Spread.of(mine.warm / limit.warm for limit, mine in self.pairs)

    @property
    def first_ratio(self) -> Spread:
        """The ratios of the first runs in their processes."""
        return Spread.of(mine.first / limit.first for limit, mine in self.pairs)


@attrs.frozen
class Curve:
    """The growth of a cost: the cost at each size."""

    name: str
    says: str
    counts: list[int]
    seconds: list[float]
    megabytes: list[float]

    def slope(self, figures: list[float]) -> float:
        """The exponent between the last two sizes: 1 is proportional growth, 0 a constant cost."""
        if len(figures) < 2 or min(figures[-2:]) <= 0:
            return 0.0
        return log(figures[-1] / figures[-2]) / log(self.counts[-1] / self.counts[-2])

    @property
    def memory(self) -> str:
        """The slope of memory in use, if it is more than noise."""
        return f"{self.slope(self.megabytes):.2f}" if max(self.megabytes, default=0) > NOISE else "flat"


@attrs.define
class Results:
    """All results of one run of the command."""

    pace: str
    repeat: int
    began: str = attrs.field(factory=lambda: datetime.now(UTC).isoformat(timespec="minutes"))
    seconds: float = 0.0
    machine: str = attrs.field(factory=machine)
    loads: list[float] = attrs.field(factory=list)
    """The machine's load at the beginning and at the end."""
    versions: dict[str, str] = attrs.field(
        factory=lambda: {toolkit: found for toolkit in TOOLKITS if (found := version(toolkit)) is not None}
    )
    rows: list[Row] = attrs.field(factory=list)
    curves: list[Curve] = attrs.field(factory=list)
    troubles: dict[str, str] = attrs.field(factory=dict)
    """Measurements without a figure, each with the reason."""

    @property
    def missing(self) -> list[str]:
        """Toolkits that are not installed."""
        return [toolkit for toolkit in TOOLKITS if toolkit not in self.versions]

    def looked(self) -> None:
        """Record the load of the machine."""
        if hasattr(os, "getloadavg"):
            self.loads = [*self.loads[:1], round(os.getloadavg()[0], 1)]

    def of(self, workload: str) -> list[Row]:
        """A workload's rows: this toolkit's first, then the others from the cheapest up."""
        rows = [row for row in self.rows if row.workload == workload]
        return sorted(rows, key=lambda row: (row.toolkit != HERE, bool(row.variant), row.ratio.median))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(attrs.asdict(self), indent=1) + "\n")
