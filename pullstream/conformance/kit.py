"""Running the grid: every cell of every subject, each compared with what comes out undisturbed."""

import inspect
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from operator import attrgetter
from typing import Any, Final, cast

import attrs
import trio
import trio.testing

from pullstream.blueprint import Blueprint, Sink, Site, Source
from pullstream.conformance.bench import Bench, CheckFailed, Outcome
from pullstream.conformance.cells import Cell, grid, sample
from pullstream.conformance.drive_sink import SinkDriver
from pullstream.conformance.drive_stream import StreamDriver
from pullstream.conformance.partners import CallableRaised, SourceFailed
from pullstream.conformance.report import Finding, Report
from pullstream.conformance.subject import Subject
from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import CompositionError, PullstreamError, without_cancelled
from pullstream.program.pipeline import Pipeline
from pullstream.protocol import DONE

PATIENCE: Final = 1000.0
"""Virtual seconds after which a request that is not answered counts as a hang."""

SAMPLE: Final = 200
"""The number of cells of a module that are run unless more are asked for."""


class Trial:
    """A subject, taken through its cells."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        _is_called_rightly(subject)
        made = self.made = Bench(subject, Cell()).made
        if isinstance(made, Pipeline):
            raise CompositionError(f"{subject.name} is a whole pipeline: what is tested is one of its modules")
        self.driver: type[StreamDriver | SinkDriver] = SinkDriver if isinstance(made, Sink) else StreamDriver
        fed = not isinstance(made, Source) or subject.inputs > 0
        self.cells = grid(sink=self.driver is SinkDriver, fed=fed, around=subject.around)
        self._undisturbed: dict[Cell, Outcome | None] = {}

    async def run(self, cell: Cell) -> Finding | None:
        """Run one cell; what was found in it, if anything."""
        outcome, finding = await self.drive(cell)
        if outcome is None or self.subject.timing:
            return finding
        lost = await self._lost(cell, outcome)
        if lost is not None:
            return lost
        other = await self._reference(cell)
        if other is None:
            return finding
        if outcome.doubt is not None and not self._came_to_its_end(outcome, other):
            return Finding(self.subject.name, "R5", cell, outcome.doubt)
        if self.subject.batches or self._agrees(cell, outcome, other):
            return finding
        message = f"gave {_shown(outcome)}, but {_shown(other)} at limit 1 when nothing disturbs it"
        if cell.many:
            message += "; of an answer of many times each value is at its own, as if it had come alone"
        else:
            message += "; if that is meant, say so (batches=True)"
        return Finding(self.subject.name, "batching", cell, f"what comes out depends on how it is asked: it {message}")

    async def drive(self, cell: Cell) -> tuple[Outcome | None, Finding | None]:
        """Run one cell by itself: what came out, or what was found."""
        _shuffle(cell.seed)
        driver = self.driver(self.subject, cell)
        living = trio.lowlevel.current_statistics().tasks_living
        outcome: Outcome | None = None
        trouble: tuple[str, str] | None = None
        try:
            with trio.fail_after(PATIENCE):
                outcome = await driver.drive()
            left = trio.lowlevel.current_statistics().tasks_living - living
            if left:
                trouble = "R10", f"{left} tasks were left behind"
        except Exception as exc:  # noqa: BLE001 - whatever it is, it is a finding
            trouble = _judged(exc)
        if driver.checker.violations:
            violation = driver.checker.violations[0]
            trouble = violation.rule, str(violation)
        if trouble is None:
            return outcome, None
        if "\n" not in trouble[1]:
            rule, message = trouble
            trouble = rule, f"{rule}: {message.removeprefix(f'{rule}: ')}\n{driver.checker.last_diagram()}"
        return None, Finding(self.subject.name, trouble[0], cell, trouble[1])

    async def _reference(self, cell: Cell) -> Outcome | None:
        """The outcome for the same values when they come at once and are asked for one by one, undisturbed."""
        raising = cell.way == "raise"
        key = attrs.evolve(
            cell,
            delayed=False,
            limit=1,
            way="raise" if raising else "end",
            position=cell.position if raising else 0,
            moment=None,
            waits=True,
            again=False,
            seed=0,
            whole=False,
        )
        if key not in self._undisturbed:
            self._undisturbed[key], _ = await self.drive(key)
        return self._undisturbed[key]

    async def _lost(self, cell: Cell, outcome: Outcome) -> Finding | None:
        """The values before a failure that it has lost (R8)."""
        subject = self.subject
        if subject.flushes or subject.absorbs or subject.inputs or not subject.ordered or self.driver is SinkDriver:
            return None
        if isinstance(outcome.ending, CallableRaised):
            before = attrs.evolve(cell, way="end", values=cell.position, ending="done", position=0)
        elif isinstance(outcome.ending, SourceFailed) and cell.way == "end":
            before = attrs.evolve(cell, ending="done")
        else:
            return None
        other = await self._reference(before)
        if other is None or subject.batches or outcome.values == other.values:
            return None
        message = (
            f"gave {outcome.values!r} before it failed, and without the failure gives {other.values!r} (flushes=True)"
        )
        return Finding(subject.name, "R8", cell, f"what comes before a failure is delivered first: it {message}")

    def _came_to_its_end(self, outcome: Outcome, other: Outcome) -> bool:
        whole = len(outcome.values) == len(other.values)
        return _same_ending(outcome, other) and (whole or self.subject.batches or not self.subject.ordered)

    def _agrees(self, cell: Cell, outcome: Outcome, other: Outcome) -> bool:
        if self.driver is SinkDriver:
            disturbed = cell.way in ("abort", "cancel")
            return disturbed or (_same_ending(outcome, other) and outcome.values == other.values)
        whole = cell.way in ("end", "raise") and None not in (outcome.ending, other.ending)
        if not self.subject.ordered:
            some, every = Counter(map(repr, outcome.values)), Counter(map(repr, other.values))
            if whole and outcome.ending is DONE:
                return some == every
            return other.ending is not DONE or some <= every
        if whole:
            return _same_ending(outcome, other) and outcome.values == other.values
        length = min(len(outcome.values), len(other.values))
        return outcome.values[:length] == other.values[:length]


def _same_ending(one: Outcome, other: Outcome) -> bool:
    return type(one.ending) is type(other.ending)


def _shown(outcome: Outcome) -> str:
    return f"{outcome.values!r} and ended with {outcome.ending!r}"


def _judged(exc: BaseException) -> tuple[str, str]:
    while isinstance(exc, BaseExceptionGroup):
        first, *others = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        if others:
            break
        exc = first
    if isinstance(exc, CheckFailed):
        return exc.rule, str(exc)
    if isinstance(exc, trio.TooSlowError):
        return "hang", f"a request was not answered in {PATIENCE:.0f} virtual seconds"
    rest = without_cancelled(cast("BaseException", exc))
    match = re.match(r"(R\d+): ", str(rest))
    if isinstance(rest, PullstreamError) and match:
        return match[1], str(rest)
    return type(rest).__name__, f"it raised {rest!r}"


def conformance(
    *modules: Subject | Blueprint | Callable[..., Blueprint],
    cells: int | None = SAMPLE,
    seeds: int = 1,
    progress: Callable[[str], object] | None = None,
    **expectations: Any,
) -> Report:
    """Run modules against reference partners in every way partners may behave, the checker on both faces.

    A module is a blueprint, a function that makes one, or a `Subject`. In a test, one line:

    >>> import pullstream as ps
    >>> from pullstream.conformance import conformance
    >>> print(conformance(ps.take(2), cells=40).check())
    module      cells  broken  rules
    take(2)        40       0  ok
    in all         40       0  ok

    `cells` is how many cells of each module are run, as many of every way to end, chosen by chance but always the same;
    None runs all of them, some thousands. Each is run with so many `seeds` of trio's scheduler, which runs the tasks of
    a step in any order. `expectations` are those of a `Subject`: a function of a function, say, is `around=True`; what
    keeps values back until a time is complete says `flushes=True`, what depends on batches `batches=True`; what goes in
    are numbers, or what `values=` makes of them. The clock is
    virtual: nothing is waited for. Threads do not know of it: of modules that use them (map_thread, trio.to_thread,
    files) hangs and ReleaseTimeouts are found that are none. `progress` is called with the name of every module when
    its turn comes.

    Raises:
        CompositionError: what was given is none of the three.
        PullstreamError: called inside trio; in an async test, call it in a thread.
    """
    site = Site.here()
    subjects = [_subject(module, site, expectations) for module in modules]
    if running_program() is not None:
        raise PullstreamError("conformance() starts a trio program of its own, and this is one: use a plain function")
    counts: Counter[str] = Counter()
    findings: list[Finding] = []

    async def main() -> None:
        for subject in subjects:
            if progress is not None:
                progress(subject.name)
            trial = Trial(subject)
            chosen = trial.cells if cells is None else sample(trial.cells, cells)
            for cell, seed in product(chosen, range(seeds)):
                finding = await trial.run(attrs.evolve(cell, seed=seed))
                if finding is not None:
                    findings.append(finding)
            counts[subject.name] += len(chosen) * seeds

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return Report(counts, findings)


def replay(subject: Subject, cell: Cell) -> Finding | None:
    """Run one cell again, as a report shows it."""
    return trio.run(Trial(subject).run, cell, clock=trio.testing.MockClock(autojump_threshold=0))


def _subject(module: Any, site: Site, expectations: dict[str, Any]) -> Subject:
    if isinstance(module, Subject):
        return attrs.evolve(module, site=module.site or site, **expectations)
    if isinstance(module, Blueprint):
        return Subject(repr(module), lambda: module, **expectations)
    if callable(module):
        module = cast("Callable[..., Blueprint]", module)
        return Subject(getattr(module, "__name__", repr(module)), module, site=site, **expectations)
    raise CompositionError(f"conformance() needs a blueprint, or a function that makes one, and got {module!r}")


def _is_called_rightly(subject: Subject) -> None:
    """Refuse a function that cannot be called with what it will be given, before it is."""
    arguments = ["a function"] * subject.around + ["a resource"] * subject.resource + ["a source"] * subject.inputs
    try:
        inspect.signature(subject.make).bind(*arguments)
    except TypeError as exc:
        raise CompositionError(
            f"{subject.name} would be called with ({', '.join(arguments)}) to make a module: {exc}. around=True "
            f"(--around in a shell) calls it with a function of one value, resource=True with a resource",
        ) from None
    except ValueError:
        pass  # it has no signature that one could look at


def _shuffle(seed: int) -> None:
    # Trio has no public way to make its order of tasks repeatable; without this one, a cell is not.
    with suppress(AttributeError):
        attrgetter("_core._run._r")(trio).seed(seed)
