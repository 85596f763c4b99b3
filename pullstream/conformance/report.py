"""Findings of a conformance run, and the report of them."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Self

import attrs
from more_itertools import interleave_longest, map_reduce

from pullstream.checker.rules import RULES
from pullstream.conformance.cells import Cell
from pullstream.conformance.findings import BESIDE, HINTS, MEANT
from pullstream.errors import PullstreamError


class ConformanceError(PullstreamError, AssertionError):
    """A module does not conform; the message shows the first findings with their cells."""


@attrs.define
class Trouble(Exception):
    """A fault found in a cell: the broken rule or another finding, and what happened; see `Finding`."""

    rule: str
    message: str
    place: str | None = None
    advice: str = ""
    exact: bool = False

    def __str__(self) -> str:
        return self.message


@attrs.frozen
class Finding:
    """A fault of a module, and the cell that shows it.

    `rule` is the number of the broken rule, or the word for another finding (`batching`, `sharing`, `holding`, ...).
    `message` says what happened, with a diagram if there is one, and `scene` what the neighbours did. `place` is the
    line of the author's code, as `file:line`, if known. `advice` is for this case, `hint` for all findings of the kind,
    unless the advice is `exact`. `meant` names the expectation that allows the behaviour, if there is one.
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
        return RULES.get(self.rule) or BESIDE[self.rule]

    @property
    def hint(self) -> str:
        """The fix."""
        if self.exact:
            return self.advice or "see the message"
        return f"{self.advice}; {HINTS[self.rule]}" if self.advice else HINTS[self.rule]

    @property
    def meant(self) -> str | None:
        """The expectations of a `Subject` that allow it, if there are any."""
        return MEANT.get(self.rule)

    def __str__(self) -> str:
        return self.told()

    def told(self, before: Collection[str] = (), spoken: Callable[[str], str] = str) -> str:
        """Return the finding in words, with how to fix it unless `before` contains that.

        `spoken` rewrites the names of expectations for the reader.
        """
        where = "" if self.place is None else f", {self.place}"
        lines = [f"{self.subject}{where}", f"{self.rule}: {self.words}.", f"  {self.scene}"]
        lines += [f"  {line}" for line in self.message.splitlines()]
        mend = self.advice or "see above" if HINTS[self.rule] in before else self.hint
        if self.advice or not self.exact:
            lines.append(f"  To fix it: {spoken(mend)}.")
        if self.meant is not None:
            lines.append(f"  If it is intended: {spoken(self.meant)}.")
        return "\n".join(lines)


@attrs.frozen
class Report:
    """A report of the cells run, and the findings, the simplest of each module first; `print` shows a table."""

    cells: Counter[str]
    findings: Sequence[Finding]
    again: Callable[[Finding], str] = attrs.field(default=lambda finding: f"replay={str(finding.cell)!r}", eq=False)
    """A function that returns how to run the cell of a finding again."""

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def vacuous(self) -> bool:
        """Whether the only findings are modules that emitted no value in any cell, and so were not tested."""
        return bool(self.findings) and all(finding.rule == "vacuous" for finding in self.findings)

    def first(self, number: int = 3) -> Sequence[Finding]:
        """Return some findings: the simplest for each module and rule before any other."""
        kinds = map_reduce(self.findings, lambda finding: (finding.subject, finding.rule))
        return list(islice(interleave_longest(*kinds.values()), number))

    def shown(self, again: Callable[[Finding], str], number: int = 3, spoken: Callable[[str], str] = str) -> str:
        """Return some findings in words, each with how to run it again; the same fix is printed once."""
        texts: list[str] = []
        before: list[str] = []
        for finding in self.first(number):
            texts.append(f"{finding.told(before, spoken)}\n  Again: {again(finding)}")
            before += [] if finding.exact else [HINTS[finding.rule]]
        return "\n\n".join(texts)

    def check(self) -> Self:
        """Raise a `ConformanceError` if there are findings."""
        # pytest then shows the line of the test.
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
