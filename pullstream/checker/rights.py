"""The right of modules that compute per time to their results: a hold, or a batch in flight at an input (R12)."""

from collections.abc import Hashable
from typing import Any

from pullstream.checker.lanes import RunEdge
from pullstream.engine.edge.handover import may_answer
from pullstream.engine.parts.notified import Notified
from pullstream.protocol import Batch


def verify_rights(record: RunEdge) -> None:
    """Verify each time of a `Notified` when the module gives results at it, or requests a notification that holds it.

    From then on the time is held, so later it looks open, whether or not it was complete before.
    """
    edge, module = record.machine, record.machine.module
    if not isinstance(module, Notified):
        return
    inputs = [] if edge.location.cuts else edge.inputs
    put, notify = module.ready.put, module.notify

    def verify(time: Hashable, what: str, how: str) -> None:
        if not may_answer(edge.location, inputs, time):
            record.violated("R12", record.above, f"it {what} {time!r} without holding it: {how}", says_how=True)

    def verified_put(batch: Batch[Any]) -> None:
        for time in dict.fromkeys(batch.times):
            how = f"in `receive`, call notify({time!r}, {time!r}), not remind({time!r}), which holds nothing"
            verify(time, "gave results at", how)
        put(batch)

    def verified_notify(time: Hashable, owed: Hashable, *, before: bool = False) -> None:
        how = "call it in `receive`, while a batch at that time is in flight"
        verify(owed, f"called notify({time!r}, {owed!r}) and so held", how)
        notify(time, owed, before=before)

    vars(module.ready)["put"], vars(module)["notify"] = verified_put, verified_notify
