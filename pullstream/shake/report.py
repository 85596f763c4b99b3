"""The report of a simulation: the seeds that break, each with the fewest deviations that show it, in words."""

from collections import Counter
from collections.abc import Sequence
from typing import Self

import attrs

from pullstream.errors import PullstreamError


class ShakeError(PullstreamError, AssertionError):
    """A pipeline breaks under some schedule; the message shows the first one."""


@attrs.frozen
class Difference:
    """A seed under which a pipeline breaks.

    `kind` is the broken rule, or a word for what differs from the undisturbed run. `steps` are the deviations from the
    normal schedule that are needed to show it, in words. `trace` is the trace of this run, for `python -m pullstream
    view`; `step` is the event at which the player should open, if one is known.
    """

    seed: int
    kind: str
    what: str
    steps: Sequence[str]
    out_of: int
    """The number of deviations before they were shrunk."""
    trace: str = attrs.field(repr=False)
    step: int | None = None

    def __str__(self) -> str:
        head = f"seed {self.seed}: {self.kind}: {self.what}"
        count = len(self.steps)
        if not count:
            return f"{head}\n  Two runs in the normal order differ. Is there chance, a clock, or state that is kept?"
        needed = f"  Caused by {count} of {self.out_of} deviations from the normal order:"
        return "\n".join([head, needed, *(f"  {number}. {step}" for number, step in enumerate(self.steps, 1))])


@attrs.frozen
class Shaken:
    """The report: how many seeds were run, what was compared, and the differences."""

    seeds: int
    compared: str
    differences: Sequence[Difference]
    kinds: Counter[str] = attrs.field(factory=Counter[str])
    """The number of seeds with each kind of difference; only the first of a kind is shrunk."""

    @property
    def ok(self) -> bool:
        """Whether no seed made a difference."""
        return not self.differences

    def check(self) -> Self:
        """Raise a `ShakeError` if there are differences."""
        __tracebackhide__ = True
        if self.differences:
            raise ShakeError(str(self))
        return self

    def __str__(self) -> str:
        count = f"{self.seeds:,} seed{'s' * (self.seeds != 1)}"
        if self.ok:
            return f"{count}: no difference. {self.compared}"
        found = ", ".join(f"{kind} x {count}" for kind, count in self.kinds.most_common())
        head = f"{count}: {self.kinds.total()} with a difference ({found}). {self.compared}"
        return "\n\n".join([head, *map(str, self.differences)])
