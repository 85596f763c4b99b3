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
from tests.benchmarks.workload import HERE, TOOLKITS, Way, Workload, version


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
    """A way of a workload: a list has an entry for each repeat."""

    workload: str
    toolkit: str
    variant: str
    note: str
    size: int
    first: list[float]
    """Seconds of the first run in a process."""
    warm: list[float]
    limit_first: list[float]
    limit_warm: list[float]
    megabytes: list[float]

    @classmethod
    def of(cls, workload: Workload, way: Way, size: int, pairs: list[tuple[Measured, Measured]]) -> "Row":
        """A row of pairs of measurements, each of the limit and of the way."""
        limits, found = zip(*pairs, strict=True)
        return cls(
            workload.name,
            way.toolkit,
            way.variant,
            way.note,
            size,
            [each.first for each in found],
            [each.warm for each in found],
            [each.first for each in limits],
            [each.warm for each in limits],
            [each.megabytes for each in found],
        )

    @property
    def name(self) -> str:
        return f"{self.toolkit}, {self.variant}" if self.variant else self.toolkit

    @property
    def microseconds(self) -> float:
        """What a value costs, warm."""
        return statistics.median(self.warm) / self.size * 1e6

    @property
    def ratio(self) -> Spread:
        """To the limit, warm: the ratio of each pair."""
        return Spread.of(mine / limit for mine, limit in zip(self.warm, self.limit_warm, strict=True))

    @property
    def first_ratio(self) -> Spread:
        """The same of the first runs of their processes."""
        return Spread.of(mine / limit for mine, limit in zip(self.first, self.limit_first, strict=True))


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
