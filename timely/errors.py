"""The exceptions of `timely`.

Each message says what happened, where (by the place's readable name) and what to do about it.
"""


class TimelyError(Exception):
    """The base class: catch this to catch everything that `timely` itself raises."""


class TimeDomainError(TimelyError, TypeError):
    """Two times of different domains were compared: no order between them is defined."""


class SummaryError(TimelyError, ValueError):
    """A path summary breaks its promise: it moves a time backwards, or does not fit the time it was given."""


class GraphError(TimelyError, ValueError):
    """A graph is not well formed; the message names the port, node or edge at fault."""


class CycleError(GraphError):
    """A cycle can bring a time back to its start without strictly advancing it; `cycle` names the places."""

    def __init__(self, message: str, cycle: tuple[str, ...]) -> None:
        super().__init__(message)
        self.cycle = cycle


class NegativeCountError(TimelyError):
    """A negative count: more pointstamps were removed at a place and time than were ever added."""


class RetreatError(TimelyError):
    """A frontier moved backwards: a time that was complete became possible again."""


class CapabilityError(TimelyError, ValueError):
    """A time was claimed without a right to it: no held capability or consumed message allows it."""
