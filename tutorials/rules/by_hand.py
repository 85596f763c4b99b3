"""Readers written by hand, and asked by hand: the rules of an edge alone (R1 to R5, R9), kept and broken."""

from collections.abc import Awaitable, Callable
from typing import cast

import attrs
import trio
from trio.testing import MockClock
from typing_extensions import override

import pullstream as ps
from pullstream.checker import Violation, WatchedReader, watch
from pullstream.trace.drawing.edge import draw_messages
from pullstream.trace.drawing.messages import Message, messages_seen


class Letters(ps.Reader[str]):
    """Answers a, b and then done, as one should."""

    def __init__(self) -> None:
        self.left = ["b", "a"]
        self.ended = trio.Event()

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        await trio.sleep(1)
        return ps.Batch(0, [self.left.pop()]) if self.left and not self.ended.is_set() else ps.DONE

    @override
    async def abort(self) -> ps.Done:
        self.ended.set()
        await trio.sleep(2)
        return ps.DONE

    @override
    async def error(self, reason: BaseException) -> ps.Done:
        return await self.abort()

    @override
    def abort_nowait(self) -> None:
        self.ended.set()

    @override
    def error_nowait(self, reason: BaseException) -> None:
        self.ended.set()

    @override
    def ack(self) -> None:
        """Nothing is counted here."""

    @override
    def lane(self) -> ps.Reader[str]:
        return self


class InTurn(Letters):
    """Answers lanes first come, first served."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = trio.Lock()

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        async with self.turn:
            return await super().ask(limit)


class LastFirst(Letters):
    """Answers the second ask before the first."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        letter = self.left.pop()
        await trio.sleep(2 if letter == "a" else 1)
        return ps.Batch(0, [letter])


class Generous(Letters):
    """Gives all it has, for however little it was asked."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        return ps.Batch(0, ["a", "b", "c"])


class Undead(Letters):
    """Begins anew after its end."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        if not self.left:
            self.left = ["b", "a"]
            return ps.DONE
        return ps.Batch(0, [self.left.pop()])


class Late(Letters):
    """Has a value under way when the abort comes, and cannot keep it to itself."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        await self.ended.wait()
        return ps.Batch(0, [self.left.pop()])


class Polite(Letters):
    """Answers the ask under way with done when the abort comes."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.Done:
        await self.ended.wait()
        return ps.DONE


Watched = WatchedReader[str]


async def two_lanes(reader: Watched) -> None:
    """Two lanes ask, one shortly after the other."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        nursery.start_soon(reader.lane().ask)


async def one_lane_twice(reader: Watched) -> None:
    """One lane asks, and asks again before it has an answer."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.ask)
        await trio.sleep(0.5)
        nursery.start_soon(reader.ask)


async def all_of_it(reader: Watched) -> None:
    """Ask until done, and once more."""
    for _ in range(4):
        await reader.ask()


async def for_two(reader: Watched) -> None:
    """Ask for two values."""
    await reader.ask(2)


async def until_done(reader: Watched) -> None:
    """Ask until done, and no more."""
    while await reader.ask() is not ps.DONE:
        pass


async def abort_beside(reader: Watched) -> None:
    """Abort while an ask is under way."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()


@attrs.frozen
class ByHand:
    """A reader, and who asks it."""

    reader: Callable[[], Letters]
    requests: Callable[[Watched], Awaitable[None]]
    strict: bool = False

    def draw(self, title: str) -> tuple[str, str]:
        """The drawing of what happens, and the rule that is broken or nothing."""
        drawn: list[tuple[list[Message], str]] = []

        async def main() -> None:
            reader = watch(self.reader(), "the source", strict=self.strict)
            try:
                await self.requests(reader)
                reader.settled()
            except BaseException as exc:  # noqa: BLE001 - a nursery may have put it into a group
                violation = _violation(exc)
                offence = f"{violation.rule}: {violation.what}"
                drawn.append((messages_seen(violation.events, offence), violation.rule))
            else:
                drawn.append((messages_seen(reader.events), ""))

        trio.run(main, clock=MockClock(autojump_threshold=0))
        messages, rule = drawn[0]
        return draw_messages(messages, ["a sink", "a source"], title), rule


def _violation(exc: BaseException) -> Violation:
    found: BaseException = exc
    while isinstance(found, BaseExceptionGroup):
        found = cast("BaseExceptionGroup[BaseException]", found).exceptions[0]
    assert isinstance(found, Violation)
    return found
