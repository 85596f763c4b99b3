"""The family of errors: each says what happened, in which module, and what to do."""

from collections.abc import Hashable
from importlib import import_module
from typing import Any, cast

import trio

from pullstream.frames import shown, value_at


class PullstreamError(Exception):
    """The root of every error that is this toolkit's own; a user's exceptions arrive as themselves."""


class CompositionError(PullstreamError, TypeError):
    """Modules were put together, or given arguments, in a way that can mean nothing (raised when composing)."""


class ProtocolError(PullstreamError):
    """A neighbour broke a rule of the pull protocol; the message begins with the rule's number.

    `says_how` is whether it says, too, what is to be written instead.
    """

    says_how = False


class CapabilityError(PullstreamError):
    """A module spoke, or asked to be told, at a time that it has no right to: it never had it, or let go of it (R12).

    `time` is that time, where it is one, and `fault` the message without what to do about it. What gives the right is
    called a hold here, and a capability in the theory.
    """

    def __init__(self, fault: str, time: Hashable = None, advice: str = "") -> None:
        super().__init__(f"{fault} {advice}" if advice else fault)
        self.fault = fault
        self.time = time


class ReuseError(PullstreamError):
    """An argument that can be used once (an iterator, a handle) was opened a second time, or in two places of a run."""


class Ended(PullstreamError):
    """A handle was used after its stream had ended: nobody reads what is pushed any more."""


class Overflow(PullstreamError):
    """An overflow: more came than fits, from somebody who cannot be made to wait."""


class ReleaseTimeout(PullstreamError):
    """A module did not let go of what it had within the run's `release_timeout` (R6)."""


class AskTimeout(PullstreamError, TimeoutError):
    """An ask was not answered in the time that `timeout` gives it."""


class WorkerDied(PullstreamError):
    """A worker process of `map_process` ended before it had answered."""


class Unpicklable(PullstreamError):
    """A value, a result or an exception cannot go from one process to another."""


class StalledError(PullstreamError):
    """A deadlock: nothing in the run could move any more, as everything waited for something else in it.

    It is raised as soon as that is so, whoever was the last to move, and says who waits for what. To a run belong the
    tasks of its sinks and modules, with the nurseries that they open; the block that reads it by `iterate` or
    `aiterate`; whoever asks on a `lane()` of a reader; and, for what comes through a `pair`, the run at its other end.
    As long as one of them does something else than wait for the others (a call, a clock, a disk, a handle that a
    program has), nothing is said.

    So a dead end is not seen, and the run goes on waiting:

    - while another part of the run moves, or one of the runs that it waits for;
    - where tasks wait for each other by something that is not the run's: an event, a lock or a channel of trio's, a
      thread, a handle (`pushable`, `deferred`, a paused `pausable`, ...) that nobody will use;
    - inside a `CancelScope` that a task opened itself: who has it may cancel it (its deadline, if it has one, strikes);
    - while a lane was taken that nobody has asked yet;
    - while a time is waited for that a module holds which opens streams, such as `group_by`, and a handle of the run
      (`pushable`, `broadcast`, `many`) may still say more of its times.

    And it is raised though a program outside would have gone on, if that cancels, or starts tasks in, a nursery that
    was opened inside, or is the first to ask a reader (not a lane of it) while its sink waits for something else.

    How tasks wait is not all public in trio. Where it cannot be found out, a warning of the logger "pullstream" says
    so, once, and no dead end is seen.
    """


class JournalError(PullstreamError):
    """A run cannot go on with a journal: it belongs to another pipeline, is in use, or cannot hold what it should."""


class Abandoned(PullstreamError):
    """A wait in vain: the stream was aborted before the time was complete."""


class LengthError(PullstreamError, ValueError):
    """Streams that had to be equally long were not."""


class RoutingError(PullstreamError, LookupError):
    """A value has a key that goes nowhere."""


def sole(exc: BaseException) -> BaseException:
    """The one exception that a group consists of, as a nursery makes them, or the group."""
    if isinstance(exc, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", exc)
        return sole(group.exceptions[0]) if len(group.exceptions) == 1 else group
    return exc


def without_cancelled(
    exc: BaseException, cancelled: type[BaseException] | tuple[type[BaseException], ...] = trio.Cancelled
) -> BaseException | None:
    """An exception without trio's cancellations, in groups too; None if nothing is left."""
    if isinstance(exc, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", exc).split(cancelled)[1]
    return None if isinstance(exc, cancelled) else exc


def failure_in(exc: BaseException) -> BaseException | None:
    """The failure of a module: no cancellation, and of a nursery's group of one that one; None for none."""
    rest = without_cancelled(exc)
    return None if rest is None else sole(rest)


def raised_by_closing(exc: BaseException) -> BaseException | None:
    """The exception that closing a generator has raised of its own; None for none.

    A nursery that is open around its `yield` gives the GeneratorExit that closes it back in a group.
    """
    rest = without_cancelled(exc, (trio.Cancelled, GeneratorExit))
    return None if rest is None else sole(rest)


def raised_when_cancelled(exc: BaseException, cancelled: type[BaseException] = trio.Cancelled) -> bool:
    """Whether something was raised by code that had been cancelled, as its clean-up is, rather than by itself.

    What was on its way when the cancellation came has seen none of it. An interrupt or an exit always counts: it is
    for the whole program, whenever it comes.
    """
    if isinstance(exc, BaseExceptionGroup):
        parts = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        if any(raised_when_cancelled(part, cancelled) for part in parts):
            return True
        if exc.__suppress_context__ and cancelled is not trio.Cancelled:
            # A group of asyncio's: what its tasks raised is told where it was itself cancelled, because of that.
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
    """Note on a user's exception at which value, and in which module, it was raised; once, however often it is."""
    note, found = f"raised in {module}", () if isinstance(exc, PullstreamError) else value_at(exc)
    if any(known == note or known.startswith(f"{note}, at the value") for known in getattr(exc, "__notes__", ())):
        return
    if isinstance(exc, (RuntimeError, TypeError)) and ("running event loop" in str(exc) or "asyncio" in str(exc)):
        exc.add_note(
            "asyncio's code goes into from_asyncio(f), as a source, or into map_async(asyncio_call(f), concurrency)"
        )
    value: object
    for value in found:
        columns = getattr(type(value), "_fields", None)
        if columns and isinstance(exc, TypeError) and str(exc).startswith("tuple indices must be"):
            exc.add_note(f"a row is a named tuple: its columns are attributes, as row.{columns[0]}, or places, row[0]")
        text = shown(value)
        if text not in str(exc):
            note = f"{note}, at the value {text}"
    exc.add_note(note)


def of_extra(extra: str, module: str, missing: type[ImportError], *, named: str | None = None) -> Any:
    """Import a module of a package that an extra of the toolkit's installs.

    Raises:
        ImportError: the package is not installed; the error is of the class `missing`, and says how it is.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != package:
            raise
        message = f"{named or package} is not installed: `pip install 'pullstream[{extra}]'`"
        raise missing(message, name=package) from exc
