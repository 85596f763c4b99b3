"""Findings of a conformance run, and their report."""

from collections import Counter
from collections.abc import Sequence
from typing import Self

import attrs

from pullstream.conformance.cells import Cell
from pullstream.errors import PullstreamError


class ConformanceError(PullstreamError, AssertionError):
    """A module does not conform; the message shows the first violations, each with its cell."""


@attrs.frozen
class Finding:
    """A rule that a module broke, and the cell in which it did."""

    subject: str
    rule: str
    cell: Cell
    message: str

    def __str__(self) -> str:
        drawn = "\n".join(f"    {line}" for line in self.message.splitlines())
        return f"{self.subject}, {self.cell}\n{drawn}"


@attrs.frozen
class Report:
    """A report of what was run, and what was found; `print` shows it as a table."""

    cells: Counter[str]
    findings: Sequence[Finding]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def check(self) -> Self:
        """Raise if anything was found.

        Raises:
            ConformanceError: something was.
        """
        if self.findings:
            shown = "\n\n".join(str(finding) for finding in self.findings[:3])
            raise ConformanceError(f"{len(self.findings)} of {self.cells.total()} cells break a rule.\n\n{shown}")
        return self

    def __str__(self) -> str:
        broken: dict[str, Counter[str]] = {}
        for finding in self.findings:
            broken.setdefault(finding.subject, Counter())[finding.rule] += 1
        rows = [("module", "cells", "broken", "rules")]
        for name, cells in self.cells.items():
            rules = broken.get(name, Counter[str]())
            summary = ", ".join(f"{rule} x {count}" for rule, count in rules.most_common()) or "ok"
            rows.append((name, f"{cells:,}", str(rules.total()), summary))
        rows.append(("in all", f"{self.cells.total():,}", str(len(self.findings)), "" if self.findings else "ok"))
        width = max(len(row[0]) for row in rows)
        return "\n".join(f"{name:<{width}} {cells:>9} {count:>7}  {summary}" for name, cells, count, summary in rows)
