"""The protocol of one edge: requests, answers, and the states of the edge (rules R1 to R12).

A request travels upstream, and its answer downstream:

    ask(limit)      -> Batch(time, values) with 1 <= len(values) <= limit, or DONE; a failure is raised
    ask_many(limit) -> the same, or Batch.of(times, values), with a time for each value
    abort()         -> DONE, once everything upstream has released its resources
    error(reason)   -> DONE, the same, with a reason that travels to the source

A multi-time answer means the same as its batches in a row, handed over at once: each value is at its own time, demand
counts values, and an ending comes after all of it. While it is in flight it is counted at its minimal times, which hold
back the other times, too. `ask` gives the values of such an answer one time after another.

The table `TRANSITIONS` is the life of an edge. The kernel takes every step through it, so a step that the table does
not list cannot happen. The diagram in the documentation is drawn from it.
"""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from enum import Enum
from operator import length_hint
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, cast

from typing_extensions import TypeVar, override

from pullstream.timely.order import Ascending, changes, in_one_order, minimal  # pyright: ignore[reportUnusedImport] - hidden from it

T_co = TypeVar("T_co", covariant=True)
Time_co = TypeVar("Time_co", covariant=True, default=Any)
V = TypeVar("V")
N = TypeVar("N")


class Batch(Generic[T_co, Time_co]):
    """Values at one logical time, or each at its own time: the answer to an ask.

    `time` is any hashable with a partial order (`<=`): an int, a date, a tuple, a `pullstream.timely.Product`. `values`
    holds at least one value and never more than was asked for (R2). The batch is in flight, and keeps its time from
    completing, until its receiver asks again or acknowledges it (R11). A batch cannot be changed.
    >>> match Batch(3, ["a", "b"]):
    ...     case Batch(time, values):
    ...         print(time, values)
    3 ['a', 'b']

    With `many=True` or `ask_many`, a multi-time batch may arrive in place of several batches in a row: values in order
    of arrival, each with its own time. It has no `time`. `times`, `runs()` and `part()` work for every batch. While a
    multi-time batch is in flight, it holds its minimal times, and so all its times. `Batch.of` makes one.
    >>> batch = Batch.of([3, 3, 4], ["a", "b", "c"])
    >>> list(batch.runs())
    [Batch(time=3, values=['a', 'b']), Batch(time=4, values=['c'])]
    >>> batch.part(1)
    Batch.of(times=[3, 4], values=['b', 'c'])
    """

    # `time` and `times` are unset where they do not apply, and computed attributes are unset until they are needed.
    # Python calls `__getattr__` only for unset slots, so the common attributes cost no call.
    __slots__ = ("__weakref__", "changes", "in_one_order", "least", "time", "times", "values")
    __match_args__ = ("time", "values")

    time: Time_co
    """The time of all values. In a multi-time batch, reading it raises a TypeError."""
    values: Sequence[T_co]
    """The values, in order of arrival."""
    times: Sequence[Time_co]
    """The time of each value."""
    uniform: bool = True
    """Whether all values are at one time."""
    least: Sequence[Time_co]
    """The minimal times, computed once."""
    changes: Sequence[int]
    """The positions of values whose time differs from the previous value's, computed once."""
    in_one_order: bool
    """Whether a quick check shows that `min` and `sorted` can compare all times, computed once."""

    def __init__(self, time: Time_co, values: Sequence[T_co]) -> None:
        _SET_TIME(self, time)
        _SET_VALUES(self, values)

    @staticmethod
    def of(times: Sequence[N], values: Sequence[V], changes: Sequence[int] | None = None) -> "Batch[V, N]":
        """Make a batch of values, each at its own time; if all times are equal, it is a batch at one time.

        `times` and `values` have the same length. `changes`, if known, are the positions where the time changes.

        >>> Batch.of([1, 1], "ab"), Batch.of([1, 2], "ab")
        (Batch(time=1, values='ab'), Batch.of(times=[1, 2], values='ab'))
        """
        if changes is None and isinstance(times, Sequence) and times:  # pyright: ignore[reportUnnecessaryIsInstance] - or it is refused as an answer
            first, count = times[0], len(times)
            # Comparing the last time usually settles it. A batch with too few times stays as it is, to be refused.
            one = times[-1] == first and (isinstance(times, Ascending) or times.count(first) == count)
            if one and length_hint(values) == count:
                return Batch(first, values)
        batch = cast("Batch[V, N]", object.__new__(_MultiTime))
        _SET_TIMES(batch, times)
        _SET_VALUES(batch, values)
        if changes is not None:
            _SET_CHANGES(batch, changes)
        return batch

    if not TYPE_CHECKING:  # otherwise a type checker would accept any attribute

        def __getattr__(self, name: str) -> object:
            if name == "least" and self.uniform:
                found = (self.time,)
            elif name == "least":
                # In most cases, `in_one_order` is needed anyway.
                known = not isinstance(self.times, Ascending) and self.in_one_order
                found = [min(self.times)] if known else minimal(self.times)
            elif name == "in_one_order":
                found = in_one_order(self.times)
            elif name == "times":
                found = [self.time] * len(self.values)
            elif name == "changes":
                found = changes(self.times)
            elif name == "time" and not self.uniform:
                raise TypeError(
                    f"a multi-time batch has a time for each of its {len(self.values)} values, and no `time`: use its "
                    f"runs(), or self.apart(batch) in a Notified, or zip its times and values; to receive batches of "
                    f"one time, use ask(limit) in place of ask_many(limit), or ctx.events(upstream) and "
                    f"ctx.batches(upstream) without many=True"
                )
            else:
                raise AttributeError(f"a Batch has no attribute {name!r}")
            object.__setattr__(self, name, found)
            return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Batch cannot be changed, so {name!r} cannot be set: make a new Batch")

    __delattr__ = cast("Any", __setattr__)

    def runs(self) -> "Iterator[Batch[T_co, Time_co]]":
        """The values in batches of one time each, in order of arrival."""
        return iter((self,)) if self.uniform else self._runs()

    def _runs(self) -> "Iterator[Batch[T_co, Time_co]]":
        begin = 0
        for end in (*self.changes, len(self.times)):
            yield Batch(self.times[begin], self.values[begin:end])
            begin = end

    def part(self, start: int, stop: int | None = None) -> "Batch[T_co, Time_co]":
        """Return the values from `start` on, up to `stop` if it is given, each at its time."""
        values = self.values[start:stop]
        return Batch(self.time, values) if self.uniform else Batch.of(self.times[start:stop], values)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        batch = cast("Batch[Any]", other)
        one_time = self.uniform and batch.uniform
        if not (self.time == batch.time if one_time else list(self.times) == list(batch.times)):
            return False
        if len(self.values) != len(batch.values):
            return False
        same = cast("object", self.values == batch.values)
        # Arrays and columns compare value by value.
        return same if isinstance(same, bool) else list(self.values) == list(batch.values)

    @override
    def __hash__(self) -> int:
        return hash((tuple(self.times), self.values))

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (Batch, (self.time, self.values)) if self.uniform else (Batch.of, (self.times, self.values))

    @override
    def __repr__(self) -> str:
        if self.uniform:
            return f"Batch(time={self.time!r}, values={self.values!r})"
        return f"Batch.of(times={self.times!r}, values={self.values!r})"


class _MultiTime(Batch[T_co, Time_co]):
    """A multi-time batch: a class of its own, so that no batch has to store `uniform`."""

    __slots__ = ()
    uniform = False


# The quickest way to set a slot of an object that refuses to be changed.
_SET_TIME, _SET_TIMES, _SET_VALUES, _SET_CHANGES = (
    vars(Batch)[slot].__set__ for slot in ("time", "times", "values", "changes")
)


def listed(values: Sequence[V]) -> list[V]:
    """The values as a list, for a module that keeps them all or goes over them several times.

    A sequence class whose iterator makes the values may have a cheaper method, `list_values()`.

    >>> listed("ab")
    ['a', 'b']
    """
    if isinstance(values, list):
        return values
    own = getattr(values, "list_values", None)
    return list(values) if own is None else own()


class Done(Enum):
    """The answer of a stream that has ended (R3). Compare with `DONE`; annotate with its type, `Done`."""

    DONE = "DONE"

    def __repr__(self) -> str:
        return "DONE"

    __str__ = __repr__


DONE: Final[Literal[Done.DONE]] = Done.DONE


class Unanswered(Enum):
    """A poll that has no answer."""

    NOT_YET = "not yet"
    """A piece of work was done without an answer yet. Poll again."""
    WAIT = "wait"
    """The answer must be waited for."""


NOT_YET: Final[Literal[Unanswered.NOT_YET]] = Unanswered.NOT_YET
WAIT: Final[Literal[Unanswered.WAIT]] = Unanswered.WAIT


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
        """Ask for at most `limit` values, at one time or several: the answer may be a multi-time batch.

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

        A module that receives a multi-time batch whole calls this before it waits in the middle of it, or fails there:
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
        # Open: asks are answered with values. The first termination, from either side, starts the closing.
        (State.OPEN, Event.ASK): State.OPEN,
        (State.OPEN, Event.VALUE): State.OPEN,
        (State.OPEN, Event.END): State.CLOSING,
        (State.OPEN, Event.FAIL): State.CLOSING,
        (State.OPEN, Event.ABORT): State.CLOSING,
        (State.OPEN, Event.ERROR): State.CLOSING,
        # Closing: everything upstream is released, once (R6). Requests wait for it; no more values pass (R5).
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
