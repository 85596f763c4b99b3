"""`flatten`: the values of streams that come as values."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from time import monotonic
from typing import Any, Final, cast, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Module, Source, Transformer, count_argument
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner import forget_inner, open_inner
from pullstream.engine.parts.beside import Beside
from pullstream.engine.parts.outbox import Remainder, spent
from pullstream.engine.parts.pace import Pace
from pullstream.engine.traits import Traits
from pullstream.modules.sources.values import Values
from pullstream.protocol import DONE, Batch, Done, State

A = TypeVar("A")

_END: Final = object()
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


@attrs.define(eq=False)
class _Open:
    """A stream that is being read: what is at hand of it and, if more is to be asked for, its lane."""

    values: Iterator[Any]
    lane: Lane[Any] | None = None


class Flatten(Kernel[Any]):
    """Reads one stream after another; those that are open lie in a stack, the outer one at the bottom.

    While anything of an outer batch is left, upstream is not asked again, so the batch stands for its own time.
    """

    traits = Traits(waits=False, trusted=True)

    def __init__(self, depth: int | None) -> None:
        self._depth = depth
        self._open: list[_Open] = []
        self._time: Hashable = None
        self._failed: BaseException | None = None
        self._pace = Pace()

    @override
    async def acquire(self) -> None:
        self._open.append(_Open(iter(()), cast("Lane[Any]", self.upstream)))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        while self._open and self.state is State.OPEN:
            values: Sequence[Any] = self._at_hand(limit)
            if values:
                if self._failed is None and self._over():
                    self.upstream.settle()
                return Batch(self._time, values)
            if self._open:
                values = await self._asked(self._open[-1], limit)
                if values:
                    return Batch(self._time, values)
            await self.breathe()
        return DONE

    def _at_hand(self, limit: int) -> list[Any]:
        """What is there without asking: until there is enough, or the innermost open stream has to be asked."""
        values: list[Any] = []
        began = monotonic()
        try:
            self._take(values, limit)
        except BaseException as exc:
            if not values:
                raise
            self._failed = exc
        finally:
            self.run.blocked += monotonic() - began
        return values

    def _take(self, values: list[Any], limit: int) -> None:
        opened, depth = self._open, self._depth
        while len(values) < limit and opened:
            top = opened[-1]
            if depth is not None and len(opened) > depth:
                values.extend(islice(top.values, limit - len(values)))
                if len(values) == limit:
                    return
            else:
                value = next(top.values, _END)
                if value is not _END:
                    self._begin(value, values)
                    continue
            if top.lane is not None:
                top.values = iter(())
                return
            opened.pop()

    def _over(self) -> bool:
        """Whether nothing is left of the batch above, as far as is known without reading on."""
        opened = self._open
        while len(opened) > 1 and opened[-1].lane is None and spent(opened[-1].values):
            opened.pop()
        return len(opened) == 1 and spent(opened[0].values)

    def _begin(self, value: Any, values: list[Any]) -> None:
        if _flattens(value):
            if isinstance(value, Source):
                self._open.append(_Open(iter(()), open_inner(self, cast("Source[Any]", value))))
            else:
                self._open.append(_Open(iter(value)))
        elif self._depth is None:
            values.append(value)
        else:
            raise _refusal(value)

    async def _asked(self, top: _Open, limit: int) -> Sequence[Any]:
        """Ask the innermost open stream; what it answers, if that is for below."""
        lane = top.lane
        assert lane is not None
        outer = lane is self.upstream
        batch = await lane.ask(min(limit, self._pace.next()) if outer else limit)
        if self.state is not State.OPEN:
            return ()
        if batch is DONE:
            self._open.pop()
            if not outer:
                forget_inner(self, [lane])
            return ()
        if outer:
            self._pace.took(len(batch.values))
            self._time = batch.time
        if self._depth is not None and len(self._open) > self._depth:
            return batch.values
        top.values = iter(batch.values)
        return ()

    @override
    async def release(self) -> None:
        with ExitStack() as closing:
            for stream in self._open:
                close = getattr(stream.values, "close", None)
                if close is not None:
                    closing.callback(close)


class _Merged(Remainder):
    """One of several streams that are read side by side: its outer time, and what is left of its answer."""

    def __init__(self, outer: Hashable) -> None:
        super().__init__()
        self.outer = outer


class FlattenBeside(Beside[Any]):
    """Reads up to `concurrency` streams at a time, as they answer; the outer time of each is held while it is open.

    At most one answer of each stream waits here. The failure of one strikes after the answers that wait; a failure of
    what is upstream after the streams that came before it have ended.
    """

    traits = Traits(trusted=True, reorders=True)

    def __init__(self, concurrency: int, depth: int | None) -> None:
        self._concurrency = concurrency
        self._further = () if depth == 1 else flatten(depth=None if depth is None else depth - 1).modules
        self._streams: dict[Lane[Any], _Merged] = {}
        self._ready: deque[_Merged] = deque()
        self._outer_end: Done | BaseException | None = None
        self._failed: BaseException | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._ready:
            if self._failed is not None:
                raise self._failed
            if not self._streams and self._outer_end is not None:
                if isinstance(self._outer_end, BaseException):
                    raise self._outer_end
                return DONE
            self._ask_all(limit)
            await self.change()
        stream = self._ready[0]
        values = stream.take(limit)
        if not stream.left:
            self._ready.popleft()
        return Batch(stream.outer, values)

    def _ask_all(self, limit: int) -> None:
        for lane, stream in self._streams.items():
            if not stream.left:
                self.ask_beside(lane, limit)
        room = self._concurrency - len(self._streams)
        if room and self._outer_end is None:
            self.ask_beside(self.upstream, min(room, limit))

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if lane is self.upstream:
            self._open(answer)
        elif isinstance(answer, Batch):
            stream = self._streams[lane]
            stream.put(answer)
            self._ready.append(stream)
        elif isinstance(answer, BaseException):
            self._failed = self._failed or answer
        else:
            self.location.drop(self._streams.pop(lane).outer)
            forget_inner(self, [lane])

    def _open(self, answer: Batch[Any] | Done | BaseException) -> None:
        if not isinstance(answer, Batch):
            self._outer_end = answer
            return
        try:
            for value in answer.values:
                lane = open_inner(self, self._stream_of(value))
                self.location.hold(answer.time)
                self._streams[lane] = _Merged(answer.time)
        except BaseException as exc:  # noqa: BLE001 - raised where the module answers, after what came before it
            self._outer_end = exc
        self.upstream.ack()

    def _stream_of(self, value: Any) -> Source[Any]:
        if isinstance(value, Source):
            return Source((*cast("Source[Any]", value).modules, *self._further))
        if _flattens(value):
            return Source((Module("values", _reading, (value,)), *self._further))
        if self._further and self._further[0].args == (None,):
            return Source((Module("values", _reading, ((value,),)),))
        raise _refusal(value)


def _reading(iterable: Iterable[Any]) -> Values:
    return Values(iterable, None)


def _flatten(depth: int | None, concurrency: int = 1) -> Kernel[Any]:
    return Flatten(depth) if concurrency == 1 else FlattenBeside(concurrency, depth)


@overload
def flatten(*, concurrency: int = 1) -> Transformer[Source[A] | Iterable[A], A]: ...
@overload
def flatten(*, depth: int | None, concurrency: int = 1) -> Transformer[Any, Any]: ...
def flatten(*, depth: int | None = 1, concurrency: int = 1) -> Transformer[Any, Any]:
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
    if depth is not None:
        count_argument("flatten", "depth", depth, least=1)
    count_argument("flatten", "concurrency", concurrency, least=1)
    return Transformer(
        (Module("flatten", _flatten, (depth,), (("concurrency", concurrency),) if concurrency > 1 else ()),)
    )
