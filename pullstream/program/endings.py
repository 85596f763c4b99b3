"""Exceptions at the end of a run, when more than one thing has gone wrong."""

from typing import cast


def instead_of(outcome: BaseException | None, interrupt: BaseException) -> BaseException:
    """The exception that is raised, after all; what it takes the place of is its cause."""
    if outcome is not None and not isinstance(outcome, KeyboardInterrupt):
        interrupt.__cause__ = outcome
    return interrupt


def contains(exc: BaseException | None, failure: BaseException) -> bool:
    """Whether `failure` is what was raised, or part of it: the block's own nursery wraps what its tasks were told."""
    if isinstance(exc, BaseExceptionGroup):
        return any(contains(part, failure) for part in cast("BaseExceptionGroup[BaseException]", exc).exceptions)
    return exc is failure


def together(text: str, outcome: BaseException | None, other: BaseException) -> BaseException:
    """The exception of the block, with what was raised beside it; an interrupt needs no company."""
    if outcome is None:
        return other
    return outcome if isinstance(outcome, KeyboardInterrupt) else BaseExceptionGroup(text, [outcome, other])
