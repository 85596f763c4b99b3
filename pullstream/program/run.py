"""`run`: run a pipeline from start to end in its own trio program."""

import builtins
import warnings
from os import PathLike
from typing import Any, Final, Never

import trio

from pullstream.blueprint import bound
from pullstream.blueprint.variables import R
from pullstream.engine.runtime.blocked import running_program
from pullstream.engine.runtime.interrupts import Interrupts, current_task
from pullstream.engine.runtime.signals import borrowed_wakeups
from pullstream.errors import PullstreamError
from pullstream.frames import cut
from pullstream.logger import LOG
from pullstream.program import wanted
from pullstream.program.endless import never_gives
from pullstream.program.pipeline import Pipeline, pipeline_argument
from pullstream.program.running import Companion, Running, check_limits

STALLS_ASYNCIO: Final = (
    "run() blocks the asyncio loop that is running here until the stream has ended: no other task can run. "
    "Use `await arun(pipeline)`"
)


@bound
def run(
    pipeline: Pipeline[R],
    *others: Never,
    limit: int = 4096,
    release_timeout: float = 5.0,
    check: "wanted.Check" = False,
    beside: Companion | None = None,
    journal: "str | PathLike[str] | wanted.Journal | None" = None,
    trace: "wanted.TraceTo | None" = None,
) -> R:
    """Run a pipeline to its end and return its sink's result, or a tuple of results for several sinks.

    Ctrl-C aborts the run in an orderly way (files stay whole, Spark jobs are cancelled) and then raises
    KeyboardInterrupt. A second Ctrl-C does not wait for releases, except for code that shields itself from
    cancellation, and is raised at once in a function that blocks everything. Until a third one, the toolkit's own
    code is never interrupted. An exception from a signal handler of your own, also for SIGTERM, is treated in the same
    way. A handler that raises nothing has handled the signal; but where asyncio is running, Ctrl-C always aborts,
    because the loop's handler could be called only after `run` has returned.

    A function that blocks may delay the first Ctrl-C until its batch is done: a few milliseconds of work or, in `map`,
    `filter` and `tap`, a call that takes longer. Elsewhere, as in a sink or a fold, it may be about 16 calls at the
    beginning, or two at most with `limit=1`. `map_thread` waits only for running calls, and `map_async` cancels them.

    You may call it in any thread (only the main thread gets signals) and in a notebook, whose loop waits until it
    returns. In an asyncio program use `arun`; a RuntimeWarning reminds you. `limit`, `release_timeout`, `check`,
    `beside` (a progress display), `journal` (resume a killed run) and `trace` (record every step) are as in
    `Pipeline.open`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.map(lambda n: n * n), ps.collect()))
    [0, 1, 4, 9]

    Raises:
        BaseException: the stream's failure, unchanged, with a note that names the module. Its traceback has only the
            user's frames, and the innermost frame of an error; `PULLSTREAM_TRACEBACK=full` in the environment keeps
            all.
        Violation: with `check`, a rule was broken.
        JournalError: `journal` belongs to another pipeline, is in use, or cannot store what it must.
    """
    pipeline_argument("run", pipeline, others)
    if running_program() is not None:
        raise PullstreamError(
            "run() starts a trio program, and one is running here: use `await arun(pipeline)` or `async with "
            "pipeline.open() as running:`. For a stream inside a stream, return a source from the function of flat_map"
        )
    if current_task() is not None and not hasattr(builtins, "__IPYTHON__"):
        # In a notebook, blocking the loop is expected.
        warnings.warn(STALLS_ASYNCIO, RuntimeWarning, stacklevel=3)
    if beside is None and (why := never_gives(pipeline)):
        LOG.warning("%s", why)
    check_limits("run", limit, release_timeout)
    with Interrupts() as interrupts, borrowed_wakeups() as borrowed:
        running: Running[R] = Running(
            pipeline,
            limit=limit,
            release_timeout=release_timeout,
            check=check,
            beside=beside,
            journal=journal,
            trace=trace,
        )
        try:
            trio.run(_run, running, borrowed, interrupts)
            # Not as trio's result: leftovers of trio's run would keep it alive until the next garbage collection.
            return running.outcome()
        except BaseException as exc:
            cut(exc)
            raise


async def _run(running: Running[Any], borrowed: int | None, interrupts: Interrupts) -> None:
    interrupts.check()
    running.abort_at(interrupts)
    if borrowed is None:
        await running.through()
        return
    async with running:
        running.pass_on_signals(borrowed)
        await running.result()
