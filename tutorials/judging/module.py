"""Checks of modules: the conformance kit, and comparisons with runs of the solution."""

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from textwrap import dedent
from typing import Any, Final, TypeVar

import attrs
import trio
import trio.testing

import pullstream as ps
from pullstream.blueprint import Site
from pullstream.checker import Violation
from pullstream.conformance import Finding, Subject, conformance
from pullstream.errors import one_of
from tutorials.judging.steps import completion_of, first_difference, value_at
from tutorials.judging.verdict import Wrong

T = TypeVar("T")

CELLS: Final = 160
"""The number of behaviours that are tried for a module's neighbours."""

NAMES: Final = {
    "CallableRaised": "Exception",
    "ConsumerFailed": "Exception",
    "SourceFailed": "Exception",
}
"""Internal names, and the words that a learner sees instead."""


def keeps_the_rules(subject: Subject, site: Site, seeds: int = 1) -> None:
    """Check that a module keeps the rules, however its neighbours behave."""
    subject = attrs.evolve(subject, site=site)
    # No time limit here: the judge has its own process, which is killed after its limit.
    report = conformance(subject, cells=CELLS, seeds=seeds if seeds > 1 else None, limit=None)
    for finding in report.first(1):
        # The cell's own run is the first; the runs to compare with come after it.
        raise _wrong(finding, partial(conformance, subject, replay=finding.cell, limit=None))


def told_simply(text: str) -> str:
    """Return a message without the judge's internal names and its hints on how to silence it."""
    for name, word in NAMES.items():
        text = text.replace(name, word)
    text = re.sub(r", composed at \S+?:\d+(,(?! and ))?| at \S+/judg(?:es|ing)/\w+\.py:\d+", "", text)
    return re.sub(r" ?\((absorbs|flushes|grows|batches)=True\b[^)]*\)|; if that is meant, say so.*$", "", text)


def as_wrong(exc: BaseException) -> Wrong:
    """Turn an exception that stopped a run into a mistake: of the rule that it names, or else of its own type."""
    if isinstance(exc, Wrong):
        return exc
    if isinstance(exc, Violation):
        return Wrong(exc.rule, exc.what, exc.diagram)
    if isinstance(exc, trio.TooSlowError):
        return Wrong("hang", "it did not end")
    text = "; ".join([str(exc) or repr(exc), *hints_on(exc)])
    rule = re.match(r"(R\d+|sharing): |.*\((R\d+)\)$", text, flags=re.DOTALL)
    if rule is None or not isinstance(exc, ps.PullstreamError):
        return Wrong(type(exc).__name__, text)
    return Wrong(rule[1] or rule[2], text.removeprefix(f"{rule[1]}: ").removesuffix(f" ({rule[2]})"))


def hints_on(exc: BaseException) -> list[str]:
    """Return the toolkit's hints on an exception: its notes, but for those that name a place."""
    return [note for note in getattr(exc, "__notes__", ()) if not note.startswith("raised ")]


@attrs.frozen
class Seen:
    """The observations of a run: values with their times, the ending, and when each time was complete."""

    values: list[tuple[Any, Any]]
    ending: str
    completed: dict[Any, float]
    seconds: float
    """The time that the run took."""


def seen(source: ps.Source[Any], times: Iterable[Any] = (), limit: int = 1) -> Seen:
    """Run a source on a virtual clock, watched by the checker, and record when the times complete.

    Raises:
        Wrong: a batch was changed after it was answered.
    """
    return on_virtual_clock(_seen, source, tuple(times), limit)


def on_virtual_clock(function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Run an async function; its waits take no real time."""
    return trio.run(function, *arguments, clock=trio.testing.MockClock(autojump_threshold=0))


async def _seen(source: ps.Source[Any], times: tuple[Any, ...], limit: int) -> Seen:
    values: list[tuple[Any, Any]] = []
    completed: dict[Any, float] = {}
    ending = "done"
    began = trio.current_time()

    @ps.sink
    async def notes(upstream: ps.Reader[Any], ctx: ps.Context) -> None:
        before: tuple[ps.Batch[Any], list[Any]] | None = None
        async for batch in ctx.batches(upstream):
            if before is not None and list(before[0].values) != before[1]:
                raise Wrong("sharing", f"a batch of {before[1]} was {list(before[0].values)} after the next ask")
            before = batch, list(batch.values)
            values.extend((batch.time, value) for value in batch.values)

    async def wait(running: ps.types.Running[None], time: Any) -> None:
        try:
            await running.progress.completed(time)
        except Exception:  # noqa: BLE001 - the run itself reports its failure
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
    except* Exception as failures:  # noqa: BLE001 - the ending is compared
        ending = "; ".join([repr(failures.exceptions[0]), *hints_on(failures.exceptions[0])])
    return Seen(values, ending, completed, trio.current_time() - began)


def gives_the_same(
    make: Callable[[], ps.Source[Any]],
    solution: Callable[[], ps.Source[Any]],
    *,
    times: Iterable[Any] = (),
    what: str = "",
    limits: Iterable[int] = (1, 1000),
    kind: str = "values",
) -> None:
    """Check that an answer gives the results of the solution, at every limit, and completes times as early.

    Raises:
        Wrong: "batching", if only some limits give other results.
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
            again=partial(_or_wrong, make, times, different[0]),
            at=value_at(first_difference(*(run.values for run in runs[different[0]]))),
        )
    for limit, (got, want) in runs.items():
        again = partial(_or_wrong, make, times, limit)
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
        raise one_of(group) from None


def _shown(run: Seen) -> str:
    """Return the values, and the ending unless it is a normal one; with times if there are any."""
    timed = any(time != 0 for time, _ in run.values)
    values = [pair if timed else pair[1] for pair in run.values]
    text = repr(values[:12])[:-1] + (", ...]" if len(values) > 12 else "]")
    return text if run.ending == "done" else f"{text}, and then {run.ending}"


def _wrong(finding: Finding, again: Callable[[], object]) -> Wrong:
    """Split a finding into what happened, the scene and the drawing."""
    rows = finding.message.splitlines()
    said, drawing = rows[0], "\n".join(rows[1:])
    line = int(finding.place.rpartition(":")[2]) if finding.place else None
    return Wrong(finding.rule, "\n".join(filter(None, [said, finding.scene])), dedent(drawing), line, again)
