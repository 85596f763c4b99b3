"""Interfaces that a module may take on beside what every module is asked: a class inherits them as well as `Kernel`."""

from abc import ABC, abstractmethod
from types import FrameType
from typing import Any

from pullstream.protocol import Batch, Done


class Resumable(ABC):
    """A module that takes up, in a run with a journal, what an earlier run has left in its `memory`."""

    __slots__ = ()

    @abstractmethod
    def restore(self) -> None:
        """Take up what `memory` holds, before the run begins; called if the traits say that it carries something.

        What will be answered of it is to be held from now on.
        """


class Outside(ABC):
    """A source that reads something which is there before the run and after it, such as files."""

    __slots__ = ()

    @abstractmethod
    def identity(self) -> object:
        """A value that tells the outside from what it was when a journal was begun, by `==`: None, or it is pickled."""

    async def unchanged(self) -> bool:
        """Whether it can tell that what an earlier run has read to its end is still the same.

        Called with a journal, before the run begins; the source is not read then.

        Raises:
            JournalError: it is not.
        """
        return self.identity() is not None

    def for_now(self) -> bool:
        """Whether its end is the end of what there is now, and another run with the journal may have more."""
        return False


class Finishing(ABC):
    """A source that has something to bring to its end when the program wants no more."""

    __slots__ = ()

    @abstractmethod
    def finish(self) -> None:
        """Come to the end as soon as may be. Other sources are just not asked again, and cancelled in what they do."""


class Suspended(ABC):
    """A module whose own code waits at a line of it while its answer is looked at: a generator, at its `yield`."""

    __slots__ = ()

    @abstractmethod
    def suspended_at(self) -> FrameType | None:
        """The frame of that code; None if it is running, or over."""


class Stepwise(ABC):
    """A module that can do one thing at a time towards its next answer.

    So who waits for a completion beside the next batch needs no task for the ask: it looks between steps.
    """

    __slots__ = ()

    @abstractmethod
    def stepwise(self) -> bool:
        """Whether `step` comes back without waiting, as its inputs are; asked when all have their place."""

    def steps_now(self) -> bool:
        """Whether the next `step` comes back without waiting, though a later one may not; asked before each."""
        return self.stepwise()

    @abstractmethod
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        """Do one thing; None if that made no answer yet. Called only if it is `stepwise`, or is so now."""


class AtHand(ABC):
    """A module that waits for some answers, and has others at hand, for which nothing is to be prepared."""

    __slots__ = ()

    @abstractmethod
    def at_hand(self, limit: int) -> Batch[Any] | None:
        """The next answer, if it is at hand; else the module is asked to `produce` one."""


class Inline:
    """A module that its owner may run without an edge, as `group_by` runs one for each key (see `InlineRow`).

    It is a `PassOn` or a `Notified` that overrides nothing but what is made of values and completions. It asks for the
    completion of the times of its values alone, and holds and answers these and no others.
    """

    __slots__ = ()
