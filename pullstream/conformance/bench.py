"""The bench of a module under test in one cell, and its ledgers."""

from typing import Any

import attrs

from pullstream.blueprint import Blueprint, Site, Source
from pullstream.conformance.cells import Cell
from pullstream.conformance.partners import CallableRaised, SourceFailed, Usage, reference_source
from pullstream.conformance.subject import Subject
from pullstream.errors import CompositionError, PullstreamError


class CheckFailed(Exception):
    """A check that failed."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def expect(condition: object, rule: str, message: str) -> None:
    """Fail with the rule unless the condition holds."""
    if not condition:
        raise CheckFailed(rule, message)


@attrs.frozen
class Outcome:
    """The outcome of a module in a cell.

    A `doubt` is what would be wrong, were it not that the stream came to its own end just then.
    """

    values: list[Any]
    ending: Any
    doubt: str | None = None


class Bench:
    """The parts of a module in one cell: reference sources, a resource and a callable, all with ledgers."""

    def __init__(self, subject: Subject, cell: Cell) -> None:
        self.cell = cell
        self.failure = SourceFailed(f"after {cell.values} values")
        self.raised = CallableRaised(f"at {cell.position}")
        self.struck = False
        self.resource = Usage()
        self.reopens = subject.reopens
        self._value = subject.values
        self.ledgers: list[Usage] = []
        arguments: list[Any] = []
        if subject.around:
            arguments.append(self._function)
        if subject.resource:
            arguments.append(self.resource)
        arguments += [self.source() for _ in range(subject.inputs)]
        self.made = _placed(subject.make(*arguments), subject.site)

    def source(self) -> Source[Any]:
        """A reference source; the first is the one that fails, if the cell says so."""
        fails = self.cell.ending == "failure" and not self.ledgers
        self.ledgers.append(Usage())
        return reference_source(self.ledgers[-1], self.cell, self.failure if fails else None, self._value)

    def _function(self, value: Any) -> Any:
        position = self.cell.position
        if self.cell.way == "raise" and value == (position if self._value is None else self._value(position)):
            self.struck = True
            raise self.raised
        return value * 10 if self._value is None else value

    @property
    def opened(self) -> int:
        """The number of resources that were opened."""
        return self.resource.opened + sum(ledger.opened for ledger in self.ledgers)

    def is_balanced(self, when: str) -> None:
        """Whether all that was opened was opened once and is closed."""
        for ledger in (self.resource, *self.ledgers):
            expect(
                ledger.balanced or (self.reopens and ledger.opened == ledger.closed),
                "R10",
                f"{when}, it had opened its resource {ledger.opened} time(s), and closed it {ledger.closed} time(s)",
            )

    def may_fail(self, failure: BaseException, subject: Subject) -> None:
        """A module that nothing has failed may fail by itself, if that is what it is for, but not of a broken rule."""
        if isinstance(failure, PullstreamError):
            raise failure
        expect(
            failure in (self.failure, self.raised) or subject.absorbs or subject.timing,
            type(failure).__name__,
            f"it failed by itself when nothing disturbed it: {failure!r} ({_way_out(failure, subject)})",
        )

    def was_told(self, *reasons: BaseException | None) -> None:
        """Whether every source that was open was told once, and one of the reasons (R6)."""
        for ledger in self.ledgers:
            if ledger.opened and not ledger.ended:
                expect(
                    len(ledger.reasons) == 1, "R6", f"a source was told {len(ledger.reasons)} times: {ledger.reasons}"
                )
                told = ledger.reasons[0]
                expect(
                    any(told is reason for reason in reasons),
                    "R6",
                    f"a source was told {told!r}, and not {' or '.join(map(repr, reasons))}",
                )


def _way_out(failure: BaseException, subject: Subject) -> str:
    if subject.values is None and isinstance(failure, (AttributeError, TypeError, LookupError, ValueError)):
        return "what goes in are the numbers 0, 1, 2, ...; if it wants other values, values=lambda n: ... makes them"
    return "absorbs=True, if it is meant to"


def _placed(made: Blueprint, site: Site | None) -> Blueprint:
    if not isinstance(made, Blueprint):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
        raise CompositionError(f"what is tested is a source, a transformer or a sink, and this is {made!r}")
    if site is None:
        return made
    return attrs.evolve(made, modules=tuple(attrs.evolve(module, site=site) for module in made.modules))
