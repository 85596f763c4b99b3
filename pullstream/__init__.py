"""Composable streams with back-pressure and completion: `import pullstream as ps`.

Users compose modules with `pipe` and `run` them. Authors of modules read `protocol` (what passes over an edge),
`context` (what a function module may do) and `kernel` (what keeps the rules). The data flows through the source tree as
it does through a pipeline: `blueprint` -> `assembly` -> `kernel` -> `progress`.
"""

from pullstream import checker
from pullstream.arun import arun
from pullstream.asyncio_bridge import asyncio_call
from pullstream.blueprint import Blueprint, Pipeline, Sink, Source, Transformer
from pullstream.combining.concat import concat
from pullstream.combining.duplex import Duplex, connect, duplex_pair, pair
from pullstream.combining.fork import fork
from pullstream.combining.handshake import Talk, handshake
from pullstream.combining.join import join
from pullstream.combining.latest import combine_latest
from pullstream.combining.lend import Lending, lend, lending
from pullstream.combining.loop import Again, loop
from pullstream.combining.many import Many, many
from pullstream.combining.merge import merge
from pullstream.combining.merge_sorted import merge_sorted
from pullstream.combining.notify import Notify, notify
from pullstream.combining.partition import partition
from pullstream.combining.tee import tee
from pullstream.combining.zip import zip
from pullstream.decorators import sink, source, transformer
from pullstream.engine.context import Completed, Context, Hold
from pullstream.engine.kernel import Kernel
from pullstream.engine.meter import Counters
from pullstream.engine.progress import Blocking, Progress
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
from pullstream.pipe import pipe
from pullstream.protocol import DONE, Batch, Done, Reader
from pullstream.run import Beside, Running, run
from pullstream.sinks.aiterate import aiterate
from pullstream.sinks.basic import collect, concat_values, drain, log, reduce, tally
from pullstream.sinks.channel import to_channel
from pullstream.sinks.iterate import iterate
from pullstream.sinks.on_end import on_end
from pullstream.sinks.search import find, first, last
from pullstream.sources.awaited import from_async_iterable, from_awaitable
from pullstream.sources.callback import Emit, from_callback
from pullstream.sources.channel import from_channel
from pullstream.sources.deferred import DeferredSink, DeferredSource, DeferredTransformer, deferred
from pullstream.sources.from_asyncio import from_asyncio
from pullstream.sources.generate import count, infinite, repeat, unfold
from pullstream.sources.interval import interval
from pullstream.sources.live import live
from pullstream.sources.pushable import Pushable, pushable
from pullstream.sources.values import empty, fail, keys, once, values
from pullstream.time import agg
from pullstream.time.aggregate import aggregate
from pullstream.time.at_completion import at_completion
from pullstream.time.epochs import epochs
from pullstream.time.fold import Fold
from pullstream.time.per_time import distinct, running, sort_by_time
from pullstream.time.reduce import count_by_key, reduce_by_key, reduce_by_time
from pullstream.time.restamp import delay, restamp
from pullstream.time.stamping import stamp
from pullstream.time.timed import timed
from pullstream.time.windowed import Window
from pullstream.transformers.batch import batch
from pullstream.transformers.concurrent import map_async
from pullstream.transformers.distinct import non_unique, unique
from pullstream.transformers.event_windows import sliding, tumbling
from pullstream.transformers.expand import flat_map, map_batches
from pullstream.transformers.flatten import flatten
from pullstream.transformers.group import group_by
from pullstream.transformers.latest import debounce, sample, throttle
from pullstream.transformers.limit import Quota, limit
from pullstream.transformers.prefetch import prefetch
from pullstream.transformers.probe import Probed, probe
from pullstream.transformers.processes import map_process
from pullstream.transformers.rate import rate
from pullstream.transformers.recover import catch, retry
from pullstream.transformers.scan import scan
from pullstream.transformers.sessions import sessions
from pullstream.transformers.skip import skip
from pullstream.transformers.split import decode, split
from pullstream.transformers.stateless import filter, filter_not, map
from pullstream.transformers.switches import Abortable, Pausable, abortable, pausable
from pullstream.transformers.take import take, take_times
from pullstream.transformers.tap import tap
from pullstream.transformers.threads import map_thread
from pullstream.transformers.timeout import timeout
from pullstream.transformers.window import window
from timely import LoopTime

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
    "Notify",
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
    "Transformer",
    "Unpicklable",
    "Window",
    "WorkerDied",
    "abortable",
    "agg",
    "aggregate",
    "aiterate",
    "arun",
    "asyncio_call",
    "at_completion",
    "batch",
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
    "infinite",
    "interval",
    "iterate",
    "join",
    "keys",
    "last",
    "lend",
    "lending",
    "limit",
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
    "notify",
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
    "running",
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
    "tally",
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
