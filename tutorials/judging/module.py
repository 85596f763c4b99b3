"""Checks of modules: the conformance kit, and runs that are compared with those of a solution."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from textwrap import dedent
from typing import Any, Final, cast

import attrs
import trio
import trio.testing

import pullstream as ps
from pullstream.blueprint import Site
from pullstream.checker import Violation
from pullstream.conformance import Finding, Subject, conformance
from tutorials.judging.steps import completion_of, first_difference, value_at
from tutorials.judging.verdict import Wrong

CELLS: Final = 160
"""How many ways the partners of a module behave in."""

NAMES: Final = {
    "ReferenceSource": "the source above it",
    "reference_sink": "who asks below it",
    "CallableRaised": "Exception",
    "SourceFailed": "Exception",
}
"""Names of the judge's own that a learner has not seen."""


def keeps_the_rules(subject: Subject, site: Site, seeds: int = 1) -> None:
    """Whether a module keeps the rules, whatever those beside it do."""
    subject = attrs.evolve(subject, site=site)
    # The judge is in a process of its own already, which is ended if this never is.
    report = conformance(subject, cells=CELLS, seeds=seeds if seeds > 1 else None, limit=None)
    for finding in report.first(1):
        # The cell's own run is the first: those that it is compared with come after it.
        raise _wrong(finding, partial(conformance, subject, replay=finding.cell, limit=None))


def told_simply(text: str) -> str:
    """A message without the names of what is inside the judge, or how to silence it."""
    for name, word in NAMES.items():
        text = text.replace(name, word)
    text = re.sub(r", composed at \S+?:\d+(,(?= [a-z]+s ))?", "", text)
    return re.sub(r" ?\((absorbs|flushes|grows|batches)=True\b[^)]*\)|; if that is meant, say so.*$", "", text)


def as_wrong(exc: BaseException) -> Wrong:
    """What an exception that stopped a run is as a mistake: of a rule, if it names one, or else of its own name."""
    if isinstance(exc, Wrong):
        return exc
    if isinstance(exc, Violation):
        return Wrong(exc.rule, exc.what, exc.diagram)
    if isinstance(exc, trio.TooSlowError):
        return Wrong("hang", "it never came to its end")
    text = str(exc) or repr(exc)
    rule = re.match(r"(R\d+): |.*\((R\d+)\)$", text, flags=re.DOTALL) if isinstance(exc, ps.PullstreamError) else None
    if rule is None:
        return Wrong(type(exc).__name__, text)
    return Wrong(rule[1] or rule[2], text.removeprefix(f"{rule[1]}: ").removesuffix(f" ({rule[2]})"))


@attrs.frozen
class Seen:
    """What was seen of a run: values with their times, how it ended, and when each time was complete."""

    values: list[tuple[Any, Any]]
    ending: str
    completed: dict[Any, float]


def seen(source: ps.Source[Any], times: Iterable[Any] = (), limit: int = 1) -> Seen:
    """A run of a source on a clock that jumps, watched by the checker; when the times completed is noted.

    Raises:
        Wrong: a batch was changed after it was given away.
    """
    return trio.run(_seen, source, tuple(times), limit, clock=trio.testing.MockClock(autojump_threshold=0))


async def _seen(source: ps.Source[Any], times: tuple[Any, ...], limit: int) -> Seen:
    values: list[tuple[Any, Any]] = []
    completed: dict[Any, float] = {}
    ending = "done"

    @ps.sink
    async def notes(upstream: ps.Reader[Any], ctx: ps.Context) -> None:
        before: tuple[ps.Batch[Any], list[Any]] | None = None
        async for batch in ctx.batches(upstream):
            if before is not None and list(before[0].values) != before[1]:
                raise Wrong("sharing", f"a batch of {before[1]} was {list(before[0].values)} after the next ask")
            before = batch, list(batch.values)
            values.extend((batch.time, value) for value in batch.values)

    async def wait(running: ps.Running[None], time: Any) -> None:
        try:
            await running.progress.completed(time)
        except Exception:  # noqa: BLE001 - the run's own failure, which is told by the run
            return
        completed[time] = trio.current_time()

    try:
        with trio.fail_after(10_000):
            async with (
                ps.pipe(source, notes()).open(limit=limit, check=True) as running,
                trio.open_nursery() as nursery,
            ):
                for time in times:
                    nursery.start_soon(wait, running, time)
                await running.result()
    except* (Violation, Wrong, ps.PullstreamError, trio.TooSlowError):
        raise
    except* Exception as failures:  # noqa: BLE001 - how it ended is what is compared
        ending = repr(failures.exceptions[0])
    return Seen(values, ending, completed)


def gives_the_same(
    make: Callable[[], ps.Source[Any]],
    solution: Callable[[], ps.Source[Any]],
    *,
    times: Iterable[Any] = (),
    what: str = "",
    limits: Iterable[int] = (1, 1000),
    kind: str = "values",
) -> None:
    """Whether what an answer is part of gives what the solution does, with every limit, and as soon.

    Raises:
        Wrong: "batching", if it does with another limit.
    """
    times = tuple(times)
    runs = {limit: [_or_wrong(made, times, limit) for made in (make, solution)] for limit in limits}
    different = [limit for limit, (got, want) in runs.items() if (got.values, got.ending) != (want.values, want.ending)]
    if different:
        asked = "one value at a time" if different[0] == 1 else f"{different[0]} values at a time"
        got_text, want_text = map(_shown, runs[different[0]])
        raise Wrong(
            kind if len(different) == len(runs) else "batching",
            f"{what}asked for {asked}, it gave\n  {got_text}\nand should have given\n  {want_text}",
            again=partial(_once_more, make, times, different[0]),
            at=value_at(first_difference(*(run.values for run in runs[different[0]]))),
        )
    for limit, (got, want) in runs.items():
        again = partial(_once_more, make, times, limit)
        for time in times:
            mine, theirs = got.completed.get(time), want.completed.get(time)
            if mine == theirs or theirs is None:
                continue
            if mine is None or mine > theirs:
                when = "never" if mine is None else f"after {mine:g} seconds"
                happened = f"{what}{time!r} was complete {when}, and could have been after {theirs:g} seconds"
                raise Wrong("holding", happened, again=again, at=completion_of(time))
            happened = f"{what}{time!r} was complete after {mine:g} seconds, and may not be before {theirs:g}"
            raise Wrong("early", happened, again=again, at=completion_of(time))


def _or_wrong(make: Callable[[], ps.Source[Any]], times: tuple[Any, ...], limit: int) -> Seen:
    try:
        return seen(make(), times, limit)
    except BaseExceptionGroup as group:
        raise alone(group) from None


def _once_more(make: Callable[[], ps.Source[Any]], times: tuple[Any, ...], limit: int) -> Seen:
    return seen(make(), times, limit)


def alone(exc: BaseException) -> BaseException:
    """The first exception of a group that is none itself."""
    while isinstance(exc, BaseExceptionGroup):
        exc = cast("BaseExceptionGroup[BaseException]", exc).exceptions[0]
    return exc


def _shown(run: Seen) -> str:
    """What came, and how it ended if not by itself; times where there are any."""
    timed = any(time != 0 for time, _ in run.values)
    values = [pair if timed else pair[1] for pair in run.values]
    text = repr(values[:12])[:-1] + (", ...]" if len(values) > 12 else "]")
    return text if run.ending == "done" else f"{text}, and then {run.ending}"


def _wrong(finding: Finding, again: Callable[[], object]) -> Wrong:
    """A finding, taken apart into what happened, the scene and the drawing."""
    rows = finding.message.splitlines()
    said, drawing = rows[0], "\n".join(rows[1:])
    line = int(finding.place.rpartition(":")[2]) if finding.place else None
    return Wrong(finding.rule, "\n".join(filter(None, [said, finding.scene])), dedent(drawing), line, again)
