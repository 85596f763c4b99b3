"""The protocol of one edge: requests, answers, and the states of the edge (rules R1 to R12).

A request goes up, its answer comes down:

    ask(limit)      -> Batch(time, values) with 1 <= len(values) <= limit, or DONE; a failure is raised
    ask_many(limit) -> the same, or TimedBatch(times, values), with a time for each value
    abort()         -> DONE, once everything upstream has released its resources
    error(reason)   -> DONE, the same, with a reason that travels to the source

A multi-time answer means the same as its batches in a row, handed over at once: each value is at its own time, demand
counts values, and an ending comes after all of it. While it is in flight it is counted at its minimal times, which hold
back the other times, too. `ask` gives the values of such an answer one time after another.

The table `TRANSITIONS` is the life of an edge. The kernel takes every step through it, so a step that the table does
not list cannot happen. The diagram in the documentation is drawn from it.
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
    holds at least one value and never more than was asked for (R2). The batch is in flight, and keeps its time from
    completing, until its receiver asks again or acknowledges it (R11). With `many=True` or `ask_many`, a `TimedBatch`
    may arrive in place of several batches; both have `times`, `runs()` and `part()`.
    >>> match Batch(3, ["a", "b"]):
    ...     case Batch(time, values):
    ...         print(time, values)
    3 ['a', 'b']
    """

    time: Time_co
    values: Sequence[T_co]

    @property
    def times(self) -> Sequence[Time_co]:
        """The time of each value."""
        return [self.time] * len(self.values)

    def runs(self) -> "Iterator[Batch[T_co, Time_co]]":
        """Yield the values in batches of one time each, in order of arrival: here, the batch itself."""
        yield self

    def part(self, start: int, stop: int | None = None) -> "Batch[T_co, Time_co]":
        """Return the values from `start` on, up to `stop` if it is given."""
        return Batch(self.time, self.values[start:stop])


class TimedBatch(Batch[T_co]):
    """Values with a logical time each, in order of arrival: several batches in a row, handed over at once.

    `times` and `values` are sequences of the same length; there is no `time`. It answers one ask, counts as many values
    as it has, and an ending comes after all of it. A module that uses `ask` never receives one: it gets the values of
    one time after another. To receive one whole, use `ask_many` or read `ctx.events(upstream, many=True)`, and treat
    each value as if it had arrived alone at its time. While it is in flight, it holds its minimal times, and so all its
    times.

    >>> batch = TimedBatch([3, 3, 4], ["a", "b", "c"])
    >>> list(batch.runs())
    [Batch(time=3, values=['a', 'b']), Batch(time=4, values=['c'])]
    >>> batch.part(1)
    TimedBatch(times=[3, 4], values=['b', 'c'])
    """

    __slots__ = ("_changes", "_least", "times")  # pyright: ignore[reportIncompatibleMethodOverride]  # a slot for the base's property
    __match_args__ = ("times", "values")  # type: ignore[assignment]  # a pattern has these two

    times: Sequence[Hashable]
    """The time of each value."""
    _least: list[Hashable] | None
    _changes: Sequence[int] | None

    def __init__(self, times: Sequence[Hashable], values: Sequence[T_co], changes: Sequence[int] | None = None) -> None:
        # The base is frozen, and attrs cannot make a subclass with one field less.
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_least", None)
        object.__setattr__(self, "_changes", changes)

    @property
    def least(self) -> Sequence[Hashable]:
        """The minimal times, computed once."""
        least = self._least
        if least is None:
            least = minimal(self.times)
            object.__setattr__(self, "_least", least)
        return least

    @property
    def changes(self) -> Sequence[int]:
        """The positions of values whose time differs from the previous value's, computed once."""
        changes = self._changes
        if changes is None:
            times = self.times
            changes = list(compress(range(1, len(times)), map(ne, times, islice(times, 1, None))))
            object.__setattr__(self, "_changes", changes)
        return changes

    @property
    def time(self) -> NoReturn:
        """No time, because each value has its own.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"a TimedBatch has a time for each of its {len(self.values)} values, and no `time`: use its runs(), or "
            f"zip its times and values; to receive batches of one time, use ask(limit) in place of ask_many(limit), or "
            f"ctx.events(upstream) and ctx.batches(upstream) without many=True"
        )

    @override
    def runs(self) -> "Iterator[Batch[T_co]]":
        """Yield the values in batches of one time each, in order of arrival."""
        begin = 0
        for end in (*self.changes, len(self.times)):
            yield Batch(self.times[begin], self.values[begin:end])
            begin = end

    @override
    def part(self, start: int, stop: int | None = None) -> "TimedBatch[T_co]":
        """Return the values from `start` on, up to `stop` if it is given, each at its time."""
        return TimedBatch(self.times[start:stop], self.values[start:stop])

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimedBatch):
            return NotImplemented
        batch = cast("TimedBatch[Any]", other)
        return list(self.times) == list(batch.times) and self.values == batch.values

    __hash__ = None  # type: ignore[assignment]  # its sequences may be unhashable

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return TimedBatch, (self.times, self.values)

    @override
    def __repr__(self) -> str:
        return f"TimedBatch(times={self.times!r}, values={self.values!r})"


class Done(Enum):
    """The answer of a stream that has ended (R3). Compare with `DONE`; annotate with its type, `Done`."""

    DONE = "DONE"

    def __repr__(self) -> str:
        return "DONE"

    __str__ = __repr__


DONE: Final[Literal[Done.DONE]] = Done.DONE


class Reader(ABC, Generic[T_co]):
    """The runtime interface of a stream: the downstream end of an edge, on one lane (R4).

    A reader belongs to one task at a time. To ask from several tasks, take a `lane()` for each.
    """

    @abstractmethod
    async def ask(self, limit: int = 1) -> Batch[T_co] | Done:
        """Ask for at most `limit` values; answered as soon as one is available.

        Asking again acknowledges what this lane has received (R11). Cancelling the ask aborts the stream from here
        upstream (R10). It is not a checkpoint if the answer is at hand.

        Raises:
            BaseException: the stream's failure, the same object on every ask (R3).
        """

    def ask_many(self, limit: int = 1) -> Coroutine[Any, Any, Batch[T_co] | Done]:
        """Ask for at most `limit` values, at one time or several: the answer may be a `TimedBatch`.

        Otherwise like `ask`, which gives the values of such an answer one time after another.
        """
        return self.ask(limit)

    @abstractmethod
    async def abort(self) -> Done:
        """End the stream from downstream; answered once everything upstream has released its resources (R5, R6).

        Earlier asks, on any lane, are answered first. If user code raises at the moment of the abort, the exception is
        dropped, like the value it would have given. If its clean-up raises, the release has failed.

        Raises:
            ReleaseTimeout: a module did not release its resources within the run's `release_timeout`.
            BaseException: the exception a release raised (R8).
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

        A batch is in flight, and keeps its time from completing, until it is acknowledged. The ready-made modules
        acknowledge it when they answer with its results, or when they take it and hold what they keep. In a function,
        generator or kernel of your own, a batch is in flight until the next ask, or until you call this to say that it
        is processed or held (`ctx.hold`, `ctx.notify_at`). So call it before you wait for anything other than the next
        ask.
        """

    def ack_but(self, left: Batch[Any]) -> None:
        """Acknowledge the last batch except `left`, its unprocessed part.

        A module that receives a `TimedBatch` whole calls this before it waits in the middle of it, or fails there:
        `upstream.ack_but(batch.part(3))`. Only the rest stays in flight.
        """
        if not left.values:
            self.ack()

    @abstractmethod
    def lane(self) -> "Reader[T_co]":
        """Return another reader of the same stream for another task; asks are answered in order of arrival (R4)."""


class State(Enum):
    """The state of an edge."""

    OPEN = "open"
    CLOSING = "closing"
    DONE = "done"
    FAILED = "failed"

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.name


class Event(Enum):
    """An event on an edge. Requests come from downstream, the others from the module upstream."""

    ASK = "ask"
    ABORT = "abort"
    ERROR = "error"
    VALUE = "value"
    END = "end"
    FAIL = "fail"
    RELEASED = "released"
    RELEASED_FAILED = "released after a failure"

    # Each step looks up a state and an event in the table. Enum's own `__hash__` costs a Python function call.
    __hash__ = object.__hash__

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
        # Closing: everything upstream is released, once (R6). Requests wait for it; no value passes any more (R5).
        (State.CLOSING, Event.ASK): State.CLOSING,
        (State.CLOSING, Event.ABORT): State.CLOSING,
        (State.CLOSING, Event.ERROR): State.CLOSING,
        (State.CLOSING, Event.RELEASED): State.DONE,
        (State.CLOSING, Event.RELEASED_FAILED): State.FAILED,
        # Ended, forever (R3). Asks are answered with DONE, or raise the failure; terminations are confirmed at once.
        (State.DONE, Event.ASK): State.DONE,
        (State.DONE, Event.ABORT): State.DONE,
        (State.DONE, Event.ERROR): State.DONE,
        (State.FAILED, Event.ASK): State.FAILED,
        (State.FAILED, Event.ABORT): State.FAILED,
        (State.FAILED, Event.ERROR): State.FAILED,
    },
)
