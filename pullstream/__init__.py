"""Composable streams with back-pressure and completion: `import pullstream as ps`.

Compose modules with `pipe` and `run` them. To write modules, use `Batch`, `Completed`, `Context` and `DONE` from here,
and `pullstream.authoring` for everything else. Types for annotations are in `pullstream.types`, rarer errors in
`pullstream.errors`, bidirectional streams in `pullstream.duplex`. `tutorials/architecture.md` describes how the package
is built and which file answers which question.
"""

from typing import TYPE_CHECKING, Any

from pullstream.late import PROVIDED, late

if TYPE_CHECKING:
    from pullstream import authoring, duplex, errors, types
    from pullstream.asyncio_bridge import asyncio_call
    from pullstream.blueprint import Sink, Source, Transformer
    from pullstream.decorators import sink, source, transformer
    from pullstream.engine.parts.context import Completed, Context
    from pullstream.errors import AskTimeout, CompositionError, Overflow, PullstreamError, StalledError
    from pullstream.failures import Failed
    from pullstream.journal.store import Journal
    from pullstream.modules.combining.combine_latest import combine_latest
    from pullstream.modules.combining.concat import concat
    from pullstream.modules.combining.fork import fork
    from pullstream.modules.combining.join import join
    from pullstream.modules.combining.merge import merge
    from pullstream.modules.combining.merge_sorted import merge_sorted
    from pullstream.modules.combining.partition import partition
    from pullstream.modules.combining.tee import tee
    from pullstream.modules.combining.zip import zip
    from pullstream.modules.flow.in_flight import in_flight
    from pullstream.modules.flow.prefetch import prefetch
    from pullstream.modules.flow.rate_limit import rate_limit
    from pullstream.modules.flow.skip import skip
    from pullstream.modules.flow.take import take, take_times
    from pullstream.modules.flow.throttle import debounce, sample, throttle
    from pullstream.modules.flow.timeout import timeout
    from pullstream.modules.folds import agg
    from pullstream.modules.folds.aggregate import aggregate
    from pullstream.modules.folds.fold import Fold
    from pullstream.modules.folds.reduce import count_by_key, reduce_by_key, reduce_by_time
    from pullstream.modules.grouping.batch import batch
    from pullstream.modules.grouping.group_by import group_by
    from pullstream.modules.grouping.split import decode, split
    from pullstream.modules.grouping.windowed import windowed
    from pullstream.modules.handles.broadcast import broadcast
    from pullstream.modules.handles.deferred import deferred
    from pullstream.modules.handles.dynamic_merge import dynamic_merge
    from pullstream.modules.handles.probe import probe
    from pullstream.modules.handles.pushable import pushable
    from pullstream.modules.handles.switches import abortable, pausable
    from pullstream.modules.nested.flatten import flatten
    from pullstream.modules.nested.loop import Again, loop
    from pullstream.modules.nested.recover import catch, retry
    from pullstream.modules.nested.worker_pool import worker_pool
    from pullstream.modules.sinks.basic import collect, concat_values, drain, reduce
    from pullstream.modules.sinks.channel import to_channel
    from pullstream.modules.sinks.on_end import on_end
    from pullstream.modules.sinks.search import find, first, last
    from pullstream.modules.sources.awaited import from_async_iterable, from_awaitable
    from pullstream.modules.sources.callback import from_callback
    from pullstream.modules.sources.catch_up import catch_up
    from pullstream.modules.sources.channel import from_channel
    from pullstream.modules.sources.from_asyncio import from_asyncio
    from pullstream.modules.sources.generate import integers, repeat, unfold
    from pullstream.modules.sources.interval import interval
    from pullstream.modules.sources.values import fail, values
    from pullstream.modules.times.at_completion import at_completion
    from pullstream.modules.times.map_time import delay, map_time
    from pullstream.modules.times.per_time import accumulate, sort_by_time, unique_by_time
    from pullstream.modules.times.stamp import stamp
    from pullstream.modules.times.stamp_epochs import stamp_epochs
    from pullstream.modules.times.timed import timed
    from pullstream.modules.twins import duplicates, empty, filter_not, once
    from pullstream.modules.values.flat_map import flat_map, map_batches
    from pullstream.modules.values.map import filter, map
    from pullstream.modules.values.map_async import map_async
    from pullstream.modules.values.map_process import map_process
    from pullstream.modules.values.map_thread import map_thread
    from pullstream.modules.values.scan import scan
    from pullstream.modules.values.tap import tap
    from pullstream.modules.values.unique import unique
    from pullstream.modules.windows.sessions import sessions
    from pullstream.modules.windows.tumbling import sliding, tumbling
    from pullstream.modules.windows.window import Window
    from pullstream.program.aiterate import aiterate
    from pullstream.program.arun import arun
    from pullstream.program.iterate import iterate
    from pullstream.program.pipe import pipe
    from pullstream.program.pipeline import Pipeline
    from pullstream.program.run import run
    from pullstream.protocol import DONE, Batch, Reader
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.asyncio_bridge": "asyncio_call",
            "pullstream.authoring": "authoring",
            "pullstream.blueprint": "Sink Source Transformer",
            "pullstream.decorators": "sink source transformer",
            "pullstream.duplex": "duplex",
            "pullstream.engine.parts.context": "Completed Context",
            "pullstream.modules.folds.fold": "Fold",
            "pullstream.errors": "errors AskTimeout CompositionError Overflow PullstreamError StalledError",
            "pullstream.failures": "Failed",
            "pullstream.journal.store": "Journal",
            "pullstream.modules.combining.combine_latest": "combine_latest",
            "pullstream.modules.combining.concat": "concat",
            "pullstream.modules.combining.fork": "fork",
            "pullstream.modules.combining.join": "join",
            "pullstream.modules.combining.merge": "merge",
            "pullstream.modules.combining.merge_sorted": "merge_sorted",
            "pullstream.modules.combining.partition": "partition",
            "pullstream.modules.combining.tee": "tee",
            "pullstream.modules.combining.zip": "zip",
            "pullstream.modules.flow.in_flight": "in_flight",
            "pullstream.modules.flow.prefetch": "prefetch",
            "pullstream.modules.flow.rate_limit": "rate_limit",
            "pullstream.modules.flow.skip": "skip",
            "pullstream.modules.flow.take": "take take_times",
            "pullstream.modules.flow.throttle": "debounce sample throttle",
            "pullstream.modules.flow.timeout": "timeout",
            "pullstream.modules.folds.agg": "agg",
            "pullstream.modules.folds.aggregate": "aggregate",
            "pullstream.modules.folds.reduce": "count_by_key reduce_by_key reduce_by_time",
            "pullstream.modules.grouping.batch": "batch",
            "pullstream.modules.grouping.group_by": "group_by",
            "pullstream.modules.grouping.split": "decode split",
            "pullstream.modules.grouping.windowed": "windowed",
            "pullstream.modules.handles.broadcast": "broadcast",
            "pullstream.modules.handles.deferred": "deferred",
            "pullstream.modules.handles.dynamic_merge": "dynamic_merge",
            "pullstream.modules.handles.probe": "probe",
            "pullstream.modules.handles.pushable": "pushable",
            "pullstream.modules.handles.switches": "abortable pausable",
            "pullstream.modules.nested.flatten": "flatten",
            "pullstream.modules.nested.loop": "Again loop",
            "pullstream.modules.nested.recover": "catch retry",
            "pullstream.modules.nested.worker_pool": "worker_pool",
            "pullstream.modules.sinks.basic": "collect concat_values drain reduce",
            "pullstream.modules.sinks.channel": "to_channel",
            "pullstream.modules.sinks.on_end": "on_end",
            "pullstream.modules.sinks.search": "find first last",
            "pullstream.modules.sources.awaited": "from_async_iterable from_awaitable",
            "pullstream.modules.sources.callback": "from_callback",
            "pullstream.modules.sources.catch_up": "catch_up",
            "pullstream.modules.sources.channel": "from_channel",
            "pullstream.modules.sources.from_asyncio": "from_asyncio",
            "pullstream.modules.sources.generate": "integers repeat unfold",
            "pullstream.modules.sources.interval": "interval",
            "pullstream.modules.sources.values": "fail values",
            "pullstream.modules.times.at_completion": "at_completion",
            "pullstream.modules.times.map_time": "delay map_time",
            "pullstream.modules.times.per_time": "accumulate sort_by_time unique_by_time",
            "pullstream.modules.times.stamp": "stamp",
            "pullstream.modules.times.stamp_epochs": "stamp_epochs",
            "pullstream.modules.times.timed": "timed",
            "pullstream.modules.twins": "duplicates empty filter_not once",
            "pullstream.modules.values.flat_map": "flat_map map_batches",
            "pullstream.modules.values.map": "filter map",
            "pullstream.modules.values.map_async": "map_async",
            "pullstream.modules.values.map_process": "map_process",
            "pullstream.modules.values.map_thread": "map_thread",
            "pullstream.modules.values.scan": "scan",
            "pullstream.modules.values.tap": "tap",
            "pullstream.modules.values.unique": "unique",
            "pullstream.modules.windows.sessions": "sessions",
            "pullstream.modules.windows.tumbling": "sliding tumbling",
            "pullstream.modules.windows.window": "Window",
            "pullstream.program.aiterate": "aiterate",
            "pullstream.program.arun": "arun",
            "pullstream.program.iterate": "iterate",
            "pullstream.program.pipe": "pipe",
            "pullstream.program.pipeline": "Pipeline",
            "pullstream.program.run": "run",
            "pullstream.protocol": "DONE Batch Reader",
            "pullstream.types": "types",
        },
        hints="pullstream.hints",
    )

__version__ = "0.2.0"


def _picture(blueprint: Any) -> str:
    from pullstream.trace import draw  # noqa: PLC0415 - few programs draw

    return draw(blueprint).svg


def _method(name: str) -> str:
    from pullstream.hints import hint_on_method  # noqa: PLC0415 - few programs make this mistake

    return hint_on_method(__name__, name)


PROVIDED["picture"] = _picture
PROVIDED["method"] = _method

__all__ = [
    "DONE",
    "Again",
    "AskTimeout",
    "Batch",
    "Completed",
    "CompositionError",
    "Context",
    "Failed",
    "Fold",
    "Journal",
    "Overflow",
    "Pipeline",
    "PullstreamError",
    "Reader",
    "Sink",
    "Source",
    "StalledError",
    "Transformer",
    "Window",
    "abortable",
    "accumulate",
    "agg",
    "aggregate",
    "aiterate",
    "arun",
    "asyncio_call",
    "at_completion",
    "authoring",
    "batch",
    "broadcast",
    "catch",
    "catch_up",
    "collect",
    "combine_latest",
    "concat",
    "concat_values",
    "count_by_key",
    "debounce",
    "decode",
    "deferred",
    "delay",
    "drain",
    "duplex",
    "duplicates",
    "dynamic_merge",
    "empty",
    "errors",
    "fail",
    "filter",
    "filter_not",
    "find",
    "first",
    "flat_map",
    "flatten",
    "fork",
    "from_async_iterable",
    "from_asyncio",
    "from_awaitable",
    "from_callback",
    "from_channel",
    "group_by",
    "in_flight",
    "integers",
    "interval",
    "iterate",
    "join",
    "last",
    "loop",
    "map",
    "map_async",
    "map_batches",
    "map_process",
    "map_thread",
    "map_time",
    "merge",
    "merge_sorted",
    "on_end",
    "once",
    "partition",
    "pausable",
    "pipe",
    "prefetch",
    "probe",
    "pushable",
    "rate_limit",
    "reduce",
    "reduce_by_key",
    "reduce_by_time",
    "repeat",
    "retry",
    "run",
    "sample",
    "scan",
    "sessions",
    "sink",
    "skip",
    "sliding",
    "sort_by_time",
    "source",
    "split",
    "stamp",
    "stamp_epochs",
    "take",
    "take_times",
    "tap",
    "tee",
    "throttle",
    "timed",
    "timeout",
    "to_channel",
    "transformer",
    "tumbling",
    "types",
    "unfold",
    "unique",
    "unique_by_time",
    "values",
    "windowed",
    "worker_pool",
    "zip",
]
