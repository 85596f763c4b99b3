"""`Pipeline`: a whole program as a blueprint, which can be opened."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Generic

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Site, advice
from pullstream.errors import CompositionError
from pullstream.program import wanted
from pullstream.program.running import Beside, Running

R_co = TypeVar("R_co", covariant=True)


@attrs.frozen(repr=False)
class Pipeline(Blueprint, Generic[R_co]):
    """A whole program, from a source to a sink, whose run gives an `R_co`."""

    kind = "pipeline"

    @override
    def _how_to_run(self) -> str:
        return f"ps.run({self!r}), and what its sink makes of the values is the result"

    def open(
        self,
        *,
        limit: int = 4096,
        release_timeout: float = 5.0,
        check: "wanted.Check" = False,
        beside: Beside | None = None,
        journal: "str | PathLike[str] | wanted.Journal | None" = None,
        trace: "wanted.TraceTo | None" = None,
    ) -> Running[R_co]:
        """Open the pipeline: `async with pipeline.open() as running:` starts it beside the block.

        Leaving the block waits for the end; an exception in the block aborts the stream in order. While it is open,
        Ctrl-C is raised where trio's main task waits the next time, and not before. `limit` is how many
        values a sink asks for at most at a time (1 is the specification to the letter); it asks for fewer while a
        batch takes longer than a few milliseconds. `release_timeout` is the grace, in seconds, that a module has to
        let go. With `check=True` the checker watches every edge; with `check="strict"` requesters must be polite, too
        (R9).

        `beside` is an async function of the `Running`, such as a progress display (`pullstream.display`), that looks
        on: it begins with the run and is cancelled at its end; it keeps no run going and hides no stall. What it raises
        aborts the run in order, and is the run's failure.

        With `trace`, the path of a file or an open text file, all that passes between modules is written down, and all
        that changes in the run's progress, with the model's verdict at its end: see `pullstream.trace`.

        With `journal`, the path of a file, the run can be killed at any moment, and the next one with that journal goes
        on after the last time that all sinks had completed: sources are read again, and what is done is dropped. A sink
        may be given anew a time that it had not quite completed, so its effects replace what they were before. A run
        that has come to its end does nothing again, and gives its result again, unless the files that it read have
        changed, which is refused. Nobody looks at what sinks have done: an output file that somebody deletes is not
        written again, unless the journal goes with it. What has no times is all at one, and begins anew until all of it
        is done. One run at a time has a journal.

        It goes with one program: with its modules, all that they were given, and what its functions do and hold on to
        (their code, defaults, closures, the functions, classes and constants that they name; not where they are
        written, and not what is in global collections and objects, or imported by a function itself). Another one is
        refused, with what is different; so is what cannot be compared (a connection in a closure), and the same program
        under another minor version of Python, which compiles it otherwise. `Journal(path, version=...)` says in place
        of that comparison which program it is.

        Times, and what modules keep beyond them, are pickled, and reading pickles runs what they say: a journal is as
        trusted as the program. It is made for its owner alone (mode 0600), and is read only if it belongs to who runs,
        is no link, and nobody else may write to it; each of its records is checked before anything is taken from it.
        One that has been where others could write is to be opened only if it was written with a secret, see `Journal`.

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
        return Running(
            self,
            limit=limit,
            release_timeout=release_timeout,
            check=check,
            beside=beside,
            journal=journal,
            trace=trace,
        )


def pipeline_argument(name: str, pipeline: object, others: Sequence[object] = ()) -> None:
    """Refuse what is not a pipeline, or the parts of one that nobody has composed."""
    given: Any = pipeline
    parts: list[object] = [*given] if isinstance(given, (list, tuple)) else [given, *others]
    if len(parts) > 1:
        raise CompositionError(
            f"{name}() at {Site.here()} needs one pipeline, and got {len(parts)} parts: compose them with pipe(...), "
            f"as {name}(pipe({', '.join(map(repr, parts))}))"
        )
    if not isinstance(pipeline, Pipeline):
        lacks = {"source": "; it has no sink: collect() gives all values as a list", "sink": "; it has no source"}
        hint = lacks.get(getattr(pipeline, "kind", ""), advice(name, pipeline))
        raise CompositionError(
            f"{name}() at {Site.here()} needs a pipeline, from a source to a sink, and got {pipeline!r}{hint}"
        )
