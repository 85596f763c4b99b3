"""Running one subject through its cells: each outcome is compared with the undisturbed one, and judged."""

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from types import FrameType
from typing import Any, Final, cast

import attrs
import trio

from pullstream.blueprint import Sink, Source
from pullstream.conformance.bench import Bench, Outcome, said, way_out
from pullstream.conformance.cells import Cell, grid
from pullstream.conformance.drive_sink import SinkDriver
from pullstream.conformance.drive_stream import StreamDriver
from pullstream.conformance.partners import CallableRaised, SourceFailed
from pullstream.conformance.places import is_authors, place_of, shown_place
from pullstream.conformance.report import Finding, Trouble
from pullstream.conformance.subject import Subject
from pullstream.conformance.words import in_words
from pullstream.errors import (
    CapabilityError,
    CompositionError,
    ProtocolError,
    PullstreamError,
    ReleaseTimeout,
    StalledError,
    failure_in,
)
from pullstream.frames import is_between
from pullstream.program.pipeline import Pipeline
from pullstream.protocol import DONE

PATIENCE: Final = 1000.0
"""Virtual seconds after which an unanswered request counts as a hang."""

SIMPLER: Final = 30
"""The largest number of simpler cells to try for the same finding."""

AGAIN: Final = 3
"""The number of further task orders in which a cell is run, to see whether its outcome depends on the order."""


HAVE_TO_DIFFER: Final = "some of the values are equal here; if all input values must differ, say so with differ=True"
"""The advice for failures in cells with equal values."""


LATER: Final = "catch the failure in the task that reads upstream, and raise it where the module answers"
"""The advice for a failure that was kept until the stream was ended, and then raised by the release."""

MEANT_EARLY: Final = "leave out per_time=True if that is intended"
"""The advice for an early answer that only `per_time=True` forbids."""

_ENDS: Final = (StopIteration, StopAsyncIteration)
"""Exceptions with which generators and awaited functions return."""


class Trial:
    """A subject, and its run through its cells."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        _check_signature(subject)
        made = self.made = Bench(subject, Cell()).made
        if isinstance(made, Pipeline):
            raise CompositionError(f"{subject.name} is a complete pipeline: the kit tests single modules")
        self.driver: type[StreamDriver | SinkDriver] = SinkDriver if isinstance(made, Sink) else StreamDriver
        self.fed = not isinstance(made, Source) or subject.inputs > 0
        around = subject.around or subject.calls
        self.cells = grid(sink=self.driver is SinkDriver, fed=self.fed, around=around, differ=subject.differ)
        self.gave = False
        """Whether it has emitted any value or, as a sink, received one."""
        self._undisturbed: dict[Cell, Outcome | None] = {}

    async def run(self, cell: Cell) -> Finding | None:
        """Run one cell and return its finding, if any."""
        outcome, trouble = await self.drive(cell)
        if outcome is not None and not self.subject.timing:
            trouble = await self._compared(cell, outcome)
        return None if trouble is None else self.finding(cell, trouble)

    def finding(self, cell: Cell, trouble: Trouble) -> Finding:
        """Make the finding for the trouble in a cell."""
        scene = in_words(cell, fed=self.fed, sink=self.driver is SinkDriver)
        site = self.subject.site
        place = trouble.place or (None if site is None else shown_place(site.filename, site.line))
        if cell.alike and trouble.rule == "failure":
            trouble = attrs.evolve(trouble, advice=HAVE_TO_DIFFER)
        return Finding(
            self.subject.name, trouble.rule, cell, trouble.message, scene, place, trouble.advice, trouble.exact
        )

    async def simplest(self, found: Finding, trying: Callable[[Cell], object]) -> Finding:
        """Return the simplest case of a finding: with fewer values, or asked for one by one, if that shows the same.

        `trying` is called with each cell that is run for this.
        """
        kind = found.cell.kind
        simpler = [cell for cell in self.cells if cell.kind == kind and cell.effort < found.cell.effort]
        for cell in sorted(simpler, key=lambda cell: cell.effort)[:SIMPLER]:
            trying(cell)
            finding = await self.run(cell)
            if finding is not None and finding.rule == found.rule:
                return finding
        return found

    async def vacuous(self) -> Finding | None:
        """Return the finding that the module emitted no value in any cell or, as a sink, received none."""
        if self.gave or self.subject.silent:
            return None
        what = "it took no value" if self.driver is SinkDriver else "no value came out of it"
        swallowed = await self._swallowed()
        return self.finding(Cell(), Trouble("vacuous", f"{what} in any cell, so nothing was tested{swallowed}"))

    async def _swallowed(self) -> str:
        """Run the simplest cell again, and name the exception that the author's code caught last; "" if none."""
        found = ""

        def look(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal found
            if not is_authors(frame.f_code.co_filename) or is_between(frame.f_globals.get("__name__")):
                return None
            if event == "exception" and issubclass(arg[0], Exception) and not issubclass(arg[0], _ENDS):
                place = shown_place(frame.f_code.co_filename, frame.f_lineno)
                found = f". It caught {arg[0].__name__}: {arg[1]}, at {place}"
            return look

        before = sys.gettrace()
        sys.settrace(look)
        try:
            await self.drive(Cell())
        finally:
            sys.settrace(before)
        return found

    async def drive(self, cell: Cell) -> tuple[Outcome | None, Trouble | None]:
        """Run one cell alone; return its outcome, or its trouble."""
        _shuffle(cell.seed)
        driver = self.driver(self.subject, cell)
        before = living_tasks()
        outcome: Outcome | None = None
        trouble: Trouble | None = None
        try:
            with trio.fail_after(PATIENCE):
                outcome = await driver.drive()
            left = living_tasks() - before
            if left:
                trouble = Trouble("R10", f"it left behind {_named(left)}")
        except (KeyboardInterrupt, trio.Cancelled):
            raise
        except BaseException as exc:  # noqa: BLE001 - any exception is a finding
            trouble = _judged(exc, driver)
        if driver.checker.violations:
            violation = driver.checker.violations[0]
            what = f"{violation.module}: {violation.what}\n{violation.diagram}"
            trouble = Trouble(violation.rule, what, place_of(violation), exact=violation.says_how)
        self.gave = self.gave or bool(driver.bench.given if isinstance(driver, SinkDriver) else driver.values)
        if trouble is None:
            return outcome, None
        if "\n" not in trouble.message:
            message = f"{trouble.message.removeprefix(f'{trouble.rule}: ')}\n{driver.checker.last_diagram()}"
            trouble = attrs.evolve(trouble, message=message.rstrip())
        return None, trouble

    # ---- comparing

    async def _compared(self, cell: Cell, outcome: Outcome) -> Trouble | None:
        trouble = await self._lost(cell, outcome) or await self._of_other_times(cell, outcome)
        if trouble is not None:
            return trouble
        other = await self._reference(cell)
        if other is None:
            return None
        if outcome.doubt is not None and not self._is_complete(outcome, other):
            return Trouble("R5", outcome.doubt)
        if self.subject.batches or self._agrees(cell, outcome, other):
            return None
        message = f"it emitted {_shown(outcome)}; at limit 1, undisturbed, it emitted {_shown(other)}"
        return await self._explained(cell, outcome, message)

    async def _explained(self, cell: Cell, outcome: Outcome, message: str) -> Trouble:
        """Find out why an outcome differs from the reference's, by running the cell again."""
        looks = [self._left_over, self._by_chance]
        for look in reversed(looks) if self.subject.inputs > 1 else looks:
            if (trouble := await look(cell, outcome)) is not None:
                return trouble
        if self.subject.inputs > 1 and cell.way == "end":
            return Trouble("order", f"{message}; it has {self.subject.inputs} inputs, and nothing else differs")
        if cell.many:
            message += "; in a multi-time answer each value is at its own time, as if it had arrived alone"
        return Trouble("batching", message)

    async def _left_over(self, cell: Cell, outcome: Outcome) -> Trouble | None:
        """Return trouble if the same cell has another outcome when it is run again."""
        again, _ = await self.drive(cell)
        if again is None or again.values == outcome.values:
            return None
        message = f"it emitted {_shown(outcome)}; when the same cell ran again, it emitted {_shown(again)}"
        return Trouble("state", message)

    async def _by_chance(self, cell: Cell, outcome: Outcome) -> Trouble | None:
        """Return trouble if the cell has another outcome when tasks run in another order."""
        for seed in range(1, AGAIN + 1):
            again, _ = await self.drive(attrs.evolve(cell, seed=cell.seed + seed))
            if again is not None and again.values != outcome.values:
                message = f"it emitted {_shown(outcome)}; with its tasks in another order, it emitted {_shown(again)}"
                return Trouble("order", message)
        return None

    async def _of_other_times(self, cell: Cell, outcome: Outcome) -> Trouble | None:
        """Return trouble if the output at a time depends on values at other times."""
        undisturbed = cell.many == "interleaved" and cell.way == "end" and cell.ending == "done"
        if not (self.subject.per_time and undisturbed) or self.driver is SinkDriver:
            return None
        others: list[tuple[Any, Any]] = []
        for time in sorted(set(map(cell.time, cell.places()))):
            other = await self._reference(attrs.evolve(cell, many="alone", position=time))
            if other is None:
                return None
            others += other.values
        if Counter(map(repr, outcome.values)) == Counter(map(repr, others)):
            return None
        values: list[tuple[Any, Any]] = outcome.values
        message = f"it emitted {_pairs(values)}; for the values of each time alone, {_pairs(others)}"
        once, now = Counter(time for time, _ in others), Counter(time for time, _ in values)
        torn = [time for time in now if now[time] > once[time]]
        if torn:
            return Trouble(
                "early", f"it answered at {torn[0]!r} before that was complete: {message}", advice=MEANT_EARLY
            )
        return Trouble("times", message)

    async def _reference(self, cell: Cell) -> Outcome | None:
        """Return the outcome for the same values, available at once and asked for one by one, undisturbed."""
        key = Cell(cell.values, cell.ending, timed=cell.timed, many=cell.many, alike=cell.alike)
        if cell.way in ("end", "raise"):
            key = attrs.evolve(key, way=cell.way, position=cell.position)
        if key not in self._undisturbed:
            self._undisturbed[key], _ = await self.drive(key)
        return self._undisturbed[key]

    async def _lost(self, cell: Cell, outcome: Outcome) -> Trouble | None:
        """Return trouble if values before a failure were lost (R8)."""
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
        return Trouble(
            "R8",
            f"values before a failure must be delivered first: it emitted {_pairs(outcome.values)} before it failed; "
            f"without the failure, {_pairs(other.values)}",
            advice="if it keeps values back, and emits them at the end or when their time is complete, say so with "
            "flushes=True",
        )

    def _is_complete(self, outcome: Outcome, other: Outcome) -> bool:
        whole = len(outcome.values) == len(other.values)
        return _same_ending(outcome, other) and (whole or self.subject.batches or not self.subject.ordered)

    def _agrees(self, cell: Cell, outcome: Outcome, other: Outcome) -> bool:
        if self.driver is SinkDriver:
            # If one of two failures happens in a separate task, either may be first.
            two = self.subject.calls and cell.way == "raise" and cell.ending == "failure"
            disturbed = two or cell.way in ("abort", "cancel")
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
    return f"{_pairs(outcome.values)} and ended with {outcome.ending!r}"


def _pairs(values: list[Any]) -> str:
    """Return values with their times, or without if all have the same time."""
    if values and all(isinstance(pair, tuple) and len(cast("tuple[Any, ...]", pair)) == 2 for pair in values):
        if len({repr(time) for time, _ in values}) == 1:
            return repr([value for _, value in values])
        return ", ".join(f"{value!r} at {time!r}" for time, value in values)
    return repr(values)


# ---- judging


def _judged(exc: BaseException, driver: StreamDriver | SinkDriver) -> Trouble:
    rest = failure_in(exc) or exc
    place = place_of(rest)
    if isinstance(rest, Trouble):
        return attrs.evolve(rest, place=place)
    if isinstance(rest, trio.TooSlowError):
        return Trouble("hang", f"a request was not answered in {PATIENCE:.0f} virtual seconds", place)
    match = re.match(r"(R\d+): ", str(rest))
    if isinstance(rest, CapabilityError) and isinstance(driver, StreamDriver) and not driver.bench.ledgers:
        advice = "yield in time order, or hold the earlier time before you continue"
        return Trouble("R12", rest.fault, place, advice, exact=True)
    if isinstance(rest, CapabilityError):
        # The finding itself gives the advice, once; an error about no particular time gives its own.
        return Trouble("R12", rest.fault, place, _right(rest.time, driver), exact=rest.time is None)
    if isinstance(rest, (ReleaseTimeout, StalledError)):
        return Trouble("R6" if isinstance(rest, ReleaseTimeout) else "hang", str(rest), place)
    if isinstance(rest, PullstreamError) and match:
        return Trouble(match[1], str(rest), place, exact=isinstance(rest, ProtocolError) and rest.says_how)
    if not isinstance(rest, Exception):
        return Trouble("crash", f"it raised {rest!r}", place)
    if isinstance(driver, StreamDriver) and rest in (driver.bench.failure, driver.bench.raised):
        # A failing ask does not get here.
        what = f"a termination was confirmed with {rest!r}, which was raised before it, and not with done"
        return Trouble("R8", what, place, LATER, exact=True)
    advice = way_out(rest, driver.bench.subject) if isinstance(driver, SinkDriver) else ""
    return Trouble("failure", f"it raised {said(rest)}", place, advice)


def _right(time: Any, driver: StreamDriver | SinkDriver) -> str:
    """Return why a module has no right to a time, as far as its neighbours know."""
    cell = driver.cell
    given = {cell.time(place) for place in range(cell.values)}
    if time is None or isinstance(driver, SinkDriver) or not given:
        return ""
    if time not in given:
        return f"no batch ever arrived at {time!r}, nor at an earlier time, so it never had a right to it"
    if any(answered == time for answered, _ in driver.values):
        return (
            f"it has already answered at {time!r}, which is complete by now: answer everything at a time while "
            f"its Completed is handled, and nothing after that"
        )
    return f"it had a batch at {time!r}, and released it by asking for the next one, without holding {time!r}"


def _check_signature(subject: Subject) -> None:
    """Refuse a function that cannot be called with the kit's arguments, before calling it."""
    arguments = [
        *["a function"] * (subject.around + subject.calls),
        *["a resource"] * subject.resource,
        *["a source"] * subject.inputs,
    ]
    try:
        inspect.signature(subject.make).bind(*arguments)
    except TypeError as exc:
        raise CompositionError(
            f"the kit would call {subject.name} with ({', '.join(arguments)}) to make a module: {exc}. around=True "
            f"(--around in a shell) passes a function of one value, calls=True an async one, resource=True "
            f"a resource, inputs=2 two sources; put other arguments into the name, 'own:name(3)'"
        ) from None
    except ValueError:
        pass  # it has no signature to check


def living_tasks() -> set[trio.lowlevel.Task]:
    """Return all living tasks."""
    root = trio.lowlevel.current_root_task()
    found: set[trio.lowlevel.Task] = set()
    todo = [] if root is None else [root]
    while todo:
        task = todo.pop()
        found.add(task)
        todo += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return found


def _named(tasks: set[trio.lowlevel.Task]) -> str:
    names = sorted(task.name.rpartition(".")[2] for task in tasks)
    return f"a running task: {names[0]}" if len(names) == 1 else f"running tasks: {', '.join(names)}"


def _shuffle(seed: int) -> None:
    # Trio has no public way to make its task order repeatable; without this, a cell is not repeatable.
    with suppress(AttributeError):
        attrgetter("_core._run._r")(trio).seed(seed)
