"""Reading one piece ahead: the next piece is decoded while values are made from the last one."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future, wait
from typing import Final, Self, cast

from pullstream.authoring import start_in_thread

from .formats import Piece

_END: Final = object()


class ReadAhead:
    """Iterates over the pieces of a file, and prepares the next one meanwhile; for formats decoded outside Python.

    Only one thread at a time uses `pieces`.
    """

    def __init__(self, pieces: Generator[Piece]) -> None:
        self._pieces = pieces
        self._next: Future[object] | None = None

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        found = next(self._pieces, _END) if self._next is None else self._next.result()
        self._next = None
        if found is _END:
            raise StopIteration
        piece = cast("Piece", found)
        if not piece.more:
            # If more pieces are ready, starting a thread would cost more than the piece.
            self._next = start_in_thread(next, self._pieces, _END)
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._next is not None:
            wait([self._next])
            self._next = None
        self._pieces.close()
