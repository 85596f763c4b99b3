"""The state that a stream keeps for later runs, and has from earlier ones: all that the engine knows of journals.

A run makes one for each of its streams (`Run.keeping`). `pullstream.resuming` implements it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pullstream.resuming.memory import Memory


class StateSaver(ABC):
    """A place that saves a stream's state: a journal, or the memory between two instalments.

    By default, sinks and the end leave nothing to save.
    """

    @abstractmethod
    def done(self, location: Any, time: Hashable) -> bool:
        """Whether an earlier run has completed everything that follows from a time at a module's output."""

    @abstractmethod
    def restore(self, location: Any, memory: Memory) -> None:
        """Let the memory of a module begin with what an earlier run has saved."""

    def stop(self) -> None:  # noqa: B027
        """Record nothing from now on: sources are about to end in the middle of a time."""

    async def until_recorded(self, location: Any, time: Hashable) -> None:  # noqa: B027
        """Wait until it is recorded that everything `time` at a module's output leads to is complete."""

    def finished(self, location: Any) -> bool | None:  # noqa: ARG002
        """Whether a sink that ended in an earlier run had read its whole stream; None if it did not end."""
        return None

    def result(self, location: Any) -> Any:
        """The result of a sink that ended in an earlier run."""
        raise NotImplementedError(f"{location} has not ended in an earlier run")

    def finishes(self, location: Any, result: object, *, exhausted: bool) -> None:  # noqa: B027
        """Note that a sink has ended, and that all its effects are done."""


class Keeping(ABC):
    """The state that a stream keeps for later runs, and has from earlier ones."""

    saving: StateSaver | None = None
    """The place that saves it; None without a journal, and in a stream inside a module."""
    saves: bool = False
    """Whether a journal saves the memory of modules."""
    starts_afresh: bool
    """Whether, with a journal, this stream starts afresh in each run: it must give the same results again."""

    # ---- what modules keep

    @abstractmethod
    def memory(self, location: Any) -> Memory:
        """The memory of a module, or an error if it could not be saved."""

    @abstractmethod
    def placed(self, location: Any, module: object) -> None:
        """Note a module that keeps state across times, or answers at later ones."""

    @abstractmethod
    def opened(self) -> None:
        """Note that all modules of the stream are placed."""

    @abstractmethod
    def placed_inline(self, owner: Any, who: str) -> None:
        """Note a module that keeps state across times, and that its owner at a location runs without an edge."""

    # ---- what follows from a time

    @abstractmethod
    def fulfilled(self, location: Any, time: Hashable) -> bool:
        """Whether everything that `time` at a module's output leads to is complete at the outputs of all sinks."""

    @abstractmethod
    async def until_fulfilled(self, location: Any, time: Hashable, check: Callable[[], object]) -> None:
        """Wait until everything that `time` at a module's output leads to is complete at the outputs of all sinks.

        `check` is called before each look at that. An exception of it ends the wait.
        """

    @abstractmethod
    def carrying(self, location: Any) -> Sequence[Any]:
        """The modules downstream that carry something from a time to later ones, as state or in a later window."""

    @abstractmethod
    def carrying_inside(self, location: Any) -> Sequence[str]:
        """Such modules in streams inside the modules downstream, where nothing is saved, as far as they are open."""

    @abstractmethod
    def strangers(self, location: Any, time: Hashable) -> Sequence[Any]:
        """The modules downstream that make times of their own: beyond them, nothing is known of `time`."""
