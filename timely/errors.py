"""The errors that `timely` raises, one small family.

Each error says what happened, where (the place's readable name) and what to do about it.
"""

from __future__ import annotations


class TimelyError(Exception):
    """The root of the family: catch this to catch everything `timely` itself raises."""


class TimeDomainError(TimelyError, TypeError):
    """Two times of unlike domains were compared: no order between them is defined."""


class SummaryError(TimelyError, ValueError):
    """A path summary breaks its promise: it moves a time backwards, or does not fit the time it was given."""


class GraphError(TimelyError, ValueError):
    """A graph is not well formed; the message names the port, node or edge at fault."""


class CycleError(GraphError):
    """A cycle can hand a time back to where it was without strictly advancing it; `cycle` names its places."""

    def __init__(self, message: str, cycle: tuple[str, ...]) -> None:
        super().__init__(message)
        self.cycle = cycle


class NegativeCountError(TimelyError):
    """A negative count: more was taken away at a place and time than was ever there."""


class RetreatError(TimelyError):
    """A frontier moved backwards: a time that was complete became possible again."""


class CapabilityError(TimelyError, ValueError):
    """A time was claimed that no held capability and no consumed message gives a right to."""
