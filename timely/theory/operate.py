"""The operator interface of 004: what an operator reports to its surroundings, and the contract that it must keep.

004 leaves out a part of the contract. In full: a new capability or message requires a message taken at or before its
time, *or a capability already held* there. The second phase of set-up, in which the parent described return paths to
the child, was later found to be redundant and is left out here too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from ..errors import CapabilityError
from ..mutable import MutableAntichain
from ..order import less_equal
from ..summary import IDENTITY, Summary

K = TypeVar("K", bound=Hashable)

Connectivity = Mapping[tuple[int, int], tuple[Summary, ...]]


class ChangeBatch(Generic[K]):
    """Net changes by key. Changes that cancel out are removed, so an empty batch means that nothing changed.

    >>> batch = ChangeBatch([("a", 1), ("b", 2)])
    >>> batch.update("a", -1)
    >>> list(batch), len(batch), bool(batch)
    ([('b', 2)], 1, True)
    """

    __slots__ = ("_changes",)

    def __init__(self, changes: Iterable[tuple[K, int]] = ()) -> None:
        self._changes: dict[K, int] = {}
        self.extend(changes)

    def update(self, key: K, delta: int) -> None:
        """Add `delta` to the change at `key`."""
        total = self._changes.get(key, 0) + delta
        if total:
            self._changes[key] = total
        else:
            self._changes.pop(key, None)

    def extend(self, changes: Iterable[tuple[K, int]]) -> None:
        """Add many changes."""
        for key, delta in changes:
            self.update(key, delta)

    def drain(self) -> list[tuple[K, int]]:
        """Return all changes and empty the batch."""
        changes = list(self._changes.items())
        self._changes.clear()
        return changes

    def __getitem__(self, key: K) -> int:
        return self._changes.get(key, 0)

    def __iter__(self) -> Iterator[tuple[K, int]]:
        return iter(tuple(self._changes.items()))

    def __len__(self) -> int:
        return len(self._changes)

    def __eq__(self, other: object) -> bool:
        return self._changes == other._changes if isinstance(other, ChangeBatch) else NotImplemented  # pyright: ignore[reportUnknownMemberType]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ChangeBatch({list(self._changes.items())!r})"


@attrs.frozen
class Progress:
    """An operator's progress since the last call. The batch is atomic: acting on a part of it is not safe.

    `internal` has the changes of capabilities per output, `consumed` the messages taken per input, `produced` the
    messages sent per output. `busy` means that there is other activity inside: pull again before the computation counts
    as done.
    """

    internal: tuple[ChangeBatch[Any], ...]
    consumed: tuple[ChangeBatch[Any], ...]
    produced: tuple[ChangeBatch[Any], ...]
    busy: bool = False

    @classmethod
    def none(cls, inputs: int, outputs: int) -> Progress:
        """A batch without any progress."""
        return cls(_batches(outputs), _batches(inputs), _batches(outputs))

    def __bool__(self) -> bool:
        return self.busy or any(map(len, (*self.internal, *self.consumed, *self.produced)))


class Operate(Protocol):
    """The interface of an operator to its surroundings (004)."""

    name: str
    """A readable name."""
    inputs: int
    """The number of input ports."""
    outputs: int
    """The number of output ports."""

    def internal_summary(self) -> tuple[Connectivity, Sequence[ChangeBatch[Any]]]:
        """The minimal summaries from inputs to outputs, and the initial capabilities of each output."""
        ...

    def push_external_progress(self, changes: Sequence[ChangeBatch[Any]]) -> None:
        """Receive frontier changes at each input: times that became possible (+1) or impossible (-1)."""
        ...

    def pull_internal_progress(self) -> Progress:
        """The progress made inside since the last call."""
        ...


def check_contract(
    name: str,
    connectivity: Connectivity,
    held: Sequence[MutableAntichain[Any]],
    progress: Progress,
) -> None:
    """Check one batch of an operator: no output may claim a time from nothing.

    Every new capability and every message sent must be at or after a capability already held at that output, or at or
    after the time of a message taken in the same batch, changed along its path to that output.

    Raises:
        CapabilityError: the contract is broken; the message names the operator, the output, its rights and the time.
    """
    consumed = {i: batch for i, batch in enumerate(progress.consumed) if batch}
    for o, own in enumerate(held):
        gained = [time for time, delta in progress.internal[o] if delta > 0]
        for time in [*gained, *(time for time, _ in progress.produced[o])]:
            if own.less_equal(time) or _follows(connectivity, consumed, o, time):
                continue
            taken = [list(batch) for batch in progress.consumed]
            raise CapabilityError(
                f"{name} claims {time!r} at output {o} from nothing: it held {own.frontier!r} there and took {taken!r}",
            )
        for time, delta in progress.internal[o]:
            if own.count(time) + delta < 0:
                raise CapabilityError(
                    f"{name} gives up {-delta} capabilities for {time!r} at output {o}, but held {own.count(time)}",
                )


def _follows(connectivity: Connectivity, consumed: Mapping[int, ChangeBatch[Any]], o: int, time: Any) -> bool:
    for i, batch in consumed.items():
        for summary in connectivity.get((i, o), ()):
            for taken, _ in batch:
                result = summary.results_in(taken)
                if result is not None and less_equal(result, time):
                    return True
    return False


class Leaf:
    """An operator driven by hand: you call every action, and the operator reports them when pulled.

    By default every input leads to every output and times stay unchanged. Each output holds one capability at
    `initial`, if given.

    >>> leaf = Leaf("count", 1, 1, initial=0)
    >>> leaf.take(0, 3), leaf.send(0, 3), leaf.change(0, 0, -1)
    (None, None, None)
    >>> leaf.pull_internal_progress().consumed
    (ChangeBatch([(3, 1)]),)
    """

    def __init__(
        self,
        name: str,
        inputs: int,
        outputs: int,
        summaries: Connectivity | None = None,
        *,
        initial: Any = None,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self._initial = initial
        if summaries is None:
            summaries = {(i, o): (IDENTITY,) for i in range(inputs) for o in range(outputs)}
        self._summaries = summaries
        self._progress = Progress.none(inputs, outputs)
        self.frontiers: list[MutableAntichain[Any]] = [MutableAntichain() for _ in range(inputs)]

    def internal_summary(self) -> tuple[Connectivity, Sequence[ChangeBatch[Any]]]:
        """The summaries and initial capabilities given at construction."""
        initial: list[tuple[Any, int]] = [] if self._initial is None else [(self._initial, 1)]
        return self._summaries, [ChangeBatch(initial) for _ in range(self.outputs)]

    def push_external_progress(self, changes: Sequence[ChangeBatch[Any]]) -> None:
        """Keep `frontiers` up to date."""
        for frontier, batch in zip(self.frontiers, changes, strict=True):
            for time, delta in sorted(batch, key=lambda change: -change[1]):
                frontier.update(time, delta)

    def pull_internal_progress(self) -> Progress:
        """The progress made since the last call."""
        done, self._progress = self._progress, Progress.none(self.inputs, self.outputs)
        return done

    def take(self, port: int, time: Any, count: int = 1) -> None:
        """Take messages from an input."""
        self._progress.consumed[port].update(time, count)

    def send(self, port: int, time: Any, count: int = 1) -> None:
        """Send messages from an output."""
        self._progress.produced[port].update(time, count)

    def change(self, port: int, time: Any, delta: int) -> None:
        """Gain or give up capabilities of an output."""
        self._progress.internal[port].update(time, delta)


def _batches(number: int) -> tuple[ChangeBatch[Any], ...]:
    return tuple(ChangeBatch[Any]() for _ in range(number))
