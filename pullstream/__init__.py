"""Composable streams with back-pressure and completion: `import pullstream as ps`.

Compose modules with `pipe` and `run` them. To write modules, use `Batch`, `Completed`, `Context` and `DONE` from here,
and `pullstream.authoring` for everything else. Types for annotations are in `pullstream.types`, rarer errors in
`pullstream.errors`, bidirectional streams in `pullstream.duplex`. `tutorials/architecture.md` describes how the package
is built and which file answers which question.
"""

from typing import TYPE_CHECKING, Any

from pullstream.late import PROVIDED, late

if TYPE_CHECKING:
    from pullstream import authoring as authoring, duplex as duplex, errors as errors, types as types
    from pullstream.asyncio_bridge import asyncio_call as asyncio_call
    from pullstream.blueprint import Sink as Sink, Source as Source, Transformer as Transformer
    from pullstream.decorators import sink as sink, source as source, transformer as transformer
    from pullstream.engine.parts.context import Completed as Completed, Context as Context
    from pullstream.errors import (
        AskTimeout as AskTimeout,
        CompositionError as CompositionError,
        Overflow as Overflow,
        PullstreamError as PullstreamError,
        StalledError as StalledError,
    )
    from pullstream.failures import Failed as Failed
    from pullstream.journal.store import Journal as Journal
    from pullstream.modules.combining.join import join as join
    from pullstream.modules.combining.merge import concat as concat, merge as merge, merge_sorted as merge_sorted
    from pullstream.modules.combining.partition import partition as partition
    from pullstream.modules.combining.tee import fork as fork, tee as tee
    from pullstream.modules.combining.zip import combine_latest as combine_latest, zip as zip
    from pullstream.modules.flow.limits import in_flight as in_flight, rate_limit as rate_limit, timeout as timeout
    from pullstream.modules.flow.prefetch import prefetch as prefetch
    from pullstream.modules.flow.take import skip as skip, take as take, take_times as take_times
    from pullstream.modules.flow.throttle import debounce as debounce, sample as sample, throttle as throttle
    from pullstream.modules.folds import agg as agg
    from pullstream.modules.folds.fold import Fold as Fold
    from pullstream.modules.folds.reduce import (
        aggregate as aggregate,
        count_by_key as count_by_key,
        reduce_by_key as reduce_by_key,
        reduce_by_time as reduce_by_time,
    )
    from pullstream.modules.grouping.batch import batch as batch, windowed as windowed
    from pullstream.modules.grouping.group_by import group_by as group_by
    from pullstream.modules.grouping.split import decode as decode, split as split
    from pullstream.modules.handles.broadcast import broadcast as broadcast
    from pullstream.modules.handles.deferred import deferred as deferred
    from pullstream.modules.handles.dynamic_merge import dynamic_merge as dynamic_merge
    from pullstream.modules.handles.probe import probe as probe
    from pullstream.modules.handles.pushable import pushable as pushable
    from pullstream.modules.handles.switches import abortable as abortable, pausable as pausable
    from pullstream.modules.nested.flatten import flatten as flatten
    from pullstream.modules.nested.loop import Again as Again, loop as loop
    from pullstream.modules.nested.recover import catch as catch, retry as retry
    from pullstream.modules.nested.worker_pool import worker_pool as worker_pool
    from pullstream.modules.sinks.basic import (
        collect as collect,
        concat_values as concat_values,
        drain as drain,
        reduce as reduce,
    )
    from pullstream.modules.sinks.channel import to_channel as to_channel
    from pullstream.modules.sinks.on_end import at_completion as at_completion, on_end as on_end
    from pullstream.modules.sinks.search import find as find, first as first, last as last
    from pullstream.modules.sources.awaited import (
        from_async_iterable as from_async_iterable,
        from_awaitable as from_awaitable,
        from_channel as from_channel,
    )
    from pullstream.modules.sources.callback import from_callback as from_callback
    from pullstream.modules.sources.catch_up import catch_up as catch_up
    from pullstream.modules.sources.from_asyncio import from_asyncio as from_asyncio
    from pullstream.modules.sources.values import (
        empty as empty,
        fail as fail,
        integers as integers,
        interval as interval,
        once as once,
        repeat as repeat,
        unfold as unfold,
        values as values,
    )
    from pullstream.modules.times.map_time import delay as delay, map_time as map_time, timed as timed
    from pullstream.modules.times.per_time import (
        accumulate as accumulate,
        sort_by_time as sort_by_time,
        unique_by_time as unique_by_time,
    )
    from pullstream.modules.times.stamp import stamp as stamp
    from pullstream.modules.times.stamp_epochs import stamp_epochs as stamp_epochs
    from pullstream.modules.values.map import (
        filter as filter,
        filter_not as filter_not,
        flat_map as flat_map,
        map as map,
        map_batches as map_batches,
        tap as tap,
    )
    from pullstream.modules.values.map_async import map_async as map_async
    from pullstream.modules.values.map_process import map_process as map_process, map_thread as map_thread
    from pullstream.modules.values.stateful import duplicates as duplicates, scan as scan, unique as unique
    from pullstream.modules.windows.sessions import sessions as sessions
    from pullstream.modules.windows.tumbling import sliding as sliding, tumbling as tumbling
    from pullstream.modules.windows.window import Window as Window
    from pullstream.program.aiterate import aiterate as aiterate
    from pullstream.program.arun import arun as arun
    from pullstream.program.iterate import iterate as iterate
    from pullstream.program.pipe import pipe as pipe
    from pullstream.program.pipeline import Pipeline as Pipeline
    from pullstream.program.run import run as run
    from pullstream.protocol import DONE as DONE, Batch as Batch, Reader as Reader
else:
    __getattr__, __dir__, __all__ = late(__name__, hints="pullstream.hints")

__version__ = "0.2.0"


def _picture(blueprint: Any) -> str:
    from pullstream.trace import draw  # noqa: PLC0415 - few programs draw

    return draw(blueprint).svg


def _method(name: str) -> str:
    from pullstream.hints import hint_on_method  # noqa: PLC0415 - few programs make this mistake

    return hint_on_method(__name__, name)


PROVIDED["picture"] = _picture
PROVIDED["method"] = _method
