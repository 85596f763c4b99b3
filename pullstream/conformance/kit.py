"""Running the grid: every cell of every subject, each subject in its own process."""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import product
from logging import LogRecord
from time import perf_counter
from typing import Any, Final, cast

import attrs
import trio
import trio.testing

from pullstream.blueprint import Blueprint, Site, nearest
from pullstream.conformance.apart import Send, apart, can_be_apart
from pullstream.conformance.cells import VALUES, Cell, sample
from pullstream.conformance.places import defined
from pullstream.conformance.report import Finding, Report
from pullstream.conformance.subject import EXPECTATIONS, Subject
from pullstream.conformance.targets import subject_of
from pullstream.conformance.trial import Trial
from pullstream.conformance.words import in_words
from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import CompositionError, PullstreamError
from pullstream.frames import is_ours
from pullstream.logger import LOG

SAMPLE: Final = 200
"""The default number of cells per module."""

LIMIT: Final = 20.0
"""Seconds of real time that a cell may take; most take a few milliseconds."""

SLOW: Final = 0.25
"""Seconds of real time per cell above which a module seems to block."""

EARLY: Final = 40
"""The least number of cells to assume for a warning while cells are still to run: the first ones may be slow."""

ORDERS: Final = 3
"""The number of task orders for modules with several inputs."""


@attrs.frozen
class GridPart:
    """The part of the grid to run for each subject."""

    cells: int | None
    seeds: int | None
    seed: int
    replay: Cell | None

    def of(self, trial: Trial) -> list[Cell]:
        """Return the cells of a subject, the simplest first."""
        if self.replay is not None:
            return [self.replay]
        chosen: Sequence[Cell] = trial.cells
        if self.cells is not None:
            chosen = sample(trial.cells, self.cells, self.seed)
        seeds = self.seeds or (ORDERS if trial.subject.inputs > 1 else 1)
        orders = product(chosen, range(self.seed, self.seed + seeds))
        return sorted((attrs.evolve(cell, seed=seed) for cell, seed in orders), key=lambda cell: cell.effort)


def conformance(
    *modules: Subject | Blueprint | Callable[..., Blueprint] | str,
    cells: int | None = SAMPLE,
    seeds: int | None = None,
    seed: int = 0,
    limit: float | None = LIMIT,
    replay: str | Cell | None = None,
    progress: Callable[[str], object] | None = None,
    **expectations: Any,
) -> Report:
    """Run modules against neighbours that behave in every permitted way, with the checker on both sides.

    A module is a blueprint, a function that makes one, a `Subject`, or the name of one of these, as
    `package.module:name`, `file.py:name` or `file.py:name(argument)`, which is imported where it runs. One line in a
    test:

    >>> import pullstream as ps
    >>> from pullstream.conformance import conformance
    >>> print(conformance(ps.take(2), cells=40).check())
    module      cells  broken  rules
    take(2)        40       0  ok
    in all         40       0  ok

    `cells` is how many cells of each module to run, equally many for every way to end, chosen at random but always the
    same (another `seed` chooses others). None runs all, some thousands. Each cell runs with `seeds` seeds of trio's
    scheduler, which runs the tasks of a step in random order: by default one, or three for a module with several
    inputs. `replay` runs only one cell, as printed in a finding. `expectations` are those of a `Subject`: for example
    `around=True` for a module that takes a function, `flushes=True` if it keeps values back until a time is complete,
    `batches=True` if its output depends on batches. The input values are numbers, or the results of `values=` for them.

    The clock is virtual, so nothing waits. Threads do not follow it: for modules that use threads (map_thread,
    trio.to_thread, files), some hangs and ReleaseTimeouts are false. Every module runs in its own process, a copy of
    this one, so changes to global state stay there, and a module that spins, blocks or exits is found, after `limit`
    seconds of real time in one cell. With `limit=None`, and on systems that cannot copy a process, it runs in this
    process without a limit. `progress` is called with the name of each module before it runs.

    Raises:
        CompositionError: there is no module, or an argument is none of these.
        LookupError: a name was not found.
        TypeError: an expectation is unknown.
        ValueError: `cells`, `seeds` or `limit` is not positive, `replay` is not a cell, or `values` raises.
        PullstreamError: called inside trio; in an async test, call it in a thread.
    """
    site = Site.here()
    for name in expectations.keys() - EXPECTATIONS.keys():
        raise TypeError(f"conformance() has no argument {name!r}{nearest(name, EXPECTATIONS)}")
    subjects = [module if isinstance(module, str) else _subject(module, site, expectations) for module in modules]
    if not subjects:
        raise CompositionError("conformance() needs at least one module to run")
    for name, number in {"cells": cells, "seeds": seeds, "limit": limit}.items():
        if number is not None and number <= 0:
            raise ValueError(f"conformance() needs a positive number for {name}, or None, but got {number!r}")
    # A module that is only named here is made elsewhere, with the same expectations.
    given = [expectations.get("values") if isinstance(each, str) else each.values for each in subjects]
    for make, number in product(filter(callable, given), VALUES):
        try:
            make(number)
        except Exception as exc:
            raise ValueError(f"values({number}) raised {exc!r}: it is called with the numbers 0 to 5") from exc
    if running_program() is not None:
        raise PullstreamError("conformance() starts a trio program, and one is running here: use a plain function")
    plan = GridPart(cells, seeds, seed, Cell.parse(replay) if isinstance(replay, str) else replay)
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    called: dict[str, Any] = {}
    for module, subject in zip(modules, subjects, strict=True):
        judging = _Judging(subject, plan, expectations)
        called[judging.name] = module
        if progress is not None:
            progress(judging.name)
        found = judging.run(limit)
        if not any(finding.rule == "spin" for finding in found):
            judging.warn_if_slow(4)
        counts[judging.name] += judging.count
        findings += [attrs.evolve(finding, subject=judging.name) for finding in found]
    return Report(counts, findings, lambda finding: _again(called[finding.subject], expectations, finding.cell))


class _Judging:
    """The trial of one subject: its cells, here or in a separate process, and the findings."""

    def __init__(self, subject: Subject | str, plan: GridPart, expectations: dict[str, Any]) -> None:
        self._subject = subject
        self.name = subject if isinstance(subject, str) else subject.name
        self._plan = plan
        self._expectations = expectations
        self._cell = Cell()
        self._found: list[Finding] = []
        self._began = perf_counter()
        self._warned = False
        self.count = 0

    def run(self, limit: float | None) -> list[Finding]:
        """Run the cells and return the findings, the simplest first."""
        if limit is None or not can_be_apart():
            self._work(self._receive)
            return self._found
        ended = apart(self._work, self._receive, limit)
        if ended is not None:
            scene = in_words(self._cell)
            self._found.append(Finding(self.name, ended.rule, self._cell, ended.message, scene, ended.place))
        return self._found

    def _work(self, send: Send) -> None:
        subject = self._subject
        if isinstance(subject, str):
            subject = attrs.evolve(subject_of(subject), **self._expectations)
        trial = Trial(subject)

        async def main() -> None:
            found: set[str] = set()
            for cell in self._plan.of(trial):
                send((cell, 1))
                finding = await trial.run(cell)
                if finding is None:
                    continue
                if self._plan.replay is None and finding.rule not in found:
                    finding = await trial.simplest(finding, lambda cell: send((cell, 0)))
                found.add(finding.rule)
                send(finding)
            vacuous = None if found or self._plan.replay else await trial.vacuous()
            if vacuous is not None:
                send(vacuous)

        with _each_once():
            trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    def _receive(self, message: Any) -> None:
        """Store a finding, or the cell that starts; a cell that runs only to simplify a finding is not counted."""
        if isinstance(message, Finding):
            self._found.append(message)
        else:
            self._cell, counted = message
            self.count += counted
            self.warn_if_slow(EARLY)

    def warn_if_slow(self, least: int) -> None:
        """Warn once if the cells take so long that the module seems to block; counts at least `least` cells."""
        took = perf_counter() - self._began
        if self._warned or took <= SLOW * max(self.count, least):
            return
        self._warned = True
        LOG.warning(
            "%s takes %.0f s of real time for %d cells, although waiting is virtual: does it block, for example with "
            "time.sleep? Await trio.sleep(seconds) instead, and call a blocking function in a thread",
            self.name,
            took,
            self.count,
        )


@contextmanager
def _each_once() -> Generator[None]:
    """Log each of the toolkit's warnings once, not in each of hundreds of cells, whatever numbers it contains."""
    logged: set[str] = set()

    def is_new(record: LogRecord) -> bool:
        message = re.sub(r"\d+", "", record.getMessage())
        new = message not in logged
        logged.add(message)
        return new

    LOG.addFilter(is_new)
    try:
        yield
    finally:
        LOG.removeFilter(is_new)


def _site(make: Any, site: Site) -> Site:
    """Return the line where a module's function is defined; for the toolkit's own, the line that calls the kit."""
    ready = is_ours(getattr(inspect.unwrap(make), "__module__", None))
    return site if ready else defined(make) or site


def _again(module: Any, expectations: dict[str, Any], cell: Cell) -> str:
    """Return the call that runs one cell of a module again."""
    called = f"Subject({module.name!r}, ...)" if isinstance(module, Subject) else _named(module)
    said = [f"{name}={'...' if callable(value) else repr(value)}" for name, value in expectations.items()]
    return f"conformance({', '.join([called, *said, f'replay={str(cell)!r}'])})"


def _named(module: Any) -> str:
    """Return a module's text in a call of the kit."""
    name: str = getattr(module, "__name__", None) or repr(module)
    return "lambda: ..." if name == "<lambda>" else name


def _subject(module: Any, site: Site, expectations: dict[str, Any]) -> Subject:
    if isinstance(module, Subject):
        return attrs.evolve(module, site=module.site or _site(module.make, site), **expectations)
    if isinstance(module, Blueprint):
        site_of_one = module.modules[0].site if len(module.modules) == 1 else None
        return Subject(repr(module), lambda: module, site=site_of_one, **expectations)
    if callable(module):
        module = cast("Callable[..., Blueprint]", module)
        return Subject(getattr(module, "__name__", repr(module)), module, site=_site(module, site), **expectations)
    raise CompositionError(f"conformance() needs a blueprint, or a function that makes one, but got {module!r}")
