"""`at_completion`: an effect for every time, when it is complete."""

from collections.abc import Awaitable, Callable, Hashable
from inspect import isawaitable
from typing import Any, TypeVar

import attrs

from pullstream.blueprint import Sink, callable_argument
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.protocol import Batch, Reader

A = TypeVar("A")


@sink
async def _at_completion(upstream: Reader[Any], ctx: Context, function: Callable[[Any, list[Any]], Any]) -> None:
    kept: dict[Hashable, list[Any]] = {}
    async for event in ctx.events(upstream):
        if isinstance(event, Batch):
            if event.time not in kept:
                ctx.notify_at(event.time)
                kept[event.time] = []
            kept[event.time].extend(event.values)
            continue
        made = function(event.time, kept.pop(event.time))
        if isawaitable(made):
            await made


def at_completion(function: Callable[[Any, list[A]], object | Awaitable[object]]) -> Sink[A, None]:
    """Call a function with every time, when it is complete, and the list of its values; it may be async.

    >>> import pullstream as ps
    >>> def store(day, sales):
    ...     print(f"day {day}: {sales}")
    >>> ps.run(ps.pipe(ps.values([11, 12, 20], time=lambda n: n // 10), ps.at_completion(store)))
    day 1: [11, 12]
    day 2: [20]

    The time is complete at the output (`progress.completed`) when the call has returned: it is the time's effect. The
    least time comes first, and one call at a time; a time without values has none. Values are kept until then. A call
    that raises ends the stream, and its time is never complete (R8).
    """
    callable_argument("at_completion", "function", function)
    (module,) = _at_completion(function).modules
    return Sink((attrs.evolve(module, name="at_completion"),))
