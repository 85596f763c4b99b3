"""Reading one piece ahead: the next is read and decoded while the last one is made values."""

from collections.abc import Generator, Iterator
from threading import Thread
from typing import Final, Self

from adapters.files.reading.pieces import Piece

_END: Final = object()


class Ahead:
    """The pieces of a file, of which the next is got ready in a thread; for formats that are decoded outside Python.

    One thread at a time is in `pieces`. It is no obstacle to the program's exit, wherever it hangs.
    """

    def __init__(self, pieces: Generator[Piece]) -> None:
        self._pieces = pieces
        self._thread: Thread | None = None
        self._got: object = _END
        self._failure: BaseException | None = None

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        if self._thread is None:
            self._pull()
        else:
            self._thread.join()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        piece = self._got
        if piece is _END:
            raise StopIteration
        self._thread = Thread(target=self._pull, name="pullstream files", daemon=True)
        self._thread.start()
        return piece  # type: ignore[return-value]  # not the mark of the end

    def _pull(self) -> None:
        try:
            self._got = next(self._pieces, _END)
        except BaseException as exc:  # noqa: BLE001 - raised where the piece is wanted
            self._failure = exc

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.join()
        self._failure = None
        self._pieces.close()
