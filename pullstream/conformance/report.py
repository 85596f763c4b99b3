"""Findings of a conformance run, and their report."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Self

import attrs

from pullstream.conformance.cells import Cell
from pullstream.conformance.findings import HINTS, MEANT, told
from pullstream.errors import PullstreamError


class ConformanceError(PullstreamError, AssertionError):
    """A module does not conform; the message shows the first findings, each with its cell."""


@attrs.frozen
class Finding:
    """A fault of a module, and the cell in which it did.

    `rule` is the number of the rule that was broken, or the word for what is found beside the rules (`batching`,
    `sharing`, `holding`, ...); `message` says what happened, with a drawing where there is one, and `scene` what its
    partners did; `place` is the line of the module's own code, as `file:line`, where it is known. `advice` is for this
    very case, `hint` for all of its kind, unless what was said for this one is `exact`; `meant` says which expectation
    allows it, if one does.
    """

    subject: str
    rule: str
    cell: Cell
    message: str
    scene: str = ""
    place: str | None = None
    advice: str = ""
    exact: bool = False

    @property
    def words(self) -> str:
        """The sentence of the rule."""
        return told(self.rule)

    @property
    def hint(self) -> str:
        """The way to mend it."""
        if self.exact:
            return self.advice or "as it says"
        return f"{self.advice}; {HINTS[self.rule]}" if self.advice else HINTS[self.rule]

    @property
    def meant(self) -> str | None:
        """The expectations of a `Subject` that allow it, if any do."""
        return MEANT.get(self.rule)

    def __str__(self) -> str:
        return self.told()

    def told(self, before: Collection[str] = (), spoken: Callable[[str], str] = str) -> str:
        """The finding in words; how to mend it, unless that is among what was said before.

        `spoken` puts the names of expectations as they are said where it is read.
        """
        where = "" if self.place is None else f", {self.place}"
        lines = [f"{self.subject}{where}", f"{self.rule}: {self.words}.", f"  {self.scene}"]
        lines += [f"  {line}" for line in self.message.splitlines()]
        mend = self.advice or "see above" if HINTS[self.rule] in before else self.hint
        if self.advice or not self.exact:
            lines.append(f"  To mend it: {spoken(mend)}.")
        if self.meant is not None:
            lines.append(f"  If it is meant: {spoken(self.meant)}.")
        return "\n".join(lines)


@attrs.frozen
class Report:
    """A report of what was run, and what was found, the simplest case of each module first; `print` shows a table."""

    cells: Counter[str]
    findings: Sequence[Finding]
    again: Callable[[Finding], str] = attrs.field(default=lambda finding: f"replay={str(finding.cell)!r}", eq=False)
    """The way to run the cell of a finding again."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def vacuous(self) -> bool:
        """Whether nothing was found but that a module gave no value in any cell: then it was not tested."""
        return bool(self.findings) and all(finding.rule == "vacuous" for finding in self.findings)

    def first(self, number: int = 3) -> Sequence[Finding]:
        """Some findings, the simplest of each module, and of each of its rules, before any other."""
        ranks: dict[tuple[str, str], int] = {}
        found: list[tuple[int, int, Finding]] = []
        for place, finding in enumerate(self.findings):
            key = finding.subject, finding.rule
            ranks[key] = rank = ranks.get(key, 0) + 1
            found.append((rank, place, finding))
        return [finding for _, _, finding in sorted(found, key=lambda entry: entry[:2])[:number]]

    def shown(self, again: Callable[[Finding], str], number: int = 3, spoken: Callable[[str], str] = str) -> str:
        """Some findings in words, each with how it is run again; what mends several is said once."""
        told: list[str] = []
        before: list[str] = []
        for finding in self.first(number):
            told.append(f"{finding.told(before, spoken)}\n  Again: {again(finding)}")
            before += [] if finding.exact else [HINTS[finding.rule]]
        return "\n\n".join(told)

    def check(self) -> Self:
        """Raise if anything was found.

        Raises:
            ConformanceError: something was.
        """
        # What pytest shows is the line of the test.
        __tracebackhide__ = True
        if self.findings:
            shown = self.shown(self.again)
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
