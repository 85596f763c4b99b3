"""Attempts at partitions: which is read, and what becomes of the others; no socket has a part in it."""

from collections import deque
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import Any, Literal, TypeAlias

import attrs

from adapters.spark.errors import RetriedTaskError

Retry: TypeAlias = Literal["fail", "buffer"]


class Verdict(Enum):
    """The answer to an attempt."""

    GO = "go"
    WAIT = "wait"
    SKIP = "skip"


@attrs.frozen
class Attempt:
    """An attempt of a task at a partition, as it announces itself."""

    partition: int
    number: int
    task: int
    stage: int


@attrs.define(eq=False)
class Partition:
    """A partition that has begun."""

    number: int
    time: Hashable
    """A time before which nothing will come of it any more."""
    live: Attempt | None = None
    waiting: deque[Attempt] = attrs.field(factory=deque[Attempt])
    rows: int = 0
    """The number of rows that have come from the live attempt, or from the last."""
    kept: list[Any] = attrs.field(factory=list[Any])
    """The batches that wait for the end of the partition."""
    queued: int = 0
    """Batches that wait to be handed on."""
    delivered: bool = False
    """Whether the live attempt has said that this was all. It may fail still, as Spark's word for it comes later."""
    ended: bool = False
    """Whether Spark counts the attempt that delivered."""
    holds: bool = True
    """Whether its clock still counts."""


class PushedPartitions:
    """The partitions of a job that have begun.

    One attempt at a partition is read at a time. Another one that comes meanwhile (speculation) waits; it is told to
    skip when Spark has confirmed the first, and takes its place when the first is lost and nothing has been handed on.
    A task's own word that it has delivered everything is not enough: if what it reads breaks off, because another
    worker before it failed, it sees an end like any other, and Spark tries the partition again.
    """

    def __init__(self, retry: Retry, since: Hashable) -> None:
        self._retry = retry
        self._since = since
        self._begun: dict[int, Partition] = {}

    def __len__(self) -> int:
        return len(self._begun)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._begun.values())

    def __getitem__(self, number: int) -> Partition:
        return self._begun[number]

    def __contains__(self, number: int) -> bool:
        return number in self._begun

    def admit(self, attempt: Attempt) -> Verdict:
        """Decide about an attempt that announces itself.

        Raises:
            RetriedTaskError: rows of an earlier attempt have been handed on.
        """
        partition = self._begun.setdefault(attempt.partition, Partition(attempt.partition, self._since))
        if partition.ended:
            return Verdict.SKIP
        if partition.live is not None:
            partition.waiting.append(attempt)
            return Verdict.WAIT
        self._begin(partition, attempt)
        return Verdict.GO

    def lost(self, attempt: Attempt) -> Attempt | None:
        """An attempt has gone without an end; the one that takes its place, if one waits.

        Raises:
            RetriedTaskError: one waits, and rows of the lost one have been handed on.
        """
        partition = self._begun[attempt.partition]
        if partition.live is not attempt:
            if attempt in partition.waiting:
                partition.waiting.remove(attempt)
            return None
        partition.live = None
        if not partition.waiting:
            return None
        following = partition.waiting.popleft()
        self._begin(partition, following)
        return following

    def delivered(self, attempt: Attempt) -> None:
        """An attempt says that it has delivered everything."""
        self._begun[attempt.partition].delivered = True

    def confirmed(self, number: int, task: int) -> list[Attempt]:
        """Spark counts a task's attempt; those that waited for it, and have nothing to do.

        Raises:
            RetriedTaskError: the rows that were handed on are another attempt's.
        """
        partition = self._begun[number]
        if partition.ended:
            return []
        if partition.live is None or partition.live.task != task or not partition.delivered:
            raise RetriedTaskError(
                f"Spark counts another attempt at partition {number} than the one that was read, so the rows may be "
                f'others: turn speculation off, or read with from_dataframe(route="ordered")'
            )
        partition.ended = True
        partition.live = None
        spared = list(partition.waiting)
        partition.waiting.clear()
        return spared

    def _begin(self, partition: Partition, attempt: Attempt) -> None:
        if partition.rows and self._retry == "fail":
            raise RetriedTaskError(
                f"Spark tries partition {partition.number} again (attempt {attempt.number}), after {partition.rows} of "
                f"its rows have been handed on: they would come twice. To read it whole before it is handed on, say "
                f'retry="buffer"; from_dataframe(route="ordered") is exact as well'
            )
        partition.kept.clear()
        partition.rows = 0
        partition.delivered = False
        partition.live = attempt
