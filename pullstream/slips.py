"""Hints on slips in a user's function, for exceptions whose own text does not say what to write instead."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from traceback import walk_tb
from types import FrameType
from typing import Any, Final, cast

from pullstream.frames import is_ours

_NOT_AWAITED: Final = "an async function was called and not awaited: call it with map_async(f, concurrency) upstream"

_AWAIT: Final = "an async function was called and not awaited: write `await` before the call"

_AWAITS: Final = CO_COROUTINE | CO_ASYNC_GENERATOR

_ANYWHERE: Final = {
    "a Batch has no attribute": "its parts are batch.time and batch.values",
    "'Lane' object ": "read with `async for batch in ctx.batches(upstream)`, or ask with `await upstream.ask(limit)`",
    "Context.batches() missing": "write ctx.batches(upstream)",
    "Context.events() missing": "write ctx.events(upstream)",
    "'Running' object has no": "the values go to the pipeline's sink; see help(ps.types.Running) for what a "
    "run has, such as running.progress",
    "'Hold' object": "write `with ctx.hold(time):`, without async and await",
    "'Completed' object has no": "an event is a Batch or a Completed, which has only a time: tell them apart with "
    "`match event:`, `case ps.Batch(time, values):` and `case ps.Completed(time):`",
    "'Completed'": "a Completed is not a time: its time is event.time",
    "raised StopIteration": "next(iterator) does so when nothing is left, and next(iterator, None) does not; to end a "
    "generator, write return",
    "must be called from async context": "trio cannot run here: pass an async function that uses trio to map_async "
    "directly, without asyncio_call; from a thread, call it with trio.from_thread.run(f)",
    "RecordBatch' object has no": "the values are Arrow record batches: for rows, leave out as_='batches' "
    "where they are read",
    "expected str instance": "to turn the values into text first, put map(str) in front",
    "'coroutine'": _NOT_AWAITED,
    "got <coroutine object": _NOT_AWAITED,
    "Trio expected a sync function": "for an async function, use map_async(f, concurrency)",
    "'Window'": "the result of a window is window.value",
    "has no attribute '_nursery'": "a kernel that overrides acquire calls `await super().acquire()` in it first",
    "notify() missing": "write self.notify(time, time): the second is the time held for results",
}
"""Hints by a part of the exception's text; only the first hint that fits, in any table, is given."""

_IN_USERS_CODE: Final = {
    "'Batch' object is not": "the values of a batch are batch.values: write `for value in batch.values`",
    "object of type 'Batch'": "the values of a batch are batch.values: write len(batch.values)",
    "iterable Batch": "a batch is not a pair: its parts are batch.time and batch.values",
    "iterable, not Batch": "a batch is not a pair: its parts are batch.time and batch.values",
    "'Context' object has no": "a module emits with `yield Batch(time, values)`; see help(ps.Context) for what ctx has",
    "'Done' object has no": "at the end of the stream, an ask is answered with ps.DONE: check for it before using the "
    "answer, or read with `async for batch in ctx.batches(upstream)`",
    "'Batches' object is not": "write `async for batch in ctx.batches(upstream)`",
    "'Events' object is not": "write `async for event in ctx.events(upstream)`",
    "object NoneType can't be used in 'await'": "only async functions are awaited; ctx.notify_at(time), for example, "
    "is written without await",
}
"""The same for exceptions that the user's code raised."""

_PRODUCE: Final = "a kernel's produce is awaited: write `async def produce(self, limit):`"

_IN_OUR_CODE: Final = {
    "object Batch can't be used in 'await'": _PRODUCE,
    "object Done can't be used in 'await'": _PRODUCE,
    "object NoneType can't be used in 'await'": "the function awaited here must be async: write `async def`, also for "
    "a kernel's acquire and release",
    "unhashable type": "a key must be hashable: give a function that returns a string, a number or a tuple",
    "'NoneType'": "a value is None: leave it out with filter(lambda value: value is not None), or replace it with map",
    "not supported between instances": "these values have no common order: give a key or another function, or map them "
    "to values of one kind",
    "+: 'int' and 'str'": "agg.sum adds up numbers: agg.sum(float) reads them from text, and a reader's "
    "schema={'n': 'int64'} the column 'n' of files; concat_values(str) joins text",
    "+: 'int' and 'datetime.timedelta'": "agg.sum starts at 0: for timedeltas, write agg.sum(start=timedelta())",
    "+: 'int' and '": "agg.sum adds up numbers: give it the number in a value, as in agg.sum(lambda sale: sale.price)",
}
"""The same for exceptions that the toolkit's own code raised, on a user's value or while calling a user's function."""

_PARAMETERS: Final = {
    "at_completion": "time, values",
    "timed": "time, value",
    "scan": "state, value",
    "reduce": "state, value",
}
"""The parameters of the functions that a module calls, where they are not a single value."""

MANY: Final = 8
"""The most names to show in a message."""

_NOT_AWAITABLE: Final = re.compile(r"'(\w+)' object can't be awaited")
_ASYNCIO_SAYS: Final = re.compile(r"running event loop|asyncio(?!_call)")
_ASYNCIO: Final = (
    "a module runs under trio, as in trio.sleep(1); to call asyncio code, use from_asyncio(f) as a source, or "
    "map_async(asyncio_call(f), concurrency)"
)


def hints_on(exc: BaseException, found: Sequence[Any], module: str) -> Iterator[str]:
    """Give hints on an exception of a module; `found` holds the value at which it was raised, if it is known."""
    # Python 3.14 words this differently from 3.11.
    text = _NOT_AWAITABLE.sub(r"object \1 can't be used in 'await'", str(exc))
    if hasattr(exc, "__notes__"):
        # Another module, or the code that raised the exception, has added hints.
        return
    if isinstance(exc, (RuntimeError, TypeError)) and _ASYNCIO_SAYS.search(text):
        yield _ASYNCIO
    if not isinstance(exc, (RuntimeError, TypeError, AttributeError, KeyError)):
        return
    frame = _innermost(exc)
    ours = frame is None or _calls(frame)
    if hint := (
        _first(_ANYWHERE, text)
        or (not ours and _first(_IN_USERS_CODE, text))
        or _on_a_change(exc, frame)
        or _on_a_row(exc, found)
        or _on_a_dict(exc, found)
        or _on_a_tuple(text, found, frame)
        or _on_a_state(text, frame)
        or (ours and isinstance(exc, TypeError) and (_first(_IN_OUR_CODE, text) or _on_a_call(text, module)))
    ):
        awaits = frame is not None and frame.f_code.co_flags & _AWAITS
        yield _AWAIT if hint is _NOT_AWAITED and awaits and not ours else hint


def some_of(names: Sequence[str], like: str = "", form: Callable[[str], str] = str) -> str:
    """Format names for a message: all of them or, if there are many, those that are `like` another, and the first."""
    if len(names) <= MANY:
        return ", ".join(map(form, names))
    near = get_close_matches(like, names)
    some = [*near, *(name for name in names if name not in near)][:MANY]
    return f"{', '.join(map(form, some))}, ... ({len(names)})"


def _first(hints: Mapping[str, str], text: str) -> str:
    return next((hint for part, hint in hints.items() if part in text), "")


def _on_a_row(exc: BaseException, found: Sequence[Any]) -> str:
    """Return a hint for a row that was used as a dict, lacks a column, or has a number instead of a datetime."""
    if isinstance(exc, AttributeError) and isinstance(exc.obj, int) and exc.name in dir(datetime):
        return (
            "a timestamp in a row is an int, microseconds since 1970 in UTC: "
            "datetime.fromtimestamp(row.at / 1_000_000, UTC) converts it"
        )
    row: Any = exc.obj if isinstance(exc, AttributeError) else found[0] if found else None
    columns: Sequence[str] = getattr(row.__class__, "_fields", ())
    if not columns or isinstance(exc, RuntimeError):
        return ""
    if isinstance(exc, TypeError):
        wrong = str(exc).startswith("tuple indices must be")
        return f"a row is a named tuple: write row.{columns[0]}, or row[0] for a column by position" if wrong else ""
    named = getattr(row.__class__, "_columns", columns)
    several = len(named) == 1 and any(mark in named[0] for mark in ";,|\t")
    known = some_of(columns, like=str(getattr(exc, "name", "")))
    return f"the columns are {known}" + "; if there should be several, give read_csv a delimiter=" * several


def _on_a_dict(exc: BaseException, found: Sequence[Any]) -> str:
    """Return a hint for a dict that lacks a key, or was used as an object."""
    holder: Any = exc.obj if isinstance(exc, AttributeError) else None
    if isinstance(exc, AttributeError) and issubclass(holder.__class__, dict) and exc.name in holder:
        return f"the value is a dict: write value[{exc.name!r}]"
    if not (isinstance(exc, KeyError) and exc.args and found and isinstance(found[0], dict)):
        return ""
    texts = [key for key in cast("dict[Any, Any]", found[0]) if isinstance(key, str)]
    near = get_close_matches(str(exc.args[0]), texts, n=1)
    return f"did you mean the key {near[0]!r}?" if near else ""


def _on_a_tuple(text: str, found: Sequence[Any], frame: FrameType | None) -> str:
    """Return a hint for a function of several arguments that was called with one tuple."""
    lacks = "missing" in text and "positional argument" in text
    if lacks and frame is not None and _calls(frame) and found and isinstance(found[0], tuple):
        return "the function gets each tuple as one argument: write lambda parts: f(*parts)"
    return ""


def _on_a_call(text: str, module: str) -> str:
    """Return a hint for a function that takes other arguments than its module passes."""
    name = re.split(r"\W", module, maxsplit=1)[0]
    if "positional argument" not in text:
        return ""
    if name in _PARAMETERS:
        return f"{name} calls the function with other arguments: write lambda {_PARAMETERS[name]}: ..."
    return "the module calls the function with other arguments: see its help, as in help(ps.map)"


def _on_a_state(text: str, frame: FrameType | None) -> str:
    """Return a hint for a function of two arguments whose first one is None: probably the step of a fold."""
    code = None if frame is None else frame.f_code
    if frame is None or code is None or code.co_argcount != 2 or not text.startswith("'NoneType' object"):
        return ""
    name = code.co_varnames[0]
    if frame.f_locals.get(name, name) is not None:
        return ""
    return f"{name} is None: the step of a fold must return the new state, and list.append, for example, returns None"


def _on_a_change(exc: BaseException, frame: FrameType | None) -> str:
    """Return a hint for a module that tried to change a batch's values, which are not a list."""
    if not (
        (isinstance(exc, AttributeError) and hasattr(list, str(exc.name)))
        or (isinstance(exc, TypeError) and "object does not support item" in str(exc))
    ):
        return ""
    for local in ({} if frame is None else frame.f_locals).values():
        values = type(getattr(local, "values", None)).__name__
        if is_ours(type(local).__module__) and str(exc).startswith(f"'{values}'"):
            return (
                "a batch's values can be any sequence, and other modules may use it too: make a new list, for example "
                "Batch(batch.time, [*batch.values, value])"
            )
    return ""


def _calls(frame: FrameType) -> bool:
    """Whether a frame is the toolkit's, or that of a Counter, with which the toolkit counts."""
    name = frame.f_globals.get("__name__")
    return name == "collections" or is_ours(name)


def _innermost(exc: BaseException) -> FrameType | None:
    """Return the frame that raised an exception."""
    frames = [frame for frame, _ in walk_tb(exc.__traceback__)]
    return frames[-1] if frames else None
