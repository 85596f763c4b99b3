"""Error classes. Each message says what happened, in which module, and what to do."""

from collections.abc import Hashable
from importlib import import_module
from typing import Any, cast

import trio

from pullstream.frames import shown, value_at
from pullstream.late import publish
from pullstream.slips import hints_on


class PullstreamError(Exception):
    """Base class of this toolkit's own errors, except those of `timely`, such as `TimeDomainError`.

    A wrong value may also raise a TypeError, ValueError or LookupError. Exceptions from user code pass unchanged.
    """


class CompositionError(PullstreamError, TypeError):
    """Modules were combined, or given arguments, in a way that cannot work. Raised while composing."""


class ProtocolError(PullstreamError):
    """A neighbouring module broke a rule of the pull protocol; the message begins with the rule's number, or its name.

    `says_how` is whether the message also says what to write instead.
    """

    says_how = False


class CapabilityError(PullstreamError):
    """A module emitted a value, or requested a notification, at a time it holds no right to (R12).

    It never had the right, or has released it. `time` is that time, if there is one. `fault` is the message without the
    advice. This toolkit calls the right a hold; the theory calls it a capability.
    """

    def __init__(self, fault: str, time: Hashable = None, advice: str = "") -> None:
        super().__init__(f"{fault} {advice}" if advice else fault)
        self.fault = fault
        self.time = time


class ReuseError(PullstreamError):
    """A one-shot argument (an iterator, a handle) was opened twice, or in two places of one run."""


class Ended(PullstreamError):
    """A handle was used after its stream had ended, so nothing would read the pushed values."""


class Overflow(PullstreamError):
    """A buffer is full, and the producer cannot be made to wait."""


class ReleaseTimeout(PullstreamError):
    """A module did not release its resources within the run's `release_timeout` (R6)."""


class AskTimeout(PullstreamError, TimeoutError):
    """An ask was not answered within the seconds given to `timeout`."""


class WorkerDied(PullstreamError):
    """A worker process of `map_process` ended before it answered."""


class Unpicklable(PullstreamError):
    """A value, result or exception cannot be sent to another process."""


class StalledError(PullstreamError):
    """A deadlock: no part of the run can move, because each part waits for another.

    It is raised as soon as the last part stops moving. The message lists the modules that wait. These belong to a run:

    - the tasks of its sinks and modules, including the nurseries they open,
    - the block that reads it with `iterate` or `aiterate`,
    - tasks that ask on a `lane()` of a reader,
    - for data that arrives through a `pair`, the run at the other end.

    While any of them waits for something outside the run (a call, a clock, a disk, a handle the program holds), no
    error is raised. So these deadlocks are not detected, and the run keeps waiting:

    - while another part of the run, or a run it waits for, still moves
    - where tasks wait for each other through something the run does not own: a trio event, lock or channel, a thread,
      or a handle (`pushable`, `deferred`, a paused `pausable`, ...) that nothing will use again. If the run waits only
      for handles, and the program only for the run, a warning says so
    - inside a `CancelScope` that a task opened itself, because the scope's owner, or its deadline, may cancel it
    - while a lane exists on which nothing has asked yet
    - while a run waits for a time that is held by a module that opens streams, such as `group_by`, and a handle of the
      run (`pushable`, `broadcast`, `dynamic_merge`) can still emit values at that time

    It is raised too early in two cases: the program outside would have cancelled a nursery opened inside the run, or
    started tasks in it; or it would have been the first to ask a reader (not a lane of it) while that reader's sink
    waits for something else.

    Trio does not expose everything about how tasks wait. Where the detector cannot find out, it logs one warning to the
    logger "pullstream" and detects no deadlock.
    """


class JournalError(PullstreamError):
    """A run cannot use a journal: it belongs to another pipeline, is in use, or cannot store what it must."""


class Abandoned(PullstreamError):
    """The stream was aborted before the awaited time was complete."""

    def __init__(self, message: str = "the run was aborted before its end") -> None:
        super().__init__(message)


class LengthError(PullstreamError, ValueError):
    """Streams that must be equally long were not."""


class RoutingError(PullstreamError, LookupError):
    """A value's key has no route."""


def sole(exc: BaseException) -> BaseException:
    """Return the only exception of a group, such as nurseries raise, or else the exception or group itself."""
    if isinstance(exc, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", exc)
        return sole(group.exceptions[0]) if len(group.exceptions) == 1 else group
    return exc


def without_cancelled(
    exc: BaseException, cancelled: type[BaseException] | tuple[type[BaseException], ...] = trio.Cancelled
) -> BaseException | None:
    """Return an exception without trio's cancellations, also inside groups; None if nothing is left."""
    if isinstance(exc, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", exc)
        found, rest = group.split(cancelled)
        # If nothing was split off, `rest` is a copy, which would look newly raised in each module it passes through.
        return group if found is None else rest
    return None if isinstance(exc, cancelled) else exc


def one_of(exc: BaseException) -> BaseException:
    """Return an exception itself or, from a group, the first exception in it."""
    while isinstance(exc, BaseExceptionGroup):
        exc = cast("BaseExceptionGroup[BaseException]", exc).exceptions[0]
    return exc


def failure_in(exc: BaseException) -> BaseException | None:
    """Return a module's failure without cancellations, unwrapped from a group of one; None if there is none.

    A StopIteration, which no coroutine can raise, becomes a RuntimeError.
    """
    rest = without_cancelled(exc)
    failure = None if rest is None else sole(rest)
    return no_end(failure) if isinstance(failure, StopIteration) else failure


def no_end(stop: StopIteration | None = None) -> RuntimeError:
    """The error for a function that raises StopIteration: an iterator that calls it would seem to have ended."""
    error = RuntimeError("a function raised StopIteration")
    error.__cause__ = stop
    return error if stop is None else error.with_traceback(stop.__traceback__)


def raised_by_closing(exc: BaseException) -> BaseException | None:
    """Return the exception that the code of a closed generator raised; None if there is none.

    A nursery that is open around the `yield` wraps the GeneratorExit that closes the generator in a group.
    """
    rest = without_cancelled(exc, (trio.Cancelled, GeneratorExit))
    return None if rest is None else sole(rest)


def raised_when_cancelled(exc: BaseException, cancelled: type[BaseException] = trio.Cancelled) -> bool:
    """Whether an exception was raised by code that had been cancelled, such as its clean-up.

    An exception that was already propagating when the cancellation arrived has no cancellation in its context. An
    interrupt or an exit always counts, because it concerns the whole program.
    """
    if isinstance(exc, BaseExceptionGroup):
        parts = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        if any(raised_when_cancelled(part, cancelled) for part in parts):
            return True
        if exc.__suppress_context__ and cancelled is not trio.Cancelled:
            # An asyncio task group may have caused that cancellation itself: only its parts count, checked above.
            return False
    elif not isinstance(exc, Exception):
        return True
    seen: set[int] = set()
    context = exc.__context__
    while context is not None and id(context) not in seen:
        if isinstance(context, cancelled) or without_cancelled(context) is None:
            return True
        seen.add(id(context))
        context = context.__context__
    return False


def blame(exc: BaseException, module: str) -> None:
    """Add a note to a user's exception: the module it was raised in, and at which value; at most once per module."""
    note, found = f"raised in {module}", () if isinstance(exc, PullstreamError) else value_at(exc)
    if any(known == note or known.startswith(f"{note}, at the value") for known in getattr(exc, "__notes__", ())):
        return
    for hint in hints_on(exc, found, module):
        exc.add_note(hint)
    value: object
    for value in found:
        text = shown(value)
        if text not in str(exc):
            note = f"{note}, at the value {text}"
    exc.add_note(note)


def is_blame(note: str) -> bool:
    """Whether a note is one of `blame`."""
    return note.startswith("raised in")


def failed_too(exc: BaseException, other: BaseException) -> None:
    """Add a note to an exception about another one, which would otherwise not be reported at all."""
    notes: list[str] = getattr(other, "__notes__", [])
    exc.add_note(", ".join([f"failed too: {other!r}", *filter(is_blame, notes)]))
    for note in notes:
        if note.startswith("failed too"):
            exc.add_note(note)


class SketchesMissing(PullstreamError, ImportError):
    """The package `datasketches`, needed by folds with `approximate=True`, is not installed."""


def of_extra(extra: str, module: str, missing: type[ImportError], *, named: str | None = None) -> Any:
    """Import a module of a package that one of the toolkit's extras installs.

    Raises:
        ImportError: the package is not installed; the error has the class `missing` and says how to install it.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != package:
            raise
        message = f"{named or package} is not installed: `pip install 'pullstream[{extra}]'`"
        raise missing(message, name=package) from (None if exc.name == package else exc)


__all__ = [
    "Abandoned",
    "CapabilityError",
    "Ended",
    "JournalError",
    "LengthError",
    "ProtocolError",
    "ReleaseTimeout",
    "ReuseError",
    "RoutingError",
    "SketchesMissing",
    "Unpicklable",
    "WorkerDied",
]

publish(__name__)
