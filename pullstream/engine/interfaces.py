"""Optional interfaces of a module: its class inherits them besides `Kernel`."""

from abc import ABC, abstractmethod
from types import FrameType


class Finishing(ABC):
    """A source that must finish work of its own when the program wants no more."""

    __slots__ = ()

    @abstractmethod
    def finish(self) -> None:
        """End as soon as possible. Other sources are not asked again, and their code under way is cancelled."""


class Suspended(ABC):
    """A module whose code is suspended at a line while its answer is processed, as a generator at its `yield`."""

    __slots__ = ()

    @abstractmethod
    def suspended_at(self) -> FrameType | None:
        """The frame of that code; None if it is running, or has ended."""


class Inline:
    """A module that its owner may run without an edge, as `group_by` runs one per key (see `InlineRow`).

    It is a `PassOn` or a `Notified`. The owner calls only the methods that compute results from values and completions.
    It requests completions only for the times of its values, and holds and answers no other times.
    """

    __slots__ = ()
