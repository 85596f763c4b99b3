"""Optional interfaces of a module: its class inherits them besides `Kernel`."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from types import FrameType
from typing import Any

from pullstream.protocol import Batch, Done, Unanswered


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


class Polled(ABC):
    """A module that answers in one step wherever its inputs do."""

    __slots__ = ()

    @abstractmethod
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        """Return the next answer, as `produce` does, or `NOT_YET` after a piece of work that led to none.

        `WAIT` means that the answer has to be waited for: `poll` is called again after `wait`. Nothing that was taken
        from an input may be lost then.
        """

    @abstractmethod
    def wait(self) -> Awaitable[None]:
        """Wait until `poll` can go on, after it returned `WAIT`: by default, until its upstream has answered.

        Wait for an input with its `ready()`, first and in this step, and not with `ask`, whose answer would be lost. It
        may be an async function. When the stream ends, an input answers; other waits of the toolkit's end with `halt`,
        and those of an author's `wait` are cancelled.
        """


class Inline:
    """A module that its owner may run without an edge, as `group_by` runs one per key (see `InlineRow`).

    It is a `PassOn` or a `Notified` that overrides nothing but the methods that compute results from values and
    completions. It requests completions of the times of its values only, and holds and answers no other times.
    """

    __slots__ = ()
