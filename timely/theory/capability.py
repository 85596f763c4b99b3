"""Capabilities: the right to send at a time, held as an object.

The holder of a capability for t at an output may send there at t or later. While it is held, t is not complete
downstream. The output's `report` function counts every capability exactly once; a tracker or an operator's progress
reports receive the counts.

Three things are checked here: the capability belongs to the output it is used for, it is still held, and times only
advance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ..antichain import Antichain
from ..errors import CapabilityError
from ..location import Source
from ..order import BEGINNING, less_equal
from ..tracker import Tracker

Report = Callable[[Any, int], None]
"""Called with (time, +1 or -1) for every capability that is created or dropped."""


class Output:
    """An output that hands out capabilities; `initial` gives the first.

    >>> reported = []
    >>> output = Output("numbers", lambda time, delta: reported.append((time, delta)))
    >>> with output.initial(0) as capability:
    ...     capability.downgrade(5)
    >>> reported
    [(0, 1), (5, 1), (0, -1), (5, -1)]
    """

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self._report = report
        self._held: dict[Any, int] = {}

    @classmethod
    def at(cls, tracker: Tracker, source: Source) -> Output:
        """An output whose capabilities are pointstamps of a tracker."""
        place = tracker.graph.place(source)
        return cls(tracker.graph.name(source), lambda time, delta: tracker.update(place, time, delta))

    def initial(self, time: Any = BEGINNING) -> Capability:
        """A new capability, without any held before. Only for the start of a run, before any time is complete."""
        return Capability(self, time)

    @property
    def held(self) -> dict[Any, int]:
        """The number of capabilities held for each time."""
        return dict(self._held)

    def check(self, time: Any) -> None:
        """Refuse a message at a time that no held capability covers.

        Raises:
            CapabilityError: no held capability covers `time`; the message names the output and all times.
        """
        if not any(less_equal(held, time) for held in self._held):
            raise CapabilityError(
                f"{self.name} may not send at {time!r}: its held capabilities are {_listed(self._held)}; "
                "hold a capability at or before that time",
            )

    def count(self, time: Any, delta: int) -> None:
        """Count a capability that was created or dropped; only `Capability` calls this."""
        count = self._held.get(time, 0) + delta
        if count:
            self._held[time] = count
        else:
            del self._held[time]
        self._report(time, delta)


class Capability:
    """The right to send at `time` or later at one output. Drop it, or leave its `with` block, to let time advance.

    If it is garbage-collected while held, everything downstream stalls forever. This is a bug: it causes a
    ResourceWarning, and the time stays held. `Tracker.explain` names the output and the time.
    """

    __slots__ = ("__weakref__", "_time", "output")

    def __init__(self, output: Output, time: Any) -> None:
        self.output = output
        self._time = time
        output.count(time, 1)

    @property
    def time(self) -> Any:
        """The time held.

        Raises:
            CapabilityError: the capability was dropped.
        """
        if self._time is None:
            raise CapabilityError(f"this capability of {self.output.name} was dropped and no longer holds a time")
        return self._time

    @property
    def held(self) -> bool:
        """Whether the capability is still held."""
        return self._time is not None

    def delayed(self, time: Any) -> Capability:
        """Make a second capability at `time`; this one stays unchanged.

        Raises:
            CapabilityError: `time` is not at or after the time held.
        """
        self._check(time)
        return Capability(self.output, time)

    def downgrade(self, time: Any) -> None:
        """Give up every time that is not at or after `time`.

        Raises:
            CapabilityError: `time` is not at or after the time held; nothing changes.
        """
        self._check(time)
        if time != self._time:
            self.output.count(time, 1)  # before the old one is removed, so that the right never lapses
            self.output.count(self._time, -1)
            self._time = time

    def drop(self) -> None:
        """Give up the right; dropping again does nothing."""
        if self._time is not None:
            self.output.count(self._time, -1)
            self._time = None

    def _check(self, time: Any) -> None:
        if not less_equal(self.time, time):
            raise CapabilityError(
                f"a capability of {self.output.name} at {self._time!r} gives no right to {time!r}: times only advance",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def __repr__(self) -> str:
        return f"Capability({self.output.name!r}, {self._time!r})" if self.held else "Capability(dropped)"

    def __del__(self) -> None:
        if getattr(self, "_time", None) is not None:
            warnings.warn(
                f"a capability of {self.output.name} at {self._time!r} was forgotten: that time never completes; "
                "drop it, or use it in a with block",
                ResourceWarning,
                stacklevel=2,
            )


class CapabilitySet:
    """Capabilities of one output, reduced to their minimal times.

    >>> output = Output("numbers", lambda time, delta: None)
    >>> held = CapabilitySet([output.initial(3), output.initial(5)])
    >>> held.frontier, output.held
    (Antichain([3]), {3: 1})
    >>> held.downgrade([7])
    >>> output.held
    {7: 1}
    >>> held.drop()
    """

    def __init__(self, capabilities: Iterable[Capability] = ()) -> None:
        self._capabilities: list[Capability] = []
        for capability in capabilities:
            self.insert(capability)

    @property
    def frontier(self) -> Antichain[Any]:
        """The minimal times held."""
        return Antichain(capability.time for capability in self._capabilities)

    def insert(self, capability: Capability) -> None:
        """Take over a capability. Any capability that another one covers is dropped at once, including the new one.

        Raises:
            CapabilityError: it was dropped, or its output is not that of this set.
        """
        time = capability.time
        if self._capabilities and capability.output is not self._capabilities[0].output:
            raise CapabilityError(f"{capability!r} does not belong to the output of {self._capabilities[0]!r}")
        if self.frontier.less_equal(time):
            capability.drop()
            return
        for other in self._capabilities:
            if less_equal(time, other.time):
                other.drop()
        self._capabilities = [*(other for other in self._capabilities if other.held), capability]

    def delayed(self, time: Any) -> Capability:
        """A new capability at `time`, made from one that covers it.

        Raises:
            CapabilityError: no capability covers `time`.
        """
        return self._covering(time).delayed(time)

    def downgrade(self, times: Iterable[Any]) -> None:
        """Hold exactly the minimal elements of `times` from now on; with no times, hold nothing.

        Raises:
            CapabilityError: a time is not covered; nothing changes.
        """
        sources = [(self._covering(time), time) for time in Antichain(times)]
        new = [capability.delayed(time) for capability, time in sources]
        self.drop()
        self._capabilities = new

    def drop(self) -> None:
        """Drop all capabilities."""
        for capability in self._capabilities:
            capability.drop()
        self._capabilities = []

    def _covering(self, time: Any) -> Capability:
        for capability in self._capabilities:
            if less_equal(capability.time, time):
                return capability
        raise CapabilityError(f"no capability covers {time!r}: the times held are {_listed(c.time for c in self)}")

    def __iter__(self) -> Iterator[Capability]:
        return iter(tuple(self._capabilities))

    def __len__(self) -> int:
        return len(self._capabilities)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()


def _listed(times: Iterable[Any]) -> str:
    return ", ".join(map(repr, times)) or "none"
