"""The test bench of a module in one cell, with ledgers of what its neighbours saw."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
import trio

from pullstream.blueprint import Blueprint, Site, Source
from pullstream.conformance.cells import ALIKE, APART, DELAY, NUMBERS, Cell
from pullstream.conformance.partners import CallableRaised, SourceFailed, Usage, reference_source
from pullstream.conformance.report import Trouble
from pullstream.conformance.subject import Subject
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.errors import CompositionError, PullstreamError, is_blame


def expect(condition: object, rule: str, message: str, advice: str = "", *, exact: bool = False) -> None:
    """Raise a Trouble with the rule unless the condition holds."""
    if not condition:
        raise Trouble(rule, message, advice=advice, exact=exact)


@attrs.frozen
class Outcome:
    """The outcome of a module in a cell.

    A `doubt` is a fault, unless the stream happened to end by itself at that very moment.
    """

    values: list[Any]
    ending: Any
    doubt: str | None = None


class Bench:
    """The neighbours of a module in one cell: reference sources, a resource and a callable, all with ledgers."""

    def __init__(self, subject: Subject, cell: Cell) -> None:
        self.subject = subject
        self.cell = cell
        self.failure = SourceFailed(f"after {cell.values} values")
        self.raised = CallableRaised(f"at {cell.position}")
        self.struck = False
        self.resource = Usage()
        numbers = ALIKE if cell.alike else NUMBERS
        self._numbers: Sequence[int] = sorted(numbers) if subject.ascending else numbers
        self.ledgers: list[Usage] = []
        self.under_way: list[Any] = []
        """The times of the calls that have begun and not ended."""
        self.completed: list[Any] = []
        """The times that were reported complete to their waiters."""
        self._late: str | None = None
        self._kept: list[str] = []
        arguments: list[Any] = []
        if subject.around:
            arguments.append(self._function)
        if subject.calls:
            arguments.append(self._call)
        if subject.resource:
            arguments.append(self.resource)
        arguments += [self.source() for _ in range(subject.inputs)]
        self.made = _placed(subject.make(*arguments), subject.site)

    def source(self) -> Source[Any]:
        """Make a reference source; the first one fails if the cell says so."""
        number = len(self.ledgers)
        fails = self.cell.ending == "failure" and not number
        self.ledgers.append(Usage())
        failure = self.failure if fails else None
        values = partial(self.value, source=number)
        return reference_source(self.ledgers[-1], self.cell, failure, values, self._look).named("the source")

    def value(self, place: int, source: int = 0) -> Any:
        """Return the value at one position of a source."""
        number = self._numbers[place] if place < len(self._numbers) else place
        number += APART * source
        return number if self.subject.values is None else self.subject.values(number)

    def _function(self, value: Any) -> Any:
        if self.cell.way == "raise" and value == self.value(self.cell.position):
            self.struck = True
            raise self.raised
        return value * 10 if self.subject.values is None else value

    async def _call(self, value: Any) -> Any:
        times = [self.cell.time(place) for place in range(self.cell.values) if self.value(place) == value]
        if len(set(times)) > 1:
            # For equal values at different times, the time of this one is not known.
            times = []
        if times and times[0] in self.completed:
            self._late = f"began to work on {value!r} when its time, {times[0]}, had been reported complete"
        self.under_way += times
        await trio.sleep(0.1 * DELAY)
        for time in times:
            self.under_way.remove(time)
        return self._function(value)

    # ---- checks

    @property
    def given(self) -> int:
        """The number of values that its sources emitted."""
        return sum(ledger.given for ledger in self.ledgers)

    @property
    def opened(self) -> int:
        """The number of resources opened."""
        return self.resource.opened + sum(ledger.opened for ledger in self.ledgers)

    @property
    def left(self) -> bool:
        """Whether the module has aborted a source."""
        return any(ledger.reasons == [None] for ledger in self.ledgers)

    def is_balanced(self, when: str) -> None:
        """Check that everything opened was opened once and is closed."""
        for ledger in (self.resource, *self.ledgers):
            found = f"{_times('opened', ledger.opened)}, and {_times('closed', ledger.closed)}"
            balanced = ledger.opened == ledger.closed and (ledger.opened <= 1 or self.subject.reopens)
            expect(balanced, "R10", f"{when}, its resource had been {found}")

    def may_fail(self, failure: BaseException) -> None:
        """Raise unless an undisturbed module may fail with this error; it may never break a rule."""
        if isinstance(failure, PullstreamError):
            raise failure
        subject = self.subject
        if failure in (self.failure, self.raised) or subject.absorbs or subject.timing:
            return
        what = f"it failed by itself though nothing disturbed it: {said(failure)}"
        raise Trouble("failure", what, advice=way_out(failure, subject) if self.ledgers else "") from failure

    def was_told(self, *reasons: BaseException | None) -> None:
        """Check that every open source was notified of the end once, with one of the reasons (R6)."""
        for ledger in self.ledgers:
            if ledger.opened and not ledger.ended:
                count = len(ledger.reasons)
                expect(count, "R6", "a source was not notified of the end")
                expect(count == 1, "R6", f"a source was notified of the end {count} times: {ledger.reasons}")
                told = ledger.reasons[0]
                expect(
                    any(told is reason for reason in reasons),
                    "R6",
                    f"a source was given the reason {told!r}, not {' or '.join(map(repr, reasons))}",
                )

    def told_complete(self, time: Any) -> None:
        """Record that a waiter was notified that a time is complete: no work at that time may be left."""
        self.completed.append(time)
        if any(begun <= time for begun in self.under_way):
            self._late = self._late or f"was still working on a value at {time} when {time} was reported complete"

    def is_timely(self) -> None:
        """Check that no time completed before its work was done, and that none is held forever."""
        expect(self._late is None, "early", f"it {self._late}")
        if not (self.subject.keeps or self.subject.timing):
            expect(not self._kept, "holding", "; ".join(self._kept))

    def _look(self, sidecar: Sidecar) -> None:
        """Record times that are still held though they are complete upstream and all work has ended."""
        # Holds that mirror an inner stream are updated only when something reads them.
        sidecar.propagate()
        # For modules that change times, it is not known here which times have ended.
        for location in (here for here in sidecar.locations if here.ports and not here.summaries):
            for time in location.held:
                if not any(sidecar.arriving(port).less_equal(time) for port in location.ports):
                    self._kept.append(f"{location.name} still holds {time!r}, at which it can receive nothing more")


def _times(done: str, count: int) -> str:
    return {0: f"never {done}", 1: f"{done} once", 2: f"{done} twice"}.get(count, f"{done} {count} times")


def said(failure: BaseException) -> str:
    """Show an exception with the hints in its notes."""
    notes: list[str] = getattr(failure, "__notes__", [])
    return "; ".join([repr(failure), *(note for note in notes if not is_blame(note))])


def way_out(failure: BaseException, subject: Subject) -> str:
    """Return the advice to give a module other values, if numbers may have caused its failure."""
    if subject.values is None and isinstance(failure, (AttributeError, TypeError, LookupError, ValueError)):
        return "its input is the numbers 0 to 5; if it needs other values, make them with values=lambda n: ..."
    return ""


def _placed(made: Blueprint, site: Site | None) -> Blueprint:
    if not isinstance(made, Blueprint):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
        raise CompositionError(f"the kit tests a source, a transformer or a sink, but got {made!r}")
    if site is None:
        return made
    return attrs.evolve(made, modules=tuple(attrs.evolve(module, site=site) for module in made.modules))
