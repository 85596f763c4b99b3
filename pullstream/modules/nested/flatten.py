"""`flatten`: the values of streams that come as values."""

from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import Any, Final, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Module, Positive, Source, Transformer
from pullstream.blueprint.parts import Flattened
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.expand import ITSELF, Expand
from pullstream.engine.nested.inner_streams import open_inner
from pullstream.engine.nested.side_by_side import Inner, SideBySide
from pullstream.modules.sources.values import Values
from pullstream.protocol import Batch

A = TypeVar("A")

_WHOLE: Final = (str, bytes, bytearray, memoryview)
"""Iterables that a program means as one value."""


def _flattens(value: object) -> bool:
    return isinstance(value, Source) or (isinstance(value, Iterable) and not isinstance(value, (Blueprint, *_WHOLE)))


def _refusal(value: object) -> TypeError:
    if isinstance(value, _WHOLE):
        return TypeError(
            f"flatten got {value!r}, which would fall into its characters or bytes: if that is meant, map(list) before "
            f"it; if it is a value among streams, depth=None flattens what can be and passes the rest",
        )
    if hasattr(value, "__aiter__"):
        return TypeError(f"flatten got {value!r}, which is asynchronous: map(from_async_iterable) makes a source of it")
    return TypeError(
        f"flatten got {value!r} ({type(value).__name__}), which is neither a source nor an iterable: map it to one, or "
        f"say depth=None, which flattens what can be and passes the rest",
    )


def _itself(value: Any) -> object:
    """The stream that a value is."""
    if _flattens(value):
        return value
    raise _refusal(value)


def _itself_or_no_stream(value: Any) -> object:
    return value if _flattens(value) else ITSELF


class _Merged(Inner):
    """A stream and its outer time, which is held while it is open."""

    def __init__(self, lane: Lane[Any], outer: Hashable) -> None:
        super().__init__(lane)
        self.outer = outer


class FlattenBeside(SideBySide[_Merged]):
    """Reads up to `concurrency` streams at a time, as they answer."""

    def __init__(self, concurrency: int, depth: int | None) -> None:
        super().__init__()
        self._concurrency = concurrency
        self._passes = depth is None
        self._further = () if depth == 1 else flatten(depth=None if depth is None else depth - 1).modules

    @override
    def ask_outer(self, limit: int) -> None:
        room = self._concurrency - len(self.inner)
        if room and not self.outer.known:
            self.ask_beside(self.upstream, min(room, limit))

    @override
    def came(self, batch: Batch[Any]) -> None:
        try:
            for value in batch.values:
                lane = open_inner(self, self._stream_of(value))
                self.location.hold(batch.time)
                self.add(_Merged(lane, batch.time))
        except BaseException as exc:  # noqa: BLE001 - raised where the module answers, after what came before it
            self.end(exc)
        self.upstream.ack()

    @override
    def answer(self, stream: _Merged, values: Sequence[Any]) -> Batch[Any]:
        return Batch(stream.outer, values)

    @override
    def gone(self, stream: _Merged) -> None:
        self.location.drop(stream.outer)

    def _stream_of(self, value: Any) -> Source[Any]:
        if isinstance(value, Source):
            return Source((*cast("Source[Any]", value).modules, *self._further))
        if _flattens(value):
            return Source((Module("values", Values, (value,)), *self._further))
        if self._passes:
            return Source((Module("values", Values, ((value,),)),))
        raise _refusal(value)


@overload
def flatten(*, concurrency: int = 1) -> Flattened[A]: ...
@overload
def flatten(*, depth: int | None, concurrency: int = 1) -> Transformer[Any, Any]: ...
@transformer
def flatten(*, depth: Positive | None = 1, concurrency: Positive = 1) -> Transformer[Any, Any]:
    """Give the values of values that are streams themselves: sources, or iterables.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([ps.values("ab"), [], ["c"]]), ps.flatten(), ps.collect()))
    ['a', 'b', 'c']

    One stream is read after another or, with `concurrency`, up to so many side by side, values as they come:

    >>> import trio
    >>> @ps.source
    ... async def every(ctx, seconds):
    ...     for _ in range(2):
    ...         await trio.sleep(seconds)
    ...         yield seconds
    >>> ps.run(ps.pipe(ps.values([0.05, 0.01]), ps.map(every), ps.flatten(concurrency=2), ps.collect()))
    [0.01, 0.01, 0.05, 0.05]

    `depth` is how many levels of streams are opened. A value above it that is no stream is refused, and so is a text
    (`str`, `bytes`), which would fall into characters; with `depth=None` whatever is a stream is opened, and the rest
    passed:

    >>> ps.run(ps.pipe(ps.values([1, [2, ["three", [4]]]]), ps.flatten(depth=None), ps.collect()))
    [1, 2, 'three', 4]

    Upstream is asked for one stream at a time, and for more as long as they are read to their ends in a moment; with
    `concurrency`, for as many as can be opened. An inner stream is opened when it is reached and released before the
    next is; generators that are not read to their end are closed. Its values are answered at the time of the outer
    value, which is held as long as the stream is open; what times it has inside stay inside. With `concurrency` one
    answer of each open stream may wait.

    Raises:
        TypeError: a value is no stream, or a text (as the stream's failure).
        BaseException: the failure of an inner stream; the outer one is told (R8).
    """
    if concurrency > 1:
        return opens(FlattenBeside(concurrency, depth))
    return opens(Expand(_itself_or_no_stream, inf) if depth is None else Expand(_itself, depth))
