"""The door to chance: a simulation controls all that decides the course of a program, except its input.

Trio has public hooks for its clock and for observing its rounds. It has none for the order of its tasks and for the
answers of threads, so this file replaces names of trio while a simulation runs, after checking that they are there.
The engine reads its clocks and starts its threads through `pullstream.engine.runtime`, which is replaced as well.
"""

# Replacements are lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import random
import secrets
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any, Final, Protocol
from unittest.mock import patch

import trio

from pullstream.engine.runtime import clocks, threads
from pullstream.errors import PullstreamError

TICK: Final = 20e-6
"""The seconds that pass on the clocks of the engine each time one is read."""


class Deciding(Protocol):
    """A simulation: it decides what is otherwise left to chance."""

    def order(self, tasks: list[trio.lowlevel.Task]) -> None:
        """Put the tasks that can take a step, which are in the order of their creation, into the order of the steps."""

    def worked(self) -> float:
        """Return the additional seconds of work since a clock was last read."""
        ...

    async def call(self, function: Callable[..., Any], args: tuple[Any, ...], *, abandon: bool) -> Any:
        """Call a function in place of a thread."""


_simulation: Final[trio.lowlevel.RunVar[Deciding | None]] = trio.lowlevel.RunVar("pullstream's simulation", None)


def _in_this_thread(ours: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a function in this thread only: trio programs in other threads keep the real one."""
    thread = get_ident()
    return lambda *args: ours(*args) if get_ident() == thread else real(*args)


def _calling(real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Replace trio's call in a thread, in programs that are simulated."""

    async def run_sync(
        function: Callable[..., Any],
        *args: Any,
        abandon_on_cancel: bool = False,
        limiter: trio.CapacityLimiter | None = None,
        **options: Any,
    ) -> Any:
        simulation = _simulation.get()
        if simulation is None:
            return await real(function, *args, abandon_on_cancel=abandon_on_cancel, limiter=limiter, **options)
        async with limiter or trio.to_thread.current_default_thread_limiter():
            return await simulation.call(function, args, abandon=abandon_on_cancel)

    return run_sync


def _scheduler() -> Any:
    """Return the part of trio that decides the order of tasks; `PullstreamError` if it has no such part."""
    scheduler: Any = getattr(getattr(trio, "_core", None), "_run", None)
    if not (
        hasattr(getattr(scheduler, "_r", None), "shuffle") and hasattr(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING")
    ):
        raise PullstreamError(
            f"shake() cannot decide the order of tasks with trio {trio.__version__}: it lacks the names for this in "
            f"0.27 to 0.35, _core._run._r and _ALLOW_DETERMINISTIC_SCHEDULING. Install one of these versions"
        )
    return scheduler


def enter(deciding: Deciding) -> None:
    """Let the simulation decide about threads in the current trio program."""
    _simulation.set(deciding)


@contextmanager
def decided_by(deciding: Deciding, seed: int) -> Generator[None]:
    """Let a simulation decide everything that is left to chance; one at a time in a process, if trio allows it."""
    scheduler = _scheduler()
    dice, tokens = scheduler._r, random.Random(seed)  # noqa: S311, SLF001 - checked above; a simulation repeats its tokens
    now = 0.0

    def shuffle(batch: list[trio.lowlevel.Task]) -> None:
        deciding.order(batch)
        # Trio takes the steps from the end of the list.
        batch.reverse()

    def monotonic() -> float:
        nonlocal now
        now += TICK
        return now

    def thread_time() -> float:
        # Only this clock counts additional work: both clocks of one moment must agree that it was work, and not sleep.
        nonlocal now
        now += deciding.worked()
        return now

    in_this_thread: list[tuple[Any, str, Callable[..., Any]]] = [
        (dice, "shuffle", shuffle),
        (dice, "random", lambda: 0.0),
        (dice, "uniform", lambda low, _: low),
        (clocks, "monotonic", monotonic),
        (clocks, "thread_time", thread_time),
        (clocks, "perf_counter", monotonic),
        (threads, "start", lambda function, args: function(*args)),
        (secrets, "token_hex", lambda size=None: tokens.randbytes(size or 32).hex()),
    ]
    replaced: list[tuple[Any, str, Any]] = [
        (scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        (trio.to_thread, "run_sync", _calling(trio.to_thread.run_sync)),
        *((owner, name, _in_this_thread(ours, getattr(owner, name))) for owner, name, ours in in_this_thread),
    ]
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        for owner, name, value in replaced:
            stack.enter_context(patch.object(owner, name, value))
        random.seed(seed)
        yield
