"""Demand: the one place that decides how many values a module with a pace of its own asks for next.

A module that answers one value for one passes its consumer's limit upstream, and needs no pace. A module that consumes
more than it emits, and a sink, ask at a `Pace` of their own, whatever their consumer asks for. A module that may wait
with values in hand has a `WaitingPace`.
"""

from sys import maxsize
from typing import Any, Final

import trio

from pullstream.engine.edge.lane import Lane
from pullstream.engine.run import Run
from pullstream.engine.runtime.busy import BREATH
from pullstream.protocol import Reader

FIRST: Final = 16
"""The first number of values to ask for: few, since it is not known yet how many are needed and what each one costs."""

STEADY: Final = 4
"""The number of answers of one size after which another size is tried, to learn what one value costs."""

FADING: Final = 0.8
"""The part of an answer's estimated fixed cost that is kept after an answer that cost less."""


class Size:
    """The number of values to ask for so that one answer takes a few milliseconds of work.

    Part of an answer's cost may not depend on its number of values: looking at 400 columns takes as long for one row as
    for a thousand. Asking for fewer values makes this part no cheaper, and each value dearer. So this part is estimated
    from two answers of different sizes, and not counted; the work on the values may take as long again.
    """

    now: int = FIRST
    _asked = 0
    _received = 0
    _spent = 0.0
    _steady = 0
    """The number of full answers in a row, before the last one, that were of its size."""
    _patience = STEADY
    """The number of them after which another size is tried; it doubles with each try that changed nothing."""
    _fixed = 0.0
    """The estimated cost of an answer, in seconds, without the cost of its values."""

    def fit(self, asked: int, received: int, spent: float, most: int) -> None:
        """Choose the next number, after an ask for `asked` values gave `received` and took `spent` seconds of work.

        It shrinks from the number asked for, not from the values received: modules upstream may have left values out. A
        module that yields to other tasks does so every `BREATH`, so a wait of just that length does not mean that it
        asked for too much. An ask for fewer values than it allows is no reason to allow more.
        """
        change, more_asked, more_received = spent - self._spent, asked - self._asked, received - self._received
        if self._received and more_asked * more_received > 0:
            # Work upstream may depend on the number asked for, and work here on the values received.
            variable = max(0.0, change / more_asked * asked, change / more_received * received)
            # A single cheaper answer proves nothing: among many tasks, a wait may show only in every other answer.
            self._fixed = max(FADING * self._fixed, min(spent - variable, self._spent))
        self._steady = self._steady + 1 if asked == self._asked and received >= asked else 0
        self._asked, self._received, self._spent = asked, received, spent
        work, allowed = spent - self._fixed, max(BREATH, self._fixed)
        if more_asked > 0 and more_received == 0 and asked < FIRST:
            # A source that answers half of what it is asked for shows nothing new at first.
            self.now = 2 * asked
        elif work > 2 * allowed and asked > 1:
            self.now = max(1, int(asked * allowed / (2 * work)))
        elif asked < min(self.now, most):
            return
        elif work < allowed / 2 and asked < most:
            self.now = 2 * asked
            self._patience = STEADY
        elif self._steady >= self._patience and (asked < most or self._fixed > BREATH):
            # Two values may take no longer than one slow value. Otherwise, both sizes are within what is allowed.
            self._patience *= 2
            self.now = 2 * asked if asked == 1 or (work < allowed and asked < most) else asked // 2


class Pace:
    """Chooses how many values to ask for, so that one answer is processed in a few milliseconds.

    Work on a batch cannot be interrupted: until it is done, cancellation, Ctrl-C and all other tasks wait. So a pace
    begins with a few values, doubles after each answer that took a moment, and shrinks after one that kept others
    waiting. What counts is the work since this task last had its turn, which includes synchronous work upstream, and
    never the time spent waiting for upstream.

    Call `next` directly before each ask, and `took` when its answer has arrived.
    """

    __slots__ = ("_answered", "_asked", "_mark", "_most", "_received", "_run", "_size", "_spent", "_unfinished")

    def __init__(self, run: Run, most: int | None = None) -> None:
        self._run = run
        self._most = run.limit if most is None else most
        self._size = Size()
        self._asked = 0
        """The number of values asked for last."""
        self._received = 0
        """The number of values received from the inputs before this answer."""
        self._answered = False
        self._unfinished = False
        """Whether the last ask was served with the rest of a multi-time answer."""
        self._spent = 0.0
        self._mark = run.clock.now()
        """The moment since which work counts."""

    def next(self, *upstream: Reader[Any], at_most: int = maxsize) -> int:
        """Return the number of values to ask for now: at most `at_most`, and `most` or, by default, the run's limit."""
        if self._most == 1:
            return 1
        self._unfinished, received = False, 0
        for lane in upstream:
            if isinstance(lane, Lane):
                self._unfinished |= lane.edge.rest is not None
                received += lane.port.values
        if self._unfinished:
            # This ask says nothing about the cost of the next answer. All parts of one are counted together.
            return min(self._size.now, self._most, at_most)
        if self._answered:
            self._lap()
            self._size.fit(self._asked, received - self._received, self._spent, self._most)
            self._answered = False
            self._received = received
            self._spent = 0.0
        else:
            self._mark = self._run.clock.now()
        self._asked = min(self._size.now, self._most, at_most)
        return self._asked

    def took(self) -> None:
        """Note that an answer has arrived, and that work on it begins now."""
        if self._most > 1 and not self._unfinished:
            self._answered = True
            self._lap()

    def pause(self) -> None:
        """Note that other tasks run next: the work until now counts, and their work does not."""
        if self._most > 1:
            self._lap()

    def _lap(self) -> None:
        """Add the work since the mark, and set the mark to now."""
        run = self._run
        now = run.clock.now()
        spent = run.clock.waited(max(self._mark, run.turn), now)
        began, ended, worked = run.long_work
        if began <= self._mark[0] < ended:
            # A module has let others run, but only after keeping them waiting for long. A module that often lets them
            # run may be late now and then.
            spent = max(spent, min(worked, ended - self._mark[0]))
        self._spent += spent
        self._mark = now


class WaitingPace:
    """Chooses how many values to have in hand, for a module that may wait for each of them: for a call, or a channel.

    A source that takes from a queue or polls a service must not be asked for hundreds of values before any is
    processed. So the pace begins with `least` values, doubles when as many as it allows were processed in a moment, and
    shrinks when that took longer. It counts the time during which values are in hand, by trio's clock.
    """

    __slots__ = ("_in_hand", "_least", "_processed", "_since", "_size", "_streams")

    def __init__(self, least: int = 1) -> None:
        self._least = self._size = least
        self._streams = 1
        self._in_hand = self._processed = 0
        self._since = 0.0

    def next(self, in_hand: int = 0) -> int:
        """Return the number of values to have in hand now.

        While some of the last values are still `in_hand`, it is not known yet how long processing them takes.
        """
        if self._in_hand and not in_hand:
            spent = trio.current_time() - self._since
            allowed = BREATH * self._streams
            self._processed += self._in_hand
            if spent > allowed:
                self._size = max(self._least, int(self._in_hand * allowed / (2 * spent)))
                self._processed = 0
            elif self._processed >= self._size:
                self._processed = 0
                if spent < allowed / 2:
                    self._size *= 2
            self._in_hand = 0
        return self._size

    def took(self, count: int, streams: int = 1) -> None:
        """Note that an answer of `count` values has arrived, and that work on it begins now.

        At most this number of `streams` process them, one after another; each may take a moment.
        """
        if not self._in_hand:
            self._since = trio.current_time()
        self._in_hand += count
        self._streams = streams
