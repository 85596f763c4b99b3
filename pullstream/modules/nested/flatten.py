"""`flatten`: the values of streams that arrive as values."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from math import inf
from typing import Any, Final, cast, overload

from typing_extensions import override

from pullstream.blueprint import Blueprint, Emits, Module, Positive, Source, Transformer
from pullstream.blueprint.parts import Flattened
from pullstream.blueprint.variables import A
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.backlog import of_runs
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.expand import ITSELF, Expand
from pullstream.engine.nested.inner_streams import open_inner
from pullstream.engine.nested.side_by_side import SideBySide
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.pace import WaitingPace
from pullstream.modules.sources.values import Values, close_iterator
from pullstream.protocol import Batch

_WHOLE: Final = (str, bytes, bytearray, memoryview)
"""Iterables that count as one value."""


def _flattens(value: object) -> bool:
    return isinstance(value, Source) or (isinstance(value, Iterable) and not isinstance(value, (Blueprint, *_WHOLE)))


def _refusal(value: object) -> TypeError:
    if isinstance(value, _WHOLE):
        return TypeError(
            f"flatten got {value!r}, which it would split into characters or bytes. If you want that, put map(list) "
            f"before it. If it is a value among streams, use depth=None, which passes such values on"
        )
    if hasattr(value, "__aiter__") and not isinstance(value, Blueprint):
        return TypeError(f"flatten got the async iterable {value!r}. Put map(from_async_iterable) before it")
    return TypeError(
        f"flatten got {value!r} ({type(value).__name__}), which is neither a source nor an iterable. Map it to one, or "
        f"use depth=None, which passes such values on"
    )


def _itself(value: Any) -> object:
    """Return a value that is a stream, or refuse the value."""
    if _flattens(value):
        return value
    raise _refusal(value)


def _itself_or_no_stream(value: Any) -> object:
    return value if _flattens(value) else ITSELF


class _Merged(Input):
    """An open stream and its outer time, which is held while it is open."""

    def __init__(self, lane: Lane[Any], outer: Hashable) -> None:
        super().__init__(lane)
        self.outer = outer


class FlattenBeside(SideBySide[_Merged]):
    """Reads up to `concurrency` streams concurrently: sources as they answer, iterables in turn."""

    def __init__(self, concurrency: int, depth: int | None) -> None:
        super().__init__()
        self._concurrency = concurrency
        self._passes = depth is None
        self._further = () if depth == 1 else flatten(depth=None if depth is None else depth - 1).modules
        self._read: deque[tuple[Iterator[Any], Hashable]] = deque()
        """Open iterables, each with its outer time, which is held."""
        self._pace = WaitingPace(concurrency)

    @override
    def wanted(self, limit: int) -> int:
        # Iterables can always have more values, so upstream is asked while they are open, as with sources.
        if self.backlog.left > (limit if self._read else 0):
            return 0
        opened = self._concurrency - self._room()
        if opened == self._concurrency:
            return 0
        # The pace exceeds the concurrency only while streams are short; the extra ones may be lists, or wait for room.
        return min(limit, self._pace.next(opened) - opened)

    @override
    def took(self, count: int) -> None:
        self._pace.took(count)

    @override
    def deal(self, limit: int) -> None:
        self._open()
        while self._read and self.backlog.left < limit and not self.backlog.known:
            self._read_next(limit - self.backlog.left)
            self._open()

    def _open(self) -> None:
        """Open as many streams as there is room for. Iterables need no lane, and lists need no room."""
        outer = self.outer
        listed: list[Any] = []
        runs: list[tuple[Hashable, int]] = []
        try:
            while outer and not outer.known:
                value, time = outer.head.values[outer.used], outer.first
                if self._further or not _flattens(value) or isinstance(value, Source):
                    if not self._room():
                        break
                    lane = open_inner(self, self._stream_of(value))
                    self.location.hold(time)
                    self.add(_Merged(lane, time))
                elif isinstance(value, (list, tuple)):
                    if value:
                        listed += cast("Sequence[Any]", value)
                        runs.append((time, len(cast("Sequence[Any]", value))))
                elif self._room():
                    self._read.append((iter(value), time))
                    self.location.hold(time)
                else:
                    break
                outer.used += 1
        except BaseException as exc:  # noqa: BLE001 - raised when the module answers, after earlier results
            self.end(exc)
        if listed:
            self.backlog.put(of_runs(runs, listed))

    def _room(self) -> int:
        return self._concurrency - len(self.inner) - len(self._read)

    def _read_next(self, limit: int) -> None:
        """Read the next iterable; the open ones take turns."""
        iterator, time = self._read[0]
        values: list[Any] = []
        try:
            values.extend(islice(iterator, limit))
        except BaseException as exc:  # noqa: BLE001 - raised after the values before it
            self.backlog.end(exc)
        if values:
            self.backlog.put(Batch(time, values))
        if len(values) == limit:
            self._read.rotate(-1)
        elif not self.backlog.known:
            self._read.popleft()
            self.location.drop(time)

    @override
    async def release(self) -> None:
        with ExitStack() as closing:
            for iterator, _ in self._read:
                closing.callback(close_iterator, iterator)
        await super().release()

    @override
    def answer(self, stream: _Merged, batch: Batch[Any]) -> Batch[Any]:
        return Batch(stream.outer, batch.values)

    @override
    def stream_ended(self, stream: _Merged) -> None:
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
@Emits.AT_ONCE
def flatten(*, depth: Positive | None = 1, concurrency: Positive = 1) -> Transformer[Any, Any]:
    """Emit the values of streams that arrive as values: of sources or iterables.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([ps.values("ab"), [], ["c"]]), ps.flatten(), ps.collect()))
    ['a', 'b', 'c']

    Streams are read one after another or, with `concurrency`, up to that many concurrently, with values as they arrive:

    >>> import trio
    >>> @ps.source
    ... async def every(ctx, seconds):
    ...     for _ in range(2):
    ...         await trio.sleep(seconds)
    ...         yield seconds
    >>> ps.run(ps.pipe(ps.values([0.3, 0.01]), ps.map(every), ps.flatten(concurrency=2), ps.collect()))
    [0.01, 0.01, 0.3, 0.3]

    `depth` is the number of levels of streams to open. At each level, a value that is not a stream is refused, and so
    is text (`str`, `bytes`), which would be split into characters. With `depth=None`, all streams are opened at any
    depth, and other values are passed on:

    >>> ps.run(ps.pipe(ps.values([1, [2, ["three", [4]]]]), ps.flatten(depth=None), ps.collect()))
    [1, 2, 'three', 4]

    Upstream is asked for one stream at a time, and for more while streams are read to their ends quickly; with
    `concurrency`, for as many as can be opened. Iterables never wait: they are read in turn, and lists in one step. An
    inner stream is opened when it is reached, and released before the next one is opened. Generators that are not read
    to their end are closed. Inner values are at the time of the outer value, which is held while the stream is open;
    times inside the stream are not visible outside. With `concurrency`, one answer of each open stream may wait. A
    failure upstream comes after all values of the streams before it, so it waits for an endless one forever. A
    failure that has waited for ten seconds is logged.

    Raises: TypeError: a value is not a stream, or is text (raised by the stream). BaseException: the failure of an
    inner stream; the outer one is notified (R8).
    """
    if concurrency > 1:
        return opens(FlattenBeside(concurrency, depth))
    return opens(Expand(_itself_or_no_stream, inf) if depth is None else Expand(_itself, depth))
