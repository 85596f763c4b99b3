"""An unfinished target: its values, and its temporary file."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, ParamSpec

from more_itertools import mark_ends

from pullstream.authoring import start_in_thread

from .disk import Disk, Out
from .formats import Encoder, WriteFormat

P = ParamSpec("P")


class WriteBehind:
    """A thread for one call at a time; an exception is raised by the next call, or by `done`."""

    def __init__(self) -> None:
        self._call: Future[object] | None = None

    def put(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Start a call after the previous one has ended."""
        self.done()
        self._call = start_in_thread(function, *args, **kwargs)

    def done(self) -> None:
        """Wait for the running call."""
        call, self._call = self._call, None
        if call is not None:
            call.result()

    def leave(self) -> None:
        """Wait for the running call and ignore its result."""
        call, self._call = self._call, None
        if call is not None:
            wait([call])


class PendingFile:
    """The values for one time and key, until the time is complete."""

    def __init__(
        self, disk: Disk, format: WriteFormat, target: str, key: Hashable, temporaries: tuple[Path, Path], *, head: bool
    ) -> None:
        self.target = target
        self.key = key
        self.path, waiting = temporaries
        self.size = 0
        self._format = format
        self._head = head
        self._encoder: Encoder | None = None
        # Content without a head is appended to another file. With keys, there may be any number of these.
        self.out = Out(disk, self.path, keeps=not head and key is None)
        self.raw = format.raw(disk, waiting, f"{format.module}, {target}")

    @property
    def costly(self) -> bool:
        """Whether it has an encoder that uses much memory."""
        return self._encoder is not None and self._format.costly

    def advance(self, behind: WriteBehind, *, may_begin: bool) -> None:
        """Encode the units, the last one in `behind`, if encoding has begun or `may_begin`."""
        if self._encoder is not None or may_begin:
            for unit in self.raw.units(last=False):
                behind.put(self._encode, self._begun(), unit)

    def _encode(self, encoder: Encoder, unit: Any) -> None:
        encoder.write(unit)
        if not self.costly:
            # There may be any number of these, so none may keep a buffer.
            self.out.hand_over()

    def finish(self, behind: WriteBehind) -> None:
        """Encode the rest."""
        for _, last, unit in mark_ends(self.raw.units(last=True)):
            if last:
                behind.done()
                self._begun().write(unit)
            else:
                behind.put(self._begun().write, unit)
        behind.done()
        self._begun().finish()
        self._encoder = None
        self.size = self.out.size

    def discard(self) -> None:
        """Stop writing."""
        self.out.discard()
        self._encoder = None

    def _begun(self) -> Encoder:
        if self._encoder is None:
            self._encoder = self._format.encoder(self.raw, self.out, head=self._head)
        return self._encoder
