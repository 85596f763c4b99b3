"""The kernel that answers the values of one inner stream after another: inner sources and iterables."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from operator import length_hint
from typing import Any, Final, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Source, table_advice
from pullstream.engine.edge.backlog import of_runs
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.nested.inner_streams import forget_inner, open_inner
from pullstream.engine.parts.pace import WaitingPace
from pullstream.engine.traits import Traits
from pullstream.frames import shown
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered
from pullstream.timely.order import Ascending

_KINDS: Final = {type(iter(made)) for made in (list[int](), (), range(0), "", "\u20ac", b"")}


def spent(iterator: Iterator[Any]) -> bool:
    """Whether an iterator is known, without reading it, to be exhausted: possible for lists, tuples and the like."""
    return type(iterator) in _KINDS and not length_hint(iterator)


ITSELF: Final = object()
"""The mark for a value that is not a stream and is answered as it is."""


@attrs.define(eq=False)
class Open:
    """An open stream: the values at hand and, if more must be asked for, its lane."""

    values: Iterator[Any]
    lane: Lane[Any] | None = None


class Expand(PolledKernel[Any]):
    """Reads one stream after another. The open streams form a stack, with the outer stream at the bottom.

    Upstream is not asked again while values of an outer batch are left, so the batch in flight holds its own times. It
    is processed run by run; the part in flight shrinks to the values left.
    """

    traits = Traits(waits=False, trusted=True)

    def __init__(self, stream_of: Callable[[Any], object], levels: float = 1) -> None:
        self._stream_of = stream_of
        """Returns the stream to read instead of a value; `ITSELF` to answer the value as it is."""
        self.levels = levels
        self._open: list[Open] = []
        self._time: Hashable = None
        self._outer: Batch[Any] | None = None
        """The outer batch, until all its values have been handled."""
        self._runs: Iterator[Batch[Any]] = iter(())
        self._run = self._done = 0
        """The number of its values in the current run, and in the runs before."""
        self._pace = WaitingPace()

    def batch(self, values: Sequence[Any]) -> Iterator[Any]:
        """Iterate over the values of an outer batch, as `stream_of` takes them."""
        return iter(values)

    def instead(self, got: str) -> str:
        """Say what is needed instead of an object that is not a stream."""
        return (
            f"needs a source or an iterable for each value, but got {got}: put a single value into a list, or use map"
        )

    def wanted(self, limit: int) -> int:
        """The number of values to ask upstream for."""
        return min(limit, self._pace.next())

    @override
    def placed(self) -> None:
        self._open.append(Open(iter(()), cast("Lane[Any]", self.upstream)))

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if not self._open:
            return DONE
        answer = self._at_hand(limit)
        if answer is None and self._open:
            values = self._asked(self._open[-1], limit)
            if isinstance(values, Unanswered):
                return values
            answer = Batch(self._time, values) if values else self._at_hand(limit)
        return answer or NOT_YET

    @override
    def __next_input__(self) -> Lane[Any]:
        lane = self._open[-1].lane
        assert lane is not None
        return lane

    def _at_hand(self, limit: int) -> Batch[Any] | None:
        """The values available without asking, up to the limit; they may be at several times."""
        outer, done = self._outer, self._done
        if outer is None:
            return None
        runs: list[tuple[Hashable, int]] = []
        out: list[Any] = []
        try:
            while True:
                begin, time = len(out), self._time
                try:
                    self._take(out, limit)
                finally:
                    if len(out) > begin:
                        runs.append((time, len(out) - begin))
                if not (self._over() and self._next_run()) or len(out) == limit:
                    break
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, out)
        finally:
            if self._done > done:
                # So the times of the handled values can complete while a stream in the middle of the batch is awaited.
                self.upstream.ack_but(outer.part(self._done))
        # Values are expanded one after another: if the outer times ascend, so do the times of the answer.
        return of_runs(runs, out, ascending=len(runs) > 1 and isinstance(outer.times, Ascending)) if out else None

    def _next_run(self) -> bool:
        """Continue with the next run of the outer batch, if there is one."""
        self._done += self._run
        run = next(self._runs, None)
        if run is None:
            self._outer = None
            return False
        self._time, self._run = run.time, len(run.values)
        self._open[0].values = self.batch(run.values)
        return True

    def _take(self, out: list[Any], limit: int) -> None:
        """Take available values until there are `limit`, or until the innermost stream has to be asked."""
        opened = self._open
        while len(out) < limit and opened:
            top = opened[-1]
            if len(opened) > self.levels:
                out.extend(islice(top.values, limit - len(out)))
                if len(out) == limit:
                    return
            elif self._begin(top.values, out, limit):
                continue
            if top.lane is not None:
                top.values = iter(())
                return
            opened.pop()

    def _begin(self, values: Iterator[Any], out: list[Any], limit: int) -> bool:
        """Open the streams of the values, one after another; False if there are no more values.

        A stream of the last level that is read whole need not be put on the stack.
        """
        innermost = len(self._open) == self.levels
        stream_of = self._stream_of
        for value in values:
            stream: Any = stream_of(value)
            kind: Any = stream.__class__
            if innermost and (kind is list or kind is tuple) and len(out) + len(stream) < limit:
                # Most streams are short, and the general case below would cost more than reading them.
                out += stream
                continue
            if stream is ITSELF:
                out.append(value)
            elif isinstance(stream, Source):
                self._open.append(Open(iter(()), open_inner(self, cast("Source[Any]", stream))))
                return True
            else:
                if table := table_advice(stream):
                    raise TypeError(
                        f"{self.location}, would read a {kind.__name__} column by column, if at all: {table}"
                    )
                try:
                    inner = iter(cast("Iterable[Any]", stream))
                except TypeError:
                    # Both methods of a blueprint only raise.
                    blueprint = isinstance(stream, Blueprint)
                    if hasattr(kind, "__iter__") and not blueprint:
                        raise
                    if hasattr(kind, "__aiter__") and not blueprint:
                        raise TypeError(
                            f"{self.location}, got {shown(stream)}: from_async_iterable(...) makes a source of it"
                        ) from None
                    raise TypeError(f"{self.location}, {self.instead(shown(stream))}") from None
                if innermost:
                    try:
                        out.extend(islice(inner, limit - len(out)))
                    except BaseException:
                        # On the stack, so that `release` closes it with the others.
                        self._open.append(Open(inner))
                        raise
                if not innermost or len(out) == limit:
                    self._open.append(Open(inner))
                    return True
            if len(out) == limit:
                return True
        return False

    def _over(self) -> bool:
        """Whether the outer batch is known, without reading it, to have no values left."""
        opened = self._open
        while len(opened) > 1 and opened[-1].lane is None and spent(opened[-1].values):
            opened.pop()
        return len(opened) == 1 and spent(opened[0].values)

    def _asked(self, top: Open, limit: int) -> Sequence[Any] | Unanswered:
        """Ask the innermost open stream; return its values if they are answered as they are, else keep them."""
        lane = top.lane
        assert lane is not None
        outer = lane is self.upstream
        batch = lane.poll(self.wanted(limit) if outer else limit)
        if isinstance(batch, Unanswered):
            return batch
        if batch is DONE:
            self._open.pop()
            if not outer:
                forget_inner(self, [lane])
        elif outer:
            self._pace.took(len(batch.values))
            self._outer, self._runs, self._run, self._done = batch, batch.runs(), 0, 0
            self._next_run()
        elif len(self._open) > self.levels:
            return batch.values
        else:
            top.values = iter(batch.values)
        return ()

    @override
    async def release(self) -> None:
        with ExitStack() as closing:
            for stream in self._open:
                close = getattr(stream.values, "close", None)
                if close is not None:
                    closing.callback(close)
