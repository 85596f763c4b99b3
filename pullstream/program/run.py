"""`run`: a pipeline from its beginning to its end, in a trio program of its own."""

import builtins
import warnings
from os import PathLike
from typing import Final, Never

import trio
from typing_extensions import TypeVar

from pullstream.engine.runtime.blocked import running_program
from pullstream.engine.runtime.interrupts import Interrupts, current_task
from pullstream.engine.runtime.signals import borrowed_wakeups
from pullstream.errors import PullstreamError
from pullstream.frames import cut
from pullstream.program import wanted
from pullstream.program.pipeline import Pipeline, pipeline_argument
from pullstream.program.running import Beside, Running

R = TypeVar("R")

STALLS_ASYNCIO: Final = (
    "run() keeps the asyncio loop that runs here waiting until the stream has ended: nothing else in it goes on. "
    "Use `await arun(pipeline)`"
)


def run(
    pipeline: Pipeline[R],
    *others: Never,
    limit: int = 4096,
    release_timeout: float = 5.0,
    check: "wanted.Check" = False,
    beside: Beside | None = None,
    journal: "str | PathLike[str] | wanted.Journal | None" = None,
    trace: "wanted.TraceTo | None" = None,
) -> R:
    """Run a pipeline to its end and give its sink's result; a tuple of results for several sinks.

    Ctrl-C aborts in order (files whole, Spark jobs cancelled), then raises KeyboardInterrupt; a second one does not
    wait for the order, only for code that shields itself from cancellation, and is raised at once in a function
    that keeps everything waiting. What a handler of your own raises is treated alike, for SIGTERM, too; one that
    raises nothing has dealt with the signal (but where asyncio runs Ctrl-C always aborts: the loop's own handler,
    which could be called only when `run` has returned, hears nothing of it). Before a third one the toolkit is
    never interrupted in its midst, from the first instruction to the last.

    It may be called in any thread (signals are the main thread's), and in a notebook, whose loop waits until it
    returns. In an asyncio program use `arun`: a RuntimeWarning says so. `limit`, `release_timeout`, `check`, `beside`
    (a progress display), `journal` (a run that can be killed and goes on) and `trace` (all that happened, step by step)
    are those of `Pipeline.open`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.map(lambda n: n * n), ps.collect()))
    [0, 1, 4, 9]

    Raises:
        BaseException: the stream's failure, as itself, with a note that names the module. Its traceback has the user's
            own frames, and all of them with `PULLSTREAM_TRACEBACK=full` in the environment.
        Violation: with `check`, a rule was broken.
        JournalError: `journal` belongs to another pipeline, is in use, or cannot hold what it should.
    """
    pipeline_argument("run", pipeline, others)
    if running_program() is not None:
        raise PullstreamError(
            "run() starts a trio program, and this is one: use `async with pipeline.open() as running:`"
        )
    if current_task() is not None and not hasattr(builtins, "__IPYTHON__"):
        # In a notebook it waits, too, but so does the notebook.
        warnings.warn(STALLS_ASYNCIO, RuntimeWarning, stacklevel=2)
    with Interrupts() as interrupts, borrowed_wakeups() as borrowed:
        running = pipeline.open(
            limit=limit, release_timeout=release_timeout, check=check, beside=beside, journal=journal, trace=trace
        )
        try:
            return trio.run(_run, running, borrowed, interrupts)
        except BaseException as exc:
            cut(exc)
            raise


async def _run(running: Running[R], borrowed: int | None, interrupts: Interrupts) -> R:
    interrupts.check()
    running.abort_at(interrupts)
    async with running:
        if borrowed is not None:
            running.pass_on_signals(borrowed)
        return await running.result()
