"""Work in threads of its own: pieces are made one ahead of those that are handed on."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, Final, ParamSpec, Self, TypeVar, cast

from adapters.files.reading.pieces import Piece

_END: Final = object()

P = ParamSpec("P")
T = TypeVar("T")


def aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Call it in a thread of its own, which is no obstacle to the program's exit, wherever it hangs."""
    future: Future[T] = Future()
    Thread(target=_call, args=(future, function, args, kwargs), name="pullstream files", daemon=True).start()
    return future


def _call(future: "Future[Any]", function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(function(*args, **kwargs))
    except BaseException as exc:  # noqa: BLE001 - raised where the result is wanted
        future.set_exception(exc)
        # Else the exception, which has this frame, would be kept until the collector finds it.
        del future


class Ahead:
    """The pieces of a file, of which the next is got ready meanwhile; for formats that are decoded outside Python.

    One thread at a time is in `pieces`.
    """

    def __init__(self, pieces: Generator[Piece]) -> None:
        self._pieces = pieces
        self._next: Future[object] | None = None

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        piece = next(self._pieces, _END) if self._next is None else self._next.result()
        if piece is _END:
            raise StopIteration
        self._next = aside(next, self._pieces, _END)
        return cast("Piece", piece)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._next is not None:
            wait([self._next])
            self._next = None
        self._pieces.close()
