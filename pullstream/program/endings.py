"""Exceptions at the end of a run, when more than one thing went wrong."""

from typing import cast


def instead_of(outcome: BaseException | None, interrupt: BaseException) -> BaseException:
    """Return the exception to raise; the one it replaces becomes its cause."""
    if outcome is not None and not isinstance(outcome, KeyboardInterrupt):
        interrupt.__cause__ = outcome
    return interrupt


def contains(exc: BaseException | None, failure: BaseException) -> bool:
    """Whether `failure` was raised, alone or in a group: the block's own nursery wraps exceptions of its tasks."""
    if isinstance(exc, BaseExceptionGroup):
        return any(contains(part, failure) for part in cast("BaseExceptionGroup[BaseException]", exc).exceptions)
    return exc is failure


def together(text: str, outcome: BaseException | None, other: BaseException) -> BaseException:
    """Return the block's exception grouped with another one; an interrupt is raised alone."""
    if outcome is None:
        return other
    return outcome if isinstance(outcome, KeyboardInterrupt) else BaseExceptionGroup(text, [outcome, other])
