"""Counters: how much each module of a run processed, and how long it waited."""

from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import attrs


@attrs.frozen
class Counters:
    """The counters of one module, or of a row of fused ones; times are in seconds of the wall clock.

    `waiting_for_upstream` is how long its own asks were outstanding. `waiting_for_downstream` is how long no ask to it
    was outstanding, since the first one. `busy` is the remaining time: the module was asked and did not ask, because it
    computed, or waited for user code or the outside world. A sink counts as asked all the time. In a module that asks
    several inputs, or asks ahead, these overlap: the waits of all its asks are added up. A module with several
    consumers, such as `tee`, counts as asked while it gets values for all of them. `skipped` counts the values that a
    failure policy left out, including those in streams that the module opens. `status` is the module's own status text
    (`Kernel.status`), usually empty. `batches_in` and `batches_out` count the answers that carried the values: few
    values per answer are a sign of a source that waits, or of a small `limit`.
    """

    module: str
    values_in: int
    values_out: int
    skipped: int
    busy: float
    waiting_for_upstream: float
    waiting_for_downstream: float
    status: str = ""
    batches_in: int = 0
    batches_out: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The counters as a plain dict, for JSON, a DataFrame or a metrics system."""
        return attrs.asdict(self)


class EdgeCount:
    """The values, batches and waiting time of the asks at one input, by all its lanes."""

    values = 0
    batches = 0
    waited = 0.0
    asks = 0
    """The number of outstanding asks."""
    since = 0.0
    """The sum of the times at which they began."""

    def begin(self) -> float:
        """Note that an ask begins; returns the time, for `end`."""
        began = perf_counter()
        self.asks += 1
        self.since += began
        return began

    def end(self, began: float) -> None:
        """Note that an ask is answered."""
        self.asks -= 1
        self.since = self.since - began if self.asks else 0.0
        self.waited += perf_counter() - began

    def waited_until(self, now: float) -> float:
        """The seconds that asks have been outstanding, the present ones included."""
        return self.waited + self.asks * now - self.since


class Metered:
    """The measurements of a module, from which its counters are computed."""

    names: Sequence[str]
    ports: tuple[Any, ...]
    """The inputs, with the counts of what arrives there."""
    edge: Any = None
    """The module's output edge, if it has one."""
    status_text: Callable[[], str] | None = None
    """Returns the status text of a module written as a function."""
    outs: Sequence[EdgeCount] = ()
    """The counts at the inputs downstream."""
    asked: EdgeCount | None = None
    """The time spent getting values for all of several consumers."""
    skipped = 0
    fault: Exception | None = None
    """The exception that caused the last of them to be left out."""
    begun = 0.0
    stopped = 0.0
    _sink = False
    _marks = 0

    @property
    def name(self) -> str:
        """The name in errors and counters; for a row of fused modules, all names in their order."""
        return " -> ".join(self.names)

    def leave_out(self, count: int = 1, fault: Exception | None = None, *, marks: int = 0) -> None:
        """Count values that are left out because a function raised, and their marks among what the module answered."""
        self.skipped += count
        self._marks += marks
        self.fault = fault or self.fault

    def begin(self, *, sink: bool = False) -> None:
        """Note that the module is asked for the first time or, as a `sink`, begins to ask."""
        self.begun = perf_counter()
        self._sink = sink

    def counters(self) -> Counters:
        """The counters, as of now."""
        now = self.stopped or perf_counter()
        life = now - self.begun if self.begun else 0.0
        upstream = sum(count.waited_until(now) for count in self.ports)
        asks = self.outs if self.asked is None else (self.asked,)
        asked = life if self._sink else sum(count.waited_until(now) for count in asks)
        return Counters(
            self.name,
            sum(count.values for count in self.ports),
            sum(count.values for count in self.outs),
            self.skipped,
            busy=max(0.0, asked - upstream),
            waiting_for_upstream=upstream,
            waiting_for_downstream=max(0.0, life - asked),
            status=self.said(),
            batches_in=sum(count.batches for count in self.ports),
            batches_out=sum(count.batches for count in self.outs),
        )

    def remark(self) -> str:
        """Say that every value was left out, in a module that left out some; empty if not."""
        answered = sum(count.values for count in self.outs) - self._marks
        if self.skipped != sum(count.values for count in self.ports) or answered:
            return ""
        last = "" if self.fault is None else f"; the last exception was {self.fault!r}"
        return f"left out all {self.skipped} values, because its function raised for each one (on_error='skip'){last}"

    def said(self) -> str:
        """The module's own status text; never raises, even if its status function does."""
        try:
            if self.status_text is not None:
                return str(self.status_text())
            return "" if self.edge is None else str(self.edge.status())
        except Exception as exc:  # noqa: BLE001 - shown in place of the status, because the figures are still right
            return f"its status() raised {exc!r}"


def numbered(names: Sequence[str]) -> list[str]:
    """The names of modules, numbered where several are the same.

    >>> numbered(["values", "values", "merge"])
    ['values #1', 'values #2', 'merge']
    """
    total, seen = Counter(names), Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if total[name] == 1 else f"{name} #{seen[name]}")
    return found
