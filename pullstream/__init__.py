"""Composable streams with back-pressure and completion: `import pullstream as ps`.

Users compose modules with `pipe` and `run` them. Authors of modules read `protocol` (what passes over an edge),
`Context` (what a function module may do) and `authoring` (what the ready modules are made of). How it is built, and
which file has the answer to a question, is in `tutorials/architecture.md`.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream import checker
    from pullstream.asyncio_bridge import asyncio_call
    from pullstream.blueprint import Blueprint, Sink, Source, Transformer
    from pullstream.decorators import sink, source, transformer
    from pullstream.engine.edge.kernel import Kernel
    from pullstream.engine.parts.context import Completed, Context, Hold
    from pullstream.engine.parts.fold import Fold
    from pullstream.engine.sidecar.counters import Counters
    from pullstream.engine.sidecar.explain import Blocking
    from pullstream.errors import (
        Abandoned,
        AskTimeout,
        CapabilityError,
        CompositionError,
        Ended,
        JournalError,
        LengthError,
        Overflow,
        ProtocolError,
        PullstreamError,
        ReleaseTimeout,
        ReuseError,
        RoutingError,
        StalledError,
        Unpicklable,
        WorkerDied,
    )
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
    from pullstream.modules.flow.in_flight import Quota, in_flight
    from pullstream.modules.flow.prefetch import prefetch
    from pullstream.modules.flow.rate import rate
    from pullstream.modules.flow.skip import skip
    from pullstream.modules.flow.take import take, take_times
    from pullstream.modules.flow.throttle import debounce, sample, throttle
    from pullstream.modules.flow.timeout import timeout
    from pullstream.modules.folds import agg
    from pullstream.modules.folds.aggregate import aggregate
    from pullstream.modules.folds.reduce import count_by_key, reduce_by_key, reduce_by_time
    from pullstream.modules.grouping.batch import batch
    from pullstream.modules.grouping.group_by import group_by
    from pullstream.modules.grouping.split import decode, split
    from pullstream.modules.grouping.window import window
    from pullstream.modules.handles.broadcast import Broadcast, broadcast
    from pullstream.modules.handles.deferred import DeferredSink, DeferredSource, DeferredTransformer, deferred
    from pullstream.modules.handles.duplex import Duplex, duplex_pair, pair
    from pullstream.modules.handles.handshake import Talk, handshake
    from pullstream.modules.handles.many import Many, many
    from pullstream.modules.handles.probe import Probed, probe
    from pullstream.modules.handles.pushable import Pushable, pushable
    from pullstream.modules.handles.switches import Abortable, Pausable, abortable, pausable
    from pullstream.modules.nested.flatten import flatten
    from pullstream.modules.nested.lend import Lending, lend, lending
    from pullstream.modules.nested.loop import Again, loop
    from pullstream.modules.nested.recover import catch, retry
    from pullstream.modules.sinks.basic import collect, concat_values, drain, log, reduce
    from pullstream.modules.sinks.channel import to_channel
    from pullstream.modules.sinks.on_end import on_end
    from pullstream.modules.sinks.search import find, first, last
    from pullstream.modules.sources.awaited import from_async_iterable, from_awaitable
    from pullstream.modules.sources.callback import Emit, from_callback
    from pullstream.modules.sources.channel import from_channel
    from pullstream.modules.sources.from_asyncio import from_asyncio
    from pullstream.modules.sources.generate import count, repeat, unfold
    from pullstream.modules.sources.interval import interval
    from pullstream.modules.sources.live import live
    from pullstream.modules.sources.values import fail, values
    from pullstream.modules.times.at_completion import at_completion
    from pullstream.modules.times.epochs import epochs
    from pullstream.modules.times.per_time import accumulate, distinct, sort_by_time
    from pullstream.modules.times.restamp import delay, restamp
    from pullstream.modules.times.stamp import stamp
    from pullstream.modules.times.timed import timed
    from pullstream.modules.twins import empty, filter_not, infinite, keys, non_unique, once
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
    from pullstream.program.connect import connect
    from pullstream.program.iterate import iterate
    from pullstream.program.pipe import pipe
    from pullstream.program.pipeline import Pipeline
    from pullstream.program.progress import Progress
    from pullstream.program.run import run
    from pullstream.program.running import Beside, Running
    from pullstream.protocol import DONE, Batch, Done, Reader, TimedBatch
    from pullstream.timely import LoopTime
    from pullstream.trace.drawing.pipeline import draw
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.asyncio_bridge": "asyncio_call",
            "pullstream.blueprint": "Blueprint Sink Source Transformer",
            "pullstream.checker": "checker",
            "pullstream.decorators": "sink source transformer",
            "pullstream.engine.edge.kernel": "Kernel",
            "pullstream.engine.parts.context": "Completed Context Hold",
            "pullstream.engine.parts.fold": "Fold",
            "pullstream.engine.sidecar.counters": "Counters",
            "pullstream.engine.sidecar.explain": "Blocking",
            "pullstream.errors": (
                "Abandoned AskTimeout CapabilityError CompositionError Ended JournalError LengthError "
                "Overflow ProtocolError PullstreamError ReleaseTimeout ReuseError RoutingError StalledError "
                "Unpicklable WorkerDied"
            ),
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
            "pullstream.modules.flow.in_flight": "Quota in_flight",
            "pullstream.modules.flow.prefetch": "prefetch",
            "pullstream.modules.flow.rate": "rate",
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
            "pullstream.modules.grouping.window": "window",
            "pullstream.modules.handles.broadcast": "Broadcast broadcast",
            "pullstream.modules.handles.deferred": "DeferredSink DeferredSource DeferredTransformer deferred",
            "pullstream.modules.handles.duplex": "Duplex duplex_pair pair",
            "pullstream.modules.handles.handshake": "Talk handshake",
            "pullstream.modules.handles.many": "Many many",
            "pullstream.modules.handles.probe": "Probed probe",
            "pullstream.modules.handles.pushable": "Pushable pushable",
            "pullstream.modules.handles.switches": "Abortable Pausable abortable pausable",
            "pullstream.modules.nested.flatten": "flatten",
            "pullstream.modules.nested.lend": "Lending lend lending",
            "pullstream.modules.nested.loop": "Again loop",
            "pullstream.modules.nested.recover": "catch retry",
            "pullstream.modules.sinks.basic": "collect concat_values drain log reduce",
            "pullstream.modules.sinks.channel": "to_channel",
            "pullstream.modules.sinks.on_end": "on_end",
            "pullstream.modules.sinks.search": "find first last",
            "pullstream.modules.sources.awaited": "from_async_iterable from_awaitable",
            "pullstream.modules.sources.callback": "Emit from_callback",
            "pullstream.modules.sources.channel": "from_channel",
            "pullstream.modules.sources.from_asyncio": "from_asyncio",
            "pullstream.modules.sources.generate": "count repeat unfold",
            "pullstream.modules.sources.interval": "interval",
            "pullstream.modules.sources.live": "live",
            "pullstream.modules.sources.values": "fail values",
            "pullstream.modules.times.at_completion": "at_completion",
            "pullstream.modules.times.epochs": "epochs",
            "pullstream.modules.times.per_time": "accumulate distinct sort_by_time",
            "pullstream.modules.times.restamp": "delay restamp",
            "pullstream.modules.times.stamp": "stamp",
            "pullstream.modules.times.timed": "timed",
            "pullstream.modules.twins": "empty filter_not infinite keys non_unique once",
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
            "pullstream.program.connect": "connect",
            "pullstream.program.iterate": "iterate",
            "pullstream.program.pipe": "pipe",
            "pullstream.program.pipeline": "Pipeline",
            "pullstream.program.progress": "Progress",
            "pullstream.program.run": "run",
            "pullstream.program.running": "Beside Running",
            "pullstream.protocol": "DONE Batch Done Reader TimedBatch",
            "pullstream.timely": "LoopTime",
            "pullstream.trace.drawing.pipeline": "draw",
        },
    )

__version__ = "0.1.0"

__all__ = [
    "DONE",
    "Abandoned",
    "Abortable",
    "Again",
    "AskTimeout",
    "Batch",
    "Beside",
    "Blocking",
    "Blueprint",
    "Broadcast",
    "CapabilityError",
    "Completed",
    "CompositionError",
    "Context",
    "Counters",
    "DeferredSink",
    "DeferredSource",
    "DeferredTransformer",
    "Done",
    "Duplex",
    "Emit",
    "Ended",
    "Failed",
    "Fold",
    "Hold",
    "Journal",
    "JournalError",
    "Kernel",
    "Lending",
    "LengthError",
    "LoopTime",
    "Many",
    "Overflow",
    "Pausable",
    "Pipeline",
    "Probed",
    "Progress",
    "ProtocolError",
    "PullstreamError",
    "Pushable",
    "Quota",
    "Reader",
    "ReleaseTimeout",
    "ReuseError",
    "RoutingError",
    "Running",
    "Sink",
    "Source",
    "StalledError",
    "Talk",
    "TimedBatch",
    "Transformer",
    "Unpicklable",
    "Window",
    "WorkerDied",
    "abortable",
    "accumulate",
    "agg",
    "aggregate",
    "aiterate",
    "arun",
    "asyncio_call",
    "at_completion",
    "batch",
    "broadcast",
    "catch",
    "checker",
    "collect",
    "combine_latest",
    "concat",
    "concat_values",
    "connect",
    "count",
    "count_by_key",
    "debounce",
    "decode",
    "deferred",
    "delay",
    "distinct",
    "drain",
    "draw",
    "duplex_pair",
    "empty",
    "epochs",
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
    "handshake",
    "in_flight",
    "infinite",
    "interval",
    "iterate",
    "join",
    "keys",
    "last",
    "lend",
    "lending",
    "live",
    "log",
    "loop",
    "many",
    "map",
    "map_async",
    "map_batches",
    "map_process",
    "map_thread",
    "merge",
    "merge_sorted",
    "non_unique",
    "on_end",
    "once",
    "pair",
    "partition",
    "pausable",
    "pipe",
    "prefetch",
    "probe",
    "pushable",
    "rate",
    "reduce",
    "reduce_by_key",
    "reduce_by_time",
    "repeat",
    "restamp",
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
    "unfold",
    "unique",
    "values",
    "window",
    "zip",
]
