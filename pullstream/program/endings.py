"""Exceptions at the end of a run, when more than one thing went wrong."""

from typing import cast

from pullstream.errors import Abandoned


def instead_of(outcome: BaseException | None, interrupt: BaseException) -> BaseException:
    """Return the exception to raise; the one it replaces becomes its cause."""
    if outcome is not None and not isinstance(outcome, KeyboardInterrupt):
        interrupt.__cause__ = outcome
    return interrupt


def combined(
    outcome: BaseException | None, failure: BaseException | None, beside: BaseException | None, *, reported: bool
) -> BaseException | None:
    """Return the block's exception, with that of a task beside it and, if not `reported`, the stream's `failure`."""
    # A companion may have waited for something that the end of the run made impossible.
    moot = isinstance(beside, Abandoned) and failure is not None
    if not (beside is None or beside is failure or moot or _contains(outcome, beside)):
        outcome = _together("the run failed, and so did a task beside it", outcome, beside)
    if outcome is None or failure is None or reported or isinstance(failure, Abandoned) or _contains(outcome, failure):
        return outcome
    if isinstance(outcome, KeyboardInterrupt):
        outcome.__cause__ = failure
    return _together("the block failed, and so did the stream", outcome, failure)


def _contains(exc: BaseException | None, failure: BaseException) -> bool:
    """Whether `failure` was raised, alone or in a group: the block's own nursery wraps exceptions of its tasks."""
    if isinstance(exc, BaseExceptionGroup):
        return any(_contains(part, failure) for part in cast("BaseExceptionGroup[BaseException]", exc).exceptions)
    return exc is failure


def _together(text: str, outcome: BaseException | None, other: BaseException) -> BaseException:
    """Return the block's exception grouped with another one; an interrupt is raised alone."""
    if outcome is None:
        return other
    return outcome if isinstance(outcome, KeyboardInterrupt) else BaseExceptionGroup(text, [outcome, other])
