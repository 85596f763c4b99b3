"""Watching one edge: a reader that wraps any reader."""

from typing import Any

from typing_extensions import TypeVar, override

from pullstream.blueprint import Site
from pullstream.checker.edge import Partner, WatchedEdge
from pullstream.checker.ties import Tie
from pullstream.history.diagram import module_diagram
from pullstream.history.events import Seen
from pullstream.protocol import DONE, Batch, Done, Reader

T_co = TypeVar("T_co", covariant=True)


class WatchedReader(Reader[T_co]):
    """A reader that passes everything on and verifies it. Made by `watch`."""

    def __init__(self, reader: Reader[T_co], edge: WatchedEdge, above: "WatchedReader[Any] | None" = None) -> None:
        self._reader = reader
        self._edge = edge
        self._above = above
        self._lane = edge.number_lane()

    @property
    def events(self) -> list[Seen]:
        """The events on the edge so far, on all its lanes: the first and the last ones."""
        return self._edge.events

    def diagram(self) -> str:
        """Draw the events in the specification's notation, with those of the edge upstream if that is watched."""
        return self._edge.diagram() if self._above is None else module_diagram(self.events, self._above.events)

    def tie(self, output: WatchedEdge) -> None:
        """Declare that the module downstream of this edge answers on `output`."""
        tie = Tie(self._edge, output)
        self._edge.below = output.above
        self._edge.watching = output.watching = tie
        output.clock = self._edge.clock

    def settled(self) -> None:
        """Declare that nothing more will happen.

        Raises:
            Violation: a request was never answered (R1).
        """
        self._edge.settled()

    @override
    async def ask(self, limit: int = 1) -> Batch[T_co] | Done:
        return await self._ask(limit, many=False)

    @override
    async def ask_many(self, limit: int = 1) -> Batch[T_co] | Done:
        return await self._ask(limit, many=True)

    async def _ask(self, limit: int, *, many: bool) -> Batch[T_co] | Done:
        number = self._edge.ask(self._lane, limit)
        try:
            answer = await (self._reader.ask_many(limit) if many else self._reader.ask(limit))
        except BaseException as exc:
            self._edge.raised(number, exc)
            raise
        self._edge.answered(number, answer, many=many)
        return answer if answer is DONE else self._edge.hand_over(self._lane, answer)

    @override
    async def abort(self) -> Done:
        return await self._terminate(None)

    @override
    async def error(self, reason: BaseException) -> Done:
        return await self._terminate(reason)

    async def _terminate(self, reason: BaseException | None) -> Done:
        number = self._edge.terminate(self._lane, reason)
        try:
            answer = await (self._reader.abort() if reason is None else self._reader.error(reason))
        except BaseException as exc:
            self._edge.refused(number, exc)
            raise
        self._edge.confirmed(number, answer)
        return answer

    @override
    def abort_nowait(self) -> None:
        self._edge.terminate(self._lane, None, waits=False)
        self._reader.abort_nowait()

    @override
    def error_nowait(self, reason: BaseException) -> None:
        self._edge.terminate(self._lane, reason, waits=False)
        self._reader.error_nowait(reason)

    @override
    def ack(self) -> None:
        self._edge.ack(self._lane)
        self._reader.ack()

    @override
    def ack_but(self, left: Batch[Any]) -> None:
        self._reader.ack_but(left)

    @override
    def lane(self) -> "WatchedReader[T_co]":
        return WatchedReader(self._reader.lane(), self._edge, self._above)


def watch(
    reader: Reader[T_co],
    name: str = "the module upstream",
    *,
    strict: bool = False,
    above: WatchedReader[Any] | None = None,
) -> WatchedReader[T_co]:
    """Watch one edge by hand: ask the returned reader instead of `reader`, which may be any reader.

    >>> import pullstream as ps
    >>> from pullstream import checker
    >>> @ps.sink
    ... async def two(upstream, ctx):
    ...     reader = checker.watch(upstream)
    ...     await reader.ask()
    ...     await reader.ask()
    ...     await reader.abort()
    ...     return reader.diagram()
    >>> print(ps.run(ps.pipe(ps.values("abc"), two())))
    D: ask1(Ans1) -> U: Ans1=value('a')
    -> D: ask2(Ans2) -> U: Ans2=value('b')
    -> D: abort3(Ans3) -> U: Ans3=done

    It verifies what a single edge shows: R1 to R5 and the confirmation of R8; with `strict`, also that the consumer
    follows R9. If `reader` belongs to a transformer that asks the watched reader `above`, the relation of its two edges
    is verified as well (R2, R6, R7 and R8), and the diagram shows both. `run(..., check=True)` verifies the rest, too.
    Errors call the module upstream `name`.

    Raises:
        Violation: raised by the call that breaks a rule.
    """
    here = Site.here()
    edge = WatchedEdge(Partner(name), Partner("the requester", here), strict=strict)
    if above is not None:
        above.tie(edge)
    return WatchedReader(reader, edge, above)
