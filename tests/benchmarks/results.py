"""What the command has found: rows of ratios, what went wrong, and on which machine; as JSON, too."""

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
"""Megabytes that a process may take for nothing."""


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
    """A way of a workload: for each repeat, what was measured of the limit, and then of the way."""

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
        """What a value costs, warm."""
        return statistics.median(mine.warm for _, mine in self.pairs) / self.size * 1e6

    @property
    def megabytes(self) -> float:
        return statistics.median(mine.megabytes for _, mine in self.pairs)

    @property
    def ratio(self) -> Spread:
        """To the limit, warm: the ratio of each pair."""
        return Spread.of(mine.warm / limit.warm for limit, mine in self.pairs)

    @property
    def first_ratio(self) -> Spread:
        """The same of the first runs of their processes."""
        return Spread.of(mine.first / limit.first for limit, mine in self.pairs)


@attrs.frozen
class Curve:
    """How a cost grows: what it costs at each size."""

    name: str
    says: str
    counts: list[int]
    seconds: list[float]
    megabytes: list[float]

    def slope(self, figures: list[float]) -> float:
        """The exponent between the last two sizes: 1 is a cost that follows the number, 0 one that does not change."""
        if len(figures) < 2 or min(figures[-2:]) <= 0:
            return 0.0
        return log(figures[-1] / figures[-2]) / log(self.counts[-1] / self.counts[-2])

    @property
    def memory(self) -> str:
        """The slope of memory in use, if there is more of it than noise."""
        return f"{self.slope(self.megabytes):.2f}" if max(self.megabytes, default=0) > NOISE else "flat"


@attrs.define
class Results:
    """Everything that one call of the command has found."""

    pace: str
    repeat: int
    began: str = attrs.field(factory=lambda: datetime.now(UTC).isoformat(timespec="minutes"))
    seconds: float = 0.0
    machine: str = attrs.field(factory=machine)
    loads: list[float] = attrs.field(factory=list)
    """How many processes wanted a processor when it began, and at its end."""
    versions: dict[str, str] = attrs.field(
        factory=lambda: {toolkit: found for toolkit in TOOLKITS if (found := version(toolkit)) is not None}
    )
    rows: list[Row] = attrs.field(factory=list)
    curves: list[Curve] = attrs.field(factory=list)
    troubles: dict[str, str] = attrs.field(factory=dict)
    """Measurements that gave no figure, and why."""

    @property
    def missing(self) -> list[str]:
        """Toolkits that are not installed."""
        return [toolkit for toolkit in TOOLKITS if toolkit not in self.versions]

    def looked(self) -> None:
        """Note how busy the machine is."""
        if hasattr(os, "getloadavg"):
            self.loads = [*self.loads[:1], round(os.getloadavg()[0], 1)]

    def of(self, workload: str) -> list[Row]:
        """A workload's rows: this toolkit's first, then from cheap to dear."""
        rows = [row for row in self.rows if row.workload == workload]
        return sorted(rows, key=lambda row: (row.toolkit != HERE, bool(row.variant), row.ratio.median))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(attrs.asdict(self), indent=1) + "\n")
