"""Hand-written readers and requests that keep or break the rules of a single edge (R1 to R5, R9)."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import attrs
import trio
from trio.testing import MockClock
from typing_extensions import override

import pullstream as ps
from pullstream.checker import Violation, WatchedReader, watch
from pullstream.errors import one_of
from pullstream.history.events import Batched, Seen
from pullstream.trace.drawing.edge import draw_messages
from pullstream.trace.drawing.messages import Message, worded
from pullstream.trace.times import shown, written_batch


class Letters(ps.Reader[str]):
    """Answers correctly: a, b, and then done."""

    def __init__(self) -> None:
        self.left = ["b", "a"]
        self.ended = trio.Event()

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        await trio.sleep(1)
        return ps.Batch(0, [self.left.pop()]) if self.left and not self.ended.is_set() else ps.DONE

    @override
    async def abort(self) -> ps.authoring.Done:
        self.ended.set()
        await trio.sleep(2)
        return ps.DONE

    @override
    async def error(self, reason: BaseException) -> ps.authoring.Done:
        return await self.abort()

    @override
    def abort_nowait(self) -> None:
        self.ended.set()

    @override
    def error_nowait(self, reason: BaseException) -> None:
        self.ended.set()

    @override
    def ack(self) -> None:
        """Do nothing: this reader counts nothing."""

    @override
    def lane(self) -> ps.Reader[str]:
        return self


class InTurn(Letters):
    """Answers lanes first come, first served."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = trio.Lock()

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        async with self.turn:
            return await super().ask(limit)


class LastFirst(Letters):
    """Answers the second ask before the first."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        letter = self.left.pop()
        await trio.sleep(2 if letter == "a" else 1)
        return ps.Batch(0, [letter])


class AnswersAll(Letters):
    """Answers with all its values, even if fewer were asked for."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        return ps.Batch(0, ["a", "b", "c"])


class Restarts(Letters):
    """Starts again after its end."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        if not self.left:
            self.left = ["b", "a"]
            return ps.DONE
        return ps.Batch(0, [self.left.pop()])


class Late(Letters):
    """Answers a pending ask with a value after the abort."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        await self.ended.wait()
        return ps.Batch(0, [self.left.pop()])


class Prompt(Letters):
    """Answers a pending ask with done when it is aborted."""

    @override
    async def ask(self, limit: int = 1) -> ps.Batch[str] | ps.authoring.Done:
        await self.ended.wait()
        return ps.DONE


Watched = WatchedReader[str]


async def two_lanes(reader: Watched) -> None:
    """Ask on two lanes, one shortly after the other."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        nursery.start_soon(reader.lane().ask)


async def one_lane_twice(reader: Watched) -> None:
    """Ask twice on one lane, the second time before the first answer."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.ask)
        await trio.sleep(0.5)
        nursery.start_soon(reader.ask)


async def all_of_it(reader: Watched) -> None:
    """Ask until done, and then once more."""
    for _ in range(4):
        await reader.ask()


async def for_two(reader: Watched) -> None:
    """Ask for two values."""
    await reader.ask(2)


async def until_done(reader: Watched) -> None:
    """Ask until done, and then stop."""
    while await reader.ask() is not ps.DONE:
        pass


async def abort_beside(reader: Watched) -> None:
    """Abort while an ask is pending."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()


@attrs.frozen
class ByHand:
    """A reader, and the requests to it."""

    reader: Callable[[], Letters]
    requests: Callable[[Watched], Awaitable[None]]
    strict: bool = False

    def draw(self, title: str) -> tuple[str, str]:
        """Run the scene; return its drawing and the broken rule, or an empty string."""
        drawn: list[tuple[list[Message], str]] = []

        async def main() -> None:
            reader = watch(self.reader(), "the source", strict=self.strict)
            try:
                await self.requests(reader)
                reader.settled()
            except BaseException as exc:  # noqa: BLE001 - a nursery may have put it into a group
                violation = _violation(exc)
                offence = f"{violation.rule}: {violation.what}"
                drawn.append((_messages(violation.events, offence), violation.rule))
            else:
                drawn.append((_messages(reader.events), ""))

        trio.run(main, clock=MockClock(autojump_threshold=0))
        messages, rule = drawn[0]
        return draw_messages(messages, ["a sink", "a source"], title), rule


def _messages(events: Iterable[Seen], offence: str = "") -> list[Message]:
    """Return the messages on a watched edge; the last is the offence, if there is one."""
    found: list[Message] = []
    for event in events:
        sides = (0, 1) if event.requested else (1, 0)
        words = worded(event.what.value, [event.lane, event.number, *_content(event.about)])
        found.append(Message(*sides, words, not event.requested))
    if offence and found:
        found[-1] = attrs.evolve(found[-1], offence=offence)
    return found


def _content(about: object) -> list[Any]:
    match about:
        case Batched() as batch:
            return written_batch(batch)
        case BaseException() as failure:
            return [shown(failure)]
        case None:
            return []
        case limit:
            return [limit]


def _violation(exc: BaseException) -> Violation:
    found = one_of(exc)
    assert isinstance(found, Violation)
    return found
