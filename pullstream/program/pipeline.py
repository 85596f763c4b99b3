"""`Pipeline`: a complete pipeline as a blueprint, which can be opened."""

import reprlib
from collections.abc import Sequence
from os import PathLike
from typing import Any, Generic

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Site, advice, bound
from pullstream.errors import CompositionError
from pullstream.program import wanted
from pullstream.program.running import Companion, Running, check_limits

R_co = TypeVar("R_co", covariant=True)


@attrs.frozen(repr=False)
class Pipeline(Blueprint, Generic[R_co]):
    """A complete pipeline, from a source to a sink, whose run returns an `R_co`."""

    kind = "pipeline"

    @override
    def _how_to_run(self) -> str:
        return f"ps.run({self!r}), which returns its sink's result"

    @bound
    def open(
        self,
        *,
        limit: int = 4096,
        release_timeout: float = 5.0,
        check: "wanted.Check" = False,
        beside: Companion | None = None,
        journal: "str | PathLike[str] | wanted.Journal | None" = None,
        trace: "wanted.TraceTo | None" = None,
    ) -> Running[R_co]:
        """Open the pipeline: `async with pipeline.open() as running:` runs it beside the block.

        Leaving the block waits for the end of the run. An exception in the block aborts the stream in an orderly way.
        If the stream fails while nothing waits for its result, the block is cancelled; leaving it raises the failure.
        While the pipeline is open, Ctrl-C is raised only where trio's main task waits.

        `limit` is the most values a sink asks for at a time (1 follows the specification to the letter). It asks for
        fewer while a batch takes longer than a few milliseconds. `release_timeout` is how many seconds a module may
        take to release its resources. With `check=True` the checker watches every edge. With `check="strict"` consumers
        must also follow the rule R9.

        `beside` is an async function of the `Running`, such as a progress display (`pullstream.display`). It starts
        with the run and is cancelled at its end. It does not keep a run alive and does not hide a deadlock. If it
        raises, the run is aborted in an orderly way and fails with that exception.

        `trace` is the path of a file or an open text file. Everything that passes between modules and every change of
        the run's progress is written to it, with the model's verdict at the end: see `pullstream.trace`. The model goes
        through the whole program at each change, so a trace is slow with hundreds of modules or of open times.

        `journal` is the path of a file, or a `Journal`. With it, the run can be killed at any moment, and the next run
        with the same journal resumes after the last time that all sinks had completed. A sink may receive again a time
        that it had not quite completed, so its effects must replace the earlier ones. If a run has ended, the next one
        does nothing and returns the same result. A journal belongs to one program, and one run at a time can use it.
        It contains pickles, which can run code: trust it as you trust the program. The guide "Resuming" says when a
        program counts as another one, and who may open a journal.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.values("ab"), ps.collect()).open() as running:
        ...         await running.progress.completed(0)
        ...         return await running.result()
        >>> trio.run(main)
        ['a', 'b']

        Raises:
            JournalError: the journal belongs to another pipeline or to other sources, is in use, or cannot be used.
        """
        check_limits("open", limit, release_timeout)
        return Running(
            self, limit=limit, release_timeout=release_timeout, check=check, beside=beside, journal=journal, trace=trace
        )


def pipeline_argument(name: str, pipeline: object, others: Sequence[object] = ()) -> None:
    """Refuse an argument that is not a pipeline, or that is the uncomposed parts of one."""
    given: Any = pipeline
    parts: list[object] = [*given] if isinstance(given, (list, tuple)) else [given, *others]
    if len(parts) > 1 and all(isinstance(part, Pipeline) for part in parts):
        raise CompositionError(
            f"{name}() at {Site.here()} needs one pipeline, but got {len(parts)}: run them one after another, or, if "
            f"they read the same source, make one pipeline of them with tee(sink, sink)"
        )
    if len(parts) > 1 and any(isinstance(part, Blueprint) for part in parts):
        raise CompositionError(
            f"{name}() at {Site.here()} needs one pipeline, but got {len(parts)} parts: compose them with pipe(...), "
            f"for example {name}(pipe({', '.join(map(repr, parts))}))"
        )
    if not isinstance(pipeline, Pipeline):
        lacks = {
            "source": ", which has no sink: add one, for example collect(), which returns all values as a list",
            "sink": ", which has no source: add one in front",
        }
        hint = lacks.get(getattr(pipeline, "kind", ""), advice(name, pipeline))
        shown = repr(pipeline)
        if pipeline is None:
            hint = ": does the function that makes it return it?"
        elif isinstance(pipeline, (list, tuple)) and not hint:
            shown = reprlib.repr(parts)
            hint = ": if this is the result of a run, pass the pipeline itself"
        raise CompositionError(f"{name}() at {Site.here()} needs a complete pipeline, but got {shown}{hint}")
