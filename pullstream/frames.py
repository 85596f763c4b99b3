"""Frames of a traceback: which belong to the toolkit, and the value a user's function was called with."""

import os
from collections.abc import Iterator
from dis import get_instructions, opmap
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR, CO_VARARGS
from reprlib import Repr
from types import CodeType, FrameType, TracebackType
from typing import Any, Final, cast

import trio

from pullstream.timely import Antichain

INSTALLED: Final = Antichain.__module__.startswith("pullstream.")
"""Whether the whole toolkit is in one package; in a checkout there are three, side by side."""

OURS: Final = frozenset({"pullstream"} if INSTALLED else {"pullstream", "timely", "adapters"})
"""The toolkit's top-level packages; any other package called `timely` is a user's."""

_PLUGIN: Final = "_pullstream_pytest"
"""The pytest plugin, a top-level module of its own."""

_BETWEEN: Final = frozenset({"contextlib", "outcome", "trio"})

_SHOWN: Final = Repr()
"""A short repr, even of large values, that never raises."""
_SHOWN.maxstring = _SHOWN.maxother = 80
_SHOWN.maxdict = _SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxset = 8
_SHOWN.maxlevel = 3


def is_ours(module: object) -> bool:
    """Whether a module name is part of the toolkit. Code without a name counts: the toolkit generated it."""
    return not isinstance(module, str) or module.partition(".")[0] in OURS or module == _PLUGIN


def shown(value: object) -> str:
    """Return the shortened repr of a value, for a message."""
    return _SHOWN.repr(value)


def value_at(exc: BaseException) -> tuple[Any, ...]:
    """Return the value a user's function was called with when it raised, in a tuple; empty if it is not known.

    It is the variable `value` of the toolkit's last frame, if the first user frame after it has the same object as an
    argument, or does not show its argument. Otherwise it is that argument.
    """
    ours: TracebackType | None = None
    users: FrameType | None = None
    entry = exc.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        module = frame.f_globals.get("__name__")
        if is_ours(module):
            ours, users = entry, None
        elif users is None and module != "collections" and not is_between(module):
            # A `Counter` calls the user's function from a frame of the module `collections`.
            users = frame
        entry = entry.tb_next
    if ours is None:
        return ()
    names = ours.tb_frame.f_locals
    value = (names["value"],) if "value" in names and not _is_before(ours) else ()
    arguments = () if users is None else _arguments(users)
    if any(_is_given(argument) for argument in arguments):
        return ()
    if users is None or any(argument is value[0] for argument in arguments if value):
        return value
    if not arguments:
        return ()
    assigned = _assigned(users.f_code)
    if value and not assigned.isdisjoint(users.f_code.co_varnames[: len(arguments)]):
        return value
    return _argument(ours.tb_frame, users, assigned) or value


def _is_before(entry: TracebackType) -> bool:
    """Whether the iterator of a loop raised instead of giving the next `value`: the variable still has the last one."""
    code, at = entry.tb_frame.f_code, entry.tb_lasti
    if code.co_code[at] != opmap["FOR_ITER"]:
        return False
    target = next(each for each in get_instructions(code) if each.offset > at)
    return "value" in target.argrepr.split(", ")


def _is_given(argument: object) -> bool:
    """Whether an argument shows that a module's own code was called: its reader, its context, or a kernel as `self`."""
    kind = type(argument)
    # A tuple of one of the toolkit's types is a table row, and so a value.
    return (is_ours(kind.__module__) and not isinstance(argument, tuple)) or hasattr(kind, "__edge__")


def _arguments(frame: FrameType) -> tuple[Any, ...]:
    code = frame.f_code
    if code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR | CO_VARARGS):
        return ()
    return tuple(frame.f_locals[name] for name in code.co_varnames[: code.co_argcount] if name in frame.f_locals)


def _argument(ours: FrameType, users: FrameType, assigned: set[str]) -> tuple[Any, ...]:
    """The last argument without a default, unless it may differ from the one that the function was called with."""
    code = users.f_code
    # An object is not the value of its own method, such as `__next__`.
    names = [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    if len(names) > 1:
        # A frame does not show its function's defaults; the caller's frame may hold the function.
        held = [*ours.f_locals.values(), *getattr(ours.f_locals.get("self"), "__dict__", {}).values()]
        defaults = {len(each.__defaults__ or ()) for each in held if getattr(each, "__code__", None) is code}
        if len(defaults) != 1:
            return ()
        names = names[: len(names) - defaults.pop()] or names[:1]
    given = names and names[-1] not in assigned and names[-1] in users.f_locals
    return (users.f_locals[names[-1]],) if given else ()


def _assigned(code: CodeType) -> set[str]:
    """The local variables that a function assigns."""
    names: set[str] = set()
    for each in get_instructions(code):
        if each.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            # From Python 3.13 on, one instruction may have two names.
            names.update(each.argrepr.split(", "))
    return names


def cut(exc: BaseException) -> None:
    """Remove the toolkit's frames from a traceback, so that the user sees only the lines of their own code.

    The innermost frame of an error stays: it shows what raised it. KeyboardInterrupt and SystemExit have a note that
    names the interrupted line. A cancellation during which an exception was raised is not shown, either.
    `PULLSTREAM_TRACEBACK=full` in the environment keeps everything.
    """
    if os.environ.get("PULLSTREAM_TRACEBACK") == "full":
        return
    for each in chain(exc):
        each.__traceback__ = users_frames(each.__traceback__, innermost=isinstance(each, Exception))
        context = each.__context__
        if isinstance(context, trio.Cancelled) and context.__context__ is None:
            each.__suppress_context__ = True


def chain(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes and contexts, and the members of groups."""
    todo: list[BaseException | None] = [exc]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            todo += [each.__context__, each.__cause__]
            if isinstance(each, BaseExceptionGroup):
                todo += cast("BaseExceptionGroup[BaseException]", each).exceptions
            yield each


def users_frames(traceback: TracebackType | None, *, innermost: bool = False) -> TracebackType | None:
    """Return a traceback without frames of the toolkit and trio; `innermost` keeps the innermost frame anyway."""
    kept: list[TracebackType] = []
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__")
        if not is_between(module) or (innermost and traceback.tb_next is None):
            kept.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for entry in reversed(kept):
        found = TracebackType(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return found


def lead_to(exc: BaseException, frame: FrameType | None) -> None:
    """End a traceback at a line of user code that caused the exception but is not on its stack: a `yield`."""
    if frame is None or is_between(frame.f_globals.get("__name__")):
        return
    last = exc.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    here = TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
    if last is None:
        exc.__traceback__ = here
    elif last.tb_frame is not frame:
        last.tb_next = here


def is_between(module: object) -> bool:
    """Whether a module is the toolkit's, or one between the program and a user's function, such as trio."""
    return is_ours(module) or (isinstance(module, str) and module.partition(".")[0] in _BETWEEN)
