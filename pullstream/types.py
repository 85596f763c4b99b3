"""Types for annotations: handles, a run and its progress, and arguments of user functions.

Each handle is made by the function its page names: `pushable()` makes a `Pushable`. Users make two types themselves: a
`Quota` is a changeable limit of `in_flight`, and a `Companion` is any function for `beside=`.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.blueprint import Blueprint
    from pullstream.engine.sidecar.counters import Counters
    from pullstream.engine.sidecar.explain import Blocking
    from pullstream.modules.flow.in_flight import Quota
    from pullstream.modules.handles.broadcast import Broadcast
    from pullstream.modules.handles.deferred import DeferredSink, DeferredSource, DeferredTransformer
    from pullstream.modules.handles.dynamic_merge import DynamicMerge
    from pullstream.modules.handles.probe import Probed
    from pullstream.modules.handles.pushable import Pushable
    from pullstream.modules.handles.switches import Abortable, Pausable
    from pullstream.modules.nested.worker_pool import WorkerPool
    from pullstream.modules.sources.callback import Emit
    from pullstream.program.progress import Progress
    from pullstream.program.running import Companion, Running
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.blueprint": "Blueprint",
            "pullstream.engine.sidecar.counters": "Counters",
            "pullstream.engine.sidecar.explain": "Blocking",
            "pullstream.modules.flow.in_flight": "Quota",
            "pullstream.modules.handles.broadcast": "Broadcast",
            "pullstream.modules.handles.deferred": "DeferredSink DeferredSource DeferredTransformer",
            "pullstream.modules.handles.dynamic_merge": "DynamicMerge",
            "pullstream.modules.handles.probe": "Probed",
            "pullstream.modules.handles.pushable": "Pushable",
            "pullstream.modules.handles.switches": "Abortable Pausable",
            "pullstream.modules.nested.worker_pool": "WorkerPool",
            "pullstream.modules.sources.callback": "Emit",
            "pullstream.program.progress": "Progress",
            "pullstream.program.running": "Companion Running",
        },
    )

__all__ = [
    "Abortable",
    "Blocking",
    "Blueprint",
    "Broadcast",
    "Companion",
    "Counters",
    "DeferredSink",
    "DeferredSource",
    "DeferredTransformer",
    "DynamicMerge",
    "Emit",
    "Pausable",
    "Probed",
    "Progress",
    "Pushable",
    "Quota",
    "Running",
    "WorkerPool",
]
