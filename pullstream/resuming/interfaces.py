"""Optional interfaces of modules for runs with a journal: their classes inherit them besides `Kernel`."""

from abc import ABC, abstractmethod


class Resumable(ABC):
    """A module that restores, in a run with a journal, what an earlier run left in its `memory`."""

    __slots__ = ()

    @abstractmethod
    def restore(self) -> None:
        """Restore the state in `memory`, before the run begins; not called if the traits say that there is none.

        From now on it must hold the times at which it will answer from that state.
        """


class Outside(ABC):
    """A source that reads data that exist before and after the run, such as files."""

    __slots__ = ()

    @abstractmethod
    def identity(self) -> object:
        """A picklable fingerprint of the external data; None if there is none. It must equal the journal's (`==`)."""

    async def unchanged(self) -> bool:
        """Whether it can verify that data read to the end by an earlier run are unchanged.

        Called before a run with a journal, if all sinks downstream have finished; the source is not read then.

        Raises: JournalError: the data have changed.
        """
        return self.identity() is not None

    def for_now(self) -> bool:
        """Whether its end is only the end of the present data, and another run with the journal may read more."""
        return False
