"""Frames of a traceback: which are the toolkit's own, and which value a function of the user's was called with."""

import os
from collections.abc import Iterator
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR, CO_VARARGS
from reprlib import Repr
from types import FrameType, TracebackType
from typing import Any, Final, cast

from pullstream.timely import Antichain

INSTALLED: Final = Antichain.__module__.startswith("pullstream.")
"""Whether all of the toolkit is in one package; in a checkout it is three that stand side by side."""

OURS: Final = frozenset({"pullstream"} if INSTALLED else {"pullstream", "timely", "adapters"})
"""The packages of the toolkit: what else is called `timely` is a user's."""

_PLUGIN: Final = "_pullstream_pytest"
"""The plugin of pytest, which stands beside them where they are installed."""

_SHOWN: Final = Repr()
"""Short, also where what is shown is large; and it never raises."""
_SHOWN.maxstring = _SHOWN.maxother = 80
_SHOWN.maxdict = _SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxset = 8
_SHOWN.maxlevel = 3


def is_ours(module: object) -> bool:
    """Whether a module, by its `__name__`, is part of the toolkit; code without one is: it was generated here."""
    return not isinstance(module, str) or module.partition(".")[0] in OURS or module == _PLUGIN


def shown(value: object) -> str:
    """A value for a message: its repr, shortened."""
    return _SHOWN.repr(value)


def value_at(exc: BaseException) -> tuple[Any, ...]:
    """The value that a user's function was called with when it raised, alone; nothing where that is not known.

    It is the last argument of the first frame below the toolkit's own. A function that is not written in Python has no
    frame: then it is what the toolkit's frame calls `value`.
    """
    ours: FrameType | None = None
    users: FrameType | None = None
    traceback = exc.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if is_ours(frame.f_globals.get("__name__")):
            ours, users = frame, None
        elif users is None and frame.f_globals.get("__name__") != "collections":
            # A `Counter` calls what it was given by us.
            users = frame
        traceback = traceback.tb_next
    if ours is None:
        return ()
    if users is None:
        names = ours.f_locals
        found = (names["value"],) if "value" in names else ()
    else:
        found = _arguments(users)
    if any(is_ours(type(argument).__module__) and not isinstance(argument, tuple) for argument in found):
        # A module's own code, which is called with its reader or context; a row of a table's is a value.
        return ()
    return found[-1:]


def _arguments(frame: FrameType) -> tuple[Any, ...]:
    code = frame.f_code
    if code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR | CO_VARARGS):
        return ()
    return tuple(frame.f_locals[name] for name in code.co_varnames[: code.co_argcount] if name in frame.f_locals)


def cut(exc: BaseException) -> None:
    """Take the toolkit's own frames out of a traceback: a user looks for the two lines that are his.

    The innermost frame stays, whosever it is. `PULLSTREAM_TRACEBACK=full` in the environment keeps them all.
    """
    if os.environ.get("PULLSTREAM_TRACEBACK") == "full":
        return
    for each in chain(exc):
        each.__traceback__ = users_frames(each.__traceback__, innermost=True)


def chain(exc: BaseException) -> Iterator[BaseException]:
    """An exception, those that it came of, and of groups those that they consist of."""
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
    """A traceback without the frames of this toolkit, and of what it runs in; with the `innermost`, whosever it is."""
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
    """Let a traceback end at the line of a user's code that has led to it and is not under it: a `yield`."""
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
    """Whether a module is the toolkit's, or what it runs in: what a user's function is called through."""
    return is_ours(module) or (isinstance(module, str) and module.partition(".")[0] in {"trio", "outcome"})
