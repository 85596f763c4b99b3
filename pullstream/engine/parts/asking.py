"""Tasks that ask readers beside the module's own code, and pass the answers on."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import trio

from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.protocol import Batch, Done, Reader

Answer: TypeAlias = Batch[Any] | Done | BaseException
"""The answer to an ask; an exception is the stream's failure."""

Job: TypeAlias = tuple[Reader[Any], int]
"""A reader, and the number of values to ask it for."""

MOST_IDLE: Final = 8
"""The number of asking tasks that are kept while there is nothing to ask."""


class _Wanted(Signal):
    """The wait of an idle task; it ends when the task gets a job, or when nothing more is asked."""

    __slots__ = ("job",)
    job: Job | None


class Askers:
    """The tasks that ask for one module. A few stay while idle, because starting a new task costs more.

    The termination that follows `end` ends an outstanding ask. A cancelled ask would abort the modules upstream of the
    reader before the reason of an error has reached them (R6). So a task can be cancelled only between two asks.
    """

    __slots__ = ("_arrived", "_idle", "_many", "_next", "_run", "_taking", "asking", "ended")

    def __init__(self, run: Run, arrived: Callable[[Any, Answer], object], *, many: bool = True) -> None:
        self._run = run
        self._arrived = arrived
        """Takes a reader and its answer. A batch counts as in flight until the reader is asked or acknowledged."""
        self._many = many
        self.asking: set[Reader[Any]] = set()
        """The readers that are being asked or have a job waiting."""
        self.ended = False
        """Whether the stream is over: nothing more is asked (R9), and a late answer is discarded."""
        self._idle: list[_Wanted] = []
        self._taking = False
        """Whether a task is passing an answer on."""
        self._next: Job | None = None
        """The next job of that task, requested while it passes the answer."""

    def ask(self, reader: Reader[Any], limit: int) -> None:
        """Let a task ask a reader in the task's next step; does nothing while the reader is being asked."""
        if reader in self.asking or self.ended:
            return
        self.asking.add(reader)
        if self._taking and self._next is None:
            self._next = reader, limit
        elif self._idle:
            self._wake(self._idle.pop(), (reader, limit))
        else:
            self._run.spawn(self._work, [(reader, limit)])

    def end(self) -> None:
        """Stop asking. Must be called before the readers are terminated."""
        self.ended = True
        while self._idle:
            self._wake(self._idle.pop(), None)

    def _wake(self, wanted: _Wanted, job: Job | None) -> None:
        wanted.job = job
        wanted.set()

    async def _work(self, first: list[Job]) -> None:
        # Removed from the list, because the task keeps its arguments.
        job: Job | None = first.pop()
        with own_scope(shield=True) as scope:
            # If the task was started or woken in the same step in which the stream ended, it asks nothing (R9).
            while job is not None and not self.ended:
                # Other tasks have had their turns: the work on earlier answers no longer keeps anyone waiting.
                self._run.turn = self._run.clock.now()
                answer = await self._answer(*job)
                self._taking = True
                self._take(job[0], answer)
                self._taking = False
                job, self._next = self._next, None
                # Keep no reference to the answer while waiting.
                del answer
                if job is not None:
                    await trio.lowlevel.cancel_shielded_checkpoint()
                elif len(self._idle) < MOST_IDLE and not self.ended:
                    wanted = _Wanted(self._run.detector)
                    self._idle.append(wanted)
                    scope.shield = False
                    await wanted.wait()
                    scope.shield = True
                    job = wanted.job

    async def _answer(self, reader: Reader[Any], limit: int) -> Answer:
        try:
            return await (reader.ask_many if self._many else reader.ask)(limit)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - the stream's failure; raised where the module answers
            return exc

    def _take(self, reader: Reader[Any], answer: Answer) -> None:
        self.asking.discard(reader)
        if not self.ended:
            self._arrived(reader, answer)
