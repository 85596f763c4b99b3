"""Tasks that ask readers alongside the module's own code, and pass on the answers."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import trio

from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.protocol import Batch, Done, Reader

Answer: TypeAlias = Batch[Any] | Done | BaseException
"""The answer to an ask; an exception is the stream's failure."""

MOST_IDLE: Final = 8
"""The number of asking tasks that are kept while there is nothing to ask."""


class Askers:
    """The tasks that ask for one module. A few stay while idle, because starting a new task costs more.

    The termination that follows `end` ends an outstanding ask. A cancelled ask would abort the modules upstream of the
    reader before the reason of an error has reached them (R6). So a task can be cancelled only between two asks.
    """

    __slots__ = ("_arrived", "_coming", "_idle", "_jobs", "_many", "_run", "asking", "due", "ended")

    def __init__(self, run: Run, arrived: Callable[[Any, Answer], object], *, many: bool = True) -> None:
        self._run = run
        self._arrived = arrived
        """Takes a reader and its answer. A batch counts as in flight until the reader is asked or acknowledged."""
        self._many = many
        self.asking: set[Reader[Any]] = set()
        """The readers that are being asked or have a job waiting."""
        self.due: dict[Any, None] = {}
        """The readers that have woken the module, and have not been asked again yet; see `Asking.ask_due`."""
        self.ended = False
        """Whether the stream has ended: nothing more is asked (R9), and a late answer is discarded."""
        self._jobs: dict[Reader[Any], int] = {}
        """The readers to be asked next, each with the number of values to ask it for."""
        self._idle: list[Signal] = []
        """The waits of the tasks that have nothing to ask."""
        self._coming = 0
        """The number of tasks that will look for a job: those started or woken, and those passing on an answer."""

    def ask(self, reader: Reader[Any], limit: int) -> None:
        """Ask a reader in a task, in the task's next step; does nothing while the reader is being asked."""
        if reader in self.asking or self.ended:
            return
        self.asking.add(reader)
        self._jobs[reader] = limit
        if len(self._jobs) > self._coming:
            self._coming += 1
            if self._idle:
                self._idle.pop().set()
            else:
                self._run.spawn(self._work)

    def take_back(self, reader: Reader[Any]) -> None:
        """Withdraw an ask that no task has begun."""
        if self._jobs.pop(reader, None):
            self.asking.discard(reader)

    def end(self) -> None:
        """Stop asking. Must be called before the readers are terminated."""
        self.ended = True
        while self._idle:
            self._idle.pop().set()

    async def _work(self) -> None:
        with own_scope(shield=True) as scope:
            # If the task was started or woken in the step that ended the stream, it asks nothing (R9).
            while not self.ended:
                # A job for which another task has been woken is left to that task. Otherwise the reader that the module
                # asks first would be asked more often than the others.
                needed = len(self._jobs) >= self._coming
                self._coming -= 1
                if needed:
                    reader = next(iter(self._jobs))
                    # Other tasks have had their turns: the work on earlier answers no longer keeps anyone waiting.
                    self._run.turn = self._run.clock.now()
                    answer = await self._answer(reader, self._jobs.pop(reader))
                    self._coming += 1
                    self._take(reader, answer)
                    # Keep no reference to them while waiting.
                    del reader, answer
                    if len(self._jobs) >= self._coming:
                        await trio.lowlevel.cancel_shielded_checkpoint()
                elif len(self._idle) < MOST_IDLE:
                    wanted = self._run.signal()
                    self._idle.append(wanted)
                    scope.shield = False
                    await wanted.wait()
                    scope.shield = True
                else:
                    return

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
