"""The interface of a journal that a run uses."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.memory import Memory


class Keeping(ABC):
    """The journal of a run."""

    path: Path
    """The journal's file."""

    @abstractmethod
    def done(self, location: Location, time: Hashable) -> bool:
        """Whether an earlier run has completed everything that follows from a time at a module's output."""

    @abstractmethod
    def memory(self, location: Location) -> Memory:
        """The memory of a module."""

    @abstractmethod
    def stop(self) -> None:
        """Record nothing from now on: sources are about to end in the middle of a time."""

    @abstractmethod
    async def until_recorded(self, location: Location, time: Hashable) -> None:
        """Wait until the journal has recorded that everything `time` at a module's output leads to is complete."""

    @abstractmethod
    def finished(self, location: Location) -> bool | None:
        """Whether a sink ended in an earlier run (else None) and, if so, whether because its stream had."""

    @abstractmethod
    def result(self, location: Location) -> Any:
        """The result of a sink that ended in an earlier run."""

    @abstractmethod
    def finishes(self, location: Location, result: object, *, exhausted: bool) -> None:
        """Note that a sink has ended, and that all its effects are done."""
