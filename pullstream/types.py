"""Types for annotations: handles, a run and its progress, and arguments of user functions.

Each handle is made by the function its page names: `pushable()` makes a `Pushable`. Users make two types themselves: a
`Quota` is a changeable limit of `in_flight`, and a `Companion` is any function for `beside=`.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.blueprint import Blueprint as Blueprint
    from pullstream.engine.sidecar.counters import Counters as Counters
    from pullstream.engine.sidecar.explain import Blocking as Blocking
    from pullstream.modules.flow.limits import Quota as Quota
    from pullstream.modules.handles.broadcast import Broadcast as Broadcast
    from pullstream.modules.handles.deferred import (
        DeferredSink as DeferredSink,
        DeferredSource as DeferredSource,
        DeferredTransformer as DeferredTransformer,
    )
    from pullstream.modules.handles.dynamic_merge import DynamicMerge as DynamicMerge
    from pullstream.modules.handles.probe import Probed as Probed
    from pullstream.modules.handles.pushable import Pushable as Pushable
    from pullstream.modules.handles.switches import Abortable as Abortable, Pausable as Pausable
    from pullstream.modules.nested.worker_pool import WorkerPool as WorkerPool
    from pullstream.modules.sources.callback import Emit as Emit
    from pullstream.program.progress import Progress as Progress
    from pullstream.program.running import Companion as Companion, Running as Running
else:
    __getattr__, __dir__, __all__ = late(__name__)
