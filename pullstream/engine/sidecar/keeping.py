"""The interface of a journal, as a run needs it."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.memory import Memory


class Keeping(ABC):
    """The journal of a run, to the run."""

    path: Path
    """The journal's file."""

    @abstractmethod
    def done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that comes of a time at a module's output was complete before."""

    @abstractmethod
    def memory(self, location: Location) -> Memory:
        """The memory of a module."""

    @abstractmethod
    def stop(self) -> None:
        """Record nothing from now on: sources are about to end in the middle of a time."""

    @abstractmethod
    async def until_recorded(self, location: Location, time: Hashable) -> None:
        """Wait until the journal says that everything that comes of a time at a module's output is complete."""

    @abstractmethod
    def finished(self, location: Location) -> bool | None:
        """Whether a sink came to its end in an earlier run and, if so, whether because its stream had."""

    @abstractmethod
    def result(self, location: Location) -> Any:
        """The result of a sink that came to its end in an earlier run."""

    @abstractmethod
    def finishes(self, location: Location, result: object, *, exhausted: bool) -> None:
        """Note that a sink has come to its end, and that all it did is done."""
