"""`at_completion`: an effect for each time, when it is complete."""

from collections.abc import Awaitable, Callable, Hashable
from inspect import isawaitable
from typing import Annotated, Any

from pullstream.blueprint import checks
from pullstream.blueprint.variables import A
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.protocol import Batch, Reader


@sink
async def at_completion(
    upstream: Reader[A],
    ctx: Context,
    function: Annotated[Callable[[Any, list[A]], object | Awaitable[object]], checks.function],
) -> None:
    """Call a function with each time and the list of its values when the time is complete; it may be async.

    >>> import pullstream as ps
    >>> def store(day, sales):
    ...     print(f"day {day}: {sales}")
    >>> ps.run(ps.pipe(ps.values([11, 12, 20], time=lambda n: n // 10), ps.at_completion(store)))
    day 1: [11, 12]
    day 2: [20]

    A time counts as complete at the output (`progress.completed`) once the call has returned. Calls are made one at a
    time, earliest time first. A time without values gets no call. Values are kept until their time is complete. A call
    that raises fails the stream, and its time is never complete (R8). There is no `on_error`, because the call concerns
    a time, not a single value.
    """
    kept: dict[Hashable, list[A]] = {}
    async for event in ctx.events(upstream, many=True):
        if isinstance(event, Batch):
            for run in event.runs():
                if run.time not in kept:
                    ctx.notify_at(run.time)
                    kept[run.time] = []
                kept[run.time].extend(run.values)
            continue
        result = function(event.time, kept.pop(event.time))
        if isawaitable(result):
            await result
