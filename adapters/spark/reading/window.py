"""A window of jobs: several run at once, ahead of the consumer, and their results are taken in order."""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import attrs

T = TypeVar("T")

SHORT: Final = 0.25
"""Seconds below which the cost of a job's start (about 20 ms) matters, so that the next job reads more partitions."""

GROWTH: Final = 4
"""The factor by which the number of partitions grows if the last ones were too small to predict the next ones."""

PREDICTIVE: Final = 64_000
"""The bytes of a partition that predict the next ones: then as many are read as are expected to fit."""

MOST: Final = 16
"""The most partitions of a job: the size of its result is known only afterwards."""

LITTLE: Final = 32_000_000
"""The largest expected result of a job with several partitions, in bytes."""

LARGE: Final = 500_000_000
"""The size of a large partition in bytes; most are smaller."""

COPIES: Final = 4
"""The number of copies of a partition in the driver's Java while it arrives."""


def ample(memory: int, width: int) -> bool:
    """Whether `width` jobs may start at once before the size of a partition is known."""
    return memory >= width * COPIES * LARGE


@attrs.define(eq=False)
class Spans:
    """Chooses the neighbouring partitions of each job: one, or several small ones to make up for its start."""

    partitions: int
    budget: int
    """The most bytes that may wait to be taken, estimated from earlier results; one job is always allowed."""
    least: int = 1
    """The fewest partitions of a job, so that no executor is idle."""
    next: int = 0
    grows: bool = True
    """Whether a job may read several partitions because they are small."""
    alone: bool = False
    """Whether the first job runs alone, because its result may fill the memory."""
    _several: int = 1
    _largest: int | None = None

    def following(self) -> range | None:
        """Return the partitions of the next job; None if there are no more."""
        if self.next >= self.partitions:
            return None
        span = range(self.next, min(self.next + max(self._several, self.least), self.partitions))
        self.next = span.stop
        return span

    def fits(self, ahead: int) -> bool:
        """Whether another job may start while the results of `ahead` jobs were not taken yet."""
        if self._largest is None:
            return not (ahead and self.alone)
        return not ahead or (ahead + 1) * self._largest <= self.budget

    def took(self, span: range, seconds: float, size: int) -> None:
        """Note the duration and the size of a job's result."""
        self._largest = max(self._largest or 0, size)
        growth = 1
        if self.grows and seconds < SHORT and len(span) >= self._several:
            growth = MOST if size >= PREDICTIVE * len(span) else GROWTH
        fitting = LITTLE * len(span) // max(1, size)
        self._several = max(1, min(growth * self._several, fitting, MOST))


@attrs.frozen(eq=False)
class _Failure:
    exception: BaseException


class SpansAhead(Generic[T]):
    """Reads spans in threads, at most `width` ahead of the consumer.

    `take` is for one thread at a time, `close` for any thread.
    """

    def __init__(self, read: Callable[[range], T], spans: Spans, width: int, size: Callable[[T], int]) -> None:
        self._read = read
        self._spans = spans
        self._width = width
        self._size = size
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._results: dict[int, T | _Failure] = {}
        self._started = 0
        self._taken = 0
        self._over = False

    def take(self) -> T | None:
        """Wait for the result of the next span, or raise its error; None at the end or after `close`."""
        with self._change:
            if not self._threads:
                self._hire()
            self._change.wait_for(lambda: self._taken in self._results or self._ended())
            if self._taken not in self._results:
                return None
            result = self._results.pop(self._taken)
            self._taken += 1
            self._change.notify_all()
        if isinstance(result, _Failure):
            raise result.exception
        return result

    def close(self) -> None:
        """Start no more jobs, and wait for those under way. Idempotent."""
        with self._change:
            self._over = True
            self._change.notify_all()
        for thread in self._threads:
            thread.join()

    def _hire(self) -> None:
        for _ in range(min(self._width, self._spans.partitions)):
            # A daemon, because a program that ends abruptly does not call `close`.
            thread = threading.Thread(target=self._work, name="pullstream reading", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _ended(self) -> bool:
        return self._taken == self._started and (self._over or self._spans.next >= self._spans.partitions)

    def _work(self) -> None:
        while (following := self._begin()) is not None:
            number, span = following
            start = time.monotonic()
            result: T | _Failure
            try:
                result = self._read(span)
            except BaseException as exc:  # noqa: BLE001 - raised where it is taken
                result = _Failure(exc)
            with self._change:
                if isinstance(result, _Failure):
                    self._over = True
                else:
                    self._spans.took(span, time.monotonic() - start, self._size(result))
                self._results[number] = result
                self._change.notify_all()

    def _begin(self) -> tuple[int, range] | None:
        """Wait until another span may be read; None if there are no more."""
        with self._change:
            self._change.wait_for(lambda: self._over or self._may_begin())
            span = None if self._over else self._spans.following()
            if span is None:
                self._change.notify_all()
                return None
            number = self._started
            self._started += 1
            return number, span

    def _may_begin(self) -> bool:
        ahead = self._started - self._taken
        return self._spans.next >= self._spans.partitions or (ahead < self._width and self._spans.fits(ahead))
