"""The protocol of one edge: what is asked, what is answered, and the states between (001; the rules R1 to R12).

A request goes up, its answer comes down:

    ask(limit)      -> Batch(time, values) with 1 <= len(values) <= limit, or DONE; a failure is raised
    ask_many(limit) -> the same, or TimedBatch(times, values), of values each at a time of its own
    abort()         -> DONE, once everything upstream has let go
    error(reason)   -> DONE, the same, with a reason that travels to the source

An answer of many times is what as many batches in a row would be, handed over at once: each value is at its own time,
demand counts values, and whatever ends the stream comes after all of it. On its way it counts with its least times,
which keep the others from completing. Who asks with `ask` is given the values of one time after another.

The life of an edge is the table `TRANSITIONS`. The kernel takes every step through it, so what the table does not
list cannot happen; the documentation's diagram is drawn from it as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import compress, islice
from operator import ne
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NoReturn, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.timely.order import minimal

T_co = TypeVar("T_co", covariant=True)
Time_co = TypeVar("Time_co", covariant=True, default=Any)


@attrs.frozen
class Batch(Generic[T_co, Time_co]):
    """Values at one logical time: the answer to an ask.

    `time` is any hashable with a partial order (`<=`): an int, a date, a tuple, a `pullstream.timely.Product`. `values`
    holds at least one value and never more than was asked for (R2). It is in flight, and keeps its time from
    completing, until whoever got it asks again or says that it has been dealt with (R11). Who says `many=True`, or
    `ask_many`, may get a `TimedBatch` in the place of several; `times`, `runs()` and `part()` go for both.

    >>> match Batch(3, ["a", "b"]):
    ...     case Batch(time, values):
    ...         print(time, values)
    3 ['a', 'b']
    """

    time: Time_co
    values: Sequence[T_co]

    @property
    def times(self) -> Sequence[Time_co]:
        """The time of each of the values."""
        return [self.time] * len(self.values)

    def runs(self) -> "Iterator[Batch[T_co, Time_co]]":
        """The values in batches of one time each, in the order in which they came: here it is the batch itself."""
        yield self

    def part(self, start: int, stop: int | None = None) -> "Batch[T_co, Time_co]":
        """The values from `start` on and, if it is given, before `stop`."""
        return Batch(self.time, self.values[start:stop])


class TimedBatch(Batch[T_co]):
    """Values each at a logical time of its own, in order of arrival: several batches in a row, handed over at once.

    `times` and `values` are two sequences of one length; there is no `time`. It counts as many values as it has, was
    asked for with one ask, and whatever ends the stream comes after all of it. A module that asks as everybody does
    never sees one: it is given the values of one time after another. Who takes them whole asks with `ask_many`, or
    reads `ctx.events(upstream, many=True)`, and treats each value as if it had come alone, at its time. While it is in
    flight it keeps its least times from completing, and so all of its times.

    >>> batch = TimedBatch([3, 3, 4], ["a", "b", "c"])
    >>> list(batch.runs())
    [Batch(time=3, values=['a', 'b']), Batch(time=4, values=['c'])]
    >>> batch.part(1)
    TimedBatch(times=[3, 4], values=['b', 'c'])
    """

    __slots__ = ("_changes", "_least", "times")  # pyright: ignore[reportIncompatibleMethodOverride]  # a slot for the base's property
    __match_args__ = ("times", "values")  # type: ignore[assignment]  # a pattern has these two

    times: Sequence[Hashable]
    """The time of each of the values."""
    _least: list[Hashable] | None
    _changes: Sequence[int] | None

    def __init__(self, times: Sequence[Hashable], values: Sequence[T_co], changes: Sequence[int] | None = None) -> None:
        # The base is frozen, and attrs makes no subclass that has a field less.
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_least", None)
        object.__setattr__(self, "_changes", changes)

    @property
    def least(self) -> Sequence[Hashable]:
        """The least of its times, looked up once, however often it is handed on."""
        least = self._least
        if least is None:
            least = minimal(self.times)
            object.__setattr__(self, "_least", least)
        return least

    @property
    def changes(self) -> Sequence[int]:
        """The positions of the values that are at another time than the one before, looked up once."""
        changes = self._changes
        if changes is None:
            times = self.times
            changes = list(compress(range(1, len(times)), map(ne, times, islice(times, 1, None))))
            object.__setattr__(self, "_changes", changes)
        return changes

    @property
    def time(self) -> NoReturn:
        """No time: each value has its own.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"a TimedBatch has a time for each of its {len(self.values)} values, and none for all: take its runs(), or "
            f"zip its times and its values; ask(limit), in place of ask_many(limit), gives a batch of one time, and so "
            f"do ctx.events(upstream) and ctx.batches(upstream) without many=True"
        )

    @override
    def runs(self) -> "Iterator[Batch[T_co]]":
        """The values in batches of one time each, in the order in which they came."""
        begin = 0
        for end in (*self.changes, len(self.times)):
            yield Batch(self.times[begin], self.values[begin:end])
            begin = end

    @override
    def part(self, start: int, stop: int | None = None) -> "TimedBatch[T_co]":
        """The values from `start` on and, if it is given, before `stop`, each at its time."""
        return TimedBatch(self.times[start:stop], self.values[start:stop])

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimedBatch):
            return NotImplemented
        batch = cast("TimedBatch[Any]", other)
        return list(self.times) == list(batch.times) and self.values == batch.values

    __hash__ = None  # type: ignore[assignment]  # its sequences have none

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return TimedBatch, (self.times, self.values)

    @override
    def __repr__(self) -> str:
        return f"TimedBatch(times={self.times!r}, values={self.values!r})"


class Done(Enum):
    """The type of `DONE`, the answer of a stream that has ended (R3)."""

    DONE = "DONE"

    def __repr__(self) -> str:
        return "DONE"

    __str__ = __repr__


DONE: Final[Literal[Done.DONE]] = Done.DONE


class Reader(ABC, Generic[T_co]):
    """The one runtime interface: the downstream end of an edge, on one lane (R4).

    A reader belongs to one task at a time; whoever asks from several tasks takes a `lane()` for each.
    """

    @abstractmethod
    async def ask(self, limit: int = 1) -> Batch[T_co] | Done:
        """Ask for at most `limit` values; answered as soon as one is there.

        Asking again acknowledges what this lane has received (R11). Cancelling the ask aborts the stream from here
        up (R10). Not a checkpoint when the answer is at hand.

        Raises:
            BaseException: the stream's failure, the same object on every ask (R3).
        """

    def ask_many(self, limit: int = 1) -> Coroutine[Any, Any, Batch[T_co] | Done]:
        """Ask for at most `limit` values, at one time or many: the answer may be a `TimedBatch`.

        Otherwise as `ask`, which gives the values of such an answer one time after another.
        """
        return self.ask(limit)

    @abstractmethod
    async def abort(self) -> Done:
        """Say "no more, thank you"; answered once everything upstream has let go (R5, R6).

        Asks that were sent before, on whatever lane, are answered before it. What users' code raises in the very moment
        of the abort is let go of, like what it would have given; what its clean-up raises is a release that failed.

        Raises:
            ReleaseTimeout: a module did not let go within the run's `release_timeout`.
            BaseException: what a release raised itself (R8).
        """

    @abstractmethod
    async def error(self, reason: BaseException) -> Done:
        """Abort with a reason that travels to the source; afterwards every ask here raises `reason` (R3, R6)."""

    @abstractmethod
    def abort_nowait(self) -> None:
        """Abort without waiting for the confirmation: the specification's `done` indication."""

    @abstractmethod
    def error_nowait(self, reason: BaseException) -> None:
        """Report an error without waiting for the confirmation: the specification's `error` indication."""

    @abstractmethod
    def ack(self) -> None:
        """Acknowledge what this lane has received without asking for more (R11).

        A batch counts as in flight, and keeps its time from completing, until it has been dealt with. Ready modules
        acknowledge it as they answer what comes of it, or as they take it, and then hold what they keep. What a
        function, a generator or a kernel of your own does with a batch nobody else can know: it is in flight until
        the next one is asked for, or until this says that it is done with, or held (`ctx.hold`, `ctx.notify_at`).
        So who has dealt with a batch, and waits for something else before asking again, says so first.
        """

    def ack_but(self, left: Batch[Any]) -> None:
        """Acknowledge the last batch but for `left`, the part of it that is still to be dealt with.

        So who takes a `TimedBatch` whole, and is to wait in its middle, or fails there, says how far it has come:
        `upstream.ack_but(batch.part(3))`. What is in flight is then what is left.
        """
        if not left.values:
            self.ack()

    @abstractmethod
    def lane(self) -> "Reader[T_co]":
        """Another reader of the same stream, for another task; asks are answered first come, first served (R4)."""


class State(Enum):
    """The state of an edge in its life."""

    OPEN = "open"
    CLOSING = "closing"
    DONE = "done"
    FAILED = "failed"

    def __repr__(self) -> str:
        return self.name


class Event(Enum):
    """An event on an edge. The requests come from below; the rest from the module above the edge."""

    ASK = "ask"
    ABORT = "abort"
    ERROR = "error"
    VALUE = "value"
    END = "end"
    FAIL = "fail"
    RELEASED = "released"
    RELEASED_FAILED = "released after a failure"

    def __repr__(self) -> str:
        return self.name


TRANSITIONS: Final[Mapping[tuple[State, Event], State]] = MappingProxyType(
    {
        # Open: asks are answered with values. The first termination, from either side, begins the closing.
        (State.OPEN, Event.ASK): State.OPEN,
        (State.OPEN, Event.VALUE): State.OPEN,
        (State.OPEN, Event.END): State.CLOSING,
        (State.OPEN, Event.FAIL): State.CLOSING,
        (State.OPEN, Event.ABORT): State.CLOSING,
        (State.OPEN, Event.ERROR): State.CLOSING,
        # Closing: everything upstream is let go, once (R6). Requests wait for it; no value passes any more (R5).
        (State.CLOSING, Event.ASK): State.CLOSING,
        (State.CLOSING, Event.ABORT): State.CLOSING,
        (State.CLOSING, Event.ERROR): State.CLOSING,
        (State.CLOSING, Event.RELEASED): State.DONE,
        (State.CLOSING, Event.RELEASED_FAILED): State.FAILED,
        # Ended: for ever (R3). Asks are answered DONE, or raise the failure; terminations are confirmed at once.
        (State.DONE, Event.ASK): State.DONE,
        (State.DONE, Event.ABORT): State.DONE,
        (State.DONE, Event.ERROR): State.DONE,
        (State.FAILED, Event.ASK): State.FAILED,
        (State.FAILED, Event.ABORT): State.FAILED,
        (State.FAILED, Event.ERROR): State.FAILED,
    },
)
