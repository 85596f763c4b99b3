"""Optional interfaces of a module: its class inherits them besides `Kernel`."""

from abc import ABC, abstractmethod
from types import FrameType
from typing import Any

from pullstream.protocol import Batch


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


class Stepwise(ABC):
    """A module whose `produce` does one piece of work towards its next answer; None if it led to no answer yet.

    The edge calls it again until there is an answer. A module that waits for a completion besides the next batch needs
    no task for the ask then: it asks with `stepping`, and checks between the steps.
    """

    __slots__ = ()

    @abstractmethod
    def stepwise(self) -> bool:
        """Whether `produce` returns without waiting, given its inputs; called when all modules are placed."""

    def steps_now(self) -> bool:
        """Whether the next `produce` returns without waiting, though a later one may not; called before each."""
        return self.stepwise()


class AtHand(ABC):
    """A module that waits for some answers, and has others ready at once."""

    __slots__ = ()

    @abstractmethod
    def at_hand(self, limit: int) -> Batch[Any] | None:
        """The next answer, if it is ready; None if the edge must call `produce`."""


class Inline:
    """A module that its owner may run without an edge, as `group_by` runs one per key (see `InlineRow`).

    It is a `PassOn` or a `Notified` that overrides nothing but the methods that compute results from values and
    completions. It requests completions of the times of its values only, and holds and answers no other times.
    """

    __slots__ = ()
